"""The conditions of a search, each on one flat: pass, fail, or unknown."""

import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from sale_sofia.advice.costs import Band, price_band
from sale_sofia.advice.scoring.criteria import act_reached, walk_minutes
from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.settings import ACTS, METRES_PER_MINUTE
from sale_sofia.advice.search.query import MANY_ROOMS, SearchQuery
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.buyer.evaluations import statuses
from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.rows import PriceStep, price_steps
from sale_sofia.flats.store import portions
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.history.tables import listings, price_points
from sale_sofia.listings.text import match_key

# What a search asks beside the flat itself: the buyer's status, price cuts, scores, the adverts' words.

SECONDS_PER_DAY: Final = 24 * SECONDS_PER_HOUR


class Scored(NamedTuple):
    """A flat's stored score for the profile that is asked."""

    verdict: State
    points: float
    value: float | None
    known: float


_UNWANTED: Final = Scored(State.FAIL, 0.0, None, 0.0)


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


def read_around(connection: Connection, query: SearchQuery, *, now: float) -> Around:
    """Everything that a query asks but the words, which are many: see `with_words`."""
    cuts = None if query.cut_days is None else _cuts(connection, now - query.cut_days * SECONDS_PER_DAY)
    scored = None if query.profile is None else _scores(connection, query.profile)
    return Around(now, statuses(connection), cuts, scored)


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


def _scores(connection: Connection, profile: str) -> dict[int, Scored]:
    """The stored scores; an offered flat that was looked at and has none is not what the profile wants."""
    columns = (scores.c[name] for name in ("property_id", *Scored._fields))
    rows = connection.execute(select(*columns).where(scores.c.profile == profile))
    found = {row[0]: Scored(State(row[1]), *row[2:]) for row in rows}
    seen = connection.scalars(select(scored_flats.c.property_id).where(scored_flats.c.offered))
    return {**dict.fromkeys(seen, _UNWANTED), **found} if found else {}


def _cuts(connection: Connection, since: float) -> dict[int, float]:
    """By how many per cent the price of each advert fell since a moment; where it rose, it is not in it."""
    moved = select(price_points.c.listing_id).where(
        price_points.c.kind == "price", price_points.c.seen_at >= since
    )
    steps = price_steps(connection, set(connection.scalars(moved)))
    left = {listing_id: math.prod(_ratios(points, since)) for listing_id, points in steps.items()}
    return {listing_id: (1 - share) * 100 for listing_id, share in left.items() if share < 1}


def _ratios(points: Sequence[PriceStep], since: float) -> Iterable[float]:
    """Of each step since then, the share of the price that it left; steps of VAT or currency are none."""
    for before, after in pairwise(points):
        if after.kind == "price" and after.seen_at >= since and before.price_eur and after.price_eur:
            yield after.price_eur / before.price_eur


# The three states of a condition on a flat: pass, fail, unknown.

Check = Callable[[Flat, Around], State]
Named = tuple[str, Check]


def said(truth: bool | None) -> State:  # noqa: FBT001 - three states, no switch
    """What a condition that may not be known comes to."""
    if truth is None:
        return State.UNKNOWN
    return State.PASS if truth else State.FAIL


def within(band: Band | None, low: float | None, high: float | None) -> State:
    """Whether a sum that is known from a least to a most lies between two bounds."""
    if band is None:
        return State.UNKNOWN
    if (high is not None and band.least > high) or _below(band.most, low):
        return State.FAIL
    sure = (high is None or (band.most is not None and band.most <= high)) and (
        low is None or band.least >= low
    )
    return said(sure or None)


def _below(most: float | None, low: float | None) -> bool:
    return most is not None and low is not None and most < low


# Conditions of a search with rules of their own: floors, acts, the metro, what there must be, price cuts.


def demands(query: SearchQuery) -> Iterator[Named]:
    """Those that a query has, by name."""
    plain = {"not_ground": _not_ground, "not_last": _not_last, "balcony": _balcony, "parking": _parking}
    for name, check in plain.items():
        if getattr(query, name):
            yield name, check
    if query.elevator:
        yield "elevator", lambda flat, _: said(flat.elevator)
    if (act := query.act) is not None:
        yield "act", lambda flat, _: _has_act(flat, act)
    if (metres := query.metro_m) is not None:
        yield "metro_m", lambda flat, _: _up_to(_metres(flat), metres)
    if (minutes := query.metro_minutes) is not None:
        yield "metro_minutes", lambda flat, _: _up_to(_minutes(flat), minutes)
    if query.passing:
        yield "passing", _passes
    yield from _times(query)


