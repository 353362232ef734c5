"""Does this machine's clock go with those of the servers? Leases and limits of several machines need it."""

from collections.abc import Mapping
from typing import Final

from sale_sofia.config.doctor import CLOCK_OFFSET_SECONDS
from sale_sofia.monitoring.doctor_check import Check, verdict

_FUTURE: Final = (
    "Was the clock set back, or ahead before? Set it right: until it has caught up, no sweep is complete."
)


def clock_check(offsets: Mapping[str, float], future: str | None = None) -> Check:
    """The verdict on how far servers are ahead of us, in seconds, by their names, and the database's rows."""
    if future is not None:
        return verdict("clock", future, _FUTURE)
    if not offsets:
        return verdict("clock", "no server to compare it with")
    detail = ", ".join(f"{name} {offset:+.3f} s" for name, offset in offsets.items())
    off = [name for name, offset in offsets.items() if abs(offset) > CLOCK_OFFSET_SECONDS]
    advice = f"More than {CLOCK_OFFSET_SECONDS:g} s from {' and '.join(off)}: run NTP on both machines."
    return verdict("clock", detail, advice if off else None)
