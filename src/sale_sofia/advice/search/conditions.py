"""What a search asks beside the table of flats, and the conditions that it does not answer."""

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
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.buyer.opinions import liked_by_all, statuses_for, waiting_for
from sale_sofia.buyer.people import Person
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import adverts_of, price_steps
from sale_sofia.flats.store import rows_of, with_current
from sale_sofia.geography.imported import until_changed
from sale_sofia.geography.shapes import Place
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
    liked: frozenset[int] = frozenset()
    """Where that is asked: properties that everybody of the household likes."""
    waiting: frozenset[int] = frozenset()
    """Where that is asked: properties that wait for the word of who asks."""


def read_around(
    connection: Connection, query: SearchQuery, *, now: float, person: Person | None = None
) -> Around:
    """Everything that a query asks but words and scores, which are many: see `texts_of`, `scores_of`."""
    cuts = None if query.cut_days is None else _cuts(connection, now - query.cut_days * SECONDS_PER_DAY)
    liked = liked_by_all(connection) if query.all_like else frozenset()
    waiting = waiting_for(connection, person) if query.waits_for_you else frozenset()
    return Around(now, statuses_for(connection, person), cuts, liked=liked, waiting=waiting)


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
    for row in rows_of(connection, seen, scored_flats.c.property_id, property_ids):
        found[row[0]] = Scored(State.FAIL, 0.0, None, 0.0)
    for row in rows_of(connection, select(*columns).where(own), scores.c.property_id, property_ids):
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


# Conditions that the table does not answer, on one flat: it holds, does not, or is not known (None).

Check = Callable[[Flat], bool | None]
Named = tuple[str, Check]


def checks_of(query: SearchQuery) -> Sequence[Named]:
    """Those that a query has, by name: parts of the city, and minutes to places."""
    return _checks_of(query, places_stamp() if query.travel else ())


@until_changed
@lru_cache(maxsize=64)
def _checks_of(query: SearchQuery, _stamp: Stamp) -> Sequence[Named]:
    far = [("travel", partial(_is_near_enough, wanted=_wanted(query.travel)))] if query.travel else []
    return [*_zones(query), *far]


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


def _lies_in(flat: Flat, zone: Zone) -> bool | None:
    """Known exactly it is in or out; somewhere in a neighbourhood it is where all of that is."""
    if flat.city != SOFIA:
        return None if flat.city is None else False
    if exact := flat.exact_place:
        return zone.holds(exact)
    place = find_neighbourhood(flat.neighbourhood) if flat.neighbourhood else None
    return zone.holds_neighbourhood(place.id) if place else None


def _wanted(travel: Iterable[str]) -> list[tuple[Place, int]]:
    """The places that are asked, and the minutes to them."""
    asked = (one.partition(":") for one in travel)
    return [(place, int(minutes)) for minutes, _, name in asked if (place := find_named_place(name))]


def _is_near_enough(flat: Flat, wanted: Sequence[tuple[Place, int]]) -> bool | None:
    """Of every place; far from one of them is far, whatever is not known of the others."""
    travels = [(flat.travel_to(place), minutes) for place, minutes in wanted]
    found = [travel.within(minutes) if travel else None for travel, minutes in travels]
    return False if False in found else None if None in found else True


# Words of adverts: whole words, in any writing of capitals, dashes and look-alike letters.


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
    for number, *words in rows_of(connection, chosen, listings.c.id, adverts_of(connection, property_ids)):
        found[number] += match_key("\n".join(word or "" for word in words)) + "\n"
    return found


def _pattern(word: str) -> re.Pattern[str]:
    """The word as a whole; with a star at its end, whatever ending it has. "юг" is not in "друг"."""
    key = match_key(word.removesuffix("*"))
    end = r"\w*" if word.endswith("*") else r"(?!\w)"
    return re.compile(rf"(?<!\w){re.escape(key)}{end}")
