"""The clock of a store: hosts that share a server agree on the time, whatever their own clocks say."""

import time
from pathlib import Path

import pytest

from sale_sofia.crawl.frontier.clock import store_clock, store_time
from sale_sofia.storage.database import Database

HOUR = 3600.0
NEAR = 30.0


def opened(url: str) -> Database:
    return Database(url, busy_timeout_seconds=10, busy_retries=3)


@pytest.mark.slow
def test_a_server_tells_the_time_to_hosts_whose_clocks_are_wrong(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, true = opened(postgres_url), time.time
    for wrong in (-24 * HOUR, HOUR):
        monkeypatch.setattr(time, "time", lambda wrong=wrong: true() + wrong)
        assert store_time(database) == pytest.approx(true(), abs=NEAR)
        assert store_clock(database)() == pytest.approx(true(), abs=NEAR)
    database.dispose()


@pytest.mark.slow
def test_a_clock_that_was_looked_at_goes_on_when_ours_is_set(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, true, measured = opened(postgres_url), time.time, time.monotonic
    clock = store_clock(database)
    database.dispose()
    before = clock()
    monkeypatch.setattr(time, "time", lambda: true() - 24 * HOUR)
    monkeypatch.setattr(time, "monotonic", lambda: measured() + 10)
    assert clock() - before == pytest.approx(10, abs=NEAR / 10)


def test_a_file_has_the_time_of_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = opened(f"sqlite:///{tmp_path / 'x.db'}")
    monkeypatch.setattr(time, "time", lambda: 5.0)
    assert (store_time(database), store_clock(database)()) == (5.0, 5.0)
    assert not (tmp_path / "x.db").exists()
