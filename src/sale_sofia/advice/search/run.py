"""Runs a search, and finds which of some flats fulfil it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    case,
    false,
    func,
    literal,
    null,
    or_,
    select,
    true,
)

from sale_sofia.advice.scoring.judging import VERDICTS
from sale_sofia.advice.search.conditions import (
    Around,
    NamedCheck,
    checks_of,
    has_words,
    read_around,
    scores_of,
    texts_of,
)
from sale_sofia.advice.search.query import (
    RANKED_FLATS,
    SORTED_FLATS,
    STREAMED_FLATS,
    SearchQuery,
    WrongSearch,
)
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.buyer.people import Person
from sale_sofia.buyer.searches import read_search
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import NOBODY, load_flats, refresh_flats
from sale_sofia.flats.settings import ACTS, MANY_ROOMS
from sale_sofia.flats.store import OFFERED, portions, with_current
from sale_sofia.flats.tables import flats
from sale_sofia.geography.surroundings import ROAD_CLASSES
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.history.tables import listings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database

# The conditions of a search that the table of flats answers by itself: true, false, or null for unknown. A
# condition that is not here (`conditions.py`) is checked on each flat that passes the others.

FACTS: Final = (
    "city", "deal", "property_type", "neighbourhood", "district", "construction", "condition", "furnishing",
)  # fmt: skip
_RANGES: Final = tuple(
    dict.fromkeys(
        name.rpartition("_")[0] for name in SearchQuery.model_fields if name.endswith(("_min", "_max"))
    )
)
"""Conditions with a least, a most, or both; one named like its column needs nothing more here."""
Condition = ColumnElement[bool]
Ask = Callable[[SearchQuery, Around], Condition]
_F: Final = flats.c
_ENDLESS: Final = 1e300
"""EUR; stands for the missing upper end of a price "from"."""


def _among(name: str) -> Ask:
    def ask(query: SearchQuery, _: Around) -> Condition:
        value = getattr(query, name)
        return _F[name].in_([value] if isinstance(value, str) else value)

    return ask


def _is(name: str) -> Ask:
    return lambda _query, _around: _F[name]


def _between(name: str, value: ColumnElement[Any]) -> Ask:
    def ask(query: SearchQuery, _: Around) -> Condition:
        return _within(value, query, name)

    return ask


def _within(value: ColumnElement[Any], query: SearchQuery, name: str) -> Condition:
    low, high = getattr(query, f"{name}_min", None), getattr(query, f"{name}_max", None)
    bounds = [value >= low] if low is not None else []
    return and_(*bounds, *([value <= high] if high is not None else []))


def _days(query: SearchQuery, around: Around) -> Condition:
    days = (func.coalesce(_F.gone_at, around.now) - _F.since_at) / SECONDS_PER_DAY
    return _within(case((days < 0, 0.0), else_=days), query, "days")


def _price(query: SearchQuery, _: Around) -> Condition:
    """With VAT where it comes on top; a price "from" has no most."""
    most = func.coalesce(_F.price_most, _ENDLESS)
    return _in_band(_F.price_least, most, query.price_min, query.price_max)


def _eur_sqm(query: SearchQuery, _: Around) -> Condition:
    """As the price."""
    area = func.nullif(_F.area_sqm, 0)
    most = func.coalesce(_F.price_most, _ENDLESS) / area
    return _in_band(_F.price_least / area, most, query.eur_sqm_min, query.eur_sqm_max)


def _in_band(
    least: ColumnElement[Any], most: ColumnElement[Any], low: float | None, high: float | None
) -> Condition:
    """True where the whole band is within these limits, false where all of it is outside, else unknown."""
    outside, inside = [], []
    if low is not None:
        outside.append(most < low)
        inside.append(least >= low)
    if high is not None:
        outside.append(least > high)
        inside.append(most <= high)
    return case((least.is_(None), null()), (or_(*outside), False), (and_(*inside), True), else_=null())


def _walk(least: Column[Any], most: Column[Any], name: str) -> Ask:
    """True where the whole range is within the limit, false where all of it is beyond, else unknown."""

    def ask(query: SearchQuery, _: Around) -> Condition:
        limit = getattr(query, name)
        return case((most <= limit, True), (least > limit, False), else_=null())

    return ask


def _road(query: SearchQuery, _: Around) -> Condition:
    """True where all possible classes are wanted, false where none is, else unknown."""
    wanted = {*map(ROAD_CLASSES.index, query.road)}

    def is_none_of(classes: Iterable[int]) -> Condition:
        return and_(true(), *(or_(_F.road_least > number, _F.road_most < number) for number in classes))

    others = set(range(len(ROAD_CLASSES))) - wanted
    return case(
        (_F.road_least.is_(None), null()),
        (is_none_of(others), True),
        (is_none_of(wanted), False),
        else_=null(),
    )


def _line(query: SearchQuery, _: Around) -> Condition:
    """All lines of the query; one that is near only a part of the neighbourhood is unknown."""
    sure, possible = (
        and_(*(_has_any(column, [line]) for line in query.line)) for column in (_F.lines, _F.some_lines)
    )
    return case((sure, True), (possible, null()), (_F.lines.is_(None), null()), else_=False)


def _has_any(column: Column[Any], values: Iterable[str]) -> Condition:
    return or_(*(column.contains(f"|{value}|", autoescape=True) for value in values))


def _has(name: str) -> Ask:
    column = _F[name]
    return lambda query, _: case((column == "|", null()), else_=_has_any(column, getattr(query, name)))


def _seller(query: SearchQuery, _: Around) -> Condition:
    return case(
        (_has_any(_F.sellers, query.seller), True), (_has_any(_F.sellers, [NOBODY]), null()), else_=False
    )


def _status(query: SearchQuery, around: Around) -> Condition:
    """A flat without a status is new."""
    if "new" in query.status:
        unwanted = [number for number, status in around.statuses.items() if status not in query.status]
        return _F.property_id.not_in(unwanted)
    return _F.property_id.in_(
        [number for number, status in around.statuses.items() if status in query.status]
    )


def _passing(query: SearchQuery, _: Around) -> Condition:
    """The deal breakers of the profile; a flat that was not scored yet is unknown."""
    return case(
        (scores.c.verdict == "pass", True),
        (scores.c.verdict == "fail", False),
        (scores.c.verdict.is_(None) & is_unwanted(query), False),
        else_=null(),
    )


def is_unwanted(query: SearchQuery) -> Condition:
    """Whether a flat without a score was looked at, and so is not of the kind the profile wants."""
    any_score = select(scores.c.property_id).where(scores.c.profile == query.profile).exists()
    return and_(scored_flats.c.offered, any_score)


def _new_since(query: SearchQuery, _: Around) -> Condition:
    since = query.new_since.timestamp() if query.new_since else 0.0
    return and_(_F.new_at.is_not(None), _F.new_at >= since)


def _cut(query: SearchQuery, around: Around) -> Condition:
    """An advert that is still offered got cheaper by so much."""
    least = query.cut_percent or 0.0
    cut = [number for number, percent in (around.cuts or {}).items() if percent >= least and percent > 0]
    # As part of the text: there may be more of them than a statement takes parameters.
    numbers: BindParameter[int] = bindparam("cut", cut, expanding=True, unique=True, literal_execute=True)
    table, current = with_current(listings.c.id)
    return _F.property_id.in_(select(current).select_from(table).where(listings.c.id.in_(numbers), OFFERED))


_CONDITIONS: Final[Mapping[str, Ask]] = {
    "gone": lambda _query, _around: _F.offered,
    "place_conflict": lambda _query, _around: _F.flags.not_like("%|place_conflict|%"),
    "flag": lambda query, _: _has_any(_F.flags, query.flag),
    "contradictions": lambda query, _: _F.contradicted.is_(query.contradictions == "only"),
    "status": _status,
    "all_like": lambda _, around: _F.property_id.in_(sorted(around.liked)),
    "waits_for_you": lambda _, around: _F.property_id.in_(sorted(around.waiting)),
    "price": _price,
    **{name: _between(name, _F[name]) for name in _RANGES if name in _F},
    "eur_sqm": _eur_sqm,
    "area": _between("area", _F.area_sqm),
    "net_area": _between("net_area", _F.area_net_sqm),
    "year": _between("year", _F.year_built),
    "days": _days,
    **{name: _among(name) for name in FACTS},
    "heating": _has("heating"),
    "orientation": _has("orientation"),
    "not_neighbourhood": lambda query, _: _F.neighbourhood.not_in(query.not_neighbourhood),
    "no_panel": lambda _query, _around: _F.construction != "panel",
    "rooms": lambda query, _: case((_F.rooms > MANY_ROOMS, MANY_ROOMS), else_=_F.rooms).in_(query.rooms),
    "seller": _seller,
    "portal": lambda query, _: _has_any(_F.sites, query.portal),
    "not_ground": lambda _query, _around: _F.floor > 0,
    "not_last": lambda _query, _around: _F.floor < _F.floors_total,
    **{
        name: _is(name)
        for name, field in SearchQuery.model_fields.items()
        if field.annotation is bool and name in _F
    },
    "act": lambda query, _: _F.act.in_(ACTS[ACTS.index(query.act) :] if query.act else ACTS),
    "metro_m": _walk(_F.metro_metres_least, _F.metro_metres_most, "metro_m"),
    "metro_minutes": _walk(_F.metro_least, _F.metro_most, "metro_minutes"),
    "school_minutes": _walk(_F.school_least, _F.school_most, "school_minutes"),
    "school_rank": _walk(_F.rank_least, _F.rank_most, "school_rank"),
    "shop_minutes": _walk(_F.shop_least, _F.shop_most, "shop_minutes"),
    "stop_minutes": _walk(_F.stop_least, _F.stop_most, "stop_minutes"),
    "line": _line,
    "road": _road,
    "passing": _passing,
    "new_since": _new_since,
    "cut_days": _cut,
}
"""By the field of the query; of a range, without `_min` or `_max`."""


ALWAYS_KNOWN: Final = frozenset(
    {
        "gone", "place_conflict", "flag", "contradictions", "status", "all_like", "waits_for_you", "days",
        "portal", "new_since", "cut_days",
    }
)  # fmt: skip
"""Conditions that are never null."""


def indexed(query: SearchQuery, around: Around) -> dict[str, Condition]:
    """The conditions of a query that the table answers, in their order."""
    return {name: ask(query, around) for name, ask in _CONDITIONS.items() if _applies(query, name)}


def _applies(query: SearchQuery, name: str) -> bool:
    if name in ("gone", "place_conflict"):
        return not getattr(query, name)
    if name in _RANGES:
        return any(getattr(query, f"{name}_{end}", None) is not None for end in ("min", "max"))
    value = getattr(query, name)
    return value is not None and value is not False and value != ()


@dataclass(frozen=True, slots=True)
class JudgedFlat:
    """A flat, and the conditions of which it is unknown whether it fulfils them."""

    flat: Flat
    unknown: tuple[str, ...] = ()


Part = Callable[[int], slice]
"""From the total, the slice of flats to read."""


def everything(_total: int) -> slice:
    """All of them."""
    return slice(None)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, sorted: how many there are, and the part that was requested."""

    total: int
    passed: tuple[JudgedFlat, ...]
    """With `unknown="ok"` flats with unknown conditions are among them."""
    unknown_total: int
    unknown: tuple[JudgedFlat, ...]
    """With `unknown="apart"`: flats that fail no condition, but are unknown in some."""
    around: Around
    """With the scores of these flats; None where nothing is scored for the profile."""


