"""Enrichment after a crawl: rules read every description and store the result; then the model may be asked.

The rules' result is stored before the model is asked, so that a failing model loses nothing.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, RowMapping, delete, func, or_, select, update

from sale_sofia.crawl.resilience.errors import ServiceOllama
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.descriptions.asking import AnswerKey, ask_model, judge, merge_answers, open_fields
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.fields import Attribute, Attributes
from sale_sofia.descriptions.rulebook import rules_version
from sale_sofia.descriptions.settings import AREA_TOLERANCE, ENRICH_BATCH, LLM_DOMAIN
from sale_sofia.descriptions.tables import description_disagreements, description_reads, llm_answers
from sale_sofia.history.revisions import advance, changes_since, position, touch
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import compared
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.upserts import insert_into, replace_in

if TYPE_CHECKING:
    from sale_sofia.descriptions.ollama import OllamaModel

# What descriptions say, stored: the reads, where they differ from the portal, and the model's answers.


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A field on which the portal and the description differ; the portal is believed."""

    field: str
    portal: Any
    text: Any
    quote: str


@dataclass(frozen=True, slots=True)
class DescriptionRead:
    """The result of reading a description."""

    listing_id: int
    content_hash: str
    rules: str
    attributes: Mapping[str, Any]
    open_fields: Sequence[str]
    disagreements: Sequence[Disagreement] = ()
    question: str | None = None


def unread_listings(connection: Connection, rules: str, ids: Collection[int]) -> Sequence[RowMapping]:
    """Of these adverts, the open ones whose description is new, has changed, or was read by other rules."""
    read = description_reads
    stale = or_(
        read.c.listing_id.is_(None), read.c.content_hash != listings.c.content_hash, read.c.rules != rules
    )
    query = (
        select(listings)
        .outerjoin(read, read.c.listing_id == listings.c.id)
        .where(
            listings.c.id.in_(ids), listings.c.closed_at.is_(None), listings.c.description.is_not(None), stale
        )
        .order_by(listings.c.id)
    )
    return connection.execute(query).mappings().all()


def open_reads(
    connection: Connection, rules: str, question: str, after: int, limit: int
) -> Sequence[RowMapping]:
    """Reads with open fields that this model was not asked about yet, with the advert's columns."""
    read = description_reads
    query = (
        select(*read.c, *(column for column in listings.c if column.name not in read.c))
        .join(listings, read.c.listing_id == listings.c.id)
        .where(read.c.listing_id > after, read.c.open_count > 0, listings.c.closed_at.is_(None))
        .where(read.c.rules == rules, read.c.content_hash == listings.c.content_hash)
        .where(or_(read.c.asked.is_(None), read.c.asked != question))
        .order_by(read.c.listing_id)
        .limit(limit)
    )
    return connection.execute(query).mappings().all()


def save_reads(connection: Connection, reads: Sequence[DescriptionRead], *, now: float) -> None:
    """Store reads, and replace the disagreements of each. Needs a write transaction."""
    table = description_disagreements
    for read in reads:
        values = {
            "listing_id": read.listing_id,
            "content_hash": read.content_hash,
            "rules": read.rules,
            "attributes": dict(read.attributes),
            "open_fields": list(read.open_fields),
            "open_count": len(read.open_fields),
            "asked": read.question,
            "read_at": now,
        }
        connection.execute(replace_in(connection, description_reads), values)
        connection.execute(delete(table).where(table.c.listing_id == read.listing_id))
        common = {"listing_id": read.listing_id, "seen_at": now}
        rows = [asdict(disagreement) | common for disagreement in read.disagreements]
        if rows:
            connection.execute(table.insert(), rows)
    touch(connection, [read.listing_id for read in reads])


def reads_without_text(connection: Connection, ids: Collection[int]) -> Sequence[int]:
    """Of these adverts, those that were read and have no description any more."""
    read = description_reads
    query = select(read.c.listing_id).join(listings, listings.c.id == read.c.listing_id)
    return connection.scalars(query.where(listings.c.id.in_(ids), listings.c.description.is_(None))).all()


def forget_reads(connection: Connection, ids: Collection[int]) -> None:
    """Delete what the descriptions of these adverts said. Needs a write transaction."""
    for table in (description_reads, description_disagreements):
        connection.execute(delete(table).where(table.c.listing_id.in_(ids)))
    touch(connection, ids)


