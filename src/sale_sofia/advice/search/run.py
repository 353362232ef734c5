"""A search from beginning to end, and whether one flat fulfils it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, false, func, or_, select, true

from sale_sofia.advice.search.conditions import (
    Around,
    Named,
    checks_of,
    read_around,
    scores_of,
    with_words,
)
from sale_sofia.advice.search.index import indexed, is_unwanted
from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.buyer.searches import read_search
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import load_flats, refresh_flats
from sale_sofia.flats.tables import flats
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database


@dataclass(frozen=True, slots=True)
class Judged:
    """A flat, and of which conditions it is not known whether it fulfils them."""

    flat: Flat
    unknown: tuple[str, ...] = ()


Part = Callable[[int], slice]
"""Which of so many are wanted."""


def everything(_total: int) -> slice:
    """All of them."""
    return slice(None)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, in its order: how many there are, and the part of them that was wanted."""

    total: int
    passed: tuple[Judged, ...]
    """With `unknown="ok"` those of which something is not known are among them."""
    unknown_total: int
    unknown: tuple[Judged, ...]
    """With `unknown="apart"`: no condition fails, but not all are known to hold."""
    around: Around
    """With the scores of these flats; None where nothing is scored for the profile."""


def search(
    database: Database,
    query: SearchQuery,
    *,
    now: float,
    part: Part = everything,
    unknown_part: Part = everything,
    best_first: bool = False,
) -> Found:
    """Every flat that fulfils a query at this moment; or how many there are, and a part of them.

    By score, the most points come first; `best_first`: what passes before what may, and that before the rest.
    """
    refresh_flats(database)
    work = partial(_search, query=query, now=now, parts=(part, unknown_part), best_first=best_first)
    return database.run_read(work)


def _search(
    connection: Connection, query: SearchQuery, now: float, parts: tuple[Part, Part], *, best_first: bool
) -> Found:
    around = read_around(connection, query, now=now)
    rows = FittingRows(query, around, best_first=best_first)
    lists = rows.check(connection) if rows.left else rows.count(connection)
    found = [tuple(one.read(part(one.total))) for one, part in zip(lists, parts, strict=True)]
    if query.profile is not None:
        shown = [one.flat.property_id for some in found for one in some]
        around = replace(around, scores=scores_of(connection, query.profile, shown))
    return Found(lists[0].total, found[0], lists[1].total, found[1], around)


def search_rows(
    database: Database, query: SearchQuery, columns: Sequence[ColumnElement[Any]], *, now: float
) -> Sequence[Row[Any]]:
    """These columns, of `flats` or of the profile's `scores`, of all flats that a search finds, or may."""
    refresh_flats(database)

    def read(connection: Connection) -> Sequence[Row[Any]]:
        rows = FittingRows(query, read_around(connection, query, now=now))
        chosen = rows.select(flats.c.property_id, *columns).order_by(flats.c.property_id)
        if rows.left:
            there = {
                one.flat.property_id for some in rows.check(connection) for one in some.read(slice(None))
            }
            return [row for row in connection.execute(chosen) if row[0] in there]
        return connection.execute(chosen.where(~rows.is_unsure) if query.unknown == "no" else chosen).all()

    return database.run_read(read)


class _Listed(NamedTuple):
    total: int
    read: Callable[[slice], Sequence[Judged]]


