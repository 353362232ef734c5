"""The history of one advert as a function of its sightings in the order of time. Nothing is stored here."""

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
from sale_sofia.history.price_meaning import PointKind, is_doubtful, point_kind
from sale_sofia.history.settings import (
    CARD_AREA_TOLERANCE,
    CHANGE_FACTOR,
    EARLIEST_REVISIT_SHARE,
    QUIET_FACTOR,
    HistoryRules,
)

Row = dict[str, Any]
VisitResult = Literal["new", "changed", "unchanged", "quarantined"]
_PLACE_BYTES = 4
HELD_FIELDS = (*PRICE_FIELDS, "previous_price_eur")
"""What stays as it was while a price is not believed."""
TYPE_FIELDS = ("property_type", "rooms")
"""What a page tells in several ways, of which the rougher is left where the better one is lost."""
KEPT_FIELDS: Final = tuple(
    name
    for name in STORED_FIELDS
    if name not in {*VOLATILE_FIELDS, *HELD_FIELDS, "site", "external_id", "flags"}
)
"""What stays as it was for some visits that do not show it. Prices have rules of their own; flags are what is
said of the page itself."""
TOGETHER: Final = (
    ("city", "district", "neighbourhood", "street", "lat", "lon", "metro_station", "metro_distance_m"),
    ("seller_kind", "seller_name", "phones"),
)
"""Where a flat is, and who sells it: nobody named an old street in a new neighbourhood."""
_NOTHING: Final[tuple[Any, ...]] = (None, [])
BLANK: Final[Row] = {name: [] if name in LIST_FIELDS else None for name in STORED_FIELDS}
"""An advert of which nothing is known."""
_LENT: Final = "_on_card"
"""How a flag ends that names what only a card said of an advert."""
_LENDABLE: Final = (*KEPT_FIELDS, *HELD_FIELDS)
_NO_PRICE: Final = dict.fromkeys((*HELD_FIELDS, "area_sqm"))
"""What is known of the price of a flat that was never seen."""


class Seen(NamedTuple):
    """What a page said at a moment, under the visit in which it was seen."""

    at: float
    hash: str
    fields: Row
    visit_id: int
    digest: str | None = None
    held: bool = False
    """Whether the price says nothing: the pages of its run were not read as they are."""
    held_type: bool = False
    """The same of what kind of property it is."""
    held_gaps: bool = False
    """The same of what the page does not show."""
    card: bool = False
    """Whether it was a card on a page of results, which says nothing of what it does not show."""


class Odd(NamedTuple):
    """A price that is not believed yet, and how often in a row it was seen."""

    price_eur: float | None = None
    visits: int = 0


NOTHING_ODD = Odd()
Unseen = Mapping[str, int]
"""What was known and is not shown any more, each with the visits in a row that say so."""
NOTHING_UNSEEN: Final[Unseen] = MappingProxyType({})


class Step(NamedTuple):
    """What one more sighting of the same flat means."""

    result: VisitResult
    fields: Row
    """What is believed from now on."""
    changes: list[Change]
    price: PointKind | None
    odd: Odd = NOTHING_ODD
    printed: float | None = None
    """The earlier price that the page prints, where it did not just before."""
    unseen: Unseen = NOTHING_UNSEEN
    """What is believed though the page does not show it."""


