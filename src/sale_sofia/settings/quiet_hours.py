"""Quiet hours on Sofia's clock: from one time of day to another, also over midnight."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from sale_sofia.settings.model import TIME_ZONE

SOFIA: Final = ZoneInfo(TIME_ZONE)


def moment_of(day: date, at: time) -> float:
    """When Sofia's clock shows this time on this day; where it shows it twice in autumn, the first time.

    Where the clock jumps over it in spring, it is the same moment on the clock of before.
    """
    # Put together from date and time: adding hours to midnight would be wrong on two days of the year.
    return datetime.combine(day, at, SOFIA).timestamp()


def day_of(moment: float) -> date:
    """The day in Sofia."""
    return datetime.fromtimestamp(moment, UTC).astimezone(SOFIA).date()


def quiet_until(moment: float, start: time, end: time) -> float | None:
    """When the quiet hours end that this moment falls into; None outside of them, their end included."""
    for days in (-1, 0):
        evening = day_of(moment) + timedelta(days=days)
        morning = evening if start < end else evening + timedelta(days=1)
        if moment_of(evening, start) <= moment < moment_of(morning, end):
            return moment_of(morning, end)
    return None