def search(  # noqa: PLR0913 - each is a matter of its own
    database: Database,
    query: SearchQuery,
    *,
    now: float,
    part: Part = everything,
    unknown_part: Part = everything,
    best_first: bool = False,
    person: Person | None = None,
) -> SearchResult:
    """The flats that fulfil a query at this moment: how many there are, and all or a part of them.

    By score, the most points come first; `best_first`: first what passes, then what may, then the rest.
    """
    refresh_flats(database)

    def read(connection: Connection) -> SearchResult:
        around = read_around(connection, query, now=now, person=person)
        return _search(connection, query, around, (part, unknown_part), best_first=best_first)

    return database.run_read(read)


def _search(
    connection: Connection,
    query: SearchQuery,
    around: Around,
    parts: tuple[Part, Part],
    *,
    best_first: bool,
) -> SearchResult:
    lists = FittingRows(query, around, best_first=best_first).lists(connection)
    hits = [
        rows.read(part(rows.total)) if rows.total else () for rows, part in zip(lists, parts, strict=True)
    ]
    property_ids = [hit.property_id for some in hits for hit in some]
    there = {flat.property_id: flat for flat in load_flats(connection, property_ids)}
    found = [tuple(JudgedFlat(there[hit.property_id], hit.unknown) for hit in some) for some in hits]
    if query.profile is not None:
        around = replace(around, scores=scores_of(connection, query.profile, property_ids))
    return SearchResult(lists[0].total, found[0], lists[1].total, found[1], around)


