"""PostgreSQL that fails: nothing lost or doubled, one clear sentence, and work that goes on by itself."""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
from sqlalchemy import Connection, create_engine, make_url, text

from contract.storage.filling import BATCH, counts, fill, save_batch
from postgres_proxy import Fault, PostgresProxy
from postgres_servers import PASSWORD, READY, PostgresServer, end_server, server_or_skip
from sale_sofia.history.jobs import add_job_counts, create_job, get_job
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import (
    DatabaseBusy,
    DatabaseDenied,
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnsupported,
)
from sale_sofia.storage.migrate import current_revision, initialize_database
from sale_sofia.storage.postgres import _Keeper, _keys
from sale_sofia.storage.settings import ServerLimits

LIMITS = ServerLimits(connect_seconds=2, outage_seconds=30)


def opened(url: str, *, timeout: float = 10, retries: int = 5, limits: ServerLimits = LIMITS) -> Database:
    return Database(url, busy_timeout_seconds=timeout, busy_retries=retries, server=limits)


def make_job(connection: Connection, job_id: str = "j") -> None:
    create_job(connection, job_id=job_id, site="imot.bg", start_urls=[], listing_limit=None, now=1.0)


def count_one(connection: Connection) -> None:
    add_job_counts(connection, "j", requests=1)


def requests(db: Database, job_id: str = "j") -> int:
    job = db.run_read(lambda connection: get_job(connection, job_id))
    assert job is not None
    return job.requests


@pytest.fixture
def db(postgres_url: str) -> Iterator[Database]:
    made = opened(postgres_url)
    made.run_write(make_job)
    yield made
    made.dispose()


@pytest.mark.parametrize("fault", get_args(Fault))
def test_a_connection_that_breaks_at_the_commit_counts_once(
    db: Database, postgres_server: PostgresServer, fault: Fault
) -> None:
    with PostgresProxy(postgres_server.port) as proxy:
        url = db.url.set(port=proxy.port).update_query_dict({"sslmode": "disable"})
        away = opened(url.render_as_string(hide_password=False))
        away.run_write(count_one)
        for expected in (2, 3):
            proxy.fault = fault
            away.run_write(count_one)
            assert requests(db) == expected
        assert proxy.met == 2
        away.dispose()


def test_a_commit_is_not_taken_for_done_that_was_not(db: Database, postgres_server: PostgresServer) -> None:
    """Without `run_write` nothing is done again: whoever wrote hears that nothing was kept."""
    with PostgresProxy(postgres_server.port) as proxy:
        url = db.url.set(port=proxy.port).update_query_dict({"sslmode": "disable"})
        away = opened(url.render_as_string(hide_password=False))
        away.run_write(count_one)
        proxy.fault = "request lost"
        with pytest.raises(DatabaseUnreachable), away.write() as connection:
            count_one(connection)
        proxy.fault = "answer lost"
        with away.write() as connection:
            count_one(connection)
        assert requests(db) == 2
        away.dispose()


def test_a_connection_killed_in_the_middle_of_a_write(db: Database, postgres_server: PostgresServer) -> None:
    killed: list[int] = []

    def interrupted(connection: Connection) -> None:
        count_one(connection)
        if not killed:
            pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            killed.append(pid)
            with postgres_server.admin() as admin:
                admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
        count_one(connection)

    db.run_write(interrupted)
    assert (len(killed), requests(db)) == (1, 2)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    server = server_or_skip(durable=True)
    yield server
    end_server(server)


@pytest.fixture
def durable_server(own_server: PostgresServer) -> PostgresServer:
    """One whose plug may be pulled; it runs, whatever the test before did to it."""
    if own_server.process is None:
        own_server.start()
    return own_server


def test_a_server_whose_plug_is_pulled_is_waited_for(durable_server: PostgresServer) -> None:
    db = opened(durable_server.new_database(READY))
    db.run_write(make_job)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            durable_server.kill()
            waiting = pool.submit(db.run_write, count_one)
            durable_server.start()
            waiting.result(60)
    assert requests(db) == 2
    db.dispose()


