"""Bathrooms, and toilets that are not part of one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Literal

from sale_sofia.descriptions.rulebook import Candidate, after, before, is_negated, is_possible
from sale_sofia.descriptions.settings import (
    AREA_LEAST,
    AREA_MOST,
    AWAITED_FROM_YEAR,
    COUNT_MOST,
    COUNT_WINDOW,
    DECIMALS,
    EXPOSURE_WINDOW,
    OWNER_WINDOW,
    PARKING_WINDOW,
    QUOTE_CHARACTERS,
)
from sale_sofia.descriptions.words import Token, group

# Square metres, and what they belong to: the flat, or a room, a terrace, a cellar, a yard.

Owner = Literal["built", "total", "flat", "room", "open"]


def find_areas(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """The flat's area and its built-up area."""
    for place in range(len(tokens) - 1):
        token = tokens[place]
        if "num" not in token.tags or not _is_measure(tokens, place):
            continue
        size = _with_lost_comma(tokens, place)
        owner = _owner(tokens, place)
        if owner != "room" and isinstance(size, int | float) and AREA_LEAST <= size <= AREA_MOST:
            yield _candidate(owner, size, tokens, place)


def _with_lost_comma(tokens: Sequence[Token], place: int) -> object:
    """The number; "площ 53 47 кв.м" is a number whose comma was lost on its way."""
    token = tokens[place]
    back = list(before(tokens, place, 4))
    if len(token.text) != DECIMALS or not back or "whole" not in back[0].tags or "whole" not in token.tags:
        return token.value
    about_area = any(not one.tags.isdisjoint({"area", "зп", "рзп"}) for one in back[1:])
    return float(f"{back[0].text}.{token.text}") if about_area else token.value


def _is_measure(tokens: Sequence[Token], place: int) -> bool:
    if "sqm" in tokens[place + 1].tags:
        return True
    # "Застроена площ 78.55": the unit was forgotten, the word says it.
    if "whole" in tokens[place].tags or "sqm" in tokens[place].tags:
        return False
    back = list(before(tokens, place, 2))
    words = [token for token in back if token.text not in {"от", "-", ":", "е"}]
    return bool(words) and not words[0].tags.isdisjoint({"area", "зп", "рзп"})


def _candidate(owner: Owner, size: float, tokens: Sequence[Token], place: int) -> Candidate:
    field = "area_built" if owner == "built" else "area"
    rank = 0 if place == 0 else {"built": 1, "total": 1, "flat": 1, "open": 3}.get(owner, 2)
    return Candidate(field, size, "stated", place, min(place + 2, len(tokens)), rank)


def _owner(tokens: Sequence[Token], place: int) -> Owner:
    return _said_after(tokens, place + 2) or _said_before(tokens, place)


def _said_after(tokens: Sequence[Token], place: int) -> Owner | None:
    """What follows the number: "62 кв.м чиста площ", "75 кв.м с общи части", "8 кв.м мазе"."""
    ahead = list(after(tokens, place, 6))
    if ahead and ahead[0].text in {"(", "-", "/"}:
        ahead = ahead[1:]
    if _has_number_of_its_own(ahead):
        return None
    for number, token in enumerate(ahead[:3]):
        if token.text in group("measure_ends") | group("measure_goes_elsewhere"):
            return None
        owner = _named_by(token)
        if owner:
            return None if owner == "room" and number and ahead[number - 1].text in {"с", "със"} else owner
        if "plain" not in token.tags and token.text not in {"с", "със", "без"}:
            return None
    return None


def _named_by(token: Token) -> Owner | None:
    if "built" in token.tags:
        return "built"
    if not token.tags.isdisjoint({"total", "shared"}):
        return "total"
    return None if group("measured_rooms").isdisjoint(token.tags) else "room"


def _has_number_of_its_own(ahead: Sequence[Token]) -> bool:
    """Whether what follows is measured itself: "61 кв.м, тераса 8 кв.м"."""
    for number, token in enumerate(ahead):
        if token.text in group("measure_ends"):
            return False
        if "num" in token.tags and number and ahead[number - 1].text not in {"от", "за", "на"}:
            return True
        if "sqm" in token.tags:
            return True
    return False


