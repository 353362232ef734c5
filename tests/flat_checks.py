"""The conditions of a search on one flat, plainly, one after the other: what the database is held to."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Final

from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.search import conditions
from sale_sofia.advice.search.conditions import _pattern
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.search.run import FACTS, JudgedFlat
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import price_band
from sale_sofia.flats.settings import ACTS, MANY_ROOMS, METRES_PER_MINUTE
from sale_sofia.flats.store import portions
from sale_sofia.geography.settings import WALK_METRES_PER_MINUTE
from sale_sofia.geography.surroundings import Nearby, is_within
from sale_sofia.history.tables import listings
from sale_sofia.listings.text import match_key

Check = Callable[[Flat, "Around"], bool | None]
Named = tuple[str, Check]


@dataclass(frozen=True, slots=True)
class Around(conditions.Around):
    """With the words of adverts."""

    texts: Mapping[int, str] | None = None
    """By advert, as `match_key` makes them comparable; None: they were not read."""


def judge(flat: Flat, query: SearchQuery, around: Around) -> JudgedFlat | None:
    """The flat with what is not known of it, or None where it does not fulfil the query."""
    held = [(name, check(flat, around)) for name, check in checks_of(query)]
    unknown = tuple(name for name, holds in held if holds is None)
    fails = any(holds is False for _, holds in held) or (unknown and query.unknown == "no")
    return None if fails else JudgedFlat(flat, unknown)


def checks_of(query: SearchQuery) -> Sequence[Named]:
    """The conditions that a query has, by name."""
    kinds = (_switches, _ranges, _choices, _places, _demands, _words)
    return [named for kind in kinds for named in kind(query)]


def _places(query: SearchQuery) -> Iterator[Named]:
    """Parts of the city and minutes to places, which no table answers."""
    for name, check in conditions.checks_of(query):
        yield name, lambda flat, _, check=check: check(flat)  # type: ignore[misc]


def with_words(connection: Connection, around: conditions.Around, flats: Iterable[Flat]) -> Around:
    """The same, and the words of these flats' adverts."""
    ids = sorted(advert.listing_id for flat in flats for advert in flat.adverts)
    columns = select(listings.c.id, listings.c.title, listings.c.description)
    texts = {
        row.id: match_key(f"{row.title or ''}\n{row.description or ''}")
        for some in portions(ids)
        for row in connection.execute(columns.where(listings.c.id.in_(some)))
    }
    return Around(**{one.name: getattr(around, one.name) for one in fields(around)}, texts=texts)


def _switches(query: SearchQuery) -> Iterator[Named]:
    if not query.gone:
        yield "gone", lambda flat, _: flat.offered
    if not query.place_conflict:
        yield "place_conflict", lambda flat, _: "place_conflict" not in flat.flags
    if query.flag:
        flags = frozenset(query.flag)
        yield "flag", lambda flat, _: not flags.isdisjoint(flat.flags)
    if query.contradictions:
        there = query.contradictions == "only"
        yield "contradictions", lambda flat, _: bool(flat.contradictions) is there
    if query.status:
        wanted = frozenset(query.status)
        yield "status", lambda flat, around: around.statuses.get(flat.property_id, "new") in wanted
    if query.all_like:
        yield "all_like", lambda flat, around: flat.property_id in around.liked
    if query.waits_for_you:
        yield "waits_for_you", lambda flat, around: flat.property_id in around.waiting


_MEASURES: Final[dict[str, Callable[[Flat, Around], float | None]]] = {
    "area": lambda flat, _: flat.area_sqm,
    "net_area": lambda flat, _: flat.area_net_sqm,
    "bathrooms": lambda flat, _: flat.bathrooms,
    "floor": lambda flat, _: flat.floor,
    "year": lambda flat, _: flat.year_built,
    "days": lambda flat, around: flat.days_on_market(around.now),
}


def _ranges(query: SearchQuery) -> Iterator[Named]:
    if query.price_min is not None or query.price_max is not None:
        yield "price", partial(_is_priced, low=query.price_min, high=query.price_max)
    if query.eur_sqm_min is not None or query.eur_sqm_max is not None:
        yield "eur_sqm", partial(_is_priced, low=query.eur_sqm_min, high=query.eur_sqm_max, per_sqm=True)
    for name, measure in _MEASURES.items():
        low, high = getattr(query, f"{name}_min", None), getattr(query, f"{name}_max", None)
        if low is not None or high is not None:
            yield name, partial(_lies_between, measure=measure, low=low, high=high)


