"""What patterns cannot find: what an area measures, counts of rooms, winds, acts, and parking terms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final, Literal

from sale_sofia.descriptions.clauses import is_taken, same_clause
from sale_sofia.descriptions.patterns import after, before, tagged
from sale_sofia.descriptions.rulebook import Candidate
from sale_sofia.descriptions.settings import (
    AREA_LEAST,
    AREA_MOST,
    AWAITED_FROM_YEAR,
    CLAUSE_MOST_TOKENS,
    COUNT_MOST,
    COUNT_WINDOW,
    DECIMALS,
    EXPOSURE_WINDOW,
    MEASURE_WINDOW,
    OWNER_WINDOW,
    PARKING_SUM,
    PARKING_WINDOW,
    QUOTE_CHARACTERS,
    SENTENCE_WINDOW,
)
from sale_sofia.descriptions.words import Token, group

# Square metres, and what they measure: the flat, or a room, a terrace, a cellar, a yard.

Owner = Literal["built", "total", "flat", "room", "open"]
_AREA_WORDS: Final = frozenset({"area", "зп", "рзп"})
_WHOLE_AREA: Final = frozenset({"total", "shared"})


def find_areas(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """The flat's area and its built-up area."""
    for place in range(len(tokens) - 1):
        if "num" not in tokens[place].tags or not _is_measure(tokens, place):
            continue
        size = _with_lost_comma(tokens, place)
        owner = _owner_after(tokens, place + 2) or _owner_before(tokens, place)
        field = "area_built" if owner == "built" else "area"
        is_named = (
            tagged(after(tokens, place + 2, 1), {"flat"}) and tokens[place].owner == "room"
        )  # "70 кв.м жилище"
        if owner == "room" or not (is_named or is_taken(field, tokens[place])) or _is_range(tokens, place):
            continue
        if isinstance(size, int | float) and AREA_LEAST <= size <= AREA_MOST:
            rank = 0 if place == 0 else 3 if owner == "open" else 1
            yield Candidate(field, size, "stated", place, place + 2, rank)


def _is_range(tokens: Sequence[Token], place: int) -> bool:
    """Whether it ends a range or a pair: "от 55 до 120 кв.м", "между 60 и 75 кв.м", "70-75", "75/68 кв.м"."""
    back = before(tokens, place, 4)
    if tagged(back[:1], {"-", "/"}) and tagged(back[1:2], {"num"}) and not tagged(back[1:2], {"year"}):
        is_joined = back[1].end == back[0].start and back[0].end == tokens[place].start
        return is_joined and AREA_LEAST <= float(back[1].value or 0) <= AREA_MOST
    texts = [token.text for token in back if "sqm" not in token.tags]
    is_range = (texts[:1], texts[2:3]) in ((["до"], ["от"]), (["и"], ["между"]))
    if is_range and "num" in back[1].tags | back[2].tags:
        return True
    ahead = after(tokens, place + 2, 3)  # "от 65 кв.м до 120 кв.м"
    return texts[:1] == ["от"] and tagged(ahead[:1], {"до"}) and tagged(ahead[2:], {"sqm"})


def _is_measure(tokens: Sequence[Token], place: int) -> bool:
    if "sqm" in tokens[place + 1].tags:
        return True
    # "Застроена площ 78.55": the unit is missing, the word implies it.
    following = tokens[place + 1 : place + 3]
    if "whole" in tokens[place].tags and not (
        tagged(following[:1], {".", ","}) and not tagged(following[1:], {"end", "num"})
    ):  # a portal cuts "площ от 130 кв.м" to "площ от 13 .."
        return False
    words = [token for token in before(tokens, place, 2) if token.text not in {"от", "-", ":", "е"}]
    return tagged(words[:1], _AREA_WORDS)


def _with_lost_comma(tokens: Sequence[Token], place: int) -> object:
    """The number; in "площ 53 47 кв.м" its comma was lost."""
    token = tokens[place]
    back = before(tokens, place, 4)
    if len(token.text) != DECIMALS or not back or "whole" not in back[0].tags or "whole" not in token.tags:
        return token.value
    return float(f"{back[0].text}.{token.text}") if tagged(back[1:], _AREA_WORDS) else token.value


def _owner_after(tokens: Sequence[Token], place: int) -> Owner | None:
    """What the words after a number say it measures: "62 кв.м чиста площ", "8 кв.м мазе"."""
    ahead = after(tokens, place, 6)
    if ahead and ahead[0].text in {"(", "-", "/"}:
        ahead = ahead[1:]
    if _is_called_built(ahead):
        return "built"
    if _has_number_of_its_own(ahead):
        return None
    for number, token in enumerate(ahead[:3]):
        if token.text in group("measure_ends") | group("measure_goes_elsewhere") or "verb" in token.tags:
            break
        if "built" in token.tags:
            return "built"
        if token.tags & _WHOLE_AREA:
            is_a_part = not number and "shared" in token.tags and tagged(ahead[1:2], {"parts"})
            return "room" if is_a_part else "total"  # "12 кв.м общи части"
        if token.tags & group("measured_rooms"):
            return None if number and ahead[number - 1].text in {"с", "със", "без"} else "room"
        if "plain" not in token.tags and token.text not in {"с", "със", "без"}:
            break
    return None