def _said_before(tokens: Sequence[Token], place: int) -> Owner:
    """The nearest word before the number that can own it; a comma ends its reach."""
    area = flat = False
    for number, token in enumerate(before(tokens, place, OWNER_WINDOW)):
        if token.text == "," or "sqm" in token.tags:
            return "flat" if area or flat else _across(tokens, place - number - 1)
        if "built" in token.tags and (area or number < 2 or token.text == "зп"):  # noqa: PLR2004
            return _with_total(tokens, place - number - 1)
        if not token.tags.isdisjoint({"total", "shared"}):
            return "total"
        if not group("measured_rooms").isdisjoint(token.tags):
            return "flat" if flat else "room"
        flat = flat or not group("flats").isdisjoint(token.tags)
        area = area or "area" in token.tags
    return "flat" if area or flat else "open"


def _across(tokens: Sequence[Token], place: int) -> Owner:
    """Beyond the comma: a list of rooms goes on, a flat is told more of."""
    for token in before(tokens, place, OWNER_WINDOW):
        if "sqm" in token.tags or not group("measured_rooms").isdisjoint(token.tags):
            return "room"
        if not group("flats").isdisjoint(token.tags):
            return "flat"
    return "open"


def _with_total(tokens: Sequence[Token], place: int) -> Owner:
    """The "обща застроена площ" is the whole."""
    back = list(before(tokens, place, 1))
    return "total" if back and "total" in back[0].tags else "built"


# How often a thing is named, and how many of it each time.

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


TAGS: Final = frozenset({"bath", "baths", "the_bath", "toilet", "toilets", "sanitary", "sanitaries"})
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


# How many: bedrooms, bathrooms, toilets of their own, balconies. Inside a sentence mentions are added,
# between sentences the largest sum counts: a headline and the plan of the flat say the same twice.

_BEDROOMS: Final = frozenset({"bedroom", "bedrooms", "the_bedroom", "kids"})
_TERRACES: Final = frozenset({"terrace", "terraces", "the_terrace"})


