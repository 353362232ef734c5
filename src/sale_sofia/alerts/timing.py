"""When a message may go: quiet hours and digests, on Sofia's clock."""

from datetime import time, timedelta

from sale_sofia.config.alert_file import QuietHours
from sale_sofia.config.quiet_hours import day_of, moment_of, quiet_until


def next_time(moment: float, at: time) -> float:
    """The first moment after this one at which Sofia's clock shows this time."""
    today = day_of(moment)
    days = (moment_of(today + timedelta(days=days), at) for days in range(3))
    return next(one for one in days if one > moment)


def is_quiet(moment: float, quiet: QuietHours | None) -> bool:
    """Whether messages wait at this moment; the end of quiet hours is not quiet any more."""
    return quiet is not None and quiet_until(moment, quiet.from_, quiet.to) is not None


def not_quiet(moment: float, quiet: QuietHours | None) -> float:
    """This moment, or the end of the quiet hours it falls into."""
    until = None if quiet is None else quiet_until(moment, quiet.from_, quiet.to)
    return moment if until is None else until