_Summary = TypeVar("_Summary")


def summarise(  # noqa: PLR0913 - each is a matter of its own
    database: Database,
    query: SearchQuery,
    columns: Sequence[ColumnElement[Any]],
    work_out: Callable[[Iterator[Sequence[Any]]], _Summary],
    *,
    now: float,
    scored: bool = False,
    where: ColumnElement[bool] | None = None,
    person: Person | None = None,
) -> _Summary:
    """What `work_out` makes of all rows that a search finds, streamed and never in memory as a whole.

    Each row is the property's id, whether a condition of the query is unknown, and these columns of `flats`;
    with `scored`, columns of the profile's `scores` are allowed too. `where` is one more condition.
    """
    refresh_flats(database)

    def read(connection: Connection) -> _Summary:
        rows = FittingRows(query, read_around(connection, query, now=now, person=person), best_first=True)
        chosen = rows.select(flats.c.property_id, rows.is_unsure, *columns, scored=scored)
        chosen = chosen if where is None else chosen.where(where)
        if not rows.are_all:
            lists = [listed.read(slice(None)) for listed in rows.lists(connection)]
            unsure = {hit.property_id: bool(hit.unknown) for some in lists for hit in some}
            found = (row for row in _streamed(connection, chosen) if row[0] in unsure)
            return work_out((row[0], unsure[row[0]], *row[2:]) for row in found)
        chosen = chosen.where(~rows.is_unsure) if query.unknown == "no" else chosen
        return work_out(_streamed(connection, chosen))

    return database.run_read(read)


