"""After the crawl: every description read by the rules and stored, and then, if wanted, the model asked.

The rules' result is stored before the model is asked anything, so that nothing is lost with it.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sale_sofia.crawl.resilience.errors import ServiceOllama
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.descriptions.asking import AnswerKey, ask_model, judge, merged, open_fields
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.fields import Attribute, Attributes
from sale_sofia.descriptions.ollama import ModelBusy, OllamaModel
from sale_sofia.descriptions.rulebook import rules_version
from sale_sofia.descriptions.settings import AREA_TOLERANCE, ENRICH_BATCH, LLM_DOMAIN
from sale_sofia.descriptions.store import (
    Disagreement,
    Read,
    cached_answer,
    mark_asked,
    open_reads,
    save_reads,
    store_answer,
    unread_listings,
)
from sale_sofia.history.revisions import advance, changes_since, position
from sale_sofia.listings.model import compared
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError

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
    """The fields of which both say something, and not the same."""
    for field, column in COLUMNS.items():
        said = attributes.get(field)
        if said is None or said.value is None or said.status == "conflict":
            continue
        portal = listing[column]
        if portal not in (None, []) and not _agree(compared(column, portal), compared(column, said.value)):
            yield Disagreement(column, portal, said.value, said.quote)


def _agree(portal: Any, text: Any) -> bool:  # noqa: ANN401 - values of any field
    if isinstance(portal, list) and isinstance(text, list):
        return not set(portal).isdisjoint(text)
    if not any(isinstance(value, bool) or not isinstance(value, int | float) for value in (portal, text)):
        return bool(abs(portal - text) <= (AREA_TOLERANCE if isinstance(portal, float) else 0))
    return bool(portal == text)


@dataclass(slots=True)
class Summary:
    """What an enrichment did. `model`: off, used, or why it was not."""

    read: int = 0
    asked: int = 0
    cached: int = 0
    answered: int = 0
    failed: int = 0
    model: str = "off"


FOLLOWER: Final = "descriptions"


def read_all(database: Database, summary: Summary, clock: Callable[[], float] = time.time) -> None:
    """Read every description that is new, changed, or was read by other rules.

    Who is killed meanwhile has read some of them, and the next reads the rest.
    """
    rules = rules_version()
    changes = database.run_read(lambda c: changes_since(c, position(c, FOLLOWER, rules)))
    touched = sorted(changes.listing_ids)
    for begin in range(0, len(touched), ENRICH_BATCH):
        some = touched[begin : begin + ENRICH_BATCH]
        batch = database.run_read(partial(unread_listings, rules=rules, ids=some))
        if batch:
            reads = [_read(listing) for listing in batch]
            database.run_write(partial(save_reads, reads=reads, now=clock()))
            summary.read += len(reads)
    if touched:
        database.run_write(lambda c: advance(c, FOLLOWER, rules, changes))


def _read(listing: Mapping[Any, Any]) -> Read:
    attributes = read_description(listing["description"])
    return Read(
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
    """Ask the model about all that is open, until all is asked, the budget is used up, or it fails."""
    rate, places = settings.llm_requests_per_minute, settings.llm_concurrency
    gate = get_gate(settings, lambda _: settings.rate_limit(LLM_DOMAIN, rate), lambda _: places, redis_url)
    model = OllamaModel(settings, gate)
    budget = TimeoutBudget(settings.llm_run_seconds, time.monotonic)
    try:
        digest = await model.digest()
        summary.model = "used"
        last, asked = 0, AnswerKey.of("", (), digest).digest
        while batch := await database.run_read_async(
            partial(open_reads, rules=rules_version(), asked=asked, after=last, limit=ENRICH_BATCH)
        ):
            for row in batch:
                key = AnswerKey.of(row["description"], row["open_fields"], digest)
                found = await _answer(database, model, row, key, budget, summary)
                if found is not None:
                    await _store(database, row, found, asked, summary)
            last = batch[-1]["listing_id"]
    except (ServiceOllama, ModelBusy) as error:
        summary.model = str(error)
    finally:
        await gate.close()


async def _answer(
    database: Database,
    model: OllamaModel,
    row: Mapping[Any, Any],
    key: AnswerKey,
    budget: TimeoutBudget,
    summary: Summary,
) -> Attributes | None:
    """The answer that is kept, or else the model's, which is kept then; None: it failed."""
    fields: Sequence[str] = row["open_fields"]
    kept = await database.run_read_async(partial(cached_answer, key=key.digest))
    if kept is not None:
        summary.cached += 1
        return judge(kept, fields, row["description"]).attributes
    try:
        found = await ask_model(model, row["description"], fields, budget)
    except ServiceOllama:
        summary.failed += 1
        return None  # asked again by the next enrichment; when it fails too often, the gate refuses
    summary.asked += 1
    answer = _as_stored(found.attributes)
    await database.run_write_async(partial(store_answer, key=key, answer=answer, now=time.time()))
    return found.attributes


async def _store(
    database: Database, row: Mapping[Any, Any], found: Attributes, asked: str, summary: Summary
) -> None:
    if not found:
        await database.run_write_async(partial(mark_asked, listing_id=row["listing_id"], asked=asked))
        return
    summary.answered += 1
    stored = {name: Attribute(**value) for name, value in row["attributes"].items()}
    attributes = merged(stored, found)
    read = Read(
        listing_id=row["listing_id"],
        content_hash=row["content_hash"],
        rules=row["rules"],
        attributes=_as_stored(attributes),
        open_fields=[name for name in row["open_fields"] if name not in found],
        disagreements=tuple(find_disagreements(row, attributes)),
        asked=asked,
    )
    await database.run_write_async(partial(save_reads, reads=[read], now=time.time()))


# What is read when a crawl ends. It may fail without the crawl failing.

log: Final = logging.getLogger(__name__)


def read_new(database: Database, clock: Callable[[], float] = time.time) -> None:
    """Read the descriptions that are new or changed, by the rules alone; never raises.

    A failure is logged; the next call, or `sale-sofia enrich`, does what is left undone.
    """
    try:
        read_all(database, Summary(), clock)
    except DatabaseError as error:  # it says itself what is wrong
        log.warning("reading descriptions after a crawl failed: %s", error)
    except Exception:
        log.exception("reading descriptions after a crawl failed")
