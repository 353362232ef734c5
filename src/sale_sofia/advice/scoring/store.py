"""Stored scores: what each was made of, its value, and the yardsticks of neighbourhoods."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, RowMapping, Text, case, cast, delete, func, select, tuple_

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.scoring import Passing, count_passing
from sale_sofia.advice.scoring.yardsticks import (
    Cell,
    Prices,
    Rents,
    Yardstick,
    cell_of,
    market_eur_sqm,
)
from sale_sofia.advice.tables import score_yardsticks, scored_flats, scores
from sale_sofia.flats.store import portions, rows_of
from sale_sofia.flats.tables import flats
from sale_sofia.history.revisions import touch_scores
from sale_sofia.storage.upserts import replace_in, replace_rows


class ScoredFlat(NamedTuple):
    """A property as it was scored last, in the order of the columns."""

    property_id: int
    facts: str
    deal: str | None
    property_type: str | None
    offered: bool
    neighbourhood: str | None
    rooms: int
    eur_sqm: float | None


class ScoreRow(NamedTuple):
    """A score, in the order of the columns; lists are JSON."""

    property_id: int
    profile: str
    digest: str
    value: float | None
    known: float
    points: float
    verdict: str
    failed: str
    unknown: str
    criteria: str
    scored_at: float


_COMPARED: Final = select(
    *(flats.c[name] for name in ("property_id", "digest", *ScoredFlat._fields[2:], "city", "flags", "traps"))
)


def read_facts(connection: Connection, property_ids: Collection[int] | None = None) -> dict[int, str]:
    """The digest of all facts of each property, or of these; ids that are no property are left out."""
    digests = select(flats.c.property_id, flats.c.digest)
    return {row[0]: row[1] for row in rows_of(connection, digests, flats.c.property_id, property_ids)}


def read_as_scored(connection: Connection, property_ids: Collection[int]) -> list[ScoredFlat]:
    """These properties as they are to be scored now."""
    found = []
    for row in rows_of(connection, _COMPARED, flats.c.property_id, property_ids):
        cell = cell_of(row.neighbourhood, row.rooms)
        compared = (cell[1], market_eur_sqm(row)) if cell else (0, None)
        found.append(ScoredFlat._make((*row[:6], *compared)))
    return found


def read_scored_flats(
    connection: Connection, property_ids: Collection[int] | None = None
) -> dict[int, ScoredFlat]:
    """All properties, or these, as they were scored last."""
    rows = rows_of(connection, select(scored_flats), scored_flats.c.property_id, property_ids)
    return {row[0]: ScoredFlat._make(row) for row in rows}


def read_neighbours(connection: Connection, neighbourhoods: Collection[str]) -> dict[int, ScoredFlat]:
    """The properties of these neighbourhoods, as they were scored last."""
    rows = rows_of(connection, select(scored_flats), scored_flats.c.neighbourhood, neighbourhoods)
    return {row[0]: ScoredFlat._make(row) for row in rows}


def read_digests(
    connection: Connection, profile: str, property_ids: Collection[int] | None = None
) -> dict[int, str]:
    """The digest that each stored score of a profile was made of, for these properties or all."""
    columns = select(scores.c.property_id, scores.c.digest).where(scores.c.profile == profile)
    return {row[0]: row[1] for row in rows_of(connection, columns, scores.c.property_id, property_ids)}


def read_yardsticks(
    connection: Connection, neighbourhoods: Collection[str] | None = None
) -> dict[Cell, Yardstick]:
    """The last yardsticks of every neighbourhood, or of these."""
    found = {}
    of = score_yardsticks.c.neighbourhood
    for row in rows_of(connection, select(score_yardsticks), of, neighbourhoods):
        prices = Prices(tuple(row.marks), row.flats, row.scope) if row.scope else None
        rents = None if row.rent_eur_sqm is None else Rents(row.rent_eur_sqm, row.rents)
        found[row.neighbourhood, row.rooms] = Yardstick(prices, rents)
    return found


def save_yardsticks(
    connection: Connection, made: Mapping[Cell, Yardstick], neighbourhoods: Collection[str] | None = None
) -> None:
    """Replace all yardsticks, or those of these neighbourhoods."""
    rows = []
    for cell in sorted(made):
        prices, rents = made[cell].prices, made[cell].rents
        rows.append(
            {
                "neighbourhood": cell[0],
                "rooms": cell[1],
                "marks": list(prices.marks) if prices else [],
                "scope": prices.scope if prices else None,
                "flats": prices.flats if prices else 0,
                "rent_eur_sqm": rents.eur_sqm if rents else None,
                "rents": rents.flats if rents else 0,
            }
        )
    if rows:
        connection.execute(replace_in(connection, score_yardsticks), rows)
    columns = tuple_(score_yardsticks.c.neighbourhood, score_yardsticks.c.rooms)
    for cell in read_yardsticks(connection, neighbourhoods).keys() - made.keys():
        connection.execute(delete(score_yardsticks).where(columns.in_([cell])))


def save_scored_flats(connection: Connection, flats: Sequence[ScoredFlat]) -> None:
    """Upsert these properties."""
    replace_rows(connection, scored_flats, flats)


def save_scores(connection: Connection, rows: Sequence[ScoreRow]) -> None:
    """Upsert these scores; their flats are touched."""
    replace_rows(connection, scores, rows)
    touch_scores(connection, [row.property_id for row in rows])


def forget_flats(connection: Connection, property_ids: Collection[int]) -> None:
    """Delete properties that no longer exist."""
    for some in portions(sorted(property_ids)):
        connection.execute(delete(scored_flats).where(scored_flats.c.property_id.in_(some)))


def forget_scores(connection: Connection, profile: str, property_ids: Collection[int]) -> None:
    """Delete these scores of a profile; their flats are touched."""
    touch_scores(connection, property_ids)
    for some in portions(sorted(property_ids)):
        connection.execute(delete(scores).where(scores.c.profile == profile, scores.c.property_id.in_(some)))


def forget_other_profiles(connection: Connection, names: Iterable[str]) -> int:
    """Delete all scores of profiles other than these; how many there were."""
    return connection.execute(delete(scores).where(scores.c.profile.not_in(list(names)))).rowcount


def ranked(connection: Connection, profile: str, *, passing: bool, limit: int) -> Sequence[RowMapping]:
    """Scores of a profile: what passes, what may, what fails; of each the most points first."""
    order = case({"pass": 0, "unknown": 1}, value=scores.c.verdict, else_=2)
    chosen = select(scores).where(scores.c.profile == profile)
    if passing:
        chosen = chosen.where(scores.c.verdict == "pass")
    ordered = chosen.order_by(order, scores.c.points.desc(), scores.c.property_id).limit(limit)
    return connection.execute(ordered).mappings().all()


def stored_passing(connection: Connection, profile: str) -> Passing:
    """How many of the flats on offer pass a profile, by their stored scores."""
    failed = cast(scores.c.failed, Text)
    counted = select(scores.c.verdict, failed, func.count()).where(scores.c.profile == profile)
    rows = connection.execute(counted.group_by(scores.c.verdict, failed))
    return count_passing((State(verdict), json.loads(names), count) for verdict, names, count in rows)


def count_verdicts(connection: Connection, profile: str) -> dict[str, int]:
    """How many scores of a profile pass, fail, or are neither."""
    counted = select(scores.c.verdict, func.count()).where(scores.c.profile == profile)
    return {row[0]: row[1] for row in connection.execute(counted.group_by(scores.c.verdict))}