def _is_called_built(ahead: Sequence[Token]) -> bool:
    """Whether this number is called built-up, not the next: "65 кв.м чиста и 78 кв.м обща площ"."""
    phrase = takewhile(lambda token: not token.tags & group("called_ends"), ahead)
    return tagged(ahead[:1], {"built"}) and not tagged(phrase, {"num"})


def _has_number_of_its_own(ahead: Sequence[Token]) -> bool:
    """Whether what follows has its own number: "61 кв.м, тераса 8 кв.м"."""
    for number, token in enumerate(ahead):
        another = token.text == "и" and tagged(ahead[number + 1 : number + 2], {"num"})
        if another or token.text in group("measure_ends"):  # "120 кв.м двор и 85 кв.м площ"
            return False
        if "sqm" in token.tags:
            return True
        if "num" in token.tags and number and ahead[number - 1].text not in {"от", "за", "на"}:
            return True
    return False


def _owner_before(tokens: Sequence[Token], place: int) -> Owner:
    """What the nearest word before the number says it measures; a comma ends the search."""
    area = flat = False
    for number, token in enumerate(before(tokens, place, OWNER_WINDOW)):
        first = place - number - 1
        if "contrast" in token.tags:
            break
        if token.text == "," or "sqm" in token.tags:
            return "flat" if area or flat else _owner_beyond_comma(tokens, first)
        if "built" in token.tags and (area or number < 2 or token.text == "зп"):  # noqa: PLR2004
            # The "обща застроена площ" is the whole.
            return "total" if tagged(before(tokens, first, 1), {"total"}) else "built"
        if token.tags & _WHOLE_AREA:
            is_of_a_part = _is_sum_of_rooms(tokens, first) or _are_shared_parts(tokens, first)
            return "room" if is_of_a_part else "total"
        if token.tags & group("measured_rooms"):
            return "flat" if flat else "room"
        flat = flat or bool(token.tags & group("flats"))
        area = area or "area" in token.tags
    return "flat" if area or flat else "open"


def _is_sum_of_rooms(tokens: Sequence[Token], place: int) -> bool:
    """Whether a total is only that of the rooms before it: "тераси общо 14 кв.м", "… с обща площ 14 кв.м"."""
    led = tagged(before(tokens, place, 1), {"с", "със"})
    if not tagged(before(tokens, place - led, 1), group("measured_rooms")):
        return False
    return not led or not tagged(before(tokens, place, OWNER_WINDOW), group("flats"))


def _are_shared_parts(tokens: Sequence[Token], place: int) -> bool:
    """Whether the number measures only the shared parts: "общи части 12 кв.м", not "с общи части 75 кв.м"."""
    if "shared" not in tokens[place].tags or not tagged(tokens[place + 1 : place + 2], {"parts"}):
        return False
    back = before(tokens, place, 1)
    return not back or back[0].text in {",", "(", "/", "а"}


def _owner_beyond_comma(tokens: Sequence[Token], place: int) -> Owner:
    """Whether the words before a comma list rooms or are about a flat."""
    for token in before(tokens, place, OWNER_WINDOW):
        if not is_taken("area", token):
            break
        if "sqm" in token.tags or token.tags & group("measured_rooms"):
            return "room"
        if token.tags & group("flats"):
            return "flat"
    return "open"


# Counts: bedrooms, bathrooms, separate toilets, balconies. Mentions are added within a sentence; the largest
# sum of all sentences counts, as a headline and the plan of the flat say the same twice.

Places = Mapping[str, Sequence[int]]
_COUNTED: Final = frozenset({
    "bedroom", "bedrooms", "the_bedroom", "kids", "terrace", "terraces", "the_terrace",
    "bath", "baths", "the_bath", "toilet", "toilets", "the_toilet", "sanitary", "sanitaries",
})  # fmt: skip
_NUMBERS: Final = frozenset({"count", "whole", "ordinal"})
_NODES: Final = frozenset({"node", "nodes"})
_BATHS: Final = frozenset({"bath", "baths", "the_bath", *_NODES})


@dataclass(frozen=True, slots=True)
class Mention:
    """A count of a thing; None: several. `ordinal`: "the third", so there are at least so many.

    `each`: one in each of some other things, so the sum of its sentence is not known.
    """

    count: int | None
    first: int
    after: int
    ordinal: bool = False
    each: bool = False


