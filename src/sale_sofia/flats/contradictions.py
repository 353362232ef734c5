"""Facts that check each other, in one table of rules. Contradicted facts are dropped and reported.

A rule compares two facts of an advert or flat, or a fact of the portal with the same one in the text. Of two
facts that cannot both be true the less certain one is doubted, or both if equally certain: the buyer's word
before what portal and text agree on, that before what only the portal prints, last what only the text says.
"""

import re
import time
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sale_sofia.flats import settings as fixed
from sale_sofia.flats.flat import Code, Contradiction, Correction, Flat
from sale_sofia.flats.merging import (
    COLUMN_OF,
    NOTHING,
    AdvertRow,
    merge_many,
    merge_one,
    text_facts,
)
from sale_sofia.flats.walks import METRO_FACTS, walk_around
from sale_sofia.geography.gazetteer import areas_of, metres_outside
from sale_sofia.geography.metro import walk_from
from sale_sofia.geography.settings import SOFIA_METRES
from sale_sofia.geography.shapes import SOFIA_CENTRE, Point, metres
from sale_sofia.listings.model import compared
from sale_sofia.listings.places import SOFIA, find_neighbourhood

Facts = Mapping[str, Any]


class TextFacts(NamedTuple):
    """What a description says, by the names of an advert's facts."""

    facts: Facts = MappingProxyType({})
    quotes: Mapping[str, str] = MappingProxyType({})
    """Its words for each fact."""
    whole: str | None = None
    """The whole text; None: it is not compared with what the portal prints."""


NO_TEXT: Final = TextFacts()


class FactRule(NamedTuple):
    """Two facts, and when they contradict. The last argument is when the advert was last seen."""

    code: Code
    fact: str
    other: str
    contradict: Callable[[Any, Any, float], bool]
    text_counts: bool = False
    """A fact that only the text states is as certain as one that the portal prints."""


RULES: Final = (
    FactRule(Code.FLOOR_ABOVE_TOTAL, "floor", "floors_total", lambda floor, total, _: floor > total),
    FactRule(
        Code.BEDROOMS_FILL_ROOMS,
        "rooms",
        "bedrooms",
        # The only room of a studio is also a bedroom.
        lambda rooms, bedrooms, _: bedrooms >= rooms + (rooms == 1) and rooms < fixed.MANY_ROOMS,
        text_counts=True,
    ),
    FactRule(
        Code.NET_ABOVE_TOTAL,
        "area_sqm",
        "area_net_sqm",
        lambda total, net, _: net > total * (1 + fixed.SAME_AREA),
        text_counts=True,
    ),
    FactRule(
        Code.BUILT_IN_FUTURE,
        "act_status",
        "year_built",
        lambda act, year, seen_at: act in fixed.FINISHED_ACTS and year > time.gmtime(seen_at).tm_year,
    ),
    FactRule(
        Code.ACT_OF_UNBUILT,
        "act_status",
        "under_construction",
        lambda act, unbuilt, _: unbuilt and act in fixed.FINISHED_ACTS,
    ),
    FactRule(
        Code.BUILT_OUT_OF_TIME,
        "construction",
        "year_built",
        lambda kind, year, _: (
            kind in fixed.BUILT_BETWEEN and not _is_between(year, fixed.BUILT_BETWEEN[kind])
        ),
    ),
)
"""Pairs of facts of one advert, or of one flat."""


class TextRule(NamedTuple):
    """A fact that the portal prints, and when the text beside it says something else."""

    code: Code
    fact: str
    differ: Callable[[Any, Any], bool]


TEXT_RULES: Final = (
    TextRule(Code.TEXT_FLOOR, "floor", lambda printed, stated: abs(printed - stated) >= fixed.STOREYS_APART),
    TextRule(
        Code.TEXT_ROOMS,
        "rooms",
        lambda printed, stated: min(printed, fixed.MANY_ROOMS) != min(stated, fixed.MANY_ROOMS),
    ),
    TextRule(
        Code.TEXT_AREA,
        "area_sqm",
        lambda printed, stated: any(
            low <= stated / printed <= high for low, high in (fixed.TEXT_AREA[:2], fixed.TEXT_AREA[2:])
        ),
    ),
    TextRule(
        Code.TEXT_YEAR, "year_built", lambda printed, stated: abs(printed - stated) >= fixed.YEARS_APART
    ),
    TextRule(
        Code.TEXT_ACT,
        "act_status",
        lambda printed, stated: printed in fixed.FINISHED_ACTS and stated in fixed.UNFINISHED_ACTS,
    ),
)
"""Facts that are compared with the text."""
TEXT_FACTS: Final = tuple(rule.fact for rule in TEXT_RULES)


