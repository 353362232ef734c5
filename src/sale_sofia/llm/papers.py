"""Act 14, 15, 16: which one the building has, and which one it waits for."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from sale_sofia.config.llm import AWAITED_FROM_YEAR
from sale_sofia.llm.candidates import Candidate, after, before
from sale_sofia.llm.tokens import Token
from sale_sofia.llm.vocabulary import group

_NUMBERED: Final = ("act14", "act15", "act16")


def settle_acts(candidates: Sequence[Candidate], tokens: Sequence[Token]) -> Iterator[Candidate]:
    """One statement of the papers from all: the highest act there is, else the lowest that is awaited."""
    others = [one for one in candidates if one.value not in _NUMBERED]
    numbered = [one for one in candidates if one.value in _NUMBERED and not _is_instalment(one, tokens)]
    judged = [(one, _is_awaited(one, tokens)) for one in numbered]
    awaited = [one for one, is_awaited in judged if is_awaited]
    reached = [one for one, is_awaited in judged if not is_awaited]
    early = [one for one in others if one.rank == 0]
    if reached and not early:
        yield max(reached, key=lambda one: str(one.value))
    elif awaited and not early:
        first = min(awaited, key=lambda one: str(one.value))
        start = max(0, first.first - 1)
        yield Candidate("act", f"before_{first.value}", "stated", start, first.after, 1)
    else:
        yield from others


def _is_instalment(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Of paying: "70 % при Акт 16"."""
    return any(token.text == "%" for token in before(tokens, one.first, 4))


def _is_awaited(one: Candidate, tokens: Sequence[Token]) -> bool:
    if any(not group("awaiting").isdisjoint(token.tags) for token in before(tokens, one.first, 3)):
        return True
    # What stands behind the next act is told of that one.
    ahead = list(takewhile(lambda token: "act_word" not in token.tags, after(tokens, one.after, 5)))
    if ahead and ahead[0].text == "от":
        return False
    years = [token.value for token in ahead if "year" in token.tags]
    if years and isinstance(years[0], int):
        return years[0] >= AWAITED_FROM_YEAR
    near = ahead[:3]
    return any(not token.tags.isdisjoint({"season", "month"}) for token in near)
