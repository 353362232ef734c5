"""Conditions of a search with rules of their own: floors, acts, the metro, what there must be, price cuts."""

import time
from collections.abc import Iterator

from sale_sofia.config.scoring import ACTS, METRES_PER_MINUTE
from sale_sofia.insights.criteria import walk_minutes
from sale_sofia.insights.criteria_building import act_reached
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_around import Around
from sale_sofia.insights.searching_verdicts import Named, said


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
