"""The history of one advert as a function of its sightings in order of time, and the meaning of its prices.

Nothing is stored here.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from sale_sofia.history.listing_rows import (
    LIST_FIELDS,
    PRICE_FIELDS,
    STORED_FIELDS,
    VOLATILE_FIELDS,
    Change,
    detect_all_changes,
)
from sale_sofia.history.settings import (
    BUILT_TYPES,
    CARD_AREA_TOLERANCE,
    CHANGE_FACTOR,
    EARLIEST_REVISIT_SHARE,
    LEAST_PRICE_EUR,
    ODD_RATIO_TOLERANCE,
    ODD_RATIOS,
    QUIET_FACTOR,
    VAT_RATE,
    VAT_TOLERANCE,
    HistoryRules,
)

Row = dict[str, Any]
Fields = Mapping[Any, Any]
PointKind = Literal["first", "price", "vat", "currency"]
PER_SQM: Final = "per_sqm"
_WITH_VAT = frozenset({"none", "included"})
VisitResult = Literal["new", "changed", "unchanged", "quarantined"]
_PLACE_BYTES = 4
HELD_FIELDS = (*PRICE_FIELDS, "previous_price_eur")
"""Fields that keep their values while a price is not believed."""
TYPE_FIELDS = ("property_type", "rooms")
"""Fields that a page states in several ways: where the better one is lost, a rougher one remains."""
KEPT_FIELDS: Final = tuple(
    name
    for name in STORED_FIELDS
    if name not in {*VOLATILE_FIELDS, *HELD_FIELDS, "site", "external_id", "flags"}
)
"""Fields that keep their values for some visits that do not show them. Prices have rules of their own; flags
describe the page itself."""
TOGETHER: Final = (
    ("city", "district", "neighbourhood", "street", "lat", "lon", "metro_station", "metro_distance_m"),
    ("seller_kind", "seller_name", "phones"),
)
"""Where a flat is, and who sells it: an old street does not belong to a new neighbourhood."""
_EMPTY: Final[tuple[Any, ...]] = (None, [])
BLANK: Final[Row] = {name: [] if name in LIST_FIELDS else None for name in STORED_FIELDS}
"""The fields of an advert of which nothing is known."""
_CARD_SUFFIX: Final = "_on_card"
"""The suffix of a flag that names a field which only a card stated."""
_FILLABLE: Final = (*KEPT_FIELDS, *HELD_FIELDS)
_NO_PRICE: Final = dict.fromkeys((*HELD_FIELDS, "area_sqm"))
"""The price fields, and the area, of a flat that was never seen."""


class Seen(NamedTuple):
    """What a page, or a card, said at one moment, with the id of its visit."""

    at: float
    hash: str
    fields: Row
    visit_id: int
    digest: str | None = None
    held: bool = False
    """Whether the price is disregarded: the pages of its run were not read correctly."""
    held_type: bool = False
    """The same for the type of property."""
    held_gaps: bool = False
    """The same for missing values."""
    card: bool = False
    """Whether it was a card on a page of results: what a card does not show means nothing."""


class Odd(NamedTuple):
    """A price that is not believed yet, and in how many visits in a row it was seen."""

    price_eur: float | None = None
    visits: int = 0


NOTHING_ODD = Odd()
Unseen = Mapping[str, int]
"""Stored values that the page no longer shows, each with the number of visits in a row without it."""
NOTHING_UNSEEN: Final[Unseen] = MappingProxyType({})


class Step(NamedTuple):
    """What one more sighting of the same flat means."""

    result: VisitResult
    fields: Row
    """What is believed from this sighting on."""
    changes: list[Change]
    price: PointKind | None
    odd: Odd = NOTHING_ODD
    printed: float | None = None
    """The earlier price that the page prints; None if it prints none, or the same as before."""
    unseen: Unseen = NOTHING_UNSEEN
    """Values that are believed although the page does not show them."""


def is_another_flat(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> bool:
    """Whether the advert's id was given to another flat: both area and floor, each known, have changed."""
    return all(
        old[name] is not None and new[name] is not None and old[name] != new[name]
        for name in ("area_sqm", "floor")
    )


class Doubts(NamedTuple):
    """How certain the values before a sighting are."""

    odd: Odd = NOTHING_ODD
    unseen: Unseen = NOTHING_UNSEEN
    opened: bool = True
    """Whether the advert's own page was read before; False if only cards were."""
    by_card: bool = False
    """Whether the price comes from a card that no page has confirmed."""