def mark_asked(connection: Connection, listing_id: int, question: str) -> None:
    """Record that the model was asked about this advert and gave no valid answer."""
    table = description_reads
    connection.execute(update(table).where(table.c.listing_id == listing_id).values(asked=question))


def read_disagreements(connection: Connection, limit: int) -> Sequence[RowMapping]:
    """Where portal and description differ, with the advert's address, the newest first."""
    table = description_disagreements
    query = (
        select(table, listings.c.site, listings.c.external_id, listings.c.url)
        .join(listings, listings.c.id == table.c.listing_id)
        .order_by(table.c.seen_at.desc(), table.c.listing_id, table.c.field)
        .limit(limit)
    )
    return connection.execute(query).mappings().all()


def count_disagreements(connection: Connection) -> dict[str, int]:
    """How many adverts differ from their description, by field."""
    table = description_disagreements
    query = select(table.c.field, func.count()).group_by(table.c.field)
    return dict(sorted((field, count) for field, count in connection.execute(query)))


def cached_answer(connection: Connection, key: str) -> Mapping[str, Any] | None:
    """The answer stored under this key."""
    query = select(llm_answers.c.answer).where(llm_answers.c.key == key)
    answer: Mapping[str, Any] | None = connection.execute(query).scalar_one_or_none()
    return answer


def store_answer(connection: Connection, key: AnswerKey, answer: Mapping[str, Any], *, now: float) -> None:
    """Store an answer, unless the key has one. Needs a write transaction."""
    values = {**asdict(key), "key": key.digest, "answer": dict(answer), "created_at": now}
    connection.execute(insert_into(connection, llm_answers).values(values).on_conflict_do_nothing())


# The portal's own fields beside the description: the portal wins, and where they differ it is noted.

COLUMNS: Final[Mapping[str, str]] = {
    "deal": "deal",
    "rooms": "rooms",
    "floor": "floor",
    "total_floors": "floors_total",
    "area": "area_sqm",
    "area_built": "area_net_sqm",
    "condition": "condition",
    "furnishing": "furnishing",
    "heating": "heating",
    "orientation": "orientation",
    "elevator": "elevator",
    "parking_type": "parking",
    "act": "act_status",
    "year": "year_built",
    "construction": "construction",
    "metro_distance_m": "metro_distance_m",
}
"""Field of a description → column of an advert."""


def find_disagreements(listing: Mapping[Any, Any], attributes: Attributes) -> Iterator[Disagreement]:
    """The fields that both give, with different values."""
    for field, column in COLUMNS.items():
        fact = attributes.get(field)
        if fact is None or fact.value is None or fact.status == "conflict":
            continue
        portal = listing[column]
        if portal not in (None, []) and not _agree(compared(column, portal), compared(column, fact.value)):
            yield Disagreement(column, portal, fact.value, fact.quote)


def _agree(portal: Any, text: Any) -> bool:  # noqa: ANN401 - values of any field
    if isinstance(portal, list) and isinstance(text, list):
        return not set(portal).isdisjoint(text)
    if not any(isinstance(value, bool) or not isinstance(value, int | float) for value in (portal, text)):
        return bool(abs(portal - text) <= (AREA_TOLERANCE if isinstance(portal, float) else 0))
    return bool(portal == text)


@dataclass(slots=True)
class Summary:
    """What an enrichment did. `model`: off, used, or why it was not used."""

    read: int = 0
    asked: int = 0
    cached: int = 0
    answered: int = 0
    failed: int = 0
    model: str = "off"


FOLLOWER: Final = "descriptions"


def read_all(database: Database, summary: Summary, clock: Callable[[], float] = time.time) -> None:
    """Read every description that is new, changed, or was read by other rules; forget those that are gone.

    Safe to kill: finished batches stay, and the next call reads the rest.
    """
    rules = rules_version()
    changes = database.run_read(lambda c: changes_since(c, position(c, FOLLOWER, rules), scores=False))
    touched = sorted(changes.listing_ids)
    for begin in range(0, len(touched), ENRICH_BATCH):
        some = touched[begin : begin + ENRICH_BATCH]
        batch = database.run_read(partial(unread_listings, rules=rules, ids=some))
        if batch:
            reads = [_read(listing) for listing in batch]
            database.run_write(partial(save_reads, reads=reads, now=clock()))
            summary.read += len(reads)
        if gone := database.run_read(partial(reads_without_text, ids=some)):
            database.run_write(partial(forget_reads, ids=gone))
    if changes.upto != changes.since:
        database.run_write(lambda c: advance(c, FOLLOWER, rules, changes))