def find_contradictions(
    printed: Facts, text: TextFacts, seen_at: float, sure: Collection[str] = ()
) -> list[Contradiction]:
    """The contradictions among printed and stated facts; `sure` are those that the buyer corrected.

    A fact that one rule doubts is not checked by another.
    """
    found: list[Contradiction] = []
    doubted: set[str] = set()
    compared = text.whole and printed.get("property_type") in fixed.COMPARED_TYPES
    for doubt in _by_text(printed, text, sure) if compared else ():
        found.append(doubt)
        doubted.update(doubt.facts)
    if (outside := _outside(printed)) is not None:
        found.append(outside)
        doubted.update(outside.facts)
    if (farther := _farther(printed, text, placed=outside is None)) is not None:
        found.append(farther)
        doubted.update(farther.facts)
    stated = text.facts
    for code, fact, other, contradict, text_counts in RULES:
        # Inlined for speed: this runs for every flat whenever flats are read.
        first = stated.get(fact) if (value := printed.get(fact)) is None else value
        if first is None:
            continue
        second = stated.get(other) if (value := printed.get(other)) is None else value
        if second is None or not contradict(first, second, seen_at):
            continue
        if doubted.isdisjoint((fact, other)):
            ranks = {
                name: _rank(name, printed, text, sure, text_counts=text_counts) for name in (fact, other)
            }
            facts = tuple(
                name for name, rank in ranks.items() if rank == min(ranks.values()) and rank < _SURE
            )
            if facts:
                found.append(Contradiction(code, facts, first, second))
                doubted.update(facts)
    return found


_SURE: Final = 3


def _rank(name: str, printed: Facts, text: TextFacts, sure: Collection[str], *, text_counts: bool) -> int:
    if name in sure:
        return _SURE
    value = printed.get(name)
    if value is None:
        return int(text_counts)
    return 2 if compared(name, text.facts.get(name)) == compared(name, value) else 1


def _is_between(year: int, years: tuple[int, int]) -> bool:
    return years[0] <= year <= years[1]


# The coordinates against the name of the place.

POSITION: Final = ("lat", "lon")
PLACE_FACTS: Final = (*POSITION, *METRO_FACTS, "city", "neighbourhood")


def _point(printed: Facts) -> Point | None:
    lat, lon = printed.get("lat"), printed.get("lon")
    return None if lat is None or lon is None or printed.get("city") != SOFIA else Point(lat, lon)


def _outside(printed: Facts) -> Contradiction | None:
    """Coordinates far from the named neighbourhood: the name is believed."""
    point, name = _point(printed), printed.get("neighbourhood")
    if point is None:
        return None
    place = find_neighbourhood(name) if name else None
    if place and areas_of(place.id):
        outside, most = metres_outside(place.id, point) or 0.0, fixed.OUTSIDE_METRES
    elif place and place.lat is not None and place.lon is not None:
        outside, most = metres(point, Point(place.lat, place.lon)), fixed.OUTSIDE_CENTRE_METRES
    else:
        outside, most = metres(point, SOFIA_CENTRE), SOFIA_METRES
    if outside <= most:
        return None
    place_name = place.name if place else SOFIA
    return Contradiction(Code.POSITION_OUTSIDE, POSITION, round(outside / 1000, 1), place_name)


def _farther(printed: Facts, text: TextFacts, *, placed: bool) -> Contradiction | None:
    """A walk to the metro that is much longer than stated, from anywhere the flat may be."""
    stated = {name: value for name in METRO_FACTS if (value := _either(name, printed, text)) is not None}
    if not stated:
        return None
    point = _point(printed) if placed and printed.get("site") not in fixed.VAGUE_COORDINATES else None
    walk = walk_from(point) if point else walk_around(printed.get("city"), printed.get("neighbourhood"))
    if not walk:
        return None
    minutes = {
        name: stated[name] / (1 if name == "metro_minutes" else fixed.METRES_PER_MINUTE) for name in stated
    }
    wrong = [name for name in stated if minutes[name] + fixed.METRO_MINUTES_APART < walk.least]
    if not wrong:
        return None
    return Contradiction(Code.METRO_FARTHER, tuple(wrong), round(minutes[wrong[0]]), walk.least)


def _either(name: str, printed: Facts, text: TextFacts) -> float | None:
    return text.facts.get(name) if (value := printed.get(name)) is None else value


# The text against the portal's fields. It contradicts one only if it nowhere contains the portal's value:
# adverts also mention what a flat was made from, cellars, and other flats of the building.