def step(old: Mapping[Any, Any], doubts: Doubts, seen: Seen, rules: HistoryRules) -> Step:
    """What a sighting means, given the values before it and how certain they are.

    A doubtful price is believed once `odd_price_visits` visits in a row show it, from the last of them on;
    one that is held back never is. In the same way a missing value is gone after `gone_value_visits`.
    """
    if seen.card:
        return _card_step(old, doubts, seen)
    fields, filled = _fill_from_card(old, seen.fields, opened=doubts.opened)
    seen = seen._replace(fields=fields)
    odd, believed = _judge_price(old, doubts.odd, seen.fields, rules, held=seen.held)
    confirmed = doubts.by_card and believed["price_eur"] == old["price_eur"]
    kind = None if confirmed else point_kind(old, believed)
    if not doubts.opened:
        # Read for the first time: where the page differs from the card, that is no change.
        kind = "first" if old["price_eur"] is None else kind
        return Step(
            "new", believed, [], kind, odd, _new_printed_price(old, believed), dict.fromkeys(filled, 0)
        )
    unseen = {**_count_unseen(old, doubts.unseen, seen, rules), **dict.fromkeys(filled, 0)}
    believed = believed | {name: old[name] for name in unseen}
    changes = detect_all_changes(old, believed)
    if odd.visits:
        return Step("quarantined", believed, changes, None, odd, unseen=unseen)
    result: VisitResult = "changed" if changes else "unchanged"
    return Step(result, believed, changes, kind, printed=_new_printed_price(old, believed), unseen=unseen)


def _new_printed_price(old: Mapping[Any, Any], believed: Row) -> float | None:
    earlier: float | None = believed["previous_price_eur"]
    return None if earlier == old["previous_price_eur"] else earlier


# A card is a sighting of what it says. Once the advert's own page was read, only its price counts: a card
# overwrites nothing else that a page said, and a price that it did not have before has changed since.


def _card_step(old: Mapping[Any, Any], doubts: Doubts, seen: Seen) -> Step:
    """What a card means. A doubtful price is not believed however often cards repeat it: the page decides."""
    price = seen.fields.get("price_eur")
    before = {name: old[name] for name in STORED_FIELDS}
    other_fields = {name: value for name, value in seen.fields.items() if name not in HELD_FIELDS}
    stated = {} if doubts.opened else other_fields
    if price is None or price == old["price_eur"]:
        new_price = {}
    else:
        new_price = {"price_eur": price, "price_bgn": None} | {
            name: seen.fields[name] for name in HELD_FIELDS if name in seen.fields
        }
    doubted = bool(new_price) and _is_card_price_doubtful(before, doubts, seen)
    believed = before | stated | ({} if doubted else new_price)
    changes = detect_all_changes(old, believed)
    kind = point_kind(old, believed)
    if kind and old["price_eur"] is None and not doubts.opened:
        kind = "first"
    result: VisitResult = "quarantined" if doubted else "changed" if changes else "unchanged"
    return Step(result, believed, changes, kind, doubts.odd, _new_printed_price(old, believed), doubts.unseen)


def _is_card_price_doubtful(old: Row, doubts: Doubts, seen: Seen) -> bool:
    """As on a page; or beside an area that is not the flat's, since it may be another flat's card."""
    area, known_area = seen.fields.get("area_sqm"), old["area_sqm"] if doubts.opened else None
    if area and known_area and abs(area / known_area - 1) > CARD_AREA_TOLERANCE:
        return True
    return seen.held or is_doubtful(old, old | seen.fields)


def _fill_from_card(old: Mapping[Any, Any], page: Row, *, opened: bool) -> tuple[Row, list[str]]:
    """The page's fields, filled with what only a card stated, and the names of the filled ones.

    The page wins field by field; where it has one value of a group, the card fills none of that group.
    """
    on_card = [flag.removesuffix(_CARD_SUFFIX) for flag in old["flags"] or () if flag.endswith(_CARD_SUFFIX)]
    fillable = [name for name in _FILLABLE if name in on_card or not opened]
    filled = [name for name in fillable if page[name] in _EMPTY and old[name] not in _EMPTY]
    if not filled:
        return page, filled
    groups = (*TOGETHER, HELD_FIELDS)
    on_page = {name for group in groups if any(page[key] not in _EMPTY for key in group) for name in group}
    filled = [name for name in filled if name not in on_page]
    flags = [*page["flags"], *(f"{name}{_CARD_SUFFIX}" for name in filled)]
    return page | {name: old[name] for name in filled} | {"flags": flags}, filled