def is_another_flat(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> bool:
    """Whether the advert's id was given to another flat: area and floor, both known, are both others."""
    return all(
        old[name] is not None and new[name] is not None and old[name] != new[name]
        for name in ("area_sqm", "floor")
    )


class Doubts(NamedTuple):
    """How sure is what was believed before a sighting."""

    odd: Odd = NOTHING_ODD
    unseen: Unseen = NOTHING_UNSEEN
    opened: bool = True
    """Whether the advert's own page was read before, or only its card."""
    by_card: bool = False
    """Whether the price is the word of a card that no page has confirmed."""


def step(old: Mapping[Any, Any], doubts: Doubts, seen: Seen, rules: HistoryRules) -> Step:
    """What a sighting means after what was believed before it, some of it in doubt or not shown any more.

    A doubtful price is believed when it was seen often enough in a row, from that visit on; one that is held
    back never, however often it is seen. So it is with a value that is not there any more.
    """
    if seen.card:
        return _card_step(old, doubts, seen)
    fields, lent = _with_lent(old, seen.fields, opened=doubts.opened)
    seen = seen._replace(fields=fields)
    doubt, believed = _believed(old, doubts.odd, seen.fields, rules, held=seen.held)
    confirmed = doubts.by_card and believed["price_eur"] == old["price_eur"]
    kind = None if confirmed else point_kind(old, believed)
    if not doubts.opened:
        # It is read for the first time: what the page says otherwise than the card is no change.
        kind = "first" if old["price_eur"] is None else kind
        return Step("new", believed, [], kind, doubt, _printed(old, believed), dict.fromkeys(lent, 0))
    missed = {**_unseen(old, doubts.unseen, seen, rules), **dict.fromkeys(lent, 0)}
    believed = believed | {name: old[name] for name in missed}
    changes = detect_all_changes(old, believed)
    if doubt.visits:
        return Step("quarantined", believed, changes, None, doubt, unseen=missed)
    result: VisitResult = "changed" if changes else "unchanged"
    return Step(result, believed, changes, kind, printed=_printed(old, believed), unseen=missed)


def _printed(old: Mapping[Any, Any], believed: Row) -> float | None:
    earlier: float | None = believed["previous_price_eur"]
    return None if earlier == old["previous_price_eur"] else earlier


# A card is a sighting of what it says. After the advert's own page was read, that is its price alone: a card
# overwrites nothing that a page said, but a price that it did not have before is one that moved since.


def _card_step(old: Mapping[Any, Any], doubts: Doubts, seen: Seen) -> Step:
    """What a card means. A price in doubt is not believed however often cards say it: the page decides."""
    price = seen.fields.get("price_eur")
    before = {name: old[name] for name in STORED_FIELDS}
    others = {name: value for name, value in seen.fields.items() if name not in HELD_FIELDS}
    said = {} if doubts.opened else others
    if price is None or price == old["price_eur"]:
        moved = {}
    else:
        moved = {"price_eur": price, "price_bgn": None} | {
            name: seen.fields[name] for name in HELD_FIELDS if name in seen.fields
        }
    doubted = bool(moved) and _is_doubted_card(before, doubts, seen)
    believed = before | said | ({} if doubted else moved)
    changes = detect_all_changes(old, believed)
    kind = point_kind(old, believed)
    if kind and old["price_eur"] is None and not doubts.opened:
        kind = "first"
    result: VisitResult = "quarantined" if doubted else "changed" if changes else "unchanged"
    return Step(result, believed, changes, kind, doubts.odd, _printed(old, believed), doubts.unseen)


def _is_doubted_card(old: Row, doubts: Doubts, seen: Seen) -> bool:
    """As on a page; or beside an area that the flat does not have, for it may be another one's card."""
    area, known = seen.fields.get("area_sqm"), old["area_sqm"] if doubts.opened else None
    if area and known and abs(area / known - 1) > CARD_AREA_TOLERANCE:
        return True
    return seen.held or is_doubtful(old, old | seen.fields)


def _with_lent(old: Mapping[Any, Any], page: Row, *, opened: bool) -> tuple[Row, list[str]]:
    """The page's fields, with what only the card said, and its names: the page wins field by field."""
    said = [flag.removesuffix(_LENT) for flag in old["flags"] or () if flag.endswith(_LENT)]
    names = [name for name in _LENDABLE if name in said or not opened]
    lent = [name for name in names if page[name] in _NOTHING and old[name] not in _NOTHING]
    if not lent:
        return page, lent
    groups = (*TOGETHER, HELD_FIELDS)
    shown = {name for kind in groups if any(page[one] not in _NOTHING for one in kind) for name in kind}
    lent = [name for name in lent if name not in shown]
    flags = [*page["flags"], *(f"{name}{_LENT}" for name in lent)]
    return page | {name: old[name] for name in lent} | {"flags": flags}, lent


def is_disproved(old: Mapping[Any, Any], doubts: Doubts, seen: Seen) -> bool:
    """Whether a page says another price than the card before it: then nobody asked what the card said."""
    price = seen.fields["price_eur"] if doubts.by_card and not seen.card and not seen.held else None
    return price is not None and price != old["price_eur"]


def _unseen(old: Mapping[Any, Any], before: Unseen, seen: Seen, rules: HistoryRules) -> Unseen:
    """What was known, is not shown, and stays all the same; a visit that is held back does not count.

    What belongs together goes together: beside another value of its kind, an old one does not stay.
    """
    new, known = seen.fields, [name for name in KEPT_FIELDS if old.get(name) not in _NOTHING]
    gaps = [name for name in known if new[name] in _NOTHING]
    if not gaps or seen.held_gaps:
        return {name: before.get(name, 0) for name in gaps}
    others = {name for name in known if new[name] not in _NOTHING and new[name] != old[name]}
    moved = {name for kind in TOGETHER if not others.isdisjoint(kind) for name in kind}
    visits = {name: before.get(name, 0) + 1 for name in gaps if name not in moved}
    return {name: count for name, count in visits.items() if count < rules.gone_value_visits}


def without_unseen(fields: Row, unseen: Collection[str]) -> Row:
    """The fields as a page has them that does not show these."""
    lent = {f"{name}{_LENT}" for name in unseen}
    flags = [flag for flag in fields["flags"] if flag not in lent]
    return fields | {name: BLANK[name] for name in unseen} | {"flags": flags}


def first_step(new: Row, rules: HistoryRules, *, held: bool = False, card: bool = False) -> Step:
    """What the first sight of a flat means: a price, or none where it is doubtful, and no change."""
    doubt, believed = _believed(_NO_PRICE, NOTHING_ODD, new, rules, held=held)
    if card:  # its page will tell what is asked, where the card does not
        if believed["price_eur"] is None:
            return Step("new", believed | dict.fromkeys(HELD_FIELDS), [], None)
        return Step("new", believed, [], "first", printed=believed["previous_price_eur"])
    return Step("new", believed, [], "first", doubt, believed["previous_price_eur"])


def _believed(
    old: Mapping[Any, Any], odd: Odd, new: Row, rules: HistoryRules, *, held: bool
) -> tuple[Odd, Row]:
    """What is doubted of the price, and what is believed of the whole."""
    price = new["price_eur"]
    if held:
        if all(old[name] == new[name] for name in HELD_FIELDS):
            return NOTHING_ODD, new
        doubt = Odd(price, 1)
    elif is_doubtful(old, new):
        doubt = Odd(price, odd.visits + 1 if price == odd.price_eur else 1)
        if doubt.visits >= rules.odd_price_visits:
            return NOTHING_ODD, new
    else:
        return NOTHING_ODD, new
    return doubt, new | {name: old[name] for name in HELD_FIELDS}


def next_interval(seconds: float, result: VisitResult, rules: HistoryRules) -> float:
    """Longer while nothing happens, shorter after a change, within the bounds."""
    if result == "unchanged":
        return min(rules.most_seconds, seconds * QUIET_FACTOR)
    return rules.first_seconds if result == "new" else max(rules.least_seconds, seconds * CHANGE_FACTOR)


def revisit_at(external_id: str, at: float, interval: float, odd: Odd) -> float:
    """When to look again even if the card does not change: each advert at its own share of the interval.

    At once, for a price that is not believed.
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
    """When its page was read last."""
    by_card: bool = False
    """Whether its price is the word of a card."""

    @property
    def printed(self) -> set[float | None]:
        """Every earlier price that its pages printed."""
        return {taken.printed for _, taken in self.seen}

    @property
    def last(self) -> Seen:
        """How it was seen last: on its page, or on a card while its page was never read."""
        pages = [seen for seen, _ in self.seen if not seen.card]
        return pages[-1] if pages else self.seen[-1][0]

    @property
    def doubts(self) -> Doubts:
        """How sure is what is believed of it."""
        return Doubts(self.odd, self.unseen, self.opened_at is not None, self.by_card)


def with_type_held(taken: Step, old: Mapping[Any, Any]) -> Step:
    """The step without what the page says of the kind of property: what was known stays."""
    believed = taken.fields | {name: old.get(name) for name in TYPE_FIELDS}
    changes = [one for one in taken.changes if one.field not in TYPE_FIELDS]
    quiet = taken.result == "changed" and not changes
    return taken._replace(fields=believed, changes=changes, result="unchanged" if quiet else taken.result)


def said_otherwise(seen: Seen, taken: Step) -> Row | None:
    """What a page said that is not believed: its visit keeps it."""
    if seen.card:
        return None  # all that it said is kept
    names = (*(HELD_FIELDS if taken.odd.visits else ()), *(TYPE_FIELDS if seen.held_type else ()))
    return {name: seen.fields[name] for name in names} or None


def in_order(at: float, digest: str, *, card: bool) -> tuple[float, bool, str]:
    """By what sightings are ordered: of one moment, a page has the last word."""
    return at, not card, digest


def fold(sightings: Iterable[Seen], rules: HistoryRules) -> list[Generation]:
    """All generations of an advert, the oldest first, from its sightings in any order."""
    generations: list[Generation] = []
    for seen in sorted(sightings, key=lambda one: in_order(one.at, one.hash, card=one.card)):
        if generations and not _begins_another(generations[-1], seen):
            _go_on(generations[-1], seen, rules)
            continue
        if generations:
            generations[-1].closed_at = seen.at
        first = first_step(BLANK | seen.fields, rules, held=seen.held, card=seen.card)
        first = with_type_held(first, {}) if seen.held_type else first
        begun = Generation([(seen, first)], first.fields, rules.first_seconds, first.odd)
        begun.opened_at, begun.by_card = (None, first.price is not None) if seen.card else (seen.at, False)
        generations.append(begun)
    return generations


def _begins_another(generation: Generation, seen: Seen) -> bool:
    """Page is compared with page, and card with card: only they say the same things."""
    alike = seen.card == (generation.opened_at is None)
    return alike and is_another_flat(generation.fields, generation.fields | seen.fields)


def _go_on(generation: Generation, seen: Seen, rules: HistoryRules) -> None:
    if is_disproved(generation.fields, generation.doubts, seen):
        _take_back(generation)
    doubts = generation.doubts
    taken = step(generation.fields, doubts, seen, rules)
    taken = with_type_held(taken, generation.fields) if seen.held_type else taken
    taken = taken._replace(printed=None) if taken.printed in generation.printed else taken
    if doubts.by_card and not seen.card and not taken.price:
        _complete(generation, taken)
    generation.seen.append((seen, taken))
    generation.fields = generation.fields | taken.fields
    generation.odd, generation.unseen = taken.odd, taken.unseen
    generation.by_card = is_by_card(doubts, seen, taken)
    if seen.card:
        return
    generation.opened_at = seen.at
    generation.unchanged = generation.unchanged + 1 if taken.result == "unchanged" else 0
    generation.interval = next_interval(generation.interval, taken.result, rules)


def is_by_card(before: Doubts, seen: Seen, taken: Step) -> bool:
    """Whether the price that is believed after a sighting is the word of a card."""
    if seen.card:
        return before.by_card or taken.price in ("first", "price")
    says_none = seen.held or seen.fields["price_eur"] is None
    return before.by_card and says_none and not taken.price


def _take_back(generation: Generation) -> None:
    """The price that cards said last is none: it is as it was before them."""
    said = max(place for place, (_, taken) in enumerate(generation.seen) if taken.price)
    before = generation.seen[said - 1][1].fields if said else _NO_PRICE
    old = {name: before[name] for name in HELD_FIELDS}
    for place in range(said, len(generation.seen)):
        seen, taken = generation.seen[place]
        changes = [one for one in taken.changes if one.field not in HELD_FIELDS]
        result: VisitResult = "quarantined" if seen.card and taken.result != "new" else taken.result
        still = Step(result, taken.fields | old, changes, None, taken.odd, None, taken.unseen)
        generation.seen[place] = seen, still
    generation.fields = generation.fields | old
    generation.by_card = False


def _complete(generation: Generation, confirmed: Step) -> None:
    """A page says the price as the card did, and its VAT and its sum in leva, which the card may lack."""
    said = max((place for place, (_, taken) in enumerate(generation.seen) if taken.price), default=None)
    if said is not None:
        seen, taken = generation.seen[said]
        whole = {name: confirmed.fields[name] for name in PRICE_FIELDS}
        generation.seen[said] = seen, taken._replace(fields=taken.fields | whole)
