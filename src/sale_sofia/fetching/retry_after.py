"""How long a server asks to be left alone."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

# Nine digits are thirty years; more is no time span.
SECONDS: Final = re.compile(r"\d{1,9}", re.ASCII)


def retry_after_seconds(value: str | None, now: datetime | None) -> float | None:
    """Seconds to wait by a `Retry-After` header; None for nonsense, a past date, or a date without `now`."""
    text = (value or "").strip()
    if SECONDS.fullmatch(text):
        return float(text)
    moment = _moment(text)
    if moment is None or now is None or moment < now:
        return None
    return (moment - now).total_seconds()


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