def is_disproved(old: Mapping[Any, Any], doubts: Doubts, seen: Seen) -> bool:
    """Whether a page shows another price than the card before it: the card's was never an asking price."""
    price = seen.fields["price_eur"] if doubts.by_card and not seen.card and not seen.held else None
    return price is not None and price != old["price_eur"]


def has_other_vat(old: Mapping[Any, Any], doubts: Doubts, seen: Seen) -> bool:
    """Whether a page shows a card's price with another VAT: perhaps only the VAT has changed since before."""
    is_page = not seen.card and not seen.held
    same_price = is_page and doubts.by_card and seen.fields["price_eur"] == old["price_eur"]
    return same_price and old["vat"] not in {None, seen.fields["vat"]}


def _count_unseen(old: Mapping[Any, Any], counts: Unseen, seen: Seen, rules: HistoryRules) -> Unseen:
    """Stored values that stay although the page does not show them, with the visits in a row without each.

    A visit with `held_gaps` drops and counts nothing. In a group with a changed value, no missing one stays.
    """
    new, stored = seen.fields, [name for name in KEPT_FIELDS if old.get(name) not in _EMPTY]
    gaps = [name for name in stored if new[name] in _EMPTY]
    if not gaps or seen.held_gaps:
        return {name: counts.get(name, 0) for name in gaps}
    replaced = {name for name in stored if new[name] not in _EMPTY and new[name] != old[name]}
    gone_together = {name for group in TOGETHER if not replaced.isdisjoint(group) for name in group}
    new_counts = {name: counts.get(name, 0) + 1 for name in gaps if name not in gone_together}
    return {name: count for name, count in new_counts.items() if count < rules.gone_value_visits}


def without_unseen(fields: Row, unseen: Collection[str]) -> Row:
    """The fields of a page that does not show the `unseen` ones."""
    card_flags = {f"{name}{_CARD_SUFFIX}" for name in unseen}
    flags = [flag for flag in fields["flags"] if flag not in card_flags]
    return fields | {name: BLANK[name] for name in unseen} | {"flags": flags}


def first_step(new: Row, rules: HistoryRules, *, held: bool = False, card: bool = False) -> Step:
    """What the first sighting of a flat means: a price, or none if it is doubtful, and no change."""
    odd, believed = _judge_price(_NO_PRICE, NOTHING_ODD, new, rules, held=held)
    if card:  # without a price, the first price point is left to its page
        if believed["price_eur"] is None:
            return Step("new", believed | dict.fromkeys(HELD_FIELDS), [], None)
        return Step("new", believed, [], "first", printed=believed["previous_price_eur"])
    return Step("new", believed, [], "first", odd, believed["previous_price_eur"])


def _judge_price(
    old: Mapping[Any, Any], old_odd: Odd, new: Row, rules: HistoryRules, *, held: bool
) -> tuple[Odd, Row]:
    """The doubt about the price, if any, and all fields as they are believed."""
    price = new["price_eur"]
    if held:
        if all(old[name] == new[name] for name in HELD_FIELDS):
            return NOTHING_ODD, new
        odd = Odd(price, 1)
    elif is_doubtful(old, new):
        odd = Odd(price, old_odd.visits + 1 if price == old_odd.price_eur else 1)
        if odd.visits >= rules.odd_price_visits:
            return NOTHING_ODD, new
    else:
        return NOTHING_ODD, new
    return odd, new | {name: old[name] for name in HELD_FIELDS}


def next_interval(seconds: float, result: VisitResult, rules: HistoryRules) -> float:
    """The seconds to the next visit: longer without a change, shorter after one, within the bounds."""
    if result == "unchanged":
        return min(rules.most_seconds, seconds * QUIET_FACTOR)
    return rules.first_seconds if result == "new" else max(rules.least_seconds, seconds * CHANGE_FACTOR)


def revisit_at(external_id: str, at: float, interval: float, odd: Odd) -> float:
    """When to visit again even if the card does not change: each advert at its own point of the interval.

    At once for a price that is not believed.
    """
    if odd.visits:
        return at
    digest = hashlib.blake2b(external_id.encode(), digest_size=_PLACE_BYTES).digest()
    place: float = int.from_bytes(digest, "big") / float(256**_PLACE_BYTES)
    return at + interval * (EARLIEST_REVISIT_SHARE + (1 - EARLIEST_REVISIT_SHARE) * place)


