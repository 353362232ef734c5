"""A search from beginning to end, and whether one flat fulfils it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlalchemy import Connection

from sale_sofia.config.searching import READ_ALL_SHARE
from sale_sofia.insights.flat_rows import read_flats
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_around import Around, read_around, with_words
from sale_sofia.insights.searching_checks import checks_of
from sale_sofia.insights.searching_sql import candidates, count_all
from sale_sofia.insights.searching_verdicts import Named

_WORDS: Final = frozenset({"word", "not_word"})


@dataclass(frozen=True, slots=True)
class Judged:
    """A flat, and of which conditions it is not known whether it fulfils them."""

    flat: Flat
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """All that a search found, in its order."""

    passed: tuple[Judged, ...]
    """With `unknown="ok"` those of which something is not known are among them."""
    unknown: tuple[Judged, ...]
    """With `unknown="apart"`: no condition fails, but not all are known to hold."""
    around: Around


def search(connection: Connection, query: SearchQuery, *, now: float) -> Found:
    """Every flat that fulfils a query at this moment."""
    around = read_around(connection, query, now=now)
    fitting, around = find_fitting(connection, _flats(connection, query, now), query, around)
    known = [one for one in fitting if not one.unknown or query.unknown == "ok"]
    apart = [one for one in fitting if one.unknown] if query.unknown == "apart" else []
    return Found(ordered(known, query, around), ordered(apart, query, around), around)


def find_fitting(
    connection: Connection, flats: Iterable[Flat], query: SearchQuery, around: Around
) -> tuple[list[Judged], Around]:
    """Whatever no condition rules out, in the order given; words are read only of what passes the rest."""
    quick = [named for named in checks_for(query) if named[0] not in _WORDS]
    fitting = _fitting(flats, quick, around)
    if query.word or query.not_word:
        around = with_words(connection, around, (one.flat for one in fitting))
        fitting = _fitting((one.flat for one in fitting), checks_for(query), around)
    return fitting, around


def matches(flat: Flat, query: SearchQuery, around: Around) -> State:
    """Whether a flat fulfils a query; what is not known is a pass or a fail where the query says so."""
    judged = judge(flat, query, around)
    if judged is None:
        return State.FAIL
    return State.UNKNOWN if judged.unknown and query.unknown == "apart" else State.PASS


def judge(flat: Flat, query: SearchQuery, around: Around) -> Judged | None:
    """The flat with what is not known of it, or None where it does not fulfil the query."""
    judged = _judged(flat, checks_for(query), around)
    return None if judged is None or (judged.unknown and query.unknown == "no") else judged


@lru_cache(maxsize=64)
def checks_for(query: SearchQuery) -> Sequence[Named]:
    """The conditions of a query, made once."""
    return checks_of(query)


def _flats(connection: Connection, query: SearchQuery, now: float) -> Iterator[Flat]:
    ids = candidates(connection, query, now=now)
    if len(ids) < READ_ALL_SHARE * count_all(connection):
        return read_flats(connection, ids, photos=0)
    wanted = set(ids)
    return (flat for flat in read_flats(connection, photos=0) if flat.property_id in wanted)


def _fitting(flats: Iterable[Flat], checks: Sequence[Named], around: Around) -> list[Judged]:
    return [judged for flat in flats if (judged := _judged(flat, checks, around))]


def _judged(flat: Flat, checks: Iterable[Named], around: Around) -> Judged | None:
    unknown = []
    for name, check in checks:
        verdict = check(flat, around)
        if verdict is State.FAIL:
            return None
        if verdict is State.UNKNOWN:
            unknown.append(name)
    return Judged(flat, tuple(unknown))


def ordered(found: Iterable[Judged], query: SearchQuery, around: Around) -> tuple[Judged, ...]:
    """In the order asked for; what is not known comes last, ties by id."""

    def key(one: Judged) -> tuple[bool, float, int]:
        value = _rank(one.flat, query.sort, around)
        return value is None, value or 0.0, one.flat.property_id

    return tuple(sorted(found, key=key))


def _rank(flat: Flat, sort: str, around: Around) -> float | None:
    """The lower, the earlier."""
    match sort:
        case "newest":
            return -flat.first_seen_at
        case "price":
            return flat.price_eur
        case "eur_sqm":
            return flat.price_per_sqm_eur
        case "score":
            scored = (around.scores or {}).get(flat.property_id)
            return None if scored is None else -scored.points
        case _:
            return flat.first_seen_at
