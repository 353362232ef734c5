"""Moments as people write them."""

import re
from datetime import datetime, timedelta

from sale_sofia.listings.dates import SOFIA

ALLOWED = (
    "today, yesterday, a date like 2026-11-14, a moment like 2026-11-14T08:30, or an age like 24h, 7d, 30m"
)
_AGE = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def moment_of(text: str, now: datetime) -> float:
    """The moment a text names, in seconds since 1970; days begin and end on Sofia's clock.

    Raises:
        ValueError: the text names none.
    """
    here = now.astimezone(SOFIA)
    today = here.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in {"today", "yesterday"}:
        return (today if text == "today" else today - timedelta(days=1)).timestamp()
    if age := _AGE.fullmatch(text):
        return now.timestamp() - timedelta(**{_UNITS[age[2]]: int(age[1])}).total_seconds()
    try:
        written = datetime.fromisoformat(text)
        return (written if written.tzinfo else written.replace(tzinfo=SOFIA)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no moment; allowed: {ALLOWED}") from None