@dataclass(slots=True)
class Generation:
    """One flat under an advert's id, from its first sighting to its last."""

    seen: list[tuple[Seen, Step]]
    fields: Row
    interval: float
    odd: Odd = NOTHING_ODD
    unseen: Unseen = field(default_factory=dict)
    unchanged: int = 0
    closed_at: float | None = None
    opened_at: float | None = None
    """When its page was last read; None if only cards were seen."""
    by_card: bool = False
    """Whether its price comes from a card that no page has confirmed."""

    @property
    def printed(self) -> set[float | None]:
        """Every earlier price that its pages printed."""
        return {step.printed for _, step in self.seen}

    @property
    def last(self) -> Seen:
        """The last sighting of its page; of a card, if its page was never read."""
        pages = [seen for seen, _ in self.seen if not seen.card]
        return pages[-1] if pages else self.seen[-1][0]

    @property
    def doubts(self) -> Doubts:
        """How certain its values are."""
        return Doubts(self.odd, self.unseen, self.opened_at is not None, self.by_card)


def with_type_held(step: Step, old: Mapping[Any, Any]) -> Step:
    """The step with the type of property as it was before, whatever the page says."""
    believed = step.fields | {name: old.get(name) for name in TYPE_FIELDS}
    changes = [change for change in step.changes if change.field not in TYPE_FIELDS]
    unchanged = step.result == "changed" and not changes
    return step._replace(fields=believed, changes=changes, result="unchanged" if unchanged else step.result)


def said_otherwise(seen: Seen, step: Step) -> Row | None:
    """What a page said that is not believed, to be stored with its visit; None if nothing."""
    if seen.card:
        return None  # its visit stores all that it said
    names = (*(HELD_FIELDS if step.odd.visits else ()), *(TYPE_FIELDS if seen.held_type else ()))
    return {name: seen.fields[name] for name in names} or None


def in_order(at: float, digest: str, *, card: bool) -> tuple[float, bool, str]:
    """The sort key of sightings: of one moment, a page comes after the cards."""
    return at, not card, digest


def fold(sightings: Iterable[Seen], rules: HistoryRules) -> list[Generation]:
    """All generations of an advert, the oldest first, from its sightings in any order."""
    generations: list[Generation] = []
    for seen in sorted(sightings, key=lambda seen: in_order(seen.at, seen.hash, card=seen.card)):
        if generations and not _is_next_generation(generations[-1], seen):
            _add_sighting(generations[-1], seen, rules)
            continue
        if generations:
            generations[-1].closed_at = seen.at
        first = first_step(BLANK | seen.fields, rules, held=seen.held, card=seen.card)
        first = with_type_held(first, {}) if seen.held_type else first
        generation = Generation([(seen, first)], first.fields, rules.first_seconds, first.odd)
        generation.opened_at, generation.by_card = (
            (None, first.price is not None) if seen.card else (seen.at, False)
        )
        generations.append(generation)
    return generations


def _is_next_generation(generation: Generation, seen: Seen) -> bool:
    """Whether another flat is seen. Only page and page, or card and card, say the same things."""
    comparable = seen.card == (generation.opened_at is None)
    return comparable and is_another_flat(generation.fields, generation.fields | seen.fields)


def _add_sighting(generation: Generation, seen: Seen, rules: HistoryRules) -> None:
    while is_disproved(generation.fields, generation.doubts, seen):
        _retract_card_price(generation)
    doubts = generation.doubts
    next_step = step(generation.fields, doubts, seen, rules)
    next_step = with_type_held(next_step, generation.fields) if seen.held_type else next_step
    next_step = next_step._replace(printed=None) if next_step.printed in generation.printed else next_step
    if doubts.by_card and not seen.card and not next_step.price:
        _complete_card_price(generation, next_step)
    generation.seen.append((seen, next_step))
    generation.fields = generation.fields | next_step.fields
    generation.odd, generation.unseen = next_step.odd, next_step.unseen
    generation.by_card = is_by_card(doubts, seen, next_step)
    if seen.card:
        return
    generation.opened_at = seen.at
    generation.unchanged = generation.unchanged + 1 if next_step.result == "unchanged" else 0
    generation.interval = next_interval(generation.interval, next_step.result, rules)


