"""Sofia's clock: moments as the portals print them, days, and quiet hours, also over midnight."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from sale_sofia.listings.text import match_key
from sale_sofia.listings.vocabulary import vocabulary
from sale_sofia.settings.model import TIME_ZONE

SOFIA: Final = ZoneInfo(TIME_ZONE)

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
    """Parse a full date and time in Sofia; None for "today" or a date without its year."""
    key = match_key(text)
    match = next(filter(None, (form.fullmatch(key) for form in _FORMS)), None)
    if match is None:
        return None
    year, day, hour, minute = map(int, match.group("year", "day", "hour", "minute"))
    month = match["month"] if match["month"].isdigit() else _months().get(match["month"], 0)
    try:
        return datetime(year, int(month), day, hour, minute, tzinfo=SOFIA)
    except ValueError:
        return None


def parse_iso(text: str) -> datetime | None:
    """Parse an ISO date and time; without an offset it is Sofia's; None for a date alone."""
    stripped = text.strip()
    with suppress(ValueError):
        date.fromisoformat(stripped)
        return None
    try:
        moment = datetime.fromisoformat(stripped)
        return moment.astimezone(SOFIA) if moment.tzinfo else moment.replace(tzinfo=SOFIA)
    except (ValueError, OverflowError):
        return None


def before_expiry(text: str, days: int) -> datetime | None:
    """Return the moment `days` before a printed expiry, in calendar days of Sofia, as portals count."""
    expiry = parse_iso(text)
    try:
        return expiry - timedelta(days=days) if expiry else None
    except OverflowError:
        return None


def family_second(family_id: str) -> float | None:
    """Return when an advert of the imot.bg family was published, in seconds since 1970, from its id."""
    match = _FAMILY_ID.fullmatch(family_id)
    return float(match["created"]) if match else None


def family_created(family_id: str) -> datetime | None:
    """As `family_second`, as a date and time in Sofia."""
    created = family_second(family_id)
    return None if created is None else datetime.fromtimestamp(created, UTC).astimezone(SOFIA)


@cache
def _months() -> dict[str, int]:
    return {name: number for number, name in enumerate(vocabulary()["months"], start=1)}


def moment_of(day: date, at: time) -> float:
    """Return the moment of a Sofia day and time; the first one where autumn repeats it.

    A time that spring skips is taken by the offset before the change.
    """
    # Combined from date and time: adding hours to midnight would be wrong on two days of the year.
    return datetime.combine(day, at, SOFIA).timestamp()


def day_of(moment: float) -> date:
    """Return the day in Sofia."""
    return datetime.fromtimestamp(moment, UTC).astimezone(SOFIA).date()


def quiet_until(moment: float, start: time, end: time) -> float | None:
    """Return when the quiet hours of this moment end; None outside them, their end included."""
    span = quiet_span(moment, start, end)
    return None if span is None else span[1]


def quiet_span(moment: float, start: time, end: time) -> tuple[float, float] | None:
    """Return when the quiet hours of this moment begin and end; None outside them, their end included."""
    for days in (-1, 0):
        evening = day_of(moment) + timedelta(days=days)
        morning = evening if start < end else evening + timedelta(days=1)
        span = moment_of(evening, start), moment_of(morning, end)
        if span[0] <= moment < span[1]:
            return span
    return None
