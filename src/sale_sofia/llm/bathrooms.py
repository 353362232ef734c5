"""Bathrooms, and toilets that are not part of one."""

from collections.abc import Iterator, Sequence
from typing import Final

from sale_sofia.llm.candidates import after, before
from sale_sofia.llm.mentions import Mention, Places, is_skipped, mention_at, plain_mentions
from sale_sofia.llm.tokens import Token
from sale_sofia.llm.vocabulary import group

TAGS: Final = frozenset({"bath", "baths", "the_bath", "toilet", "toilets", "sanitary", "sanitaries"})
_NODES: Final = frozenset({"node", "nodes"})
_BATHS: Final = frozenset({"bath", "baths", "the_bath", *_NODES})


def find_bathrooms(tokens: Sequence[Token], places: Places) -> Iterator[Mention]:
    """Baths, and sanitary units that are one."""
    yield from plain_mentions(tokens, places, "bath", "baths")
    yield from (unit for unit, is_bathroom in _units(tokens, places) if is_bathroom)


def find_toilets(tokens: Sequence[Token], places: Places) -> Iterator[Mention]:
    """Toilets by themselves, and sanitary units beside a bath."""
    has_bath = any(places[tag] for tag in ("bath", "baths", "the_bath"))
    for tag, many in (("toilet", False), ("toilets", True)):
        for place in places[tag]:
            if _is_toilet(tokens, place, many=many, has_bath=has_bath):
                mention = mention_at(tokens, place, place + 1, many=many)
                yield _one(mention) if mention.ordinal else mention
    yield from (_one(unit) for unit, is_bathroom in _units(tokens, places) if not is_bathroom)


def _one(mention: Mention) -> Mention:
    return Mention(1, mention.first, mention.after)


def _is_toilet(tokens: Sequence[Token], place: int, *, many: bool, has_bath: bool) -> bool:
    if is_skipped(tokens, place):
        return False
    if _is_apart(tokens, place):
        return True
    return has_bath and not _is_part_of_bath(tokens, place, many=many)


def _units(tokens: Sequence[Token], places: Places) -> Iterator[tuple[Mention, bool]]:
    """Sanitary units, and whether each is a bathroom: one that is apart, beside a bath, is a toilet."""
    has_bath = bool(places["bath"] or places["baths"])
    for tag, many in (("sanitary", False), ("sanitaries", True)):
        for place in places[tag]:
            following = next(after(tokens, place + 1, 1), None)
            if (following and _NODES.isdisjoint(following.tags)) or is_skipped(tokens, place):
                continue
            end = place + 2 if following else place + 1
            mention = mention_at(tokens, place, end, many=many)
            apart = any(not group("apart").isdisjoint(token.tags) for token in before(tokens, place, 2))
            yield mention, not (apart and has_bath and not mention.ordinal)


def _is_apart(tokens: Sequence[Token], place: int) -> bool:
    ahead = [token.text for token in after(tokens, place + 1, 2) if token.text not in {"-", "(", "за"}]
    if ahead and ahead[0] in group("apart_after"):
        return True
    return any(not group("apart").isdisjoint(token.tags) for token in before(tokens, place, 2))


def _is_part_of_bath(tokens: Sequence[Token], place: int, *, many: bool) -> bool:
    """Whether the toilet is in the bath, named before or after it."""
    back = list(before(tokens, place, 4))
    for number, token in enumerate(back):
        if token.text == ",":
            return False
        if not _BATHS.isdisjoint(token.tags):
            return _is_joined(back[:number], token, many=many)
    ahead = list(after(tokens, place + 1, 3))
    return bool(ahead) and ahead[0].text in group("bath_joins") and any("bath" in one.tags for one in ahead)


def _is_joined(between: Sequence[Token], bath: Token, *, many: bool) -> bool:
    if not between:
        return True
    words = {token.text for token in between}
    if "bath" in bath.tags and any(not one.tags.isdisjoint({"count", "whole"}) for one in between):
        return False
    one_beside_several = "и" in words and "baths" in bath.tags and not many
    return not words.isdisjoint(group("bath_joins")) and not one_beside_several