def test_one_that_stays_away_is_waited_for_once(
    durable_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The patience is for the outage: the many who meet it do not each wait for its whole length."""
    db = opened(durable_server.new_database(READY), limits=ServerLimits(outage_seconds=1))
    db.run_write(make_job)
    durable_server.kill()
    for _ in range(20):
        with pytest.raises(DatabaseUnreachable, match="does not answer: "):
            db.run_write(count_one)
    durable_server.start()
    db.run_write(count_one)
    told = [
        record.getMessage() for record in caplog.records if record.name == "sale_sofia.storage.connections"
    ]
    assert [sentence.endswith("for up to 1 seconds.") for sentence in told] == [True, False]
    assert told[1] == "The database answers again."
    assert requests(db) == 1
    db.dispose()


def test_whoever_is_told_to_stop_does_not_wait_for_a_server(durable_server: PostgresServer) -> None:
    db = opened(durable_server.new_database(READY), limits=ServerLimits(outage_seconds=86_400))
    db.run_write(make_job)
    durable_server.kill()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(db.run_write, count_one)
        db.give_up_waiting()
        with pytest.raises(DatabaseUnreachable):
            waiting.result(60)
    durable_server.start()
    db.dispose()


def test_writers_who_wait_in_a_circle_both_end_well(db: Database) -> None:
    db.run_write(lambda connection: make_job(connection, "k"))
    meet = threading.Barrier(2)
    tries: list[str] = []

    def both(first: str, second: str) -> None:
        waited = threading.Event()

        def work(connection: Connection) -> None:
            tries.append(first)
            add_job_counts(connection, first, requests=1)
            if not waited.is_set():
                waited.set()
                meet.wait(20)
            add_job_counts(connection, second, requests=1)

        db.run_write(work)

    threads = [threading.Thread(target=both, args=pair) for pair in (("j", "k"), ("k", "j"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (requests(db), requests(db, "k")) == (2, 2)
    assert len(tries) > 2, "one was chosen to begin again; the server may choose more than once"


def test_a_portals_lock_is_taken_again_as_soon_as_it_is_free(
    postgres_url: str,
    postgres_server: PostgresServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = make_url(postgres_url).set(drivername="postgresql+psycopg")
    engines = create_engine(url), create_engine(url.update_query_dict({"application_name": "rival"}))
    keeper, rival = _Keeper(engines[0], "imot.bg"), engines[1].connect()
    keys = _keys("imot.bg")
    take = text("SELECT pg_try_advisory_lock(:space, :key)")
    pid = text("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = :space")

    def between_looks() -> Iterator[bool]:
        with postgres_server.admin() as admin:
            admin.execute("SELECT pg_terminate_backend(%s, 10000)", (rival.execute(pid, keys).scalar_one(),))
        yield False
        assert rival.execute(take, keys).scalar_one()
        yield False
        yield False
        rival.execute(text("SELECT pg_advisory_unlock(:space, :key)"), keys)
        yield False
        assert not rival.execute(take, keys).scalar_one()
        yield True

    looks = between_looks()
    monkeypatch.setattr(keeper._over, "wait", lambda _: next(looks))  # noqa: SLF001
    assert keeper.take() is None
    keeper._keep()  # noqa: SLF001 - here and not in its thread
    keeper.end()
    rival.close()
    for engine in engines:
        engine.dispose()
    assert [record.getMessage() for record in caplog.records] == [
        "While the database was away rival began to crawl imot.bg too."
    ]


def test_a_row_that_is_kept_locked_for_too_long(db: Database, postgres_url: str) -> None:
    impatient = opened(postgres_url, timeout=0.05, retries=1)
    with db.write() as holder:
        count_one(holder)
        with pytest.raises(DatabaseBusy, match="locked for longer than POSTGRES_LOCK_TIMEOUT; nothing was"):
            impatient.run_write(count_one)
    impatient.run_write(count_one)
    assert requests(db) == 2
    impatient.dispose()


def test_a_reader_sees_one_moment_and_may_not_write(db: Database) -> None:
    with db.read() as reader:
        assert reader.execute(text("SELECT requests FROM jobs")).scalar() == 0
        db.run_write(count_one)
        assert reader.execute(text("SELECT requests FROM jobs")).scalar() == 0
    with pytest.raises(DatabaseReadOnly), db.read() as reader:
        count_one(reader)
    assert requests(db) == 1


def test_a_statement_that_takes_too_long(postgres_url: str) -> None:
    db = opened(postgres_url, timeout=0.1, limits=ServerLimits(statement_seconds=0.2))
    with pytest.raises(DatabaseError, match="longer than POSTGRES_STATEMENT_TIMEOUT"):
        db.run_write(lambda connection: connection.execute(text("SELECT pg_sleep(5)")))
    db.dispose()


WRONG = {
    "password": (DatabaseDenied, "refuses the password or the user"),
    "no password": (DatabaseDenied, "wants a password"),
    "database": (DatabaseMissing, "There is no database .*nowhere.*createdb"),
    "option": (DatabaseUnsupported, "an option after `.` that libpq does not know"),
    "no tls there": (DatabaseDenied, "has no TLS, and sslmode asks for it"),
    "port": (DatabaseUnreachable, "does not answer: the connection is refused"),
    "host": (DatabaseUnreachable, "does not answer: nobody knows a host of this name"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_address_is_one_sentence_without_the_password(
    postgres_server: PostgresServer, what: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        closed = bound.getsockname()[1]
    right = postgres_server.url("ready")
    urls = {
        "password": postgres_server.url("ready", password="hunter2"),  # noqa: S106 - a wrong one
        "no password": postgres_server.url("ready", password=None),
        "database": postgres_server.url("nowhere"),
        "option": f"{right}?nonsense=1",
        "no tls there": f"{right}?sslmode=require",
        "port": right.replace(str(postgres_server.port), str(closed)),
        "host": right.replace("127.0.0.1", "nowhere.invalid"),
    }
    kind, sentence = WRONG[what]
    db = opened(urls[what])
    with pytest.raises(kind, match=sentence) as refused:
        initialize_database(db)
    said = str(refused.value)
    assert "\n" not in said
    assert not {PASSWORD, "geheim", "hunter2"} & set(said.replace("%", " ").split())
    assert "geheim" not in f"{said}{db.name}{db.url!r}{db.url}"


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        db = opened(f"postgresql://u:secret@127.0.0.1:{silent.getsockname()[1]}/x")
        with pytest.raises(DatabaseUnreachable, match="no answer came within POSTGRES_CONNECT_TIMEOUT"):
            initialize_database(db)


def test_a_step_that_fails_leaves_the_old_version_whole(postgres_server: PostgresServer) -> None:
    db = opened(postgres_server.new_database())
    db.prepare()
    with db.write() as connection:
        connection.execute(text("CREATE TABLE incidents (id integer)"))
    with pytest.raises(DatabaseError, match=r"step 0013_pruned.*incidents.*already exists"):
        initialize_database(db)
    assert current_revision(db) is None
    with db.read() as connection:
        tables = text("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        assert list(connection.execute(tables).scalars()) == ["incidents", "write_marks"]
    with db.write() as connection:
        connection.execute(text("DROP TABLE incidents"))
    initialize_database(db)
    db.dispose()


def certificate(folder: Path, name: str) -> Path:
    """A certificate of 127.0.0.1 that signs itself, with its key beside it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make certificates with")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt")
    subprocess.run([openssl, "req", "-x509", *key, *subject, *files], check=True, capture_output=True)
    return folder / f"{name}.crt"


