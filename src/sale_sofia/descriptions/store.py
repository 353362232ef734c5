"""What descriptions say, stored: the reads, where they differ from the portal, and the model's answers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, func, or_, select, update

from sale_sofia.descriptions.asking import AnswerKey
from sale_sofia.descriptions.tables import description_disagreements, description_reads, llm_answers
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.storage.upserts import insert_into, replace_in


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A field of which the portal and the description say different things; the portal is believed."""

    field: str
    portal: Any
    text: Any
    quote: str


@dataclass(frozen=True, slots=True)
class Read:
    """What a description was found to say."""

    listing_id: int
    content_hash: str
    rules: str
    attributes: Mapping[str, Any]
    open_fields: Sequence[str]
    disagreements: Sequence[Disagreement] = ()
    asked: str | None = None


def unread_listings(connection: Connection, rules: str, ids: Collection[int]) -> Sequence[RowMapping]:
    """Of these adverts, the open ones whose description is new, has changed, or was read by other rules."""
    read = description_reads
    stale = or_(
        read.c.listing_id.is_(None), read.c.content_hash != listings.c.content_hash, read.c.rules != rules
    )
    found = (
        select(listings)
        .outerjoin(read, read.c.listing_id == listings.c.id)
        .where(
            listings.c.id.in_(ids), listings.c.closed_at.is_(None), listings.c.description.is_not(None), stale
        )
        .order_by(listings.c.id)
    )
    return connection.execute(found).mappings().all()


def open_reads(
    connection: Connection, rules: str, asked: str, after: int, limit: int
) -> Sequence[RowMapping]:
    """Reads that left fields open about which this model was not asked yet; with the advert's description."""
    read = description_reads
    found = (
        select(*read.c, *(column for column in listings.c if column.name not in read.c))
        .join(listings, read.c.listing_id == listings.c.id)
        .where(read.c.listing_id > after, read.c.open_count > 0, listings.c.closed_at.is_(None))
        .where(read.c.rules == rules, read.c.content_hash == listings.c.content_hash)
        .where(or_(read.c.asked.is_(None), read.c.asked != asked))
        .order_by(read.c.listing_id)
        .limit(limit)
    )
    return connection.execute(found).mappings().all()


def save_reads(connection: Connection, reads: Sequence[Read], *, now: float) -> None:
    """Store reads, each with its disagreements in place of earlier ones. Needs a write transaction."""
    table = description_disagreements
    for read in reads:
        values = {
            "listing_id": read.listing_id,
            "content_hash": read.content_hash,
            "rules": read.rules,
            "attributes": dict(read.attributes),
            "open_fields": list(read.open_fields),
            "open_count": len(read.open_fields),
            "asked": read.asked,
            "read_at": now,
        }
        connection.execute(replace_in(connection, description_reads), values)
        connection.execute(delete(table).where(table.c.listing_id == read.listing_id))
        rows = [{"listing_id": read.listing_id, **asdict(one), "seen_at": now} for one in read.disagreements]
        if rows:
            connection.execute(table.insert(), rows)
    touch(connection, [read.listing_id for read in reads])


def mark_asked(connection: Connection, listing_id: int, asked: str) -> None:
    """The model was asked about this advert and said nothing that counts."""
    table = description_reads
    connection.execute(update(table).where(table.c.listing_id == listing_id).values(asked=asked))


def read_disagreements(connection: Connection, limit: int) -> Sequence[RowMapping]:
    """Where portal and description differ, with the advert's address, the newest first."""
    table = description_disagreements
    found = (
        select(table, listings.c.site, listings.c.external_id, listings.c.url)
        .join(listings, listings.c.id == table.c.listing_id)
        .order_by(table.c.seen_at.desc(), table.c.listing_id, table.c.field)
        .limit(limit)
    )
    return connection.execute(found).mappings().all()


def count_disagreements(connection: Connection) -> dict[str, int]:
    """How many adverts differ from their description, by field."""
    table = description_disagreements
    found = select(table.c.field, func.count()).group_by(table.c.field).order_by(table.c.field)
    return {row[0]: row[1] for row in connection.execute(found)}


def cached_answer(connection: Connection, key: str) -> Mapping[str, Any] | None:
    """The answer stored under this key."""
    found = select(llm_answers.c.answer).where(llm_answers.c.key == key)
    answer: Mapping[str, Any] | None = connection.execute(found).scalar_one_or_none()
    return answer


def store_answer(connection: Connection, key: AnswerKey, answer: Mapping[str, Any], *, now: float) -> None:
    """Keep an answer; one that is there already stays. Needs a write transaction."""
    values = {**asdict(key), "key": key.digest, "answer": dict(answer), "created_at": now}
    connection.execute(insert_into(connection, llm_answers).values(values).on_conflict_do_nothing())