def _streamed(connection: Connection, chosen: Select[Any]) -> Iterator[Row[Any]]:
    for some in connection.execute(chosen).partitions(STREAMED_FLATS):
        yield from some


class _Hit(NamedTuple):
    property_id: int
    unknown: tuple[str, ...]


_Row = tuple[Any, ...]
"""What a row is sorted by, then the property's id, and a bit for each condition that is unknown."""


class _Listed(NamedTuple):
    total: int
    read: Callable[[slice], Sequence[_Hit]]


class FittingRows:
    """The rows of flats that no condition of the table rules out."""

    def __init__(
        self,
        query: SearchQuery,
        around: Around,
        *,
        best_first: bool = False,
        only: Collection[int] | None = None,
    ) -> None:
        self._query, self._best_first = query, best_first
        self._indexed = indexed(query, around)
        self._left = checks_of(query)
        self.are_all = not (self._left or query.word or query.not_word)
        """Whether the table answers all conditions."""
        sure = [condition for name, condition in self._indexed.items() if name in ALWAYS_KNOWN]
        sure += [] if only is None else [flats.c.property_id.in_(only)]
        unsure = {name: condition for name, condition in self._indexed.items() if name not in ALWAYS_KNOWN}
        # Facts first: they rule out most flats, and to look into texts or for a status takes longer.
        self.fitting = and_(true(), *(condition.is_not(False) for condition in unsure.values()), *sure)
        # Whether a condition is null; for a plain fact, whether its column is, which is quicker.
        self._unknown = {
            name: (_F[name] if name in FACTS else condition).is_(None) for name, condition in unsure.items()
        }
        self.is_unsure: ColumnElement[bool] = or_(false(), *self._unknown.values())
        self._names = (*self._unknown, *(name for name, _ in self._left))

    def select(self, *columns: ColumnElement[Any], scored: bool) -> Select[Any]:
        """These columns of the rows; with `scored`, columns of the profile's scores are allowed too."""
        chosen = select(*columns).select_from(flats).where(self.fitting)
        passing = "passing" in self._indexed
        if self._query.profile is None or not (scored or passing):
            return chosen
        own = and_(scores.c.property_id == flats.c.property_id, scores.c.profile == self._query.profile)
        chosen = chosen.outerjoin(scores, own)
        if not passing and (self._best_first or self._query.sort != "score"):
            return chosen
        return chosen.outerjoin(scored_flats, scored_flats.c.property_id == flats.c.property_id)

    def lists(self, connection: Connection) -> tuple[_Listed, _Listed]:
        """What fits and what may, as the query wants them; unwanted rows are not read."""
        return self._counted(connection) if self.are_all else self._checked(connection)

    def _counted(self, connection: Connection) -> tuple[_Listed, _Listed]:
        """Few rows are read at once; of many only the count, and then the requested part."""
        by_index = self._query.sort == "score" and self._best_first and "passing" not in self._indexed
        most = RANKED_FLATS if by_index else SORTED_FLATS
        rows = self._rows(connection, most)
        if len(rows) <= most:
            return self._split(rows)
        doubts = func.coalesce(func.sum(case((self.is_unsure, 1), else_=0)), 0)
        total, unknown = connection.execute(self.select(func.count(), doubts, scored=False)).one()
        read = self._walk if by_index else self._read
        if self._query.unknown == "ok":
            return _Listed(total, partial(read, connection)), _Listed(0, lambda _: ())
        apart = unknown if self._query.unknown == "apart" else 0
        sure, unsure = (partial(read, connection, which=rows) for rows in (~self.is_unsure, self.is_unsure))
        return _Listed(total - unknown, sure), _Listed(apart, unsure)

    def _rows(self, connection: Connection, most: int | None = None) -> Sequence[_Row]:
        """All rows, in one pass; of more than `most` some, one more than that."""
        order, scored = self._order(), self._query.sort == "score"
        chosen = self.select(*order, *self._columns(), scored=scored)
        found = connection.execute(chosen if most is None else chosen.limit(most + 1))
        # The driver's own tuples: of each row SQLAlchemy would make one more.
        rows: Sequence[_Row] = found.cursor.fetchall()
        return rows

    def _split(self, rows: Iterable[_Row]) -> tuple[_Listed, _Listed]:
        rows = sorted(rows)
        sure = [row for row in rows if not row[-1] or self._query.unknown == "ok"]
        apart = [row for row in rows if row[-1]] if self._query.unknown == "apart" else []
        return self._listed(sure), self._listed(apart)

    def _listed(self, rows: Sequence[_Row]) -> _Listed:
        return _Listed(len(rows), lambda part: self._to_hits(rows[part]))

    def _checked(self, connection: Connection) -> tuple[_Listed, _Listed]:
        rows = self._rows(connection)
        if self._query.word or self._query.not_word:
            worded = _with_words(connection, self._query, [row[-2] for row in rows])
            rows = [row for row in rows if row[-2] in worded]
        if self._left:
            there = load_flats(connection, [row[-2] for row in rows])
            found = {
                judged.flat.property_id: self._bits(judged.unknown) for judged in _fitting(there, self._left)
            }
            rows = [(*row[:-1], row[-1] | found[row[-2]]) for row in rows if row[-2] in found]
        return self._split(rows)

    def _read(
        self, connection: Connection, part: slice, which: ColumnElement[bool] | None = None
    ) -> list[_Hit]:
        chosen = self._hits(self.select(*self._columns(), scored=self._query.sort == "score"), part, which)
        return self._to_hits(connection.execute(chosen.order_by(*self._order(), flats.c.property_id)))

    def _walk(
        self, connection: Connection, part: slice, which: ColumnElement[bool] | None = None
    ) -> list[_Hit]:
        """The best first, through the index of scores: rows after the requested part are not read."""
        begin, found = part.start or 0, list[_Hit]()
        most = None if part.stop is None else part.stop - begin
        for rows in self._ranked():
            end = None if most is None else begin + most - len(found)
            some = self._to_hits(connection.execute(self._hits(rows, slice(begin, end), which)))
            found += some
            if len(found) == most:
                break
            if begin and not some:
                passed = self._hits(rows, slice(None), which).with_only_columns(func.count()).order_by(None)
                begin -= min(begin, connection.execute(passed).scalar_one())
            else:
                begin = 0
        return found

    def _ranked(self) -> Iterator[Select[Any]]:
        """What passes, what may, what fails, what has no score."""
        own = and_(scores.c.property_id == flats.c.property_id, scores.c.profile == self._query.profile)
        scored = select(*self._columns()).join_from(scores, flats, own).where(self.fitting)
        for verdict in VERDICTS:
            order = (scores.c.points.desc(), scores.c.property_id)
            yield scored.where(scores.c.verdict == verdict).order_by(*order)
        rest = self.select(*self._columns(), scored=True).where(scores.c.verdict.is_(None))
        yield rest.order_by(flats.c.property_id)

    def _columns(self) -> Sequence[ColumnElement[Any]]:
        """The property's id, and a bit for each condition that is unknown."""
        bits = [case((is_null, 1 << place), else_=0) for place, is_null in enumerate(self._unknown.values())]
        return flats.c.property_id, sum(bits, start=literal(0))

    def _hits(self, chosen: Select[Any], part: slice, which: ColumnElement[bool] | None) -> Select[Any]:
        if which is not None:
            chosen = chosen.where(which)
        begin = part.start or 0
        return chosen.offset(begin).limit(None if part.stop is None else max(0, part.stop - begin))

    def _bits(self, names: Collection[str]) -> int:
        return sum(1 << place for place, name in enumerate(self._names) if name in names)

    def _to_hits(self, rows: Iterable[_Row]) -> list[_Hit]:
        names = tuple(enumerate(self._names))
        return [_Hit(row[-2], tuple(name for place, name in names if row[-1] >> place & 1)) for row in rows]

    def _order(self) -> Sequence[ColumnElement[Any]]:
        """The sort key, ascending; unknown values come last."""
        match self._query.sort:
            case "newest":
                return (-flats.c.first_seen_at,)
            case "price":
                return flats.c.price_least.is_(None), flats.c.price_least
            case "eur_sqm":
                return flats.c.eur_sqm.is_(None), flats.c.eur_sqm
            case "score" if self._best_first:
                places = {verdict.value: place for place, verdict in enumerate(VERDICTS)}
                rank = case(places, value=scores.c.verdict, else_=len(VERDICTS))
                return rank, -scores.c.points
            case "score":
                unwanted = func.coalesce(scores.c.points, 0.0)
                points = case((is_unwanted(self._query), unwanted), else_=scores.c.points)
                return points.is_(None), -points
            case _:
                return (flats.c.since_at,)


