"""The clock of the simulated world: one fixed evening, and moments before it."""

from datetime import datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

SOFIA = ZoneInfo("Europe/Sofia")
NOW = datetime(2026, 4, 21, 18, 45, tzinfo=SOFIA)
_MORNING = 7


def long_ago(rng: Random) -> datetime:
    """A moment from an hour to some years ago."""
    return daytime(NOW - timedelta(seconds=int(rng.expovariate(1 / 9_000_000)) + 3600))


def daytime(moment: datetime) -> datetime:
    """Away from the hours that the change of clocks repeats or skips."""
    local = moment.astimezone(SOFIA)
    return local if local.hour >= _MORNING else local.replace(hour=local.hour + _MORNING, fold=0)


def later(rng: Random, posted: datetime) -> datetime:
    """A whole minute between `posted` and now."""
    room = (NOW - posted).total_seconds()
    return daytime(posted + timedelta(seconds=int(room * rng.random()))).replace(second=0)


def refreshed(rng: Random, posted: datetime) -> datetime:
    """When bazar.bg last renewed an advert: mostly today, never before it was posted."""
    back = timedelta(days=rng.choice((0, 0, 0, 1, 1, 5, 16, 29)), minutes=rng.randint(5, 600))
    moment = max(posted, daytime(NOW - back))
    return moment.replace(second=rng.choice((0, rng.randrange(60))), microsecond=0)
