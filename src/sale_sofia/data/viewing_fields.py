"""What may be written of a viewing."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

from sale_sofia.config.evaluation import (
    FIRST_VIEWING_YEAR,
    LAST_VIEWING_YEAR,
    LONGEST_NOTE,
    MOST_VIEWING_MINUTES,
)
from sale_sofia.data.evaluation_fields import WrongEvaluation, clean_text

State = Literal["planned", "done", "cancelled"]
STATES: Final[tuple[str, ...]] = get_args(State)
LISTS: Final = ("positives", "negatives")


def checked_viewing(fields: Mapping[str, object]) -> dict[str, Any]:
    """The fields as they are stored.

    Raises:
        WrongEvaluation: no such field, or no such value.
    """
    if strange := [name for name in fields if name not in _CHECKS]:
        raise WrongEvaluation(f"{strange[0]!r} of a viewing cannot be written; allowed: {', '.join(FIELDS)}")
    return {name: _CHECKS[name](value) for name, value in fields.items()}


def _moment(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongEvaluation(f"starts_at must be a moment, not {value!r}")
    if not _new_year(FIRST_VIEWING_YEAR) <= value < _new_year(LAST_VIEWING_YEAR + 1):
        raise WrongEvaluation(f"a viewing is between {FIRST_VIEWING_YEAR} and {LAST_VIEWING_YEAR}")
    return float(value)


def _new_year(year: int) -> float:
    return datetime(year, 1, 1, tzinfo=UTC).timestamp()


def _minutes(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST_VIEWING_MINUTES:
        raise WrongEvaluation(
            f"minutes must be a whole number from 1 to {MOST_VIEWING_MINUTES}, not {value!r}"
        )
    return value


def _state(value: object) -> str:
    if value not in STATES:
        raise WrongEvaluation(f"no state {value!r} of a viewing; allowed: {', '.join(STATES)}")
    return str(value)


def _text(name: str) -> Callable[[object], str | None]:
    return lambda value: None if value is None else clean_text(value, name, LONGEST_NOTE)


def _texts(name: str) -> Callable[[object], list[str]]:
    def check(value: object) -> list[str]:
        if not isinstance(value, list | tuple):
            raise WrongEvaluation(f"{name} must be a list of texts, not {value!r}")
        return [clean_text(one, f"one of the {name}") for one in value]

    return check


_CHECKS: Final[Mapping[str, Callable[[object], object]]] = {
    "state": _state,
    "starts_at": _moment,
    "minutes": _minutes,
    **{name: _text(name) for name in ("agent", "phone", "place", "remarks", "outcome")},
    **{name: _texts(name) for name in LISTS},
}
FIELDS: Final = tuple(_CHECKS)
"""All that can be written of a viewing."""
