"""Moments as the portals print them, on Sofia's clock."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from sale_sofia.listings.text import match_key
from sale_sofia.listings.vocabulary import vocabulary

SOFIA = ZoneInfo("Europe/Sofia")

_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})"
_IN_WORDS = r"(?P<day>\d{1,2}) (?P<month>[а-я]+),? (?P<year>\d{4})"
_IN_DIGITS = r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(rf"(?:[а-я]+(?:/[а-я]+)? )?{form}(?: ?(?:г|год|ч)\.?)*")
    for form in (
        rf"(?:в )?{_TIME}(?: ?(?:ч\.?|часа))?,? (?:на|от) {_IN_WORDS}",
        rf"(?:в )?{_TIME}(?: ?(?:ч\.?|часа))?,? (?:на|от) {_IN_DIGITS}",
        rf"(?:на |от )?{_IN_WORDS}(?: ?(?:г|год)\.?)?,? (?:в )?{_TIME}",
        rf"(?:на |от )?{_IN_DIGITS}(?: ?(?:г|год)\.?)?,? (?:в )?{_TIME}",
    )
)
_FAMILY_ID = re.compile(r"[12][a-z](?P<created>1\d{9})\d{5}")  # a second between 2001 and 2033


def parse_moment(text: str) -> datetime | None:
    """A full date and time in Sofia; "today", or a date without its year, is no moment."""
    key = match_key(text)
    found = next(filter(None, (form.fullmatch(key) for form in _FORMS)), None)
    if found is None:
        return None
    year, day, hour, minute = map(int, found.group("year", "day", "hour", "minute"))
    month = found["month"] if found["month"].isdigit() else _months().get(found["month"], 0)
    try:
        return datetime(year, int(month), day, hour, minute, tzinfo=SOFIA)
    except ValueError:
        return None


def parse_iso(text: str) -> datetime | None:
    """A moment as machines write it, in Sofia; one without its offset is of Sofia's clock, a day is none."""
    written = text.strip()
    with suppress(ValueError):
        date.fromisoformat(written)
        return None
    try:
        moment = datetime.fromisoformat(written)
        return moment.astimezone(SOFIA) if moment.tzinfo else moment.replace(tzinfo=SOFIA)
    except (ValueError, OverflowError):
        return None


def before_expiry(text: str, days: int) -> datetime | None:
    """The moment `days` before a printed expiry, on the wall clock: portals count in calendar days."""
    expiry = parse_iso(text)
    try:
        return expiry - timedelta(days=days) if expiry else None
    except OverflowError:
        return None


def family_second(family_id: str) -> float | None:
    """When an advert of the imot.bg family was first published, in seconds since 1970: its id holds it."""
    found = _FAMILY_ID.fullmatch(family_id)
    return float(found["created"]) if found else None


def family_created(family_id: str) -> datetime | None:
    """The same on Sofia's clock."""
    created = family_second(family_id)
    return None if created is None else datetime.fromtimestamp(created, UTC).astimezone(SOFIA)


@cache
def _months() -> dict[str, int]:
    return {name: number for number, name in enumerate(vocabulary()["months"], start=1)}