def find_counts(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """The counted fields."""
    places: dict[str, list[int]] = {tag: [] for tag in _COUNTED}
    for place, token in enumerate(tokens):
        for tag in _COUNTED & token.tags:
            places[tag].append(place)
    yield from _largest("bedrooms", tokens, list(_bedrooms(tokens, places)))
    baths, toilets = _baths_and_toilets(tokens, places)
    yield from _largest("bathrooms", tokens, baths)
    yield from _largest("wc_separate", tokens, toilets)
    balconies = list(_plain_mentions(tokens, places, "terrace", "terraces"))
    yield from _largest("balconies", tokens, balconies)
    every = (*places["the_terrace"], *places["terrace"], *places["terraces"])
    spoken_of = [place for place in every if _is_outside_the_area(tokens, place)]
    spoken_of += [place for place in places["the_terrace"] if is_taken("has_balcony", tokens[place])]
    if balconies:
        yield Candidate("has_balcony", True, "derived", balconies[0].first, balconies[0].after, 1)  # noqa: FBT003
    elif spoken_of:
        yield Candidate("has_balcony", True, "stated", spoken_of[0], spoken_of[0] + 1, 1)  # noqa: FBT003
    else:
        for place in every:
            qualified = tagged(
                after(tokens, place + 1, 1), {"към", "на", "откъм"}
            )  # "без балкони към улицата"
            if tokens[place].owner in {"flat", "room"} and tokens[place].mood == "denied" and not qualified:
                yield Candidate("has_balcony", False, "negated", place, place + 1, 1)  # noqa: FBT003


def _is_outside_the_area(tokens: Sequence[Token], place: int) -> bool:
    """Whether a balcony is only excluded from the area, so exists: "86 кв.м без общи части и тераси"."""
    if tokens[place].owner not in {"flat", "room"} or tokens[place].mood != "denied":
        return False
    clause = same_clause(tokens, place)
    if tokens[place].owner == "room":  # "67 кв.м без терасата"
        return tagged(before(tokens, place, 1), {"без"})
    if "the_terrace" in tokens[place].tags:
        return not tagged(clause, group("missing"))
    return tagged(clause, {"area", "sqm", "shared", "included"})


def _largest(field: str, tokens: Sequence[Token], mentions: Sequence[Mention]) -> Iterator[Candidate]:
    """The largest sum of mentions within one sentence."""

    def total(mentions: Sequence[Mention]) -> int:
        plain = sum(mention.count or 0 for mention in mentions if not mention.ordinal)
        ordinals = [mention.count or 0 for mention in mentions if mention.ordinal]
        return max([plain + len(ordinals), *ordinals])

    by_sentence: dict[int, list[Mention]] = {}
    unknown = {tokens[mention.first].sentence for mention in mentions if mention.each}
    for mention in mentions:
        if mention.count is not None and tokens[mention.first].sentence not in unknown:
            by_sentence.setdefault(tokens[mention.first].sentence, []).append(mention)
    for sentence, here in list(by_sentence.items()):
        others = [mention for mention in here if not _is_one_of_several(mention, tokens)]
        if total(others) > 1:  # "две спални, едната спалня е с тераса"
            by_sentence[sentence] = others
        elif not others and len(here) == 1:  # "едната спалня гледа към двора"
            del by_sentence[sentence]
    if by_sentence:
        best = max(by_sentence.values(), key=total)
        first = min(best, key=lambda mention: mention.first)
        last = max(best, key=lambda mention: mention.after)
        near = tokens[last.after - 1].end - tokens[first.first].start <= QUOTE_CHARACTERS
        yield Candidate(field, total(best), "stated", first.first, (last if near else first).after, 1)


def _is_one_of_several(mention: Mention, tokens: Sequence[Token]) -> bool:
    """Whether it tells one of several apart, so that it does not count them."""
    return tagged(before(tokens, mention.after - 1, 2), group("one_of_several"))


def _plain_mentions(tokens: Sequence[Token], places: Places, singular: str, plural: str) -> Iterator[Mention]:
    """Mentions of a thing by its singular and plural, without denied and merely possible ones."""
    for tag, many in ((singular, False), (plural, True)):
        for place in places[tag]:
            # Two sanitary units, and in brackets what they are.
            back = before(tokens, place, 2)
            is_repeated = bool(back) and back[0].text in {"(", "-", ":"} and tagged(back[-1:], _NODES)
            is_use = any(token.text in {"за", "като"} for token in back)  # "може да се ползва и за спалня"
            if not is_repeated and not is_use and _is_here(tokens[place]):
                each = not many and tagged(same_clause(tokens, place), {"each"})  # "всяка спалня е с баня"
                mention = _mention(tokens, place, place + 1, many=many)
                yield replace(mention, count=None, each=True) if each else mention


def _is_here(token: Token) -> bool:
    """Whether a mentioned room belongs to this flat, and exists."""
    return is_taken("bedrooms", token)  # all rooms are taken from the same clauses


def _mention(tokens: Sequence[Token], place: int, end: int, *, many: bool) -> Mention:
    """The mention whose noun is at `place`, with the number behind its colon, or else before it."""
    if count := _labelled(tokens, end):  # "Балкон: 2" counts, "Спалня: 12" measures
        return Mention(count if many or count == 1 else None, place, end + 2)
    for distance, token in enumerate(before(tokens, place, COUNT_WINDOW), 1):
        first = place - distance
        if token.tags & _NUMBERS:
            return _counted(tokens, first, place, end, many=many)
        if token.text == ",":  # between two adjectives, or the end of another thing
            if first == 0 or "plain" not in tokens[first - 1].tags:
                break
        elif token.tags & group("counting_ends"):
            break
    return Mention(None if many else 1, place, end)


def _labelled(tokens: Sequence[Token], place: int) -> int | None:
    """The number of "Бани: 2"; that of "Тераси: 6 кв.м" or "Спални - 12 и 14 кв.м" measures them."""
    ahead = after(tokens, place, 3)
    count = ahead[1].value if tagged(ahead[:1], {":", "-"}) and tagged(ahead[1:2], {"whole"}) else None
    stands_alone = all(token.text in {",", "бр", "броя"} or token.is_capital for token in ahead[2:])
    return count if isinstance(count, int) and 0 < count <= COUNT_MOST and stands_alone else None


def _counted(tokens: Sequence[Token], first: int, place: int, end: int, *, many: bool) -> Mention:
    """The mention of a noun whose number stands at `first`."""
    token = tokens[first]
    count = token.value if isinstance(token.value, int) else 0
    if not many:
        is_ordinal = "ordinal" in token.tags
        is_written_so = is_ordinal or (
            first == place - 1 and 1 < count <= COUNT_MOST
        )  # "2 балк.", "2 спалня"
        return Mention(count if is_written_so else 1, first, end, is_ordinal)
    # "With one, two and three bedrooms" is about several flats.
    back = before(tokens, first, 2)
    if back and back[0].text in {",", "и", "или"} and "count" in back[-1].tags:
        return Mention(None, place, end)
    if tagged(back[:1], {"или"}) and tagged(back[1:], _NUMBERS):  # "с 1, 2 или 3 спални"
        return Mention(None, place, end)
    return Mention(count if 1 < count <= COUNT_MOST else None, first, end)


def _bedrooms(tokens: Sequence[Token], places: Places) -> Iterator[Mention]:
    yield from _plain_mentions(tokens, places, "bedroom", "bedrooms")
    for place in places["kids"]:
        if _is_kids_room(tokens, place) and _is_here(tokens[place]):
            yield Mention(1, place, place + 1)
    for place in places["the_bedroom"]:
        if match := _said_behind(tokens, place):
            yield match
    if not places["bedroom"] and not places["bedrooms"] and tagged(tokens, {"двустаен"}):
        # Mentioned but never counted: a flat of two rooms has one.
        here = [place for place in places["the_bedroom"] if _is_here(tokens[place])]
        spoken_of = [place for place in here if tokens[place].text == "спалнята"]
        yield from (Mention(1, place, place + 1) for place in spoken_of[:1])


def _said_behind(tokens: Sequence[Token], place: int) -> Mention | None:
    """The count that a sentence gives after the noun: "спалните са две"."""
    ahead = [token for token in after(tokens, place + 1, 3) if "only" not in token.tags]
    if len(ahead) < 2 or ahead[0].text not in {"е", "са"} or "count" not in ahead[1].tags:  # noqa: PLR2004
        return None
    count = ahead[1].value
    return Mention(count, place, place + 3) if _is_here(tokens[place]) and isinstance(count, int) else None


def _is_kids_room(tokens: Sequence[Token], place: int) -> bool:
    """Whether it is a children's room, not a playground and not the use of another room."""
    if tokens[place].text != "детска" or place + 1 == len(tokens):
        return False
    if place and tokens[place - 1].text in {"-", "("}:
        return False
    following = tokens[place + 1]
    if "room" in following.tags or following.text in {",", "и", "/"}:
        return True
    return "end" in following.tags and tagged(tokens[max(0, place - 3) : place], {"bedroom"})


def _baths_and_toilets(tokens: Sequence[Token], places: Places) -> tuple[list[Mention], list[Mention]]:
    """Bathrooms, and toilets that are not part of one; a sanitary unit is one of the two."""
    baths = list(_plain_mentions(tokens, places, "bath", "baths"))
    baths += filter(None, (_said_behind(tokens, place) for place in places["the_bath"]))
    toilets = []
    for tag, many in (("toilet", False), ("toilets", True)):
        for place in places[tag]:
            if _is_toilet(tokens, places, place, many=many):
                mention = _mention(tokens, place, place + 1, many=many)
                toilets.append(Mention(1, mention.first, mention.after) if mention.ordinal else mention)
    for place in places["the_toilet"]:
        ahead = after(tokens, place + 1, 2)
        words = [token for token in ahead if "verb" not in token.tags]
        if tagged(words[:1], group("apart")) and _is_here(tokens[place]):
            toilets.append(Mention(1, place, place + 1))
    for tag, many in (("sanitary", False), ("sanitaries", True)):
        for place in places[tag]:
            following = after(tokens, place + 1, 1)
            if (following and not tagged(following, _NODES)) or not _is_here(tokens[place]):
                continue
            mention = _mention(tokens, place, place + 1 + len(following), many=many)
            apart = tagged(before(tokens, place, 2), group("apart"))
            if apart and (places["bath"] or places["baths"]) and not mention.ordinal:
                toilets.append(Mention(1, mention.first, mention.after))
            else:
                baths.append(mention)
    return baths, toilets


def _is_toilet(tokens: Sequence[Token], places: Places, place: int, *, many: bool) -> bool:
    """Whether this is a separate toilet: called so, or beside a bath and not in it."""
    if not _is_here(tokens[place]):
        return False
    ahead = [token.text for token in after(tokens, place + 1, 2) if token.text not in {"-", "(", "за"}]
    if ahead and ahead[0] in group("apart_after"):
        return True
    if tagged(before(tokens, place, 2), group("apart")):
        return True
    has_bath = any(places[tag] for tag in ("bath", "baths", "the_bath"))
    return has_bath and not _is_part_of_bath(tokens, place, many=many)


def _is_part_of_bath(tokens: Sequence[Token], place: int, *, many: bool) -> bool:
    """Whether the toilet is in the bathroom named before or after it."""
    back = before(tokens, place, 4)
    for number, token in enumerate(back):
        if token.text == ",":
            return False
        if token.tags & _BATHS:
            return _is_joined(back[:number], token, many=many)
    ahead = after(tokens, place + 1, 3)
    return bool(ahead) and ahead[0].text in group("bath_joins") and tagged(ahead, {"bath"})


def _is_joined(between: Sequence[Token], bath: Token, *, many: bool) -> bool:
    if not between:
        return True
    if "bath" in bath.tags and tagged(between, {"count", "whole"}):
        return False
    words = {token.text for token in between}
    one_beside_several = "и" in words and "baths" in bath.tags and not many
    return not one_beside_several and not words.isdisjoint(group("bath_joins"))


# The winds a flat faces: eight of them, and never a quarter of the town named after one.

_WINDS: Final = frozenset({"wind", "windy"})


def find_winds(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """Every wind that the flat faces."""
    chain: list[Candidate] = []
    for wind in _winds(tokens):
        between = tokens[chain[-1].after : wind.first] if chain else ()
        if len(between) > 2 or any(token.text not in group("wind_links") for token in between):  # noqa: PLR2004
            if _is_exposure(chain, tokens):
                yield from chain
            chain = []
        chain.append(wind)
    if chain and _is_exposure(chain, tokens):
        yield from chain


def _winds(tokens: Sequence[Token]) -> Iterator[Candidate]:
    place = 0
    while place < len(tokens):
        token, last = tokens[place], place
        if "half_wind" in token.tags:  # two halves of one wind: "юго-изток"
            last = place + 2 if place + 1 < len(tokens) and tokens[place + 1].text == "-" else place + 1
            is_wind = tagged(tokens[last : last + 1], _WINDS)
        else:
            is_wind = not token.tags.isdisjoint(_WINDS) or _is_short(tokens, place)
        if is_wind and _may_face(tokens, place) and not _is_denied_with_others(tokens, place):
            value = str(token.value) if last == place else f"{token.value}{tokens[last].value}"
            yield Candidate("orientation", value, "stated", place, last + 1, 1)
            place = last
        place += 1


def _is_denied_with_others(tokens: Sequence[Token], place: int) -> bool:
    """Whether a list of denied winds continues: "без север, изток и юг"."""
    back = before(tokens, place, EXPOSURE_WINDOW)
    listed = list(takewhile(lambda token: token.text in {",", "и"} or token.tags & _WINDS, back))
    winds = [token for token in listed if token.tags & _WINDS]
    return bool(winds) and winds[-1].mood == "denied" and tagged(back[len(listed) :][:1], {"без"})


def _may_face(tokens: Sequence[Token], place: int) -> bool:
    """Whether the clause may say where the flat faces; one about a building needs the word "изложение"."""
    if tokens[place].owner == "building":
        return tokens[place].mood == "stated" and tagged(same_clause(tokens, place), {"exposure"})
    return is_taken("orientation", tokens[place])


def _is_short(tokens: Sequence[Token], place: int) -> bool:
    """Whether a letter is a wind: only beside "изложение" or another such letter: "изл. Ю/И"."""
    if "short_wind" not in tokens[place].tags:
        return False
    following = after(tokens, place + 1, 1)
    if following and following[0].text not in group("wind_links"):
        return False
    back = [token for token in before(tokens, place, 3) if token.text not in {":", "-", "/", ".", ","}]
    return tagged(back[:1], {"exposure", "short_wind"})


def _is_exposure(chain: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    first, end = chain[0].first, chain[-1].after
    ahead = after(tokens, end, 3)
    names = [token for token in before(tokens, first, 3) if token.text not in {"-", '"', ".", "("}]
    if tagged(names[:1], {"place_word"}) or tagged(ahead[:1], {"town_part"}):
        return False
    if tagged((*before(tokens, first, EXPOSURE_WINDOW), *ahead[:2]), {"exposure"}):
        return True
    word = tokens[chain[0].after - 1]
    back = before(tokens, first, 2)
    if "wind" in word.tags:
        return len(chain) > 1 or _is_noun_of_flat(chain[0], tokens)
    if tagged(ahead[:2], {"town_part"}):
        return False
    is_stated = tagged(back[:1], {"verb"}) and tagged(back[1:], group("facing_rooms"))  # "дневната е южна"
    if is_stated or tagged(ahead, group("facing")):
        return True
    # "Южен, тих": the flat; "южен вятър": something else.
    return word.text.endswith("ен") and not tagged(ahead[:1], {"plain", "yard"})


def _is_noun_of_flat(wind: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a single "юг" is the flat's: it stands by itself, or a room faces it."""
    previous = next(iter(before(tokens, wind.first, 1)), None)
    following = next(iter(after(tokens, wind.after, 1)), None)
    if previous is None or previous.text in {",", "-"}:
        apart = following is None or following.text == ","
        # "Изток" and "Запад" are quarters too.
        return apart and (previous is None or len(wind.value) > 1 or wind.value in {"S", "N"})
    if previous.text in {"на", "към"} and (following is None or following.text != "от"):
        if _is_correction(wind, tokens):
            return True
        return tagged(before(tokens, wind.first, EXPOSURE_WINDOW), group("facing_rooms"))
    return False


def _is_correction(wind: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether another wind was denied just before: "не е на север, а на юг"."""
    back = before(tokens, wind.first, EXPOSURE_WINDOW)
    return any(token.mood == "denied" and token.tags & _WINDS for token in back) and tagged(
        back[:2], {"contrast"}
    )


# Act 14, 15, 16: which one the building has, and which one it awaits.


def settle_acts(candidates: Sequence[Candidate], tokens: Sequence[Token]) -> Iterator[Candidate]:
    """One act from all that are mentioned: the highest that is reached, else the lowest that is awaited."""
    others, awaited, reached = [], [], []
    for act in candidates:
        if is_of_a_twin(act, tokens) or _is_one_of_two(act, tokens):
            continue
        is_event = tokens[act.first].text.startswith("въвежда")  # and not "въведена"
        if act.value == "commissioned" and is_event and _is_awaited(act, tokens):
            others.append(replace(act, value="planned"))
        elif act.value not in {"act14", "act15", "act16"}:
            others.append(act)
        elif _is_instalment(act, tokens):
            continue
        elif _is_awaited(act, tokens):
            awaited.append(act)
        else:
            reached.append(act)
    early = any(act.rank == 0 for act in others)
    if reached and not early:
        yield max(reached, key=lambda act: str(act.value))
    elif awaited and not early:
        lowest = min(awaited, key=lambda act: str(act.value))
        yield Candidate("act", f"before_{lowest.value}", "stated", max(0, lowest.first - 1), lowest.after, 1)
    else:
        yield from others


def is_of_a_twin(act: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a sentence contrasts buildings and does not say that the flat is in this one."""
    near = range(max(0, act.first - CLAUSE_MOST_TOKENS), min(len(tokens), act.after + CLAUSE_MOST_TOKENS))
    sentence = [place for place in near if tokens[place].sentence == tokens[act.first].sentence]
    twins = [place for place in sentence if _is_twin(tokens, place)]
    if len(twins) < 2:  # noqa: PLR2004
        return False
    own = max((tokens[twin].clause for twin in twins if twin < act.first), default=tokens[sentence[0]].clause)
    behind = [tokens[twin].clause for twin in twins if twin > act.first]
    following = min(behind, default=tokens[-1].clause + 1)
    statement = [tokens[place] for place in sentence if own <= tokens[place].clause < max(following, own + 1)]
    return not tagged(statement, {"flat", "roomed", "ours"})


def _is_one_of_two(act: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether the text leaves open which: "акт 15 или акт 16"."""
    return tagged((*before(tokens, act.first, 1), *after(tokens, act.after, 1)), {"или"})


def _is_twin(tokens: Sequence[Token], place: int) -> bool:
    """Whether this names one building of several: "сграда Б", "блок 2", "втората"."""
    if "twin" in tokens[place].tags:
        return True
    return "building" in tokens[place].tags and tagged(tokens[place + 1 : place + 2], {"letter", "whole"})


def _is_instalment(act: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether the act only dates a payment or a price: "70 % при Акт 16", "цената важи до Акт 15"."""
    back = before(tokens, act.first, SENTENCE_WINDOW)
    if any(token.text == "%" for token in back[:4]) or _is_in_a_plan_of_payment(tokens, act.first):
        return True
    led = [token for token in back if token.text not in {"издаване", "издаването", "получаване", "на"}]
    begun = led[1:2]
    if tagged(led[:1], {"при", "след", "от"}) and tagged(begun, {"word"}) and not tagged(begun, {"building"}):
        return True  # "ключове след Акт 16"
    if tagged(led[:1], {"от"}) and not begun:  # "от Акт 16 ни делят седмици"
        return True
    dates = tagged(led[:1], group("act_dates"))
    near = (*back, *after(tokens, act.after, SENTENCE_WINDOW)) if dates else back
    return (dates or tagged(back[:1], {"на"})) and tagged(near, group("act_payment"))


def _is_in_a_plan_of_payment(tokens: Sequence[Token], place: int) -> bool:
    """Whether it is in a list of instalments: "на три вноски: договор, акт 14, акт 16"."""
    nearest = tokens[max(0, place - SENTENCE_WINDOW) : place]
    preceding = [token for token in nearest if token.sentence == tokens[place].sentence]
    colon = next((number for number, token in enumerate(preceding) if token.text == ":"), 0)
    return tagged(preceding[:colon], {"paying"})


def _is_awaited(act: Candidate, tokens: Sequence[Token]) -> bool:
    if tokens[act.first].mood == "planned" or tagged(before(tokens, act.first, 3), group("awaiting")):
        return True
    if tagged(before(tokens, act.first, 1), {"за", "към"}):  # "документите за Акт 16 са внесени"
        return True
    # What follows the next act, or is in its clause, is about that one.
    ahead = list(takewhile(lambda token: "act_word" not in token.tags, after(tokens, act.after, 5)))
    if ahead and ahead[-1].clause != tokens[act.first].clause:
        following = same_clause(tokens, act.after + len(ahead) - 1)
        if tagged(following, {"act_word"}):
            ahead = [token for token in ahead if token.clause != following[0].clause]
    if ahead and (ahead[0].text == "от" or "past" in ahead[0].tags):  # "Акт 14 беше през май"
        return False
    years = [token.value for token in ahead if "year" in token.tags]
    if years and isinstance(years[0], int):
        return years[0] >= AWAITED_FROM_YEAR
    return tagged(ahead[:3], {"season", "month"})


# Parking: its kinds, and whether it is in the price.

_PARKING: Final = frozenset({"garage", "garages", "parking", "parkings", "park_word"})


def find_parking(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """Kinds of parking, and their terms."""
    for place, token in enumerate(tokens):
        if token.tags.isdisjoint(_PARKING):
            continue
        end = _parking_end(tokens, place)
        if _is_the_complexs(token):
            continue
        if not is_taken("parking_type", token) and not _is_only_excluded(tokens, place):
            continue
        if end and not _is_elsewhere(tokens, place):
            for kind in _kinds(tokens, place, end):
                yield Candidate("parking_type", kind, "stated", place, end, 1)
            # "Цената на паркомястото е …" is the most reliable.
            rank = 0 if token.tags & {"garages", "parkings"} else 1
            yield Candidate("parking_status", _terms(tokens, place, end), "stated", place, end, rank)
        elif "park_word" in token.tags and any(
            near.text in group("parking_free") for near in before(tokens, place, 2)
        ):
            yield Candidate("parking_status", "free", "stated", place - 1, place + 1, 0)
            ahead = after(tokens, place + 1, 4)
            if tagged(ahead, {"yard"}):
                yield Candidate("parking_type", "yard", "stated", place, place + 1, 1)
            elif tagged(ahead, group("parking_street")):
                yield Candidate("parking_type", "street", "stated", place, place + 1, 1)


def _is_the_complexs(token: Token) -> bool:
    """Whether it belongs to the whole building: "комплексът разполага с 60 паркоместа"."""
    return token.owner == "building" and token.mood == "stated"


def _parking_end(tokens: Sequence[Token], place: int) -> int:
    """The place behind the words for a parking place; 0: they mean something else."""
    token = tokens[place]
    if token.text in {"парко", "паркинг"}:
        following = after(tokens, place + 1, 1)
        if tagged(following, {"spot"}):
            return place + 2
        if tagged(same_clause(tokens, place), {"money", "€"}):
            return place + 1
        return place + 1 if token.text == "парко" and not following else 0
    if token.tags & {"garage", "parking"}:
        return place + 1
    if token.tags & {"garages", "parkings"} and (
        token.text in {"паркоместа", "паркомяста"}
        or tagged(before(tokens, place, 2), {"count", "whole"})
        or _has_a_price(tokens, place)
        or tagged(same_clause(tokens, place), {"included"})
        or _is_only_excluded(tokens, place)
        or tagged(after(tokens, place + 1, MEASURE_WINDOW), {"sqm"})
    ):
        return place + 1
    return 0


def _is_only_excluded(tokens: Sequence[Token], place: int) -> bool:
    """Whether it exists, and is only not in the price: "паркомястото не е включено"."""
    if tokens[place].mood != "denied":
        return False
    clause = same_clause(tokens, place)
    if not tagged(clause, {"not"}):  # "има гараж, но не е включен"
        clause = [*clause, *after(tokens, place + 1, PARKING_WINDOW)]
    return tagged(clause, {"included"}) and not tagged(clause, {"lacking"})


def _has_a_price(tokens: Sequence[Token], place: int) -> bool:
    """Whether it has its own price: "паркомястото се заплаща отделно", "гаражът е за 30 000 евро"."""
    clause = same_clause(tokens, place)
    has_terms = tagged(clause, {"separate"}) and tagged(clause, {"price"})
    return has_terms or tagged(clause, group("parking_apart"))


def _is_elsewhere(tokens: Sequence[Token], place: int) -> bool:
    """Whether it is not part of the offer: "над гаражи", "гаражна врата"."""
    if tagged(after(tokens, place + 1, 1), {"врата"}):
        return True
    clause = same_clause(tokens, place)
    if tagged(clause, {"metre", "minute"}) and tagged(clause, {"от"}):  # "гараж на 100 м от входа"
        return True
    back = before(tokens, place, 4)
    in_a_garage = tagged(back[:2], {"в", "във"}) and tagged(back, {"parking", "parkings"})
    return in_a_garage or tagged(back[:2], group("parking_elsewhere"))


def _kinds(tokens: Sequence[Token], place: int, end: int) -> Iterator[str]:
    back, ahead = before(tokens, place, 3), after(tokens, end, 3)
    underground = tagged(back, {"underground"})
    if tokens[place].tags & {"garage", "garages"}:
        yield "underground_garage" if underground else "garage"
        return
    if underground or (ahead and ahead[0].text in {"в", "във"} and tagged(ahead, {"underground"})):
        yield "underground_space"
    if tagged(back, {"outdoor"}) or tagged((*back, *ahead), {"yard"}):
        yield "outdoor_space"


def _has_a_sum(near: Sequence[Token]) -> bool:
    """Whether a number can only be a price: "подземен гараж 28 000"."""
    numbers = (token.value for token in near if "whole" in token.tags and "year" not in token.tags)
    sums = any(isinstance(number, int) and number >= PARKING_SUM for number in numbers)
    return sums or any(token.text == "000" for token in near)


def has_a_flat(clause: Sequence[Token]) -> bool:
    """Whether a clause is about a flat, and not only about a thing of it: "гараж към апартамента"."""
    flats = (place for place, token in enumerate(clause) if token.tags & group("flats"))
    return any(not place or clause[place - 1].text != "към" for place in flats)


def _terms(tokens: Sequence[Token], place: int, end: int) -> str:
    back = before(tokens, place, PARKING_WINDOW)
    ahead = after(tokens, end, PARKING_WINDOW)
    near = (*back, *ahead)
    texts = {token.text for token in near}
    tags = frozenset().union(*(token.tags for token in near))
    excluded = "извън" in texts or (
        "не" in texts and any(text.startswith(("включ", "влиза")) for text in texts)
    )
    if not excluded and ("included" in tags or {"цената", "в"} <= texts):
        return "included"
    costs_extra = tags & group("parking_extra") or {"separate", "price"} <= tags or _has_a_sum(near)
    clause = same_clause(tokens, place)
    let = {"под", "rent"} <= frozenset().union(*(token.tags for token in (*clause, *ahead)))
    if let and not has_a_flat(clause):  # "под наем двустаен, гараж" lets both
        return "optional_rent"
    if excluded or costs_extra or tagged(back, {"possible"}) or tokens[place].mood == "possible":
        return "optional_rent" if tags & group("parking_rent") and "buy" not in tags else "optional_purchase"
    return "included"