def _by_text(printed: Facts, text: TextFacts, sure: Collection[str]) -> Iterator[Contradiction]:
    for code, fact, differ in TEXT_RULES:
        value, stated = printed.get(fact), text.facts.get(fact)
        if value is None or stated is None or fact in sure or value == stated:
            continue
        if _COUNTED_OTHERWISE.get(fact, _NEVER).search(f"{text.quotes.get(fact)}\n{text.whole}"):
            continue
        if fact == "floor" and value == text.facts.get("floors_total") and stated < value:
            # The portal's floor is the height of the building: the text has both numbers.
            yield Contradiction(Code.TEXT_FLOOR_OF_HEIGHT, (fact,), value, stated, kept=stated)
        elif differ(value, stated) and not _speaks_of(fact, value, text.whole or ""):
            yield Contradiction(code, (fact,), value, stated)


_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)?")
_NEVER: Final = re.compile(r"(?!)")
_COUNTED_OTHERWISE: Final = {
    # In the quote: floors above shops, or a number of floors. Anywhere: a flat with several floors.
    "floor": re.compile(r"(?i)\A[^\n]*(?:жилищ|етажа|реал)|мезонет|на две нива|двуетажен"),
    # Several flats, sought in exchange or on offer; what a flat was made into or is used as; a study.
    "rooms": re.compile(r"(?i)\A[^\n]*стайни|преустроен|в момента е|ползване като|кабинет|\d ?[хx] ?\d-ст"),
}
"""Where a text matches, it counts differently from the portal."""
_FLOORS: Final = (
    "парт", "първ", "втор", "трет", "четвърт", "пет", "шест", "седм", "осм", "девет", "десет", "единадес",
    "дванадес", "тринадес", "четиринадес", "петнадес",
)  # fmt: skip
_ROOMS: Final = {
    number: re.compile(rf"(?<!\w)(?:{word}|{number})(?:\W{{0,3}}\w+)?\W{{0,3}}ста[ей]")
    for number, word in enumerate(("едно", "дву", "три", "четири", "много|пет"), 1)
}
"""Patterns for each number of rooms; also "3-4-стаен"."""


def _speaks_of(fact: str, value: Any, whole: str) -> bool:  # noqa: ANN401 - any fact
    """Whether the text also contains the portal's value."""
    text = whole.casefold()
    numbers = [float(number.replace(",", ".")) for number in _NUMBER.findall(text)]
    match fact:
        case "floor":
            word = _FLOORS[value] if 0 <= value < len(_FLOORS) else None
            return value in numbers or bool(word and re.search(rf"(?<!\w){word}", text))
        case "rooms":
            return bool(_ROOMS[min(value, fixed.MANY_ROOMS)].search(text))
        case "area_sqm":
            return any(abs(number / value - 1) <= fixed.SAME_AREA for number in numbers)
        case "year_built":
            return value in numbers
    return False


# What is believed about a flat: the buyer's word first, then its adverts without contradicted facts. A value
# does not count if its advert contradicts it, or if it stands out from the market (`flats/outliers.py`). Then
# another advert's value counts; without one the fact is unknown.

OUTLYING: Final[Mapping[Code, tuple[str, ...]]] = {
    Code.PRICE_OUT_OF_MARKET: ("price_eur",),
    Code.RENT_LIKE_PRICE: ("price_eur", "deal"),
    Code.PRICE_LIKE_RENT: ("price_eur", "deal"),
    Code.PRIVATE_WITH_MANY: ("seller_kind",),
    Code.POSITION_SHARED: POSITION,
}
"""The facts that are not believed of an outlier."""
_CHECKED: Final = (*{name for rule in RULES for name in (rule.fact, rule.other)}, *PLACE_FACTS)
_OF_ADVERTS: Final = frozenset({"seller_kind"})
"""Facts of adverts that a flat does not have."""


class Outlier(NamedTuple):
    """How an advert stands out from the market, and the range in which it would not."""

    code: Code
    least: float
    most: float


class Beside(NamedTuple):
    """What is known about a flat besides its adverts: the buyer's corrections, and outliers by advert."""

    corrected: Mapping[str, Correction] = {}
    outliers: Mapping[int, Sequence[Outlier]] = {}


NOTHING_BESIDE: Final = Beside()


def merge_flat(
    property_id: int,
    rows: Sequence[AdvertRow],
    photos: int | None = None,
    beside: Beside = NOTHING_BESIDE,
) -> Flat:
    """The flat of these adverts, with at most `photos` photos; None: with all."""
    found: list[Contradiction] = []
    believed = [_believed(row, beside, found) for row in rows]
    if len(believed) == 1:
        flat = merge_one(property_id, believed[0], photos)
    else:
        flat = merge_many(property_id, believed, photos)
    flat.from_text = _only_from_text(believed)
    if beside.corrected:
        flat.corrected = beside.corrected
        flat.from_text = flat.from_text.difference(beside.corrected)
        for fact in beside.corrected.keys() - _OF_ADVERTS:
            setattr(flat, fact, beside.corrected[fact].value)
    if len(believed) > 1 or beside.corrected:
        found += _settle(flat)
    if found:
        flat.contradictions = tuple(
            doubt._replace(kept=_remaining_value(flat, doubt)) for doubt in dict.fromkeys(found)
        )
        flat.flags |= {doubt.code.value for doubt in found}
    return flat


