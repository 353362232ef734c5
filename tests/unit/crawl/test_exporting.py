"""A scrape: what Redis and the database share, without writing to either, also when one is away."""

import asyncio
import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from sale_sofia.crawl.resilience.factory import get_circuit_breaker
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.runners.progress import read_live_state
from sale_sofia.crawl.settings import APP_NAME, WORKER_CLIENT
from sale_sofia.installation import open_database
from sale_sofia.operations.metrics import Exporter
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from unit.telemetry.monitoring_workers import make_run


@pytest.fixture
def known(tmp_path: Path, redis_url: str) -> Settings:
    return Settings(data_dir=tmp_path, redis_url=SecretStr(redis_url), parallel_scraping=True)


@pytest.fixture
def db(known: Settings) -> Iterator[Database]:
    made = open_database(known)
    initialize_database(made)
    yield made
    made.dispose()


def scrape(exporter: Exporter) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    return {
        (one.name.removeprefix("sale_sofia_"), *one.labels.values()): one.value
        for family in text_string_to_metric_families(exporter.text())
        for one in family.samples
    }


async def open_circuit(settings: Settings, url: str) -> None:
    async with connect(url) as client:
        breaker = get_circuit_breaker(settings, client)
        for _ in range(settings.circuit_breaker_fail_max):
            permission = await breaker.allow("imot.bg", time.monotonic())
            await breaker.record("imot.bg", permission, ok=False, now=time.monotonic())


def test_redis_tells_of_circuits_limits_and_the_queue(known: Settings, db: Database, redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.rpush(APP_NAME, "one", "two", "three")
    asyncio.run(open_circuit(known, redis_url))
    found = scrape(Exporter(known, db))
    assert found["circuit_state", "imot.bg", "open"] == 1
    assert found["circuit_state", "imot.bg", "closed"] == 0
    assert found["circuit_state", "imot.bg", "half_open"] == 0
    assert (found["queue_messages",], found["workers",], found["redis_up",]) == (3, 0, 1)
    assert found["rate_limit_per_minute", "imot.bg"] == 20
    assert found["rate_next_turn_seconds", "imot.bg"] == 0


def test_workers_are_counted_by_their_connections(known: Settings, db: Database, redis_url: str) -> None:
    """Each once, however many connections it has; those of another database are another installation's."""
    url, _, number = redis_url.rpartition("/")
    elsewhere = f"{url}/{int(number) + 1}"
    named = [(redis_url, "a@one"), (redis_url, "a@one"), (redis_url, "b@two"), (elsewhere, "c@three")]
    clients = [redis.Redis.from_url(place, client_name=WORKER_CLIENT + name) for place, name in named]
    for client in clients:
        client.ping()
    assert read_live_state(known, ["imot.bg"]).workers == ("a@one", "b@two")
    assert scrape(Exporter(known, db))["workers",] == 2
    for client in clients:
        client.close()


def test_a_user_who_may_not_look_is_told_nothing_of_workers(
    tmp_path: Path, db: Database, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as admin:
        rights = ["+@all", "-@admin"]
        admin.acl_setuser("blind", enabled=True, passwords="+word", keys="*", channels="*", categories=rights)
        url = redis_url.replace("redis://", "redis://blind:word@")
        blind = Settings(data_dir=tmp_path, redis_url=SecretStr(url))
        live = read_live_state(blind, ["imot.bg"])
        assert (live.redis, live.workers) == (True, None)
        found = scrape(Exporter(blind, db))
        assert ("workers",) not in found
        assert found["queue_messages",] == 0
        admin.acl_deluser("blind")


def written(data: Path, url: str) -> tuple[object, dict[bytes, bytes | None]]:
    """All that is stored: a digest of the database, and every key of Redis."""
    with redis.Redis.from_url(url) as client, closing(sqlite3.connect(data / "sale_sofia.db")) as watcher:
        digest = hashlib.sha256("\n".join(watcher.iterdump()).encode()).hexdigest()
        return digest, {key: client.dump(key) for key in client.scan_iter()}


def test_a_scrape_writes_nothing(known: Settings, db: Database, redis_url: str) -> None:
    make_run(db, "job", adverts=3)
    asyncio.run(open_circuit(known, redis_url))
    before = written(known.data_dir, redis_url)
    exporter = Exporter(known, db)
    assert scrape(exporter) == scrape(exporter)
    assert written(known.data_dir, redis_url) == before
    make_run(db, "another")
    assert written(known.data_dir, redis_url) != before


def test_without_redis_and_without_a_database_it_says_so(tmp_path: Path, db: Database) -> None:
    alone = Settings(data_dir=tmp_path / "elsewhere")
    found = scrape(Exporter(alone, db))
    assert (found["redis_up",], found["database_up",]) == (0, 1)
    assert not [name for name, *_ in found if name in {"workers", "queue_messages", "circuit_state"}]
    missing = scrape(Exporter(alone, open_database(alone)))
    assert missing["database_up",] == 0
    assert {name for name, *_ in missing} == {
        "build_info", "database_up", "redis_up", "rate_limit_per_minute",
    }  # fmt: skip