def _is_priced(
    flat: Flat, _: Around, low: float | None, high: float | None, *, per_sqm: bool = False
) -> bool | None:
    """With VAT where it comes on top; a price "from" has no most."""
    band, area = price_band(flat), flat.area_sqm if per_sqm else 1
    if band is None or not area:
        return None
    least, most = band.least / area, math.inf if band.most is None else band.most / area
    bottom, top = -math.inf if low is None else low, math.inf if high is None else high
    if least > top or most < bottom:
        return False
    return True if least >= bottom and (high is None or most <= top) else None


def _lies_between(
    flat: Flat,
    around: Around,
    measure: Callable[[Flat, Around], float | None],
    low: float | None,
    high: float | None,
) -> bool | None:
    value = measure(flat, around)
    return None if value is None else (low is None or value >= low) and (high is None or value <= high)


def _choices(query: SearchQuery) -> Iterator[Named]:
    for name in FACTS:
        if value := getattr(query, name):
            wanted = frozenset({value} if isinstance(value, str) else value)
            yield name, partial(_is_among, name=name, values=wanted)
    for name in ("heating", "orientation"):
        if value := getattr(query, name):
            yield name, partial(_has_any, name=name, wanted=frozenset(value))
    if query.not_neighbourhood:
        unwanted = frozenset(query.not_neighbourhood)
        yield "not_neighbourhood", partial(_is_among, name="neighbourhood", values=unwanted, among=False)
    if query.no_panel:
        yield "no_panel", partial(_is_among, name="construction", values=frozenset({"panel"}), among=False)
    if query.rooms:
        rooms = frozenset(query.rooms)
        yield "rooms", lambda flat, _: None if flat.rooms is None else min(flat.rooms, MANY_ROOMS) in rooms
    if query.seller:
        yield "seller", partial(_has_seller, wanted=frozenset(query.seller))
    if query.portal:
        portals = frozenset(query.portal)
        yield "portal", lambda flat, _: any(advert.site in portals for advert in flat.counting)


def _is_among(flat: Flat, _: Around, name: str, values: frozenset[str], *, among: bool = True) -> bool | None:
    value = getattr(flat, name)
    return None if value is None else (value in values) is among


def _has_any(flat: Flat, _: Around, name: str, wanted: frozenset[str]) -> bool | None:
    values = getattr(flat, name)
    return not wanted.isdisjoint(values) if values else None


def _has_seller(flat: Flat, _: Around, wanted: frozenset[str]) -> bool | None:
    kinds = {advert.seller_kind for advert in flat.counting}
    if not kinds.isdisjoint(wanted):
        return True
    return None if None in kinds else False


_DEMANDS: Final[dict[str, Check]] = {
    "not_ground": lambda flat, _: None if flat.floor is None else flat.floor > 0,
    "not_last": lambda flat, _: (
        None if flat.floor is None or flat.floors_total is None else flat.floor < flat.floors_total
    ),
    "balcony": lambda flat, _: True if flat.balconies else flat.has_balcony,
    "parking": lambda flat, _: set(flat.parking) != {"street"} if flat.parking else None,
    "elevator": lambda flat, _: flat.elevator,
}


def _demands(query: SearchQuery) -> Iterator[Named]:
    """Conditions with rules of their own: floors, acts, the metro, what there must be, price cuts."""
    yield from ((name, check) for name, check in _DEMANDS.items() if getattr(query, name))
    if query.act is not None:
        yield "act", partial(_has_act, wanted=query.act)
    if query.metro_m is not None:
        yield "metro_m", partial(_is_near_metro, metres=query.metro_m)
    if query.metro_minutes is not None:
        yield "metro_minutes", partial(_walks_to_metro, minutes=query.metro_minutes)
    yield from _surroundings(query)
    if query.passing:
        yield "passing", _passes
    if query.new_since is not None:
        since = query.new_since.timestamp()
        yield "new_since", lambda flat, _: flat.new_at is not None and flat.new_at >= since
    if query.cut_days is not None:
        yield "cut_days", partial(_is_cheaper, least=query.cut_percent or 0.0)


