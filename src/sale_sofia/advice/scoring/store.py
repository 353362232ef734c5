"""Stored scores: what each was made of, what it is, and what neighbours were measured by."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, Table, case, delete, func, select, tuple_

from sale_sofia.advice.settings import ADVERTS_AT_ONCE
from sale_sofia.advice.tables import score_yardsticks, scored_flats, scores
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.flats.store import portions
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.tables import listings
from sale_sofia.storage.upserts import replace_in

Row = Mapping[str, Any]
_CELL = (score_yardsticks.c.neighbourhood, score_yardsticks.c.rooms)


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


def read_facts(connection: Connection) -> dict[int, str]:
    """A digest for each property of all that its adverts and their descriptions say, which are not read.

    Which advert was seen last decides where equally many differ, so that their order is part of it.
    """
    told: dict[int, list[tuple[float, int, str]]] = defaultdict(list)
    rows = connection.execute(_facts_query().execution_options(yield_per=ADVERTS_AT_ONCE))
    for listing_id, property_id, seen_at, content, there, read_at in rows:
        text = f"{listing_id} {content} {there} {read_at}"
        told[listing_id if property_id is None else property_id].append((seen_at, listing_id, text))
    return {property_id: _digest(adverts) for property_id, adverts in told.items()}


def _facts_query() -> Any:  # noqa: ANN401 - a statement of six columns
    gone = listings.c.gone_at.is_not(None) | listings.c.closed_at.is_not(None)
    return (
        select(
            listings.c.id,
            listing_sources.c.property_id,
            listings.c.last_seen_at,
            listings.c.content_hash,
            case((gone, 0), else_=1),
            description_reads.c.read_at,
        )
        .outerjoin(listing_sources, listing_sources.c.listing_id == listings.c.id)
        .outerjoin(description_reads, description_reads.c.listing_id == listings.c.id)
    )


def _digest(adverts: Sequence[tuple[float, int, str]]) -> str:
    text = "\n".join(text for _, _, text in sorted(adverts))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def read_scored_flats(connection: Connection) -> dict[int, ScoredFlat]:
    """All properties as they were scored last."""
    return {row[0]: ScoredFlat._make(row) for row in connection.execute(select(scored_flats))}


def read_digests(connection: Connection, profile: str) -> dict[int, str]:
    """Of what each stored score of a profile was made."""
    columns = select(scores.c.property_id, scores.c.digest).where(scores.c.profile == profile)
    return {row[0]: row[1] for row in connection.execute(columns)}


def read_yardsticks(connection: Connection) -> Sequence[RowMapping]:
    """What every neighbourhood was measured by last."""
    return connection.execute(select(score_yardsticks)).mappings().all()


def save_yardsticks(connection: Connection, rows: Sequence[Row]) -> None:
    """These, instead of all that there were."""
    if rows:
        connection.execute(replace_in(connection, score_yardsticks), list(rows))
    wanted = {(row["neighbourhood"], row["rooms"]) for row in rows}
    for row in read_yardsticks(connection):
        if (cell := (row["neighbourhood"], row["rooms"])) not in wanted:
            connection.execute(delete(score_yardsticks).where(tuple_(*_CELL).in_([cell])))


def save_scored_flats(connection: Connection, flats: Sequence[ScoredFlat]) -> None:
    """Store these properties, in place of what was there."""
    _upsert_plain(connection, scored_flats, flats)


def save_scores(connection: Connection, rows: Sequence[ScoreRow]) -> None:
    """Store these scores, in place of what was there."""
    _upsert_plain(connection, scores, rows)


def _upsert_plain(connection: Connection, table: Table, rows: Sequence[ScoredFlat | ScoreRow]) -> None:
    """Past everything that looks at each value: there are very many, and they are what the database needs."""
    if not rows:
        return
    made = replace_in(connection, table).compile(dialect=connection.dialect)
    connection.exec_driver_sql(str(made), list(rows) if made.positional else [row._asdict() for row in rows])


def forget_flats(connection: Connection, property_ids: Collection[int]) -> None:
    """Forget properties that are none any more."""
    for some in portions(sorted(property_ids)):
        connection.execute(delete(scored_flats).where(scored_flats.c.property_id.in_(some)))


def forget_scores(connection: Connection, profile: str, property_ids: Collection[int]) -> None:
    """Forget these scores of a profile."""
    for some in portions(sorted(property_ids)):
        connection.execute(delete(scores).where(scores.c.profile == profile, scores.c.property_id.in_(some)))


def forget_profiles(connection: Connection, kept: Iterable[str]) -> int:
    """Forget all scores of other profiles than these; how many there were."""
    return connection.execute(delete(scores).where(scores.c.profile.not_in(list(kept)))).rowcount


def ranked(connection: Connection, profile: str, *, passing: bool, limit: int) -> Sequence[RowMapping]:
    """Scores of a profile: what passes, what may, what fails; of each the most points first."""
    order = case({"pass": 0, "unknown": 1}, value=scores.c.verdict, else_=2)
    chosen = select(scores).where(scores.c.profile == profile)
    if passing:
        chosen = chosen.where(scores.c.verdict == "pass")
    ordered = chosen.order_by(order, scores.c.points.desc(), scores.c.property_id).limit(limit)
    return connection.execute(ordered).mappings().all()


def count_verdicts(connection: Connection, profile: str) -> dict[str, int]:
    """How many scores of a profile pass, fail, or are neither."""
    counted = select(scores.c.verdict, func.count()).where(scores.c.profile == profile)
    return {row[0]: row[1] for row in connection.execute(counted.group_by(scores.c.verdict))}
