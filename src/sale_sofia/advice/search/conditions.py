"""The conditions of a search, each on one flat: pass, fail, or unknown."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import Stamp, find_named_place, places_stamp
from sale_sofia.advice.scoring.settings import ACTS
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.buyer.opinions import liked_by_all, statuses_for, waiting_for
from sale_sofia.buyer.people import Person
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import price_band
from sale_sofia.flats.rows import adverts_of, price_steps
from sale_sofia.flats.settings import MANY_ROOMS, METRES_PER_MINUTE
from sale_sofia.flats.store import portions, with_current
from sale_sofia.geography.imported import until_changed
from sale_sofia.geography.settings import WALK_METRES_PER_MINUTE
from sale_sofia.geography.shapes import Place
from sale_sofia.geography.surroundings import Nearby, is_within
from sale_sofia.geography.zones import Circle, Outline, Zone, read_outline, read_point
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.history.tables import listings, price_points
from sale_sofia.listings.places import SOFIA, borders_of, find_neighbourhood
from sale_sofia.listings.text import match_key

# What a search asks beside the flat itself: the buyer's status, price cuts, scores, the adverts' words.


class Scored(NamedTuple):
    """A flat's stored score for the profile that is asked."""

    verdict: State
    points: float
    value: float | None
    known: float


@dataclass(frozen=True, slots=True)
class Around:
    """All that is known beside the flats, at one moment. None: it was not read."""

    now: float
    statuses: Mapping[int, str] = field(default_factory=dict)
    """By property; one that is not in it is new."""
    cuts: Mapping[int, float] | None = None
    """By advert: by how many per cent it got cheaper within the days that are asked."""
    scores: Mapping[int, Scored] | None = None
    """By property, for the profile that is asked; one that is not in it was not scored."""
    texts: Mapping[int, str] | None = None
    """By advert: its words, as `match_key` makes them comparable."""
    liked: frozenset[int] = frozenset()
    """Where that is asked: properties that everybody of the household likes."""
    waiting: frozenset[int] = frozenset()
    """Where that is asked: properties that wait for the word of who asks."""


def read_around(
    connection: Connection, query: SearchQuery, *, now: float, person: Person | None = None
) -> Around:
    """Everything that a query asks but words and scores, which are many: see `with_words`, `scores_of`."""
    cuts = None if query.cut_days is None else _cuts(connection, now - query.cut_days * SECONDS_PER_DAY)
    liked = liked_by_all(connection) if query.all_like else frozenset()
    waiting = waiting_for(connection, person) if query.waits_for_you else frozenset()
    return Around(now, statuses_for(connection, person), cuts, liked=liked, waiting=waiting)


def with_words(connection: Connection, around: Around, flats: Iterable[Flat]) -> Around:
    """The same, and the words of these flats' adverts."""
    ids = sorted(advert.listing_id for flat in flats for advert in flat.adverts)
    columns = select(listings.c.id, listings.c.title, listings.c.description)
    texts = {
        row.id: match_key(f"{row.title or ''}\n{row.description or ''}")
        for some in portions(ids)
        for row in connection.execute(columns.where(listings.c.id.in_(some)))
    }
    return replace(around, texts=texts)


def scores_of(
    connection: Connection, profile: str, property_ids: Collection[int]
) -> dict[int, Scored] | None:
    """The stored scores; an offered flat that was looked at and has none is not what the profile wants.

    None where nothing is scored for the profile.
    """
    own = scores.c.profile == profile
    if connection.scalar(select(scores.c.property_id).where(own).limit(1)) is None:
        return None
    columns = [scores.c[name] for name in ("property_id", *Scored._fields)]
    seen = select(scored_flats.c.property_id).where(scored_flats.c.offered)
    found: dict[int, Scored] = {}
    for some in portions(sorted(property_ids)):
        looked_at = connection.scalars(seen.where(scored_flats.c.property_id.in_(some)))
        found |= dict.fromkeys(looked_at, Scored(State.FAIL, 0.0, None, 0.0))
        for row in connection.execute(select(*columns).where(own, scores.c.property_id.in_(some))):
            found[row[0]] = Scored(State(row[1]), *row[2:])
    return found


def _cuts(connection: Connection, since: float) -> dict[int, float]:
    """By how many per cent the price of each advert fell since a moment; where it rose, it is not in it."""
    moved = select(price_points.c.listing_id).where(
        price_points.c.kind == "price", price_points.c.seen_at >= since
    )
    found = {}
    for listing_id, points in price_steps(connection, set(connection.scalars(moved))).items():
        # Of each step since then, the share of the price that it left; steps of VAT or currency are none.
        left = math.prod(
            after.price_eur / before.price_eur
            for before, after in pairwise(points)
            if after.kind == "price" and after.seen_at >= since and before.price_eur and after.price_eur
        )
        if left < 1:
            found[listing_id] = (1 - left) * 100
    return found


# Each condition on a flat: it holds (True), does not (False), or is not known (None).