def _believed(row: AdvertRow, beside: Beside, found: list[Contradiction]) -> AdvertRow:
    """The advert with the buyer's corrections and without contradicted facts, which are added to `found`."""
    corrected = beside.corrected
    if corrected:
        row = {
            **row,
            **{fact: correction.value for fact, correction in corrected.items() if fact in row},
            "said": _without(row, corrected),
        }
    if _miscounts(row):
        row = {**row, "said": _without(row, ("bedrooms",))}
    doubts = find_contradictions(row, _read_text(row), row["last_seen_at"], corrected)
    doubts += [
        doubt
        for outlier in beside.outliers.get(row["id"], ())
        if (doubt := _outlying(row, outlier)) and corrected.keys().isdisjoint(doubt.facts)
    ]
    if not doubts:
        return row
    found += doubts
    doubted = {fact for doubt in doubts for fact in doubt.facts}
    from_text = {fact for doubt in doubts for fact in doubt.facts if doubt.kept is not None}
    return {**row, **dict.fromkeys(doubted & row.keys()), "said": _without(row, doubted - from_text)}


def _without(row: AdvertRow, facts: Container[str | None]) -> dict[str, Any]:
    """The attributes of the description without these facts."""
    return {field: attribute for field, attribute in row["said"].items() if COLUMN_OF.get(field) not in facts}


def _miscounts(row: AdvertRow) -> bool:
    """Whether bedrooms that fill all rooms are not one plural count: "a second bedroom" may be a plan."""
    counted = row["said"].get("bedrooms")
    if (
        counted is None
        or not row["rooms"]
        or row["rooms"] >= fixed.MANY_ROOMS
        or counted["value"] < row["rooms"]
    ):
        return False
    quote = counted["quote"].casefold()
    return bool(quote.count("спалн") > 1 or "спални" not in quote)


def _read_text(row: AdvertRow) -> TextFacts:
    attributes = row["said"]
    if not attributes:
        return NO_TEXT
    if row["description"] is None:
        return TextFacts(text_facts(attributes))
    quotes = {
        COLUMN_OF[field]: attribute["quote"] for field, attribute in attributes.items() if field in COLUMN_OF
    }
    return TextFacts(text_facts(attributes), quotes, row["description"])


def _outlying(row: AdvertRow, outlier: Outlier) -> Contradiction | None:
    """How the advert stands out, if it still does: the buyer may have corrected its area."""
    code, least, most = outlier
    if code is Code.PRIVATE_WITH_MANY:
        return Contradiction(code, OUTLYING[code], row["seller_kind"], least)
    if code is Code.POSITION_SHARED:
        at = (row["lat"], row["lon"])
        return None if None in at else Contradiction(code, POSITION, at, int(least))
    if not row["price_eur"] or not row["area_sqm"]:
        return None
    eur_sqm = row["price_eur"] / row["area_sqm"]
    if least <= eur_sqm <= most:
        return None
    return Contradiction(code, OUTLYING[code], round(eur_sqm, 2), (least, most))


def _only_from_text(rows: Sequence[AdvertRow]) -> frozenset[str]:
    """Facts that only descriptions state."""
    columns = [column for row in rows for field in row["said"] if (column := COLUMN_OF.get(field))]
    for row in rows:
        columns = [name for name in columns if row.get(name) in NOTHING]
    return frozenset(columns)


def _settle(flat: Flat) -> list[Contradiction]:
    """Contradictions between adverts that are each consistent; their facts become unknown in the flat."""
    facts = {name: getattr(flat, name) for name in _CHECKED}
    text = TextFacts({name: facts.pop(name) for name in flat.from_text.intersection(_CHECKED)})
    found = find_contradictions(facts, text, flat.last_seen_at, flat.corrected)
    for fact in {fact for doubt in found for fact in doubt.facts}:
        setattr(flat, fact, None)
    return found


def _remaining_value(flat: Flat, doubt: Contradiction) -> Any:  # noqa: ANN401 - any fact
    """The value that is still known, from another advert or the text."""
    values = tuple(getattr(flat, fact, None) for fact in doubt.facts)
    if None in values:
        return None
    return values[0] if len(values) == 1 else values