def _times(query: SearchQuery) -> Iterator[Named]:
    if query.new_since is not None:
        since = query.new_since.timestamp()
        yield "new_since", lambda flat, _: said(flat.new_at is not None and flat.new_at >= since)
    if query.cut_days is not None:
        least = query.cut_percent or 0.0
        yield "cut_days", lambda flat, around: _is_cheaper(flat, around, least)


def _not_ground(flat: Flat, _: Around) -> State:
    return said(None if flat.floor is None else flat.floor > 0)


def _not_last(flat: Flat, _: Around) -> State:
    if flat.floor is None or flat.floors_total is None:
        return State.UNKNOWN
    return said(flat.floor < flat.floors_total)


def _balcony(flat: Flat, _: Around) -> State:
    return said(True if flat.balconies else flat.has_balcony)


def _parking(flat: Flat, _: Around) -> State:
    return said(any(kind != "street" for kind in flat.parking) if flat.parking else None)


def _has_act(flat: Flat, wanted: str) -> State:
    first_year = time.gmtime(flat.first_seen_at).tm_year
    reached = act_reached(
        flat.act_status, flat.under_construction, flat.year_built, flat.construction, first_year
    )
    return said(None if reached is None else ACTS.index(reached) >= ACTS.index(wanted))


def _metres(flat: Flat) -> float | None:
    """As told; else by the minutes that are told."""
    if flat.metro_distance_m is not None or flat.metro_minutes is None:
        return flat.metro_distance_m
    return flat.metro_minutes * METRES_PER_MINUTE


def _minutes(flat: Flat) -> float | None:
    return walk_minutes(flat.metro_minutes, flat.metro_distance_m)


def _up_to(value: float | None, most: float) -> State:
    return said(None if value is None else value <= most)


def _is_cheaper(flat: Flat, around: Around, least: float) -> State:
    """An advert still there got cheaper by so much."""
    if around.cuts is None:
        return State.UNKNOWN
    cuts = [around.cuts.get(advert.listing_id, 0.0) for advert in flat.adverts if advert.offered]
    return said(any(cut >= least and cut > 0 for cut in cuts))


def _passes(flat: Flat, around: Around) -> State:
    """The deal breakers of the profile; a flat that was not scored yet is unknown."""
    scored = (around.scores or {}).get(flat.property_id)
    return State.UNKNOWN if scored is None else scored.verdict


# Words of adverts: whole words, in any writing of capitals, dashes and look-alike letters.

_ENDING = "*"


def words(query: SearchQuery) -> Iterator[Named]:
    """The conditions on words that a query has, by name."""
    if query.word:
        yield "word", partial(_has_all, patterns=[_pattern(word) for word in query.word])
    if query.not_word:
        yield "not_word", partial(_has_none, patterns=[_pattern(word) for word in query.not_word])


def _pattern(word: str) -> re.Pattern[str]:
    """The word as a whole; with a star at its end, whatever ending it has. "юг" is not in "друг"."""
    key = match_key(word.removesuffix(_ENDING))
    end = r"\w*" if word.endswith(_ENDING) else r"(?!\w)"
    return re.compile(rf"(?<!\w){re.escape(key)}{end}")


def _has_all(flat: Flat, around: Around, patterns: Collection[re.Pattern[str]]) -> State:
    text = _text(flat, around)
    return said(None if text is None else all(pattern.search(text) for pattern in patterns))


def _has_none(flat: Flat, around: Around, patterns: Collection[re.Pattern[str]]) -> State:
    text = _text(flat, around)
    return said(None if text is None else not any(pattern.search(text) for pattern in patterns))


def _text(flat: Flat, around: Around) -> str | None:
    """The words of all its adverts, one after the other; None while they are not read."""
    if around.texts is None:
        return None
    texts = around.texts
    return "\n".join(texts.get(advert.listing_id, "") for advert in flat.adverts)


def checks_of(query: SearchQuery) -> list[Named]:
    """The conditions that a query has, by name; words, which have to be read for it, last of all."""
    return [*_switches(query), *_ranges(query), *_choices(query), *demands(query), *words(query)]


