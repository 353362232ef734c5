"""What a search needs beside the table of flats, and the conditions that the table cannot answer."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import Stamp, find_named_place, places_stamp
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.settings import ROUNDING
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.buyer.opinions import liked_by_all, statuses_for, waiting_for
from sale_sofia.buyer.people import Person
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import price_steps
from sale_sofia.flats.store import rows_of
from sale_sofia.flats.tables import listing_sources
from sale_sofia.geography.imported import until_changed
from sale_sofia.geography.shapes import Destination
from sale_sofia.geography.zones import Circle, Outline, Zone, read_outline, read_point
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.history.tables import listings, price_points
from sale_sofia.listings.places import SOFIA, borders_of, find_neighbourhood
from sale_sofia.listings.text import match_key, spaced_key

# What a search needs beside the flat itself: the buyer's status, price cuts, scores, the adverts' words.


class Scored(NamedTuple):
    """A flat's stored score for the profile of the search."""

    verdict: State
    points: float
    value: float | None
    known: float


@dataclass(frozen=True, slots=True)
class Around:
    """What a search knows beside the flats, at one moment. None: it was not read."""

    now: float
    statuses: Mapping[int, str] = field(default_factory=dict)
    """By property; one that is missing is new."""
    cuts: Mapping[int, float] | None = None
    """By advert: by how many per cent it got cheaper within the days of the query."""
    scores: Mapping[int, Scored] | None = None
    """By property, for the profile of the query; one that is missing was not scored."""
    liked: frozenset[int] = frozenset()
    """Properties that everybody of the household likes; read only where the query needs them."""
    waiting: frozenset[int] = frozenset()
    """Properties that wait for the opinion of the person who searches; read only where needed."""


def read_around(
    connection: Connection, query: SearchQuery, *, now: float, person: Person | None = None
) -> Around:
    """Everything that a query needs but words and scores, which are many: see `texts_of`, `scores_of`."""
    cuts = None if query.cut_days is None else _cuts(connection, now - query.cut_days * SECONDS_PER_DAY)
    liked = liked_by_all(connection) if query.all_like else frozenset()
    waiting = waiting_for(connection, person) if query.waits_for_you else frozenset()
    return Around(now, statuses_for(connection, person), cuts, liked=liked, waiting=waiting)


def scores_of(
    connection: Connection, profile: str, property_ids: Collection[int]
) -> dict[int, Scored] | None:
    """The stored scores; an offered flat that was looked at without a score fails the profile.

    None where nothing is scored for the profile.
    """
    own = scores.c.profile == profile
    if connection.scalar(select(scores.c.property_id).where(own).limit(1)) is None:
        return None
    columns = [scores.c[name] for name in ("property_id", *Scored._fields)]
    seen = select(scored_flats.c.property_id).where(scored_flats.c.offered)
    found: dict[int, Scored] = {}
    for row in rows_of(connection, seen, scored_flats.c.property_id, property_ids):
        found[row[0]] = Scored(State.FAIL, 0.0, None, 0.0)
    for row in rows_of(connection, select(*columns).where(own), scores.c.property_id, property_ids):
        found[row[0]] = Scored(State(row[1]), *row[2:])
    return found


def _cuts(connection: Connection, since: float) -> dict[int, float]:
    """By how many per cent the price of each advert fell since a moment; others are left out."""
    moved = select(price_points.c.listing_id).where(
        price_points.c.kind == "price", price_points.c.seen_at >= since
    )
    found = {}
    for listing_id, points in price_steps(connection, set(connection.scalars(moved))).items():
        # The product of the price ratios of all steps since then; changes of VAT or currency are no steps.
        # While no price was told, the one before counts.
        told = [(point, point.price_eur) for point in points if point.price_eur]
        left = math.prod(
            price / before
            for (_, before), (point, price) in pairwise(told)
            if point.kind == "price" and point.seen_at >= since
        )
        if left < 1 - ROUNDING:
            found[listing_id] = (1 - left + ROUNDING) * 100
    return found


# Conditions that the table cannot answer, on one flat: true, false, or not known (None).

Check = Callable[[Flat], bool | None]
NamedCheck = tuple[str, Check]


def checks_of(query: SearchQuery) -> Sequence[NamedCheck]:
    """The checks of a query, by name: parts of the city, and minutes to places."""
    return _checks_of(query, places_stamp() if query.travel else ())


