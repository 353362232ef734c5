"""The history of one advert as a function of its sightings in the order of time. Nothing is stored here."""

import hashlib
from collections.abc import Iterable, Mapping
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
from sale_sofia.history.settings import CHANGE_FACTOR, EARLIEST_REVISIT_SHARE, QUIET_FACTOR, HistoryRules

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


def step(old: Mapping[Any, Any], odd: Odd, unseen: Unseen, seen: Seen, rules: HistoryRules) -> Step:
    """What a sighting means after what was believed before it, some of it in doubt or not shown any more.

    A doubtful price is believed when it was seen often enough in a row, from that visit on; one that is held
    back never, however often it is seen. So it is with a value that is not there any more.
    """
    doubt, believed = _believed(old, odd, seen.fields, rules, held=seen.held)
    missed = _unseen(old, unseen, seen, rules)
    believed = believed | {name: old[name] for name in missed}
    changes = detect_all_changes(old, believed)
    if doubt.visits:
        return Step("quarantined", believed, changes, None, doubt, unseen=missed)
    earlier = believed["previous_price_eur"]
    printed = None if earlier == old["previous_price_eur"] else earlier
    result: VisitResult = "changed" if changes else "unchanged"
    return Step(result, believed, changes, point_kind(old, believed), printed=printed, unseen=missed)


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


def without_unseen(fields: Row, unseen: Iterable[str]) -> Row:
    """The fields as a page has them that does not show these."""
    return fields | {name: [] if name in LIST_FIELDS else None for name in unseen}


def first_step(new: Row, rules: HistoryRules, *, held: bool = False) -> Step:
    """What the first sight of a flat means: a price, or none where it is doubtful, and no change."""
    doubt, believed = _believed(_NO_PRICE, NOTHING_ODD, new, rules, held=held)
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

    @property
    def printed(self) -> set[float | None]:
        """Every earlier price that its pages printed."""
        return {taken.printed for _, taken in self.seen}

    @property
    def last(self) -> Seen:
        """How it was seen last."""
        return self.seen[-1][0]


def with_type_held(taken: Step, old: Mapping[Any, Any]) -> Step:
    """The step without what the page says of the kind of property: what was known stays."""
    believed = taken.fields | {name: old.get(name) for name in TYPE_FIELDS}
    changes = [one for one in taken.changes if one.field not in TYPE_FIELDS]
    quiet = taken.result == "changed" and not changes
    return taken._replace(fields=believed, changes=changes, result="unchanged" if quiet else taken.result)


def said_otherwise(seen: Seen, taken: Step) -> Row | None:
    """What a page said that is not believed: its visit keeps it."""
    names = (*(HELD_FIELDS if taken.odd.visits else ()), *(TYPE_FIELDS if seen.held_type else ()))
    return {name: seen.fields[name] for name in names} or None


def fold(sightings: Iterable[Seen], rules: HistoryRules) -> list[Generation]:
    """All generations of an advert, the oldest first, from its sightings in any order."""
    generations: list[Generation] = []
    for seen in sorted(sightings, key=lambda one: (one.at, one.hash)):
        if generations and not is_another_flat(generations[-1].fields, seen.fields):
            _go_on(generations[-1], seen, rules)
            continue
        if generations:
            generations[-1].closed_at = seen.at
        first = first_step(seen.fields, rules, held=seen.held)
        first = with_type_held(first, {}) if seen.held_type else first
        generations.append(Generation([(seen, first)], first.fields, rules.first_seconds, first.odd))
    return generations


def _go_on(generation: Generation, seen: Seen, rules: HistoryRules) -> None:
    taken = step(generation.fields, generation.odd, generation.unseen, seen, rules)
    taken = with_type_held(taken, generation.fields) if seen.held_type else taken
    taken = taken._replace(printed=None) if taken.printed in generation.printed else taken
    generation.seen.append((seen, taken))
    generation.fields = generation.fields | taken.fields
    generation.odd, generation.unseen = taken.odd, taken.unseen
    generation.unchanged = generation.unchanged + 1 if taken.result == "unchanged" else 0
    generation.interval = next_interval(generation.interval, taken.result, rules)