def _switches(query: SearchQuery) -> Iterator[Named]:
    if not query.gone:
        yield "gone", lambda flat, _: said(flat.offered)
    if not query.place_conflict:
        yield "place_conflict", lambda flat, _: said("place_conflict" not in flat.flags)
    if query.status:
        wanted = frozenset(query.status)
        yield "status", lambda flat, around: said(around.statuses.get(flat.property_id, "new") in wanted)


_MEASURES: Final[dict[str, Callable[[Flat, Around], float | None]]] = {
    "eur_sqm": lambda flat, _: flat.price_per_sqm_eur,
    "area": lambda flat, _: flat.area_sqm,
    "net_area": lambda flat, _: flat.area_net_sqm,
    "bathrooms": lambda flat, _: flat.bathrooms,
    "floor": lambda flat, _: flat.floor,
    "year": lambda flat, _: flat.year_built,
    "days": lambda flat, around: (around.now - flat.first_seen_at) / SECONDS_PER_DAY,
}


def _ranges(query: SearchQuery) -> Iterator[Named]:
    if query.price_min is not None or query.price_max is not None:
        yield "price", _priced(query.price_min, query.price_max)
    for name, measure in _MEASURES.items():
        low, high = getattr(query, f"{name}_min", None), getattr(query, f"{name}_max", None)
        if low is not None or high is not None:
            yield name, _between(measure, low, high)


def _priced(low: float | None, high: float | None) -> Check:
    """With VAT where it comes on top; a price "from" has no most."""
    return lambda flat, _: within(price_band(flat), low, high)


def _between(measure: Callable[[Flat, Around], float | None], low: float | None, high: float | None) -> Check:
    def check(flat: Flat, around: Around) -> State:
        value = measure(flat, around)
        if value is None:
            return State.UNKNOWN
        return said((low is None or value >= low) and (high is None or value <= high))

    return check


_FACTS: Final[dict[str, Callable[[Flat], str | None]]] = {
    name: attrgetter(name)
    for name in (
        "city", "deal", "property_type", "neighbourhood", "district", "construction", "condition",
        "furnishing",
    )
}  # fmt: skip
_LISTS: Final = ("heating", "orientation")


def _choices(query: SearchQuery) -> Iterator[Named]:
    for name, fact in _FACTS.items():
        if wanted := _wanted(getattr(query, name)):
            yield name, _one_of(fact, wanted)
    for name in _LISTS:
        if wanted := _wanted(getattr(query, name)):
            yield name, _any_of(name, wanted)
    if query.not_neighbourhood:
        yield "not_neighbourhood", _none_of(_FACTS["neighbourhood"], frozenset(query.not_neighbourhood))
    if query.no_panel:
        yield "no_panel", _none_of(_FACTS["construction"], frozenset({"panel"}))
    if query.rooms:
        yield "rooms", _rooms(frozenset(query.rooms))
    if query.seller:
        yield "seller", _seller(frozenset(query.seller))
    if query.portal:
        yield "portal", _portal(frozenset(query.portal))


def _wanted(value: str | tuple[str, ...] | None) -> frozenset[str]:
    return frozenset({value} if isinstance(value, str) else value or ())


def _one_of(fact: Callable[[Flat], str | None], wanted: Collection[str]) -> Check:
    return lambda flat, _: said(None if (value := fact(flat)) is None else value in wanted)


def _none_of(fact: Callable[[Flat], str | None], unwanted: Collection[str]) -> Check:
    return lambda flat, _: said(None if (value := fact(flat)) is None else value not in unwanted)


def _any_of(name: str, wanted: frozenset[str]) -> Check:
    return lambda flat, _: said(not wanted.isdisjoint(values) if (values := getattr(flat, name)) else None)


def _rooms(wanted: frozenset[int]) -> Check:
    return lambda flat, _: said(None if flat.rooms is None else min(flat.rooms, MANY_ROOMS) in wanted)


def _shown(flat: Flat) -> Iterable[Advert]:
    """The adverts that count: those still there, or all of a flat that is gone."""
    return (advert for advert in flat.adverts if advert.offered or not flat.offered)


def _seller(wanted: Collection[str]) -> Check:
    def check(flat: Flat, _: Around) -> State:
        kinds = {advert.seller_kind for advert in _shown(flat)}
        return (
            State.FAIL
            if kinds.isdisjoint({*wanted, None})
            else said(None if kinds.isdisjoint(wanted) else True)
        )

    return check


def _portal(wanted: Collection[str]) -> Check:
    return lambda flat, _: said(any(advert.site in wanted for advert in _shown(flat)))