class FittingRows:
    """The rows of flats that no condition rules out, as far as the table can tell."""

    def __init__(self, query: SearchQuery, around: Around, *, best_first: bool = False) -> None:
        checks = checks_of(query)
        self._query, self._around, self._best_first = query, around, best_first
        self._indexed = indexed(query, [name for name, _ in checks], around)
        self.left = [named for named in checks if named[0] not in self._indexed]
        """Conditions that are asked of each flat."""
        self.fitting = and_(true(), *(one.is_not(False) for one in self._indexed.values()))
        self.is_unsure: ColumnElement[bool] = or_(false(), *(one.is_(None) for one in self._indexed.values()))

    def select(self, *columns: ColumnElement[Any]) -> Select[Any]:
        """These columns of the rows."""
        chosen = select(*columns).select_from(flats).where(self.fitting)
        if self._query.profile is None:
            return chosen
        own = and_(scores.c.property_id == flats.c.property_id, scores.c.profile == self._query.profile)
        looked_at = scored_flats.c.property_id == flats.c.property_id
        return chosen.outerjoin(scores, own).outerjoin(scored_flats, looked_at)

    def count(self, connection: Connection) -> tuple[_Listed, _Listed]:
        """What fits and what may, as the query wants them; nothing is read but what is wanted."""
        doubts = func.coalesce(func.sum(case((self.is_unsure, 1), else_=0)), 0)
        total, unknown = connection.execute(self.select(func.count(), doubts)).one()
        if self._query.unknown == "ok":
            return _Listed(total, partial(self._read, connection)), _Listed(0, lambda _: ())
        apart = unknown if self._query.unknown == "apart" else 0
        sure, unsure = (
            partial(self._read, connection, which=one) for one in (~self.is_unsure, self.is_unsure)
        )
        return _Listed(total - unknown, sure), _Listed(apart, unsure)

    def check(self, connection: Connection) -> tuple[_Listed, _Listed]:
        """The same, of which conditions are asked that the table does not answer."""
        fitting, around = self._read(connection, slice(None)), self._around
        if self._query.word or self._query.not_word:
            around = with_words(connection, around, (one.flat for one in fitting))
        checked = _fitting([one.flat for one in fitting], self.left, around)
        left = {one.flat.property_id: one.unknown for one in checked}
        judged = [
            Judged(one.flat, (*one.unknown, *left[number]))
            for one in fitting
            if (number := one.flat.property_id) in left
        ]
        sure = [one for one in judged if not one.unknown or self._query.unknown == "ok"]
        apart = [one for one in judged if one.unknown] if self._query.unknown == "apart" else []
        return _Listed(len(sure), sure.__getitem__), _Listed(len(apart), apart.__getitem__)

    def _read(
        self, connection: Connection, part: slice, which: ColumnElement[bool] | None = None
    ) -> list[Judged]:
        asked = [one.is_(None).label(f"{name}_unknown") for name, one in self._indexed.items()]
        chosen = self.select(flats.c.property_id, *asked).order_by(*self._order(), flats.c.property_id)
        if which is not None:
            chosen = chosen.where(which)
        begin = part.start or 0
        chosen = chosen.offset(begin).limit(None if part.stop is None else max(0, part.stop - begin))
        rows = connection.execute(chosen).all()
        there = {flat.property_id: flat for flat in load_flats(connection, [row[0] for row in rows])}
        names = list(self._indexed)
        return [
            Judged(there[row[0]], tuple(name for name, null in zip(names, row[1:], strict=True) if null))
            for row in rows
        ]

    def _order(self) -> Sequence[ColumnElement[Any]]:
        """What is not known comes last."""
        match self._query.sort:
            case "newest":
                return (flats.c.first_seen_at.desc(),)
            case "price":
                return flats.c.price_eur.is_(None), flats.c.price_eur
            case "eur_sqm":
                return flats.c.eur_sqm.is_(None), flats.c.eur_sqm
            case "score" if self._best_first:
                rank = case({"pass": 0, "unknown": 1, "fail": 2}, value=scores.c.verdict, else_=3)
                return rank, scores.c.points.desc()
            case "score":
                unwanted = func.coalesce(scores.c.points, 0.0)
                points = case((is_unwanted(self._query), unwanted), else_=scores.c.points)
                return points.is_(None), points.desc()
            case _:
                return (flats.c.since_at,)


def judge(flat: Flat, query: SearchQuery, around: Around) -> Judged | None:
    """The flat with what is not known of it, or None where it does not fulfil the query."""
    fitting = _fitting([flat], checks_of(query), around)
    return None if not fitting or (fitting[0].unknown and query.unknown == "no") else fitting[0]


def _fitting(flats: Iterable[Flat], checks: Sequence[Named], around: Around) -> list[Judged]:
    found = []
    for flat in flats:
        unknown = []
        for name, check in checks:
            holds = check(flat, around)
            if holds is None:
                unknown.append(name)
            elif not holds:
                break
        else:
            found.append(Judged(flat, tuple(unknown)))
    return found


# Saved searches as queries: what is stored is checked again when it is used.


def saved_query(connection: Connection, name: str) -> SearchQuery:
    """The query of a saved search.

    Raises:
        UnknownSearch: there is none of this name.
        WrongSearch: what is stored is no query; the sentence names the search.
    """
    saved = read_search(connection, name)
    try:
        return SearchQuery.of(saved.query)
    except WrongSearch as error:
        raise WrongSearch(Said("wrong_search.saved", name=saved.name, why=Said.of(error))) from None