def _has_act(flat: Flat, _: Around, wanted: str) -> bool | None:
    reached = flat.act
    return None if reached is None else ACTS.index(reached) >= ACTS.index(wanted)


def _is_near_metro(flat: Flat, _: Around, metres: float) -> bool | None:
    """By the metres that one walks; told ones count as told."""
    walk = flat.metro_walk
    if walk is None:
        return None
    if walk.source != "advert":
        return walk.within(metres / WALK_METRES_PER_MINUTE)
    told = flat.metro_distance_m
    return (walk.most * METRES_PER_MINUTE if told is None else told) <= metres


def _walks_to_metro(flat: Flat, _: Around, minutes: float) -> bool | None:
    """Of a range of minutes only where all of it is within, or beyond, what is wanted."""
    walk = flat.metro_walk
    return None if walk is None else walk.within(minutes)


_WALKS: Final[Mapping[str, Callable[[Nearby], tuple[int, int] | None]]] = {
    "school_minutes": lambda near: near.school and near.school[:2],
    "school_rank": lambda near: near.school and near.school.ranks,
    "shop_minutes": lambda near: near.shop and near.shop[:2],
    "stop_minutes": lambda near: near.stop and near.stop[:2],
}
"""What may be so much at most."""


def _surroundings(query: SearchQuery) -> Iterator[Named]:
    """What is near a flat."""
    for name, read in _WALKS.items():
        if (most := getattr(query, name)) is not None:
            yield name, partial(_is_at_most, read=read, most=most)
    if query.line:
        yield "line", partial(_has_lines, wanted=frozenset(query.line))
    if query.road:
        yield "road", lambda flat, _: near.is_one_of(query.road) if (near := flat.nearby.road) else None


def _is_at_most(
    flat: Flat, _: Around, read: Callable[[Nearby], tuple[int, int] | None], most: float
) -> bool | None:
    """Of a range only where all of it is within, or beyond."""
    found = read(flat.nearby)
    if found is None:
        return None
    return is_within(*found, most)


def _has_lines(flat: Flat, _: Around, wanted: frozenset[str]) -> bool | None:
    """All of them; one that is near only a part of the neighbourhood may be."""
    stop = flat.nearby.stop
    if stop is None:
        return None
    return True if wanted <= {*stop.lines} else None if wanted <= {*stop.some_lines} else False


def _passes(flat: Flat, around: Around) -> bool | None:
    """The deal breakers of the profile; a flat that was not scored yet is unknown."""
    scored = (around.scores or {}).get(flat.property_id)
    return None if scored is None or scored.verdict is State.UNKNOWN else scored.verdict is State.PASS


def _is_cheaper(flat: Flat, around: Around, least: float) -> bool | None:
    """An advert still there got cheaper by so much."""
    if around.cuts is None:
        return None
    cuts = [around.cuts.get(advert.listing_id, 0.0) for advert in flat.adverts if advert.offered]
    return any(cut >= least and cut > 0 for cut in cuts)


def _words(query: SearchQuery) -> Iterator[Named]:
    """Words of adverts: whole words, in any writing of capitals, dashes and look-alike letters."""
    if query.word:
        yield "word", partial(_has_words, patterns=[_pattern(word) for word in query.word])
    if query.not_word:
        yield "not_word", partial(_has_no_word, patterns=[_pattern(word) for word in query.not_word])


def _has_words(flat: Flat, around: Around, patterns: Sequence[re.Pattern[str]]) -> bool | None:
    text = _text(flat, around)
    return None if text is None else all(pattern.search(text) for pattern in patterns)


def _has_no_word(flat: Flat, around: Around, patterns: Sequence[re.Pattern[str]]) -> bool | None:
    text = _text(flat, around)
    return None if text is None else not any(pattern.search(text) for pattern in patterns)


def _text(flat: Flat, around: Around) -> str | None:
    """The words of all its adverts, one after the other; None while they are not read."""
    if around.texts is None:
        return None
    return "\n".join(around.texts.get(advert.listing_id, "") for advert in flat.adverts)
