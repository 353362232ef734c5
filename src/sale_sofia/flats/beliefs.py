"""What is believed of a flat: its adverts without what is contradicted, the buyer's word before all.

An advert has no voice on a fact that it contradicts (`flats/contradictions.py`) or by which it stands out
from the market (`flats/outliers.py`). Another advert's word counts; where there is none, the fact is unknown.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sale_sofia.flats.contradictions import NOT_TOLD, PLACE_FACTS, POSITION, RULES, Told, find_contradictions
from sale_sofia.flats.flat import Code, Contradiction, Correction, Flat
from sale_sofia.flats.merging import (
    COLUMN_OF,
    NOTHING,
    AdvertRow,
    merge_many,
    merge_one,
    told_facts,
)
from sale_sofia.flats.settings import MANY_ROOMS

OUTLYING: Final[Mapping[Code, tuple[str, ...]]] = {
    Code.PRICE_OUT_OF_MARKET: ("price_eur",),
    Code.RENT_LIKE_PRICE: ("price_eur", "deal"),
    Code.PRICE_LIKE_RENT: ("price_eur", "deal"),
    Code.PRIVATE_WITH_MANY: ("seller_kind",),
    Code.POSITION_SHARED: POSITION,
}
"""What is not believed of an advert that stands out from the market."""
_CHECKED: Final = (*{name for rule in RULES for name in (rule.one, rule.other)}, *PLACE_FACTS)
_OF_ADVERTS: Final = frozenset({"seller_kind"})
"""Facts that a flat has only in its adverts."""


class Outlier(NamedTuple):
    """How an advert stands out from the market, and between what numbers it would not."""

    code: Code
    least: float
    most: float


class Beside(NamedTuple):
    """What is known of a flat beside its adverts: the buyer's word, and by advert what the market says."""

    corrected: Mapping[str, Correction] = {}
    outliers: Mapping[int, Sequence[Outlier]] = {}


NOTHING_BESIDE: Final = Beside()


def merge_flat(
    property_id: int,
    rows: Sequence[AdvertRow],
    photos: int | None = None,
    beside: Beside = NOTHING_BESIDE,
) -> Flat:
    """The flat that these adverts are of, with so many of its photos; None: with all."""
    found: list[Contradiction] = []
    believed = [_believed(row, beside, found) for row in rows]
    if len(believed) == 1:
        flat = merge_one(property_id, believed[0], photos)
    else:
        flat = merge_many(property_id, believed, photos)
    flat.from_text = _only_told(believed)
    if beside.corrected:
        _correct(flat, beside.corrected)
    if len(believed) > 1 or beside.corrected:
        found += _settle(flat)
    if found:
        flat.contradictions = tuple(one._replace(kept=_kept(flat, one)) for one in dict.fromkeys(found))
        flat.flags |= {one.code.value for one in found}
    return flat


def _believed(row: AdvertRow, beside: Beside, found: list[Contradiction]) -> AdvertRow:
    """The advert with the buyer's word and without what is contradicted, which is added to `found`."""
    corrected = beside.corrected
    if corrected:
        row = {
            **row,
            **{fact: one.value for fact, one in corrected.items() if fact in row},
            "said": _without(row, corrected),
        }
    if _miscounts(row):
        row = {**row, "said": _without(row, ("bedrooms",))}
    doubts = find_contradictions(row, _told(row), row["last_seen_at"], corrected)
    doubts += [
        one
        for outlier in beside.outliers.get(row["id"], ())
        if (one := _outlying(row, outlier)) and corrected.keys().isdisjoint(one.facts)
    ]
    if not doubts:
        return row
    found += doubts
    doubted = {fact for one in doubts for fact in one.facts}
    told = {fact for one in doubts for fact in one.facts if one.kept is not None}
    return {**row, **dict.fromkeys(doubted & row.keys()), "said": _without(row, doubted - told)}


def _without(row: AdvertRow, facts: Container[str | None]) -> dict[str, Any]:
    """What the description says, but for these facts."""
    return {field: one for field, one in row["said"].items() if COLUMN_OF.get(field) not in facts}


def _miscounts(row: AdvertRow) -> bool:
    """Whether bedrooms that fill all rooms are not counted in one word: "a second bedroom" may be a plan."""
    counted = row["said"].get("bedrooms")
    if counted is None or not row["rooms"] or row["rooms"] >= MANY_ROOMS or counted["value"] < row["rooms"]:
        return False
    quote = counted["quote"].casefold()
    return bool(quote.count("спалн") > 1 or "спални" not in quote)


def _told(row: AdvertRow) -> Told:
    said = row["said"]
    if not said:
        return NOT_TOLD
    if row["description"] is None:
        return Told(told_facts(said))
    quotes = {COLUMN_OF[field]: one["quote"] for field, one in said.items() if field in COLUMN_OF}
    return Told(told_facts(said), quotes, row["description"])


def _outlying(row: AdvertRow, outlier: Outlier) -> Contradiction | None:
    """How the advert stands out, if it still does: the buyer may have put its area right."""
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


def _only_told(rows: Sequence[AdvertRow]) -> frozenset[str]:
    """Facts that only descriptions tell."""
    told = [column for row in rows for field in row["said"] if (column := COLUMN_OF.get(field))]
    for row in rows:
        told = [name for name in told if row.get(name) in NOTHING]
    return frozenset(told)


def _correct(flat: Flat, corrected: Mapping[str, Correction]) -> None:
    flat.corrected = corrected
    flat.from_text = flat.from_text.difference(corrected)
    for fact in corrected.keys() - _OF_ADVERTS:
        setattr(flat, fact, corrected[fact].value)


def _settle(flat: Flat) -> list[Contradiction]:
    """What adverts contradict together that are right each by itself; the flat does not know it any more."""
    facts = {name: getattr(flat, name) for name in _CHECKED}
    told = Told({name: facts.pop(name) for name in flat.from_text.intersection(_CHECKED)})
    found = find_contradictions(facts, told, flat.last_seen_at, flat.corrected)
    for fact in {fact for one in found for fact in one.facts}:
        setattr(flat, fact, None)
    return found


def _kept(flat: Flat, one: Contradiction) -> Any:  # noqa: ANN401 - any fact
    """What is known of it all the same: another advert tells it, or the text."""
    known = tuple(getattr(flat, fact, None) for fact in one.facts)
    if None in known:
        return None
    return known[0] if len(known) == 1 else known