Check = Callable[[Flat, Around], bool | None]
Named = tuple[str, Check]


def checks_of(query: SearchQuery) -> Sequence[Named]:
    """The conditions that a query has, by name; words, which have to be read for it, last of all."""
    return _checks_of(query, places_stamp() if query.travel else ())


@until_changed
@lru_cache(maxsize=64)
def _checks_of(query: SearchQuery, _stamp: Stamp) -> Sequence[Named]:
    kinds = (_switches, _ranges, _choices, _zones, _demands, _words)
    return [named for kind in kinds for named in kind(query)]


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
    "eur_sqm": lambda flat, _: flat.price_per_sqm_eur,
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
    for name, measure in _MEASURES.items():
        low, high = getattr(query, f"{name}_min", None), getattr(query, f"{name}_max", None)
        if low is not None or high is not None:
            yield name, partial(_lies_between, measure=measure, low=low, high=high)


def _is_priced(flat: Flat, _: Around, low: float | None, high: float | None) -> bool | None:
    """With VAT where it comes on top; a price "from" has no most."""
    band = price_band(flat)
    if band is None:
        return None
    least, most = band.least, math.inf if band.most is None else band.most
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


FACTS: Final = (
    "city", "deal", "property_type", "neighbourhood", "district", "construction", "condition", "furnishing",
)  # fmt: skip


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


def _zones(query: SearchQuery) -> Iterator[Named]:
    """Parts of the city."""
    if query.within:
        yield "within", partial(_lies_in, zone=_named(query.within))
    if query.polygon:
        yield "polygon", partial(_lies_in, zone=_drawn(query.polygon))
    if query.near is not None and query.near_m is not None:
        yield "near", partial(_lies_in, zone=Zone(Circle(read_point(query.near), query.near_m)))


@until_changed
@lru_cache(maxsize=64)
def _named(names: tuple[str, ...]) -> Zone:
    """Kept, as it knows its neighbourhoods from the first flat in them on."""
    known = [borders for name in names if (borders := borders_of(name))]
    return Zone(Outline([area.shape for _, areas in known for area in areas]))


@until_changed
@lru_cache(maxsize=64)
def _drawn(polygons: tuple[str, ...]) -> Zone:
    """Kept, as above."""
    return Zone(Outline([read_outline(one) for one in polygons]))


def _lies_in(flat: Flat, _: Around, zone: Zone) -> bool | None:
    """Known exactly it is in or out; somewhere in a neighbourhood it is where all of that is."""
    if flat.city != SOFIA:
        return None if flat.city is None else False
    if exact := flat.exact_place:
        return zone.holds(exact)
    place = find_neighbourhood(flat.neighbourhood) if flat.neighbourhood else None
    return zone.holds_neighbourhood(place.id) if place else None


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
    if query.travel:
        yield "travel", partial(_is_near_enough, wanted=_wanted(query.travel))
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


def _wanted(travel: Iterable[str]) -> list[tuple[Place, int]]:
    """The places that are asked, and the minutes to them."""
    asked = (one.partition(":") for one in travel)
    return [(place, int(minutes)) for minutes, _, name in asked if (place := find_named_place(name))]


def _is_near_enough(flat: Flat, _: Around, wanted: Sequence[tuple[Place, int]]) -> bool | None:
    """Of every place; far from one of them is far, whatever is not known of the others."""
    travels = [(flat.travel_to(place), minutes) for place, minutes in wanted]
    found = [travel.within(minutes) if travel else None for travel, minutes in travels]
    return False if False in found else None if None in found else True


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


WORDS: Final = ("word", "not_word")
"""The conditions on words."""


def has_words(query: SearchQuery) -> Callable[[str], bool]:
    """Whether the words of a flat's adverts, as `match_key` makes them, are as the query wants them."""
    wanted, unwanted = [_pattern(word) for word in query.word], [_pattern(word) for word in query.not_word]

    def fits(text: str) -> bool:
        return all(one.search(text) for one in wanted) and not any(one.search(text) for one in unwanted)

    return fits


def texts_of(connection: Connection, property_ids: Collection[int]) -> dict[int, str]:
    """The words of all adverts of each of these flats."""
    found: dict[int, str] = defaultdict(str)
    table, current = with_current(listings.c.id)
    chosen = select(current, listings.c.title, listings.c.description).select_from(table)
    for some in portions(adverts_of(connection, property_ids)):
        for number, *words in connection.execute(chosen.where(listings.c.id.in_(some))):
            found[number] += match_key("\n".join(word or "" for word in words)) + "\n"
    return found


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


def _pattern(word: str) -> re.Pattern[str]:
    """The word as a whole; with a star at its end, whatever ending it has. "юг" is not in "друг"."""
    key = match_key(word.removesuffix("*"))
    end = r"\w*" if word.endswith("*") else r"(?!\w)"
    return re.compile(rf"(?<!\w){re.escape(key)}{end}")
