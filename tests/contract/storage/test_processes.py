import os
import signal
from collections import Counter
from itertools import pairwise
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from contract.storage.helpers import advert, at_once, ready_database, rows
from contract.storage.workers import hold_lock, initialize, moment_of, price_of, save_many, save_until_killed
from new_processes import FORKED
from sale_sofia.history.listings import save_listing
from sale_sofia.history.tables import listing_changes, listings, price_points
from sale_sofia.storage.errors import DatabaseBusy
from sale_sofia.storage.migrate import HEAD, check


@pytest.mark.slow
def test_ten_processes_initialise_at_once(empty_store_url: str) -> None:
    assert at_once(initialize, [(empty_store_url,)] * 10) == [HEAD] * 10
    db = ready_database(empty_store_url)
    assert check(db) == []
    with db.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar() == 1
    db.dispose()


@pytest.mark.slow
def test_eight_processes_save_the_same_adverts_and_lose_no_change(store_url: str) -> None:
    db = ready_database(store_url)
    workers, saves, adverts = 8, 24, 8
    results = at_once(save_many, [(store_url, worker, saves, adverts) for worker in range(workers)])
    told = sum(results, Counter())
    assert (told["new"], told.total()) == (adverts, workers * saves)
    with db.read() as connection:
        assert sorted(rows(connection, listings, "external_id")) == sorted(
            (f"id{n}",) for n in range(adverts)
        )
        points = sorted(rows(connection, price_points, "seen_at", "listing_id", "price_eur"))
        changes = sorted(rows(connection, listing_changes, "seen_at", "listing_id", "field", "old", "new"))
        stored = dict(rows(connection, listings, "id", "price_eur"))
    turns = [(worker, turn) for worker in range(workers) for turn in range(saves)]
    saved = {(moment_of(*one), price_of(*one)) for one in turns}
    assert [(moment, price) for moment, _, price in points] == sorted(saved)
    for listing_id, price in stored.items():
        history = [value for _, owner, value in points if owner == listing_id]
        mine = [change[2:] for change in changes if change[1] == listing_id]
        recorded = [(old, new) for field, old, new in mine if field == "price_eur"]
        assert recorded == list(pairwise(history))
        assert history[-1] == price
    assert check(db) == []
    db.dispose()


def test_a_lock_held_for_too_long_is_one_clear_sentence(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db", timeout=0.1, retries=1)
    held, release = FORKED.Event(), FORKED.Event()
    holder = FORKED.Process(target=hold_lock, args=(tmp_path / "x.db", held, release))
    holder.start()
    _wait(held)
    with pytest.raises(DatabaseBusy) as busy:
        db.run_write(lambda c: save_listing(c, advert(), seen_at=1.0, job_id=None, page_digest=None))
    assert str(busy.value) == (
        f"Another process kept the database {db.name} locked for longer than 0.1 seconds (SQLITE_TIMEOUT); "
        "nothing was written."
    )
    release.set()
    holder.join(30)
    db.run_write(lambda c: save_listing(c, advert(), seen_at=1.0, job_id=None, page_digest=None))


def _wait(event: Event) -> None:
    assert event.wait(60)


def test_a_lock_held_for_less_than_the_retries_is_waited_for(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db", timeout=0.05, retries=100)
    held, release = FORKED.Event(), FORKED.Event()
    holder = FORKED.Process(target=hold_lock, args=(tmp_path / "x.db", held, release, 0.5))
    holder.start()
    _wait(held)
    saved = db.run_write(lambda c: save_listing(c, advert(), seen_at=1.0, job_id=None, page_digest=None))
    assert saved == "new"
    holder.join(30)


def test_a_killed_writer_leaves_what_it_committed_and_nothing_else(store_url: str) -> None:
    db = ready_database(store_url)
    receiver, sender = FORKED.Pipe(duplex=False)
    writer = FORKED.Process(target=save_until_killed, args=(store_url, sender))
    writer.start()
    acknowledged = _receive(receiver, 30)
    os.kill(writer.pid or 0, signal.SIGKILL)
    writer.join(30)
    while receiver.poll():
        acknowledged = receiver.recv()
    with db.read() as connection:
        stored = rows(connection, listings, "external_id")
        priced = rows(connection, price_points, "listing_id")
    # The batch after the last acknowledged one may have been committed too, but only as a whole.
    assert len(stored) in (10 * acknowledged, 10 * (acknowledged + 1))
    assert len(priced) == len(stored)
    assert check(db) == []
    db.dispose()


def _receive(receiver: Pipe, times: int) -> int:
    last = 0
    for _ in range(times):
        last = receiver.recv()
    return last
