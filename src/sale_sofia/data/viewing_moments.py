"""When a viewing is, as a person writes it: Sofia's clock, whatever that does in spring and autumn."""

from datetime import UTC, datetime

from sale_sofia.data.evaluation_fields import WrongEvaluation
from sale_sofia.listings.dates import SOFIA

ALLOWED = "write it like 2026-11-20 15:30, Sofia's time"


def viewing_moment(text: str) -> float:
    """The moment in seconds since 1970; without an offset it is Sofia's time.

    Raises:
        WrongEvaluation: it is no date with a time, or Sofia's clock never shows it, or shows it twice.
    """
    try:
        written = datetime.fromisoformat(text.strip())
        if ":" in text:
            return (written if written.tzinfo else _in_sofia(written)).timestamp()
    except (ValueError, OverflowError) as error:
        if isinstance(error, WrongEvaluation):
            raise
    raise WrongEvaluation(f"{text!r} is no date with a time; {ALLOWED}")


def _in_sofia(written: datetime) -> datetime:
    first, second = (written.replace(tzinfo=SOFIA, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    back = first.astimezone(UTC).astimezone(SOFIA).replace(tzinfo=None)
    if back != written:
        raise WrongEvaluation(
            f"there is no {written:%H:%M} on {written:%Y-%m-%d}: Sofia's clock jumps over it"
        )
    choices = " or ".join(one.isoformat(timespec="minutes") for one in (first, second))
    raise WrongEvaluation(f"{written:%H:%M} comes twice on {written:%Y-%m-%d}; write {choices}")
