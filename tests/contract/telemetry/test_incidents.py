import json
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.schema import CreateIndex

from contract.storage.helpers import at_once, database, rows
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import (
    Incident,
    IncidentKind,
    Trouble,
    close_incident,
    open_incident,
    open_incidents,
)
from sale_sofia.telemetry.tables import incidents
from unit.telemetry.monitoring_workers import make_run, open_many

EMPTY = IncidentKind.EMPTY_JOB


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    make_run(made, "job")
    make_run(made, "later")
    yield made
    made.dispose()


def begin(db: Database, trouble: Trouble, now: float) -> Incident:
    return db.run_write(lambda connection: open_incident(connection, trouble, now=now))


def end(db: Database, now: float, site: str = "imot.bg") -> bool:
    return db.run_write(lambda connection: close_incident(connection, EMPTY, site, now=now))


def test_an_incident_is_stored_as_it_was_told(db: Database) -> None:
    drift = Said("drift.nothing_delisted", found=[Said("drift.more", count=2), Said("drift.more", count=1)])
    made = begin(db, Trouble(EMPTY, "imot.bg", drift, "job", {"adverts": 0}), 7.0)
    assert made == Incident(1, EMPTY, "imot.bg", "job", 7.0, 7.0, None, drift, {"adverts": 0})
    (read,) = db.run_read(open_incidents)
    assert read == made
    assert (read.message.code, read.message.values) == (drift.code, drift.values)
    assert read.message.in_words("bg") == "и още 2; и още 1; нищо не се смята за свалено"
    kept = db.run_read(lambda connection: connection.execute(text("SELECT message FROM incidents")).scalar())
    assert json.loads(str(kept)) == drift.stored()


def test_the_same_again_is_told_anew_and_keeps_its_beginning(db: Database) -> None:
    begin(db, Trouble(EMPTY, "imot.bg", Said.of("first"), "job", {"n": 1}), 7.0)
    again = begin(db, Trouble(EMPTY, "imot.bg", Said.of("second"), "later", {"n": 2}), 9.0)
    assert again == Incident(1, EMPTY, "imot.bg", "later", 7.0, 9.0, None, Said.of("second"), {"n": 2})
    assert db.run_read(open_incidents) == [again]


def test_another_kind_and_another_site_are_others(db: Database) -> None:
    made = [
        begin(db, Trouble(EMPTY, "imot.bg", Said.of("a")), 1.0),
        begin(db, Trouble(IncidentKind.COLLAPSE, "imot.bg", Said.of("b")), 2.0),
        begin(db, Trouble(EMPTY, "bazar.bg", Said.of("c")), 3.0),
    ]
    assert db.run_read(open_incidents) == made
    assert db.run_read(lambda c: open_incidents(c, "imot.bg")) == made[:2]


def test_closed_is_closed_once_and_the_next_is_a_new_one(db: Database) -> None:
    begin(db, Trouble(EMPTY, "imot.bg", Said.of("a")), 1.0)
    assert end(db, 5.0)
    assert not end(db, 6.0)
    assert not end(db, 6.0, "bazar.bg")
    assert db.run_read(open_incidents) == []
    begin(db, Trouble(EMPTY, "imot.bg", Said.of("b")), 8.0)
    assert end(db, 9.0)
    with db.read() as connection:
        assert rows(connection, incidents, "opened_at", "closed_at") == [(1.0, 5.0), (8.0, 9.0)]


@pytest.mark.slow
def test_ten_processes_at_once_open_one(db: Database, store_url: str) -> None:
    seen = at_once(open_many, [(store_url, worker, 20) for worker in range(10)])
    assert seen == [{1}] * 10
    [incident] = db.run_read(open_incidents)
    assert incident.message == f"seen by {incident.details['by']}"


def test_postgresql_gets_the_same_partial_index() -> None:
    [index] = incidents.indexes
    made = str(CreateIndex(index).compile(dialect=make_url("postgresql://").get_dialect()()))
    assert made == ("CREATE UNIQUE INDEX uq_incidents_open ON incidents (kind, site) WHERE closed_at IS NULL")
