"""Upgrades that are killed, or stopped, before a given statement; and what must come of it all the same."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, event

from release_1_0 import make_release_database
from sale_sofia.operations.copying import all_tables, batches, digest_batches
from sale_sofia.storage import migrations
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import check, initialize_database

KILL, STOP = signal.SIGKILL, signal.SIGSTOP
State = tuple[Any, ...]


def opened(url: str) -> Database:
    return Database(url, busy_timeout_seconds=30, busy_retries=3)


def revisions() -> list[str]:
    """The names of all steps, the first one first."""
    return [step.revision for step in ScriptDirectory.from_config(_config()).walk_revisions()][::-1]


def make_database_of(revision: str, file: Path) -> None:
    """That of release 1.0.0, brought as far as this step."""
    make_release_database(file)
    if revision != revisions()[0]:
        database, config = opened(f"sqlite:///{file}"), _config()
        with database.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
        database.dispose()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__ or "").parent))
    return config


def upgrade_apart(url: str, at: int, by: signal.Signals = KILL) -> int:
    """Begin an upgrade in a process of its own, which gets this signal before statement `at`; its number.

    A commit counts as a statement. With a number that is never reached it comes to its end.
    """
    if child := os.fork():
        return child
    try:
        _count_statements(lambda number: os.kill(os.getpid(), by) if number == at else None)
        database = opened(url)
        initialize_database(database)
        database.dispose()
    finally:
        os._exit(0)
    raise AssertionError


def _count_statements(met: Callable[[int], None]) -> None:
    counted = [0]

    def one_more(*_arguments: object, **_more: object) -> None:
        counted[0] += 1
        met(counted[0])

    for moment in ("before_cursor_execute", "commit"):
        event.listen(Engine, moment, one_more)


def statements_of_an_upgrade(url: str) -> int:
    """How many there are in an undisturbed one, which this does, in a process of its own."""
    reading, writing = os.pipe()
    if child := os.fork():
        os.close(writing)
        with os.fdopen(reading) as told:
            count = len(told.read())
        os.waitpid(child, 0)
        return count
    try:
        _count_statements(lambda _number: _say(writing))
        database = opened(url)
        initialize_database(database)
    finally:
        os._exit(0)
    raise AssertionError


def _say(writing: int) -> None:
    os.write(writing, b"x")


def killed(child: int) -> bool:
    """Wait for its end; whether that was the kill."""
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == KILL


def wait_until_stopped(child: int) -> None:
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status), "it ended before"


def state(url: str) -> State:
    """All tables as they were made, and all their rows; after a look that everything is sound."""
    database = opened(url)
    try:
        assert check(database) == []
        with database.read() as connection:
            rows = {table.name: digest_batches(batches(connection, table)) for table in all_tables()}
    finally:
        database.dispose()
    return _made(url), rows


def _made(url: str) -> Any:  # noqa: ANN401 - whatever this kind of database says
    if not url.startswith("sqlite"):
        return None
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return sorted(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"), key=str)


def upgraded_after_kill(url: str, at: int, before: Callable[[str], object]) -> State:
    """Kill an upgrade before this statement, and do it again; what then is there.

    What is there in between is the old database, whole: nothing of a step is kept without the others.
    """
    was = before(url)
    assert killed(upgrade_apart(url, at)), f"it ended before statement {at}"
    now = before(url)
    if now != was:
        return state(url)  # killed after its last commit: nothing is left to do
    database = opened(url)
    initialize_database(database)
    database.dispose()
    return state(url)


def sqlite_dump(url: str) -> list[str]:
    """Everything in the file."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return list(connection.iterdump())


def every_kill(folder: Path, revision: str, chosen: Callable[[int], Iterable[int]]) -> Iterator[int]:
    """Kill upgrades from this step before each chosen statement; the number of it, and of all."""
    original = folder / f"{revision}.db"
    make_database_of(revision, original)
    content_of_file = original.read_bytes()
    whole = _copy(folder / "whole.db", content_of_file)
    count = statements_of_an_upgrade(whole)
    wanted = state(whole)
    for at in chosen(count):
        assert upgraded_after_kill(_copy(folder / "x.db", content_of_file), at, sqlite_dump) == wanted, at
        yield at


def _copy(file: Path, content_of_file: bytes) -> str:
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()
    file.write_bytes(content_of_file)
    return f"sqlite:///{file}"


def wait_for(what: Callable[[], object], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
