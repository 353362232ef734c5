"""How many: bedrooms, bathrooms, toilets of their own, balconies.

Inside a sentence mentions are added, between sentences the largest sum counts: a headline and the plan of the
flat say the same twice.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from sale_sofia.llm import bathrooms
from sale_sofia.llm.candidates import Candidate, is_negated
from sale_sofia.llm.mentions import Mention, Places, largest, places_of, plain_mentions
from sale_sofia.llm.tokens import Token

_BEDROOMS: Final = frozenset({"bedroom", "bedrooms", "the_bedroom", "kids"})
_TERRACES: Final = frozenset({"terrace", "terraces", "the_terrace"})


def find_counts(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """The counted fields."""
    places = places_of(tokens, _BEDROOMS | _TERRACES | bathrooms.TAGS)
    yield from largest("bedrooms", tokens, list(_bedrooms(tokens, places)))
    yield from largest("bathrooms", tokens, list(bathrooms.find_bathrooms(tokens, places)))
    yield from largest("wc_separate", tokens, list(bathrooms.find_toilets(tokens, places)))
    balconies = list(plain_mentions(tokens, places, "terrace", "terraces"))
    yield from largest("balconies", tokens, balconies)
    yield from _has_balcony(tokens, places, balconies)


def _bedrooms(tokens: Sequence[Token], places: Places) -> Iterator[Mention]:
    yield from plain_mentions(tokens, places, "bedroom", "bedrooms")
    yield from (Mention(1, place, place + 1) for place in places["kids"] if _is_kids_room(tokens, place))
    if not places["bedroom"] and not places["bedrooms"]:
        # Only spoken of, never counted: there is one.
        known = [place for place in places["the_bedroom"] if tokens[place].text == "спалнята"]
        yield from (Mention(1, place, place + 1) for place in known[:1])


def _is_kids_room(tokens: Sequence[Token], place: int) -> bool:
    """A room of the children, and neither a playground nor a word on what another room is."""
    if tokens[place].text != "детска" or place + 1 == len(tokens):
        return False
    following, previous = tokens[place + 1], tokens[place - 1] if place else None
    if previous and previous.text in {"-", "("}:
        return False
    if "room" in following.tags or following.text in {",", "и", "/"}:
        return True
    return "end" in following.tags and _goes_on_a_list(tokens, place)


def _goes_on_a_list(tokens: Sequence[Token], place: int) -> bool:
    return any("bedroom" in token.tags for token in tokens[max(0, place - 3) : place])


def _has_balcony(tokens: Sequence[Token], places: Places, mentions: Sequence[Mention]) -> Iterator[Candidate]:
    if mentions:
        yield Candidate("has_balcony", True, "derived", mentions[0].first, mentions[0].after, 1)  # noqa: FBT003
    elif places["the_terrace"]:
        place = places["the_terrace"][0]
        yield Candidate("has_balcony", True, "stated", place, place + 1, 1)  # noqa: FBT003
    else:
        denied = (place for tag in ("terrace", "terraces") for place in places[tag])
        for place in denied:
            if is_negated(tokens, place, place + 1):
                yield Candidate("has_balcony", False, "negated", place, place + 1, 1)  # noqa: FBT003
