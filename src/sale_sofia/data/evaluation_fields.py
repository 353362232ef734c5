"""What may be written of a property: the fields, their values, and what a text may hold."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args
from unicodedata import category

from sale_sofia.config.evaluation import LONGEST_LINE, LONGEST_WHO, MOST_RENOVATION_EUR

Status = Literal["new", "contacted", "viewing", "shortlist", "offer", "rejected", "hidden"]
Decision = Literal["buy", "maybe", "no"]
Value = str | float | None
STATUSES: Final[tuple[str, ...]] = get_args(Status)
DECISIONS: Final[tuple[str, ...]] = get_args(Decision)
UNWANTED: Final = frozenset({"rejected", "hidden"})
"""Statuses of what the buyer does not want to see again."""
_UNPRINTABLE: Final = frozenset({"Cc", "Cs"})
"""Control characters, and halves of characters, which come from broken input."""


class WrongEvaluation(ValueError):
    """What was given cannot be written; one sentence says what is allowed. Nothing was changed."""


class ChangedMeanwhile(WrongEvaluation):
    """Somebody else wrote another value since the caller looked; nothing was changed."""


@dataclass(frozen=True, slots=True)
class By:
    """Who writes, and when, in seconds since 1970."""

    who: str
    at: float

    def __post_init__(self) -> None:
        clean_text(self.who, "the name of who writes", LONGEST_WHO)


def clean_text(text: object, what: str, most: int = LONGEST_LINE) -> str:
    """The text without space around it, its line ends plain.

    Raises:
        WrongEvaluation: it is no text, empty, too long, or holds what no database and no screen can bear.
    """
    if not isinstance(text, str):
        raise WrongEvaluation(f"{what} must be a text, not {text!r}")
    cleaned = text.replace("\r\n", "\n").strip()
    if not cleaned:
        raise WrongEvaluation(f"{what} is empty; write some words")
    if len(cleaned) > most:
        raise WrongEvaluation(f"{what} has {len(cleaned)} characters; allowed are {most}")
    if any(sign not in "\n\t" and category(sign) in _UNPRINTABLE for sign in cleaned):
        raise WrongEvaluation(f"{what} holds characters that cannot be printed; write plain words")
    return cleaned


def _one_of(allowed: tuple[str, ...], what: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in allowed:
            raise WrongEvaluation(f"no {what} {value!r}; allowed: {', '.join(allowed)}")
        return str(value)

    return check


def _euros(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongEvaluation(f"renovation_eur must be a number of euros, not {value!r}")
    if not 0 <= value <= MOST_RENOVATION_EUR:
        raise WrongEvaluation(f"renovation_eur {value:g} is not between 0 and {MOST_RENOVATION_EUR}")
    return float(value)


_CHECKS: Final[Mapping[str, Callable[[object], Value]]] = {
    "status": _one_of(STATUSES, "status"),
    "decision": _one_of(DECISIONS, "decision"),
    "reason": lambda value: clean_text(value, "reason"),
    "renovation_eur": _euros,
}
FIELDS: Final = tuple(_CHECKS)
"""All that can be written; notes and viewings have doors of their own."""


def checked(field: str, value: object) -> Value:
    """The value as it is stored; None takes back what was said, but a status there always is.

    Raises:
        WrongEvaluation: no such field, or no such value.
    """
    if field not in _CHECKS:
        raise WrongEvaluation(f"{field!r} cannot be written; allowed: {', '.join(FIELDS)}")
    return None if value is None and field != "status" else _CHECKS[field](value)
