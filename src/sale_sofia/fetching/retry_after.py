"""How long a server asks to be left alone."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from sale_sofia.config.fetching import RETRY_AFTER_DIGITS

SECONDS: Final = re.compile(rf"\d{{1,{RETRY_AFTER_DIGITS}}}", re.ASCII)


def retry_after_seconds(value: str | None, now: datetime | None, date: str | None = None) -> float | None:
    """Seconds to wait by a `Retry-After` header; None for nonsense, a past date, or a date without `now`.

    The server's own `Date` counts before `now`: our clock may be an hour off.
    """
    text = (value or "").strip()
    if SECONDS.fullmatch(text):
        return float(text)
    moment, since = _moment(text), _moment(date or "") or now
    if moment is None or since is None or moment < since:
        return None
    return (moment - since).total_seconds()


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