def test_tls_is_checked_as_far_as_sslmode_says(durable_server: PostgresServer, tmp_path: Path) -> None:
    ours, strange = certificate(tmp_path, "server"), certificate(tmp_path, "strange")
    for path in (ours, ours.with_suffix(".key")):
        durable_server.own(Path(shutil.copy(path, durable_server.data)))
    durable_server.stop()
    durable_server.more = {"ssl": "on"}
    durable_server.start()
    url = durable_server.new_database(READY)

    def told(mode: str, root: Path, host: str = "127.0.0.1") -> str:
        db = opened(f"{url}?sslmode={mode}&sslrootcert={root}".replace("127.0.0.1", host))
        try:
            with db.read() as connection:
                used = text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                return f"TLS {connection.execute(used).scalar()}"
        except DatabaseError as error:
            return type(error).__name__ + ("" if "certificates of" in str(error) else str(error))
        finally:
            db.dispose()

    asked = [("require", ours), ("verify-full", ours), ("verify-full", strange), ("verify-full", tmp_path)]
    assert [told(mode, root) for mode, root in asked] == ["TLS True", "TLS True", *["DatabaseDenied"] * 2]
    assert told("verify-full", ours, "localhost") == "DatabaseDenied"


@pytest.fixture
def small_disk() -> Iterator[Path]:
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("only root can make a small disk")
    folder = Path(tempfile.mkdtemp(prefix="small-"))
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=16m,mode=755", "x", folder], check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run([umount, "--lazy", folder], check=True)
    folder.rmdir()


def test_a_full_disk_of_the_server(postgres_server: PostgresServer, small_disk: Path) -> None:
    place = small_disk / "space"
    place.mkdir()
    postgres_server.own(place)
    with postgres_server.admin() as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{place}'".encode())
        admin.execute(b"CREATE DATABASE small OWNER crawler TEMPLATE ready TABLESPACE small")
        admin.execute(b"CHECKPOINT")  # what it still has in memory would take the room counted below
    db = opened(postgres_server.url("small"))
    room = os.statvfs(small_disk)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (room.f_bavail * room.f_bsize - 400_000))
    saved = fill(db, 0)
    ballast.unlink()  # without room the server may not even take a connection: it writes a file for the first
    assert counts(db)[0] == saved * BATCH
    save_batch(db, saved)
    assert counts(db)[0] == (saved + 1) * BATCH
    db.dispose()
    with postgres_server.admin() as admin:
        admin.execute(b"DROP DATABASE small WITH (FORCE)")
        admin.execute(b"DROP TABLESPACE small")