@until_changed
@lru_cache(maxsize=64)
def _checks_of(query: SearchQuery, _stamp: Stamp) -> Sequence[NamedCheck]:
    travel = [("travel", partial(_is_near_enough, limits=_limits(query.travel)))] if query.travel else []
    return [*_zones(query), *travel]


def _zones(query: SearchQuery) -> Iterator[NamedCheck]:
    """Parts of the city."""
    if query.within:
        yield "within", partial(_lies_in, zone=_named_zone(query.within))
    if query.polygon:
        yield "polygon", partial(_lies_in, zone=_drawn_zone(query.polygon))
    if query.near is not None and query.near_m is not None:
        yield "near", partial(_lies_in, zone=Zone(Circle(read_point(query.near), query.near_m)))


@until_changed
@lru_cache(maxsize=64)
def _named_zone(names: tuple[str, ...]) -> Zone:
    """Cached, as a zone remembers which neighbourhoods it holds."""
    borders = [found for name in names if (found := borders_of(name))]
    return Zone(Outline([area.shape for _, areas in borders for area in areas]))


@until_changed
@lru_cache(maxsize=64)
def _drawn_zone(polygons: tuple[str, ...]) -> Zone:
    """Cached, as above."""
    return Zone(Outline([*map(read_outline, polygons)]))


def _lies_in(flat: Flat, zone: Zone) -> bool | None:
    """A flat at an exact place is in or out; one of a neighbourhood is where all of that lies."""
    if flat.city != SOFIA:
        return None if flat.city is None else False
    if exact := flat.exact_place:
        return zone.holds(exact)
    place = find_neighbourhood(flat.neighbourhood) if flat.neighbourhood else None
    return zone.holds_neighbourhood(place.id) if place else None


def _limits(travel: Iterable[str]) -> list[tuple[Destination, int]]:
    """The places, and the most minutes to each."""
    parts = (text.partition(":") for text in travel)
    return [(place, int(minutes)) for minutes, _, name in parts if (place := find_named_place(name))]


def _is_near_enough(flat: Flat, limits: Sequence[tuple[Destination, int]]) -> bool | None:
    """Near every place; far from one of them is far, whatever is unknown about the others."""
    travels = [(flat.travel_to(place), minutes) for place, minutes in limits]
    within = [travel.within(minutes) if travel else None for travel, minutes in travels]
    return False if False in within else None if None in within else True


# Words of adverts: whole words, in any writing of capitals, dashes and look-alike letters.


def has_words(query: SearchQuery) -> Callable[[Iterable[str]], bool]:
    """A test of the texts of a flat's adverts against the words of the query."""
    wanted, unwanted = [_pattern(word) for word in query.word], [_pattern(word) for word in query.not_word]

    def fits(texts: Iterable[str]) -> bool:
        missing = wanted
        for key in map(spaced_key, texts):  # one after another: the first often has all the words
            if any(word.search(key) for word in unwanted):
                return False
            missing = [word for word in missing if not word.search(key)]
            if not missing and not unwanted:
                return True
        return not missing

    return fits


def texts_of(connection: Connection, property_ids: Collection[int]) -> Mapping[int, Collection[str]]:
    """The different texts of the adverts of each of these flats."""
    found: dict[int, set[str]] = defaultdict(set)
    own, number = listing_sources.c.listing_id == listings.c.id, listing_sources.c.property_id
    words = (listings.c.title, listings.c.description)
    matched = select(number, *words).join_from(listing_sources, listings, own)
    alone = select(listings.c.id, *words).outerjoin(listing_sources, own).where(number.is_(None))
    for chosen, column in ((matched, number), (alone, listings.c.id)):
        for property_id, title, text in rows_of(connection, chosen, column, {*property_ids} - found.keys()):
            found[property_id].add(f"{title or ''}\n{text or ''}")
    return found


def _pattern(word: str) -> re.Pattern[str]:
    """The word as a whole; with a star at its end, whatever ending it has. "юг" is not in "друг".

    A space in it is any white space: texts keep theirs.
    """
    key = r"\s+".join(map(re.escape, match_key(word.removesuffix("*")).split(" ")))
    end = r"\w*" if word.endswith("*") else r"(?!\w)"
    return re.compile(rf"(?<!\w){key}{end}")