def _read(listing: Mapping[Any, Any]) -> DescriptionRead:
    attributes = read_description(listing["description"])
    return DescriptionRead(
        listing_id=listing["id"],
        content_hash=listing["content_hash"],
        rules=rules_version(),
        attributes=_as_stored(attributes),
        open_fields=open_fields(listing["description"], attributes),
        disagreements=tuple(find_disagreements(listing, attributes)),
    )


def _as_stored(attributes: Attributes) -> dict[str, Any]:
    return {name: attribute.as_stored() for name, attribute in attributes.items()}


async def ask_all(
    settings: Settings, database: Database, summary: Summary, redis_url: str | None = None
) -> None:
    """Ask the model about all open fields, until done, the budget is used up, or it fails."""
    from sale_sofia.descriptions.ollama import ModelBusy, OllamaModel  # noqa: PLC0415 - large; few ask it

    rate, places = settings.llm_requests_per_minute, settings.llm_concurrency
    gate = get_gate(settings, lambda _: settings.rate_limit(LLM_DOMAIN, rate), lambda _: places, redis_url)
    model = OllamaModel(settings, gate)
    budget = TimeoutBudget(settings.llm_run_seconds, time.monotonic)
    try:
        digest = await model.digest()
        summary.model = "used"
        last, question = 0, AnswerKey.of("", (), digest).digest
        while batch := await database.run_read_async(
            partial(open_reads, rules=rules_version(), question=question, after=last, limit=ENRICH_BATCH)
        ):
            for row in batch:
                key = AnswerKey.of(row["description"], row["open_fields"], digest)
                answers = await _answer(database, model, row, key, budget, summary)
                if answers is not None:
                    await _store(database, row, answers, question, summary)
            last = batch[-1]["listing_id"]
    except (ServiceOllama, ModelBusy) as error:
        summary.model = str(error)
    finally:
        await gate.close()


async def _answer(
    database: Database,
    model: "OllamaModel",
    row: Mapping[Any, Any],
    key: AnswerKey,
    budget: TimeoutBudget,
    summary: Summary,
) -> Attributes | None:
    """The cached answer, else the model's, which is then cached; None if the model failed."""
    fields: Sequence[str] = row["open_fields"]
    cached = await database.run_read_async(partial(cached_answer, key=key.digest))
    if cached is not None:
        summary.cached += 1
        return judge(cached, fields, row["description"]).attributes
    try:
        judgement = await ask_model(model, row["description"], fields, budget)
    except ServiceOllama:
        summary.failed += 1
        return None  # asked again by the next enrichment; when it fails too often, the gate refuses
    summary.asked += 1
    answer = _as_stored(judgement.attributes)
    await database.run_write_async(partial(store_answer, key=key, answer=answer, now=time.time()))
    return judgement.attributes


async def _store(
    database: Database, row: Mapping[Any, Any], answers: Attributes, question: str, summary: Summary
) -> None:
    if not answers:
        await database.run_write_async(partial(mark_asked, listing_id=row["listing_id"], question=question))
        return
    summary.answered += 1
    stored = {name: Attribute(**value) for name, value in row["attributes"].items()}
    attributes = merge_answers(stored, answers)
    read = DescriptionRead(
        listing_id=row["listing_id"],
        content_hash=row["content_hash"],
        rules=row["rules"],
        attributes=_as_stored(attributes),
        open_fields=[name for name in row["open_fields"] if name not in answers],
        disagreements=tuple(find_disagreements(row, attributes)),
        question=question,
    )
    await database.run_write_async(partial(save_reads, reads=[read], now=time.time()))


# What is read when a crawl ends. It may fail without the crawl failing.

log: Final = logging.getLogger(__name__)


def read_new(database: Database, clock: Callable[[], float] = time.time) -> None:
    """Read the descriptions that are new or changed, by the rules alone; never raises.

    A failure is logged; the next call, or `sale-sofia enrich`, does the rest.
    """
    try:
        read_all(database, Summary(), clock)
    except DatabaseError as error:  # its message is enough
        log.warning("reading descriptions after a crawl failed: %s", error)
    except Exception:
        log.exception("reading descriptions after a crawl failed")