def find_counts(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """The counted fields."""
    places = places_of(tokens, _BEDROOMS | _TERRACES | TAGS)
    yield from largest("bedrooms", tokens, list(_bedrooms(tokens, places)))
    yield from largest("bathrooms", tokens, list(find_bathrooms(tokens, places)))
    yield from largest("wc_separate", tokens, list(find_toilets(tokens, places)))
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


# The winds a flat looks to: eight of them, and never a quarter of the town that is called after one.


@dataclass(frozen=True, slots=True)
class Wind:
    """A wind and its tokens; `noun`: "юг", else "южен"."""

    value: str
    first: int
    after: int
    noun: bool
    masculine: bool


def find_winds(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """Every wind that is the flat's."""
    for chain in _chains(list(_winds(tokens)), tokens):
        if _is_exposure(chain, tokens):
            for wind in chain:
                yield Candidate("orientation", wind.value, "stated", wind.first, wind.after, 1)


def _winds(tokens: Sequence[Token]) -> Iterator[Wind]:
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if "half_wind" in token.tags:
            wind = _joined(tokens, place)
            if wind:
                yield wind
                place = wind.after
                continue
        elif not token.tags.isdisjoint({"wind", "windy"}) or _is_short(tokens, place):
            yield _single(token, place, place, str(token.value))
        place += 1


def _is_short(tokens: Sequence[Token], place: int) -> bool:
    """A letter for a wind, which it is only beside "изложение" or another such letter: "изл. Ю/И"."""
    if "short_wind" not in tokens[place].tags:
        return False
    following = next(after(tokens, place + 1, 1), None)
    if following and following.text not in group("wind_links"):
        return False
    back = [token for token in before(tokens, place, 3) if token.text not in {":", "-", "/", "."}]
    return bool(back) and not back[0].tags.isdisjoint({"exposure", "short_wind"})


def _single(token: Token, first: int, place: int, value: str) -> Wind:
    return Wind(value, first, place + 1, "wind" in token.tags, token.text.endswith("ен"))


def _joined(tokens: Sequence[Token], place: int) -> Wind | None:
    """Two halves of one wind: "юго-изток"."""
    last = place + 2 if place + 1 < len(tokens) and tokens[place + 1].text == "-" else place + 1
    if last < len(tokens) and not tokens[last].tags.isdisjoint({"wind", "windy"}):
        return _single(tokens[last], place, last, f"{tokens[place].value}{tokens[last].value}")
    return None


def _chains(winds: Sequence[Wind], tokens: Sequence[Token]) -> Iterator[list[Wind]]:
    chain: list[Wind] = []
    for wind in winds:
        if chain and not _linked(tokens[chain[-1].after : wind.first]):
            yield chain
            chain = []
        chain.append(wind)
    if chain:
        yield chain


def _linked(between: Sequence[Token]) -> bool:
    return len(between) <= 2 and all(token.text in group("wind_links") for token in between)  # noqa: PLR2004


def _is_exposure(chain: Sequence[Wind], tokens: Sequence[Token]) -> bool:
    first, end = chain[0].first, chain[-1].after
    previous = next(before(tokens, first, 1), None)
    following = next(after(tokens, end, 1), None)
    if previous and _names_a_place(tokens, first):
        return False
    if following and "town_part" in following.tags:
        return False
    if _beside_exposure(tokens, first, end):
        return True
    return _noun_chain(chain, tokens) if chain[0].noun else _adjective(chain, tokens)


def _names_a_place(tokens: Sequence[Token], first: int) -> bool:
    back = [token for token in before(tokens, first, 3) if token.text not in {"-", '"', ".", "("}]
    return bool(back) and "place_word" in back[0].tags


def _beside_exposure(tokens: Sequence[Token], first: int, end: int) -> bool:
    back = before(tokens, first, EXPOSURE_WINDOW)
    return any("exposure" in token.tags for token in (*back, *after(tokens, end, 2)))


def _noun_chain(chain: Sequence[Wind], tokens: Sequence[Token]) -> bool:
    if len(chain) > 1:
        return True
    wind = chain[0]
    previous = next(before(tokens, wind.first, 1), None)
    following = next(after(tokens, wind.after, 1), None)
    if previous is None or previous.text == ",":
        apart = following is None or following.text == ","
        return apart and (previous is None or len(wind.value) > 1)
    if previous.text in {"на", "към"} and (following is None or following.text != "от"):
        return any(
            not group("facing_rooms").isdisjoint(token.tags)
            for token in before(tokens, wind.first, EXPOSURE_WINDOW)
        )
    return False


def _adjective(chain: Sequence[Wind], tokens: Sequence[Token]) -> bool:
    ahead = list(after(tokens, chain[-1].after, 3))
    if any("town_part" in token.tags for token in ahead[:2]):
        return False
    if any(not group("facing").isdisjoint(token.tags) for token in ahead):
        return True
    return chain[0].masculine


# Act 14, 15, 16: which one the building has, and which one it waits for.

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


# Where the car stands, and whether that place is in the price.


def find_parking(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """Kinds of parking, and on what terms."""
    for place, token in enumerate(tokens):
        end = _end(tokens, place, token)
        if end and not is_negated(tokens, place, end) and not _is_elsewhere(tokens, place):
            for kind in _kinds(tokens, place, end):
                yield Candidate("parking_type", kind, "stated", place, end, 1)
            yield Candidate("parking_status", _terms(tokens, place, end), "stated", place, end, 1)
        elif "park_word" in token.tags and _is_free(tokens, place):
            yield Candidate("parking_status", "free", "stated", place - 1, place + 1, 0)
            yield from _free_kind(tokens, place)
        elif not end and _has_a_price(tokens, place, token):
            yield Candidate("parking_status", "optional_purchase", "stated", place, place + 1, 0)


def _end(tokens: Sequence[Token], place: int, token: Token) -> int:
    """Behind the words that mean a place for a car; 0: these do not."""
    if not token.tags.isdisjoint({"garage", "parking"}) and token.text != "паркинг":
        return place + 1
    following = next(after(tokens, place + 1, 1), None)
    if token.text in {"парко", "паркинг"}:
        if following and "spot" in following.tags:
            return place + 2
        return place + 1 if token.text == "парко" and following is None else 0
    if not token.tags.isdisjoint({"garages", "parkings"}) and _is_counted(tokens, place):
        return place + 1
    return 0


def _is_free(tokens: Sequence[Token], place: int) -> bool:
    return any(token.text in group("parking_free") for token in before(tokens, place, 2))


def _free_kind(tokens: Sequence[Token], place: int) -> Iterator[Candidate]:
    near = frozenset().union(*(token.tags for token in after(tokens, place + 1, 4)))
    kind = "yard" if "yard" in near else "street" if not near.isdisjoint(group("parking_street")) else None
    if kind:
        yield Candidate("parking_type", kind, "stated", place, place + 1, 1)


def _has_a_price(tokens: Sequence[Token], place: int, token: Token) -> bool:
    """Whether it has one of its own: "цената на паркомястото е 30 000 евро"."""
    if token.tags.isdisjoint({"garages", "parkings"}):
        return False
    priced = any("price" in one.tags for one in before(tokens, place, 3))
    return priced and any("money" in one.tags for one in after(tokens, place, PARKING_WINDOW))


def _is_counted(tokens: Sequence[Token], place: int) -> bool:
    near = before(tokens, place, 2)
    return tokens[place].text in {"паркоместа", "паркомяста"} or any(
        not token.tags.isdisjoint({"count", "whole"}) for token in near
    )


def _is_elsewhere(tokens: Sequence[Token], place: int) -> bool:
    """Whether it is not part of the offer: "над гаражи"."""
    back = list(before(tokens, place, 4))
    in_a_garage = any(token.text in {"в", "във"} for token in back[:2]) and any(
        "parking" in token.tags for token in back
    )
    return in_a_garage or any(not group("parking_elsewhere").isdisjoint(token.tags) for token in back[:2])


def _kinds(tokens: Sequence[Token], place: int, end: int) -> Iterator[str]:
    tags = frozenset().union(*(token.tags for token in before(tokens, place, 3)))
    around = tags.union(*(token.tags for token in after(tokens, end, 3)))
    following = [token.text for token in after(tokens, end, 1)]
    if not tokens[place].tags.isdisjoint({"garage", "garages"}):
        yield "underground_garage" if "underground" in tags else "garage"
        return
    if "underground" in tags or (following in (["в"], ["във"]) and "underground" in around):
        yield "underground_space"
    if "outdoor" in tags or "yard" in around:
        yield "outdoor_space"


def _terms(tokens: Sequence[Token], place: int, end: int) -> str:
    back = list(before(tokens, place, PARKING_WINDOW))
    ahead = list(after(tokens, end, PARKING_WINDOW))
    near = frozenset().union(*(token.tags for token in (*back, *ahead)))
    if _is_included(back, ahead):
        return "included"
    if (
        _is_excluded([token.text for token in (*back, *ahead)])
        or "possible" in frozenset().union(*(token.tags for token in back))
        or _costs_extra(near)
    ):
        return "optional_rent" if _for_rent(near) else "optional_purchase"
    return "included"


def _is_included(back: Sequence[Token], ahead: Sequence[Token]) -> bool:
    near = (*reversed(back), *ahead)
    texts = [token.text for token in near]
    if _is_excluded(texts):
        return False
    return any("included" in token.tags for token in near) or ("цената" in texts and "в" in texts)


def _costs_extra(near: frozenset[str]) -> bool:
    return not group("parking_extra").isdisjoint(near) or {"separate", "price"} <= near


def _is_excluded(texts: Sequence[str]) -> bool:
    return "извън" in texts or ("не" in texts and any(text.startswith(("включ", "влиза")) for text in texts))


def _for_rent(near: frozenset[str]) -> bool:
    return not near.isdisjoint(group("parking_rent")) and "buy" not in near
