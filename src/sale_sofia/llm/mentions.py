"""How often a thing is named, and how many of it each time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sale_sofia.config.llm import COUNT_MOST, COUNT_WINDOW, QUOTE_CHARACTERS
from sale_sofia.llm.candidates import Candidate, after, before, is_negated, is_possible
from sale_sofia.llm.tokens import Token
from sale_sofia.llm.vocabulary import group

Places = Mapping[str, Sequence[int]]
_NUMBERS: Final = frozenset({"count", "whole", "ordinal"})
_NODES: Final = frozenset({"node", "nodes"})
_LIST_ENDS: Final = frozenset({")", ","})


@dataclass(frozen=True, slots=True)
class Mention:
    """So many of a thing; None: several. `ordinal`: the so-manieth, so there are at least as many."""

    count: int | None
    first: int
    after: int
    ordinal: bool = False


def places_of(tokens: Sequence[Token], tags: frozenset[str]) -> Places:
    """Where each of the tags stands."""
    found: dict[str, list[int]] = {tag: [] for tag in tags}
    for place, token in enumerate(tokens):
        for tag in tags & token.tags:
            found[tag].append(place)
    return found


def plain_mentions(tokens: Sequence[Token], places: Places, one: str, several: str) -> Iterator[Mention]:
    """Mentions of a thing by its singular and its plural; what is denied or only possible is none."""
    for tag, many in ((one, False), (several, True)):
        for place in places[tag]:
            if not is_skipped(tokens, place) and not _is_told_again(tokens, place):
                yield mention_at(tokens, place, place + 1, many=many)


def is_skipped(tokens: Sequence[Token], place: int) -> bool:
    """Whether the word is denied or only a possibility."""
    return is_negated(tokens, place, place + 1) or is_possible(tokens, place, _LIST_ENDS)


def _is_told_again(tokens: Sequence[Token], place: int) -> bool:
    """Two sanitary units, and in brackets what they are."""
    near = list(before(tokens, place, 2))
    return bool(near) and near[0].text in {"(", "-", ":"} and not _NODES.isdisjoint(near[-1].tags)


def mention_at(tokens: Sequence[Token], place: int, end: int, *, many: bool) -> Mention:
    """The mention whose noun is at `place`, with the number before it (or, after a colon, behind it)."""
    for distance, token in enumerate(before(tokens, place, COUNT_WINDOW), 1):
        if not _NUMBERS.isdisjoint(token.tags):
            if many and _is_choice(tokens, place - distance):
                return Mention(None, place, end)
            return _counted(token, place - distance, end, many=many)
        if _ends_counting(tokens, token, place - distance):
            break
    return _counted_after(tokens, place, end) if many else Mention(1, place, end)


def _ends_counting(tokens: Sequence[Token], token: Token, place: int) -> bool:
    if token.text == ",":  # a comma between two adjectives, or the end of another thing
        return place == 0 or "plain" not in tokens[place - 1].tags
    return not group("counting_ends").isdisjoint(token.tags)


def _is_choice(tokens: Sequence[Token], place: int) -> bool:
    """With one, two and three bedrooms: several flats are spoken of."""
    near = list(before(tokens, place, 2))
    return bool(near) and near[0].text in {",", "и"} and "count" in near[-1].tags


def _counted(token: Token, first: int, end: int, *, many: bool) -> Mention:
    count = token.value if isinstance(token.value, int) else 0
    if "ordinal" in token.tags and not many:
        return Mention(count, first, end, ordinal=True)
    if many:
        return Mention(count if 1 < count <= COUNT_MOST else None, first, end)
    return Mention(1, first, end)


def _counted_after(tokens: Sequence[Token], place: int, end: int) -> Mention:
    """The noun, a colon, the number."""
    ahead = list(after(tokens, end, 2))
    count = ahead[-1].value if ahead and ahead[0].text in {":", "-"} else None
    if isinstance(count, int) and 0 < count <= COUNT_MOST and "whole" in ahead[-1].tags:
        return Mention(count, place, end + 2)
    return Mention(None, place, end)


def largest(field: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> Iterator[Candidate]:
    """Mentions added inside each sentence; the largest sum of all sentences."""
    by_sentence: dict[int, list[Mention]] = {}
    for mention in mentions:
        if mention.count is not None:
            by_sentence.setdefault(tokens[mention.first].sentence, []).append(mention)
    if by_sentence:
        best = max(by_sentence.values(), key=_total)
        best.sort(key=lambda one: one.first)
        first, end = best[0], max(best, key=lambda one: one.after)
        near = tokens[end.after - 1].end - tokens[first.first].start <= QUOTE_CHARACTERS
        yield Candidate(field, _total(best), "stated", first.first, (end if near else first).after, 1)


def _total(mentions: Sequence[Mention]) -> int:
    plain = sum(mention.count or 0 for mention in mentions if not mention.ordinal)
    ordinals = [mention.count or 0 for mention in mentions if mention.ordinal]
    return max([plain + len(ordinals), *ordinals])