def _with_words(connection: Connection, query: SearchQuery, property_ids: Sequence[int]) -> set[int]:
    """Those of these flats whose adverts have the words of the query, and none that it does not want."""
    fits, found = has_words(query), set[int]()
    for some in portions(property_ids):  # the texts of all would fill the memory
        texts = texts_of(connection, some)
        found.update(number for number in some if fits(texts.get(number, ("",))))
    return found


def _fitting(flats: Iterable[Flat], checks: Sequence[NamedCheck]) -> list[JudgedFlat]:
    found = []
    for flat in flats:
        held = {name: check(flat) for name, check in checks}
        if False not in held.values():
            found.append(JudgedFlat(flat, tuple(name for name, holds in held.items() if holds is None)))
    return found


def fitting(
    connection: Connection, query: SearchQuery, around: Around, property_ids: Collection[int]
) -> dict[int, tuple[str, ...]]:
    """Of these properties, those that fulfil a query, each with its unknown conditions."""
    found: dict[int, tuple[str, ...]] = {}
    for some in portions(sorted(property_ids)):
        for rows in FittingRows(query, around, only=some).lists(connection):
            found |= {hit.property_id: hit.unknown for hit in (rows.read(slice(None)) if rows.total else ())}
    return found


# Saved searches as queries: stored conditions are validated again when they are used.


def saved_query(connection: Connection, name: str) -> SearchQuery:
    """The query of a saved search.

    Raises:
        UnknownSearch: there is none of this name.
        WrongSearch: the stored query is invalid; the sentence names the search.
    """
    saved = read_search(connection, name)
    try:
        return SearchQuery.of(saved.query)
    except WrongSearch as error:
        raise WrongSearch(Said("wrong_search.saved", name=saved.name, why=Said.of(error))) from None
