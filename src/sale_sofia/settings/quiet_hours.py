"""Quiet hours on Sofia's clock: from one time of day to another, also over midnight."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from sale_sofia.settings.model import TIME_ZONE

SOFIA: Final = ZoneInfo(TIME_ZONE)


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