def is_by_card(before: Doubts, seen: Seen, step: Step) -> bool:
    """Whether the price that is believed after a sighting comes from a card."""
    if seen.card:
        return before.by_card or step.price is not None
    no_price = seen.held or seen.fields["price_eur"] is None
    return before.by_card and no_price and not step.price


def _retract_card_price(generation: Generation) -> None:
    """Undo the last price, which is a card's: the price fields are as they were before it.

    Afterwards `by_card` says whether that earlier price is a card's too, which no page has confirmed.
    """
    last_priced = max(place for place, (_, step) in enumerate(generation.seen) if step.price)
    before = generation.seen[last_priced - 1][1].fields if last_priced else _NO_PRICE
    old = {name: before[name] for name in HELD_FIELDS}
    for place in range(last_priced, len(generation.seen)):
        seen, step = generation.seen[place]
        changes = [change for change in step.changes if change.field not in HELD_FIELDS]
        result: VisitResult = "quarantined" if seen.card and step.result != "new" else step.result
        retracted = Step(result, step.fields | old, changes, None, step.odd, None, step.unseen)
        generation.seen[place] = seen, retracted
    generation.fields = generation.fields | old
    generation.by_card = False
    for seen, step in generation.seen:
        generation.by_card = is_by_card(generation.doubts, seen, step)


def _complete_card_price(generation: Generation, confirming: Step) -> None:
    """Add the VAT and the leva of the confirming page, which a card may lack, to the last price.

    Only with its VAT is it known whether the price changed, or the VAT.
    """
    last_priced = max((place for place, (_, step) in enumerate(generation.seen) if step.price), default=None)
    if last_priced is not None:
        seen, step = generation.seen[last_priced]
        fields = step.fields | {name: confirming.fields[name] for name in PRICE_FIELDS}
        kind = step.price
        if kind != "first":
            kind = point_kind(generation.seen[last_priced - 1][1].fields, fields)
        generation.seen[last_priced] = seen, step._replace(fields=fields, price=kind)


def point_kind(old: Fields, new: Fields) -> PointKind | None:
    """The kind of a new price point; None where nothing about the price changed.

    A sum that changed by exactly the VAT that was added or removed is the same price.
    """
    if all(old[name] == new[name] for name in PRICE_FIELDS):
        return None
    if old["vat"] != new["vat"] and _same_but_for_vat(old, new):
        return "vat"
    return "currency" if old["price_eur"] == new["price_eur"] else "price"


def _same_but_for_vat(old: Fields, new: Fields) -> bool:
    before, after = old["price_eur"], new["price_eur"]
    if before == after or before is None or after is None:
        return bool(before == after)
    if old["vat"] == "excluded" and new["vat"] in _WITH_VAT:
        return _near(after / before, 1 + VAT_RATE, VAT_TOLERANCE)
    dropped = new["vat"] == "excluded" and old["vat"] in _WITH_VAT
    return dropped and _near(after / before, 1 / (1 + VAT_RATE), VAT_TOLERANCE)


def another_meaning(old: Fields, new: Fields) -> float | Literal["per_sqm"] | None:
    """What the new number seems to be: the price per m², or a multiple of the price; None: a price."""
    before, after = old["price_eur"], new["price_eur"]
    if not before or not after:
        return None
    area = new["area_sqm"] or old["area_sqm"]
    if area and _near(after * area / before, 1.0, ODD_RATIO_TOLERANCE):
        return PER_SQM
    return next((ratio for ratio in ODD_RATIOS if _near(after / before, ratio, ODD_RATIO_TOLERANCE)), None)


def is_doubtful(old: Fields, new: Fields) -> bool:
    """Whether a price is not believed at once: of another meaning, or too low at first sight."""
    return another_meaning(old, new) is not None or (old["price_eur"] is None and is_too_little(new))


def is_too_little(fields: Fields) -> bool:
    """Whether the price is too low for any property of this kind, so the number means something else."""
    price, least = fields["price_eur"], LEAST_PRICE_EUR.get(fields["deal"] or "")
    return bool(price and least and price < least and fields["property_type"] in BUILT_TYPES)


def price_per_sqm(fields: Fields) -> float | None:
    """Computed from the current price and area; never stored, so never stale."""
    price, area = fields["price_eur"], fields["area_sqm"]
    return price / area if price and area else None


def _near(value: float, target: float, tolerance: float) -> bool:
    return abs(value / target - 1) <= tolerance
