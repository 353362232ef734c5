"""After the crawl: every description read by the rules and stored, and then, if wanted, the model asked.

The rules' result is stored before the model is asked anything, so that nothing is lost with it.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sale_sofia.crawl.resilience.errors import ServiceOllama
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.descriptions.asking import AnswerKey, Judgement, ask_model, judge, merged, open_fields
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.fields import Attribute, Attributes
from sale_sofia.descriptions.ollama import ModelBusy, OllamaModel, run_budget
from sale_sofia.descriptions.rulebook import rules_version
from sale_sofia.descriptions.settings import AREA_TOLERANCE, ENRICH_BATCH, LLM_DOMAIN
from sale_sofia.descriptions.store import (
    CachedAnswer,
    Disagreement,
    Read,
    cached_answer,
    mark_asked,
    open_reads,
    save_reads,
    store_answer,
    unread_listings,
)
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, DatabaseError

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
        if portal not in (None, []) and not _agree(portal, said.value):
            yield Disagreement(column, portal, said.value, said.quote)


def _agree(portal: Any, text: Any) -> bool:  # noqa: ANN401 - values of any field
    if isinstance(portal, list) and isinstance(text, list):
        return not set(portal).isdisjoint(text)
    if _is_number(portal) and _is_number(text):
        return bool(abs(portal - text) <= (AREA_TOLERANCE if isinstance(portal, float) else 0))
    return bool(portal == text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(slots=True)
class Summary:
    """What an enrichment did. `model`: off, used, or why it was not."""

    read: int = 0
    asked: int = 0
    cached: int = 0
    answered: int = 0
    failed: int = 0
    model: str = "off"


def read_all(database: Database, summary: Summary) -> None:
    """Read every description that is new, changed, or was read by other rules."""
    last = 0
    while batch := database.run_read(
        partial(unread_listings, rules=rules_version(), after=last, limit=ENRICH_BATCH)
    ):
        reads = [_read(listing) for listing in batch]
        database.run_write(partial(save_reads, reads=reads, now=time.time()))
        summary.read += len(reads)
        last = batch[-1]["id"]


def _read(listing: Mapping[Any, Any]) -> Read:
    attributes = read_description(listing["description"])
    return Read(
        listing_id=listing["id"],
        content_hash=listing["content_hash"],
        rules=rules_version(),
        attributes=as_stored(attributes),
        open_fields=open_fields(listing["description"], attributes),
        disagreements=tuple(find_disagreements(listing, attributes)),
    )


def as_stored(attributes: Attributes) -> dict[str, Any]:
    """Attributes as they are stored."""
    return {name: one.as_stored() for name, one in attributes.items()}


def from_stored(stored: Mapping[str, Any]) -> Attributes:
    """The attributes that `as_stored` made."""
    return {name: Attribute(**one) for name, one in stored.items()}


async def ask_all(
    settings: Settings, database: Database, summary: Summary, redis_url: str | None = None
) -> None:
    """Ask the model about all that is open, until all is asked, the budget is used up, or it fails."""
    rate, places = settings.llm_requests_per_minute, settings.llm_concurrency
    gate = get_gate(settings, lambda _: settings.rate_limit(LLM_DOMAIN, rate), lambda _: places, redis_url)
    try:
        await _Interview(
            settings, database, OllamaModel(settings, gate), run_budget(settings), summary
        ).hold()
    finally:
        await gate.close()


@dataclass(slots=True)
class _Interview:
    settings: Settings
    database: Database
    model: OllamaModel
    budget: TimeoutBudget
    summary: Summary

    async def hold(self) -> None:
        try:
            digest = await self.model.digest()
            self.summary.model = "used"
            await self._ask_everybody(digest)
        except (ServiceOllama, ModelBusy) as error:
            self.summary.model = str(error)

    async def _ask_everybody(self, digest: str) -> None:
        last, asked = 0, AnswerKey.of("", (), digest).digest
        while batch := await self.database.run_read_async(
            partial(open_reads, rules=rules_version(), asked=asked, after=last, limit=ENRICH_BATCH)
        ):
            for row in batch:
                await self._ask_about(row, digest, asked)
            last = batch[-1]["listing_id"]

    async def _ask_about(self, row: Mapping[Any, Any], digest: str, asked: str) -> None:
        fields: Sequence[str] = row["open_fields"]
        key = AnswerKey.of(row["description"], fields, digest)
        known = await self.database.run_read_async(partial(cached_answer, key=key.digest))
        if known is not None:
            self.summary.cached += 1
            await self._store(row, judge(known, fields, row["description"]), asked)
            return
        try:
            found = await ask_model(self.model, row["description"], fields, self.budget)
        except ServiceOllama:
            self.summary.failed += 1
            return  # asked again by the next enrichment; when it fails too often, the gate refuses
        self.summary.asked += 1
        answer = as_stored(found.attributes)
        await self.database.run_write_async(
            partial(store_answer, cached=_cached(key, answer), now=time.time())
        )
        await self._store(row, found, asked)

    async def _store(self, row: Mapping[Any, Any], found: Judgement, asked: str) -> None:
        if not found.attributes:
            await self.database.run_write_async(
                partial(mark_asked, listing_id=row["listing_id"], asked=asked)
            )
            return
        self.summary.answered += 1
        attributes = merged(from_stored(row["attributes"]), found.attributes)
        read = Read(
            listing_id=row["listing_id"],
            content_hash=row["content_hash"],
            rules=row["rules"],
            attributes=as_stored(attributes),
            open_fields=[name for name in row["open_fields"] if name not in found.attributes],
            disagreements=tuple(find_disagreements(row, attributes)),
            asked=asked,
        )
        await self.database.run_write_async(partial(save_reads, reads=[read], now=time.time()))


def _cached(key: AnswerKey, answer: Mapping[str, Any]) -> CachedAnswer:
    return CachedAnswer(key.digest, key.text_hash, key.schema_hash, key.rules, key.model, answer)


# What is read when a crawl ends. It may fail without the crawl failing.

log: Final = logging.getLogger(__name__)


def read_new(database: Database) -> None:
    """Read the descriptions that are new or changed, by the rules alone; never raises.

    A failure is logged; the next call, or `sale-sofia enrich`, does what is left undone.
    """
    try:
        read_all(database, Summary())
    except DatabaseError as error:  # it says itself what is wrong
        log.warning("reading descriptions after a crawl failed: %s", error)
    except Exception:
        log.exception("reading descriptions after a crawl failed")
