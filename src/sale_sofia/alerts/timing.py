"""When a message may go: quiet hours and digests, on Sofia's clock."""

from datetime import UTC, datetime, time, timedelta

from sale_sofia.config.alert_file import QuietHours
from sale_sofia.listings.dates import SOFIA


def next_time(moment: float, at: time) -> float:
    """The first moment after this one at which Sofia's clock shows this time.

    Where the clock jumps over it in spring, it is the same moment on the clock of before.
    """
    here = datetime.fromtimestamp(moment, UTC).astimezone(SOFIA)
    days = (_at(here, day, at) for day in range(3))
    return next(one for one in days if one > moment)


def _at(here: datetime, day: int, at: time) -> float:
    # Put together from date and time: adding 24 hours would be wrong on two days of the year.
    date = here.date() + timedelta(days=day)
    return datetime.combine(date, at, SOFIA).timestamp()


def is_quiet(moment: float, quiet: QuietHours | None) -> bool:
    """Whether messages wait at this moment; the end of quiet hours is not quiet any more."""
    if quiet is None:
        return False
    clock = datetime.fromtimestamp(moment, UTC).astimezone(SOFIA).time()
    if quiet.from_ < quiet.to:
        return quiet.from_ <= clock < quiet.to
    return clock >= quiet.from_ or clock < quiet.to


def not_quiet(moment: float, quiet: QuietHours | None) -> float:
    """This moment, or the end of the quiet hours it falls into."""
    return next_time(moment, quiet.to) if quiet is not None and is_quiet(moment, quiet) else moment
