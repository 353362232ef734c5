"""A Redis for all who need one: that of REDIS_URL, else a server of our own that its last user stops."""

import os
import re
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Final, Self

import redis
from pydantic import Field, ValidationError
from redis.backoff import NoBackoff
from redis.retry import Retry

from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.ownership import ALONE, SHARED, StillLocked, lock_file, take
from sale_sofia.operations.services.processes import (
    KILL,
    TERMINATE,
    Process,
    StartRecord,
    born,
    find_server_binary,
    spawn,
)
from sale_sofia.settings.errors import (
    PortTaken,
    RedisDied,
    RedisNotStarted,
    RedisUnreachable,
    ServiceUnavailable,
)
from sale_sofia.settings.files import write_whole
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.logs import last_line

_NOT_REDIS: Final = "does not speak like a Redis server"
_REASONS: Final[dict[type[Exception], str]] = {
    redis.AuthenticationError: "does not accept this user name and password, or wants some",
    redis.exceptions.NoPermissionError: "does not let this user write",
    redis.ReadOnlyError: "is a read-only copy of another server; name the one that takes writes",
    redis.BusyLoadingError: "is still reading its data; try again in a while",
    redis.InvalidResponse: _NOT_REDIS,
    redis.TimeoutError: f"did not answer within {fixed.REDIS_ANSWER_SECONDS:g} s",
}


def connect(url: str) -> redis.Redis:
    """A client without retries; it connects with the first command."""
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_connect_timeout=fixed.REDIS_CONNECT_SECONDS,
        socket_timeout=fixed.REDIS_ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def check_reachable(url: str) -> str:
    """Host and port of a server that answers and takes writes; it is not changed. Raises RedisUnreachable."""
    try:
        client = connect(url)
        client.connection_pool.make_connection()
    except (ValueError, TypeError, AttributeError):
        raise RedisUnreachable(
            "REDIS_URL: the client cannot use its port or an option behind its '?'."
        ) from None
    with client:
        options = client.connection_pool.connection_kwargs
        place = f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        place = str(options.get("path", place))
        try:
            if not client.ping():
                raise redis.InvalidResponse  # noqa: TRY301 - reported below
            client.delete("sale_sofia:no_such_key")  # changes nothing, but counts as a write
        except Exception as error:  # noqa: BLE001 - a stranger may answer anything, the client raise anything
            # The answer is not quoted: it could contain the password that was sent.
            raise RedisUnreachable(f"REDIS_URL: {place} {_reason(error)}.") from None
    return place


def identity(url: str) -> tuple[str, int] | None:
    """Name of the data file and pid of the server at this address; None if it does not say."""
    try:
        with connect(url) as client:
            name = client.config_get("dbfilename")["dbfilename"]
            return str(name), int(client.info("server")["process_id"])
    except Exception:  # noqa: BLE001 - a stranger may answer anything, and the client then raise anything
        return None


def is_ready(url: str) -> bool:
    """Whether the server at this address has read its data and answers."""
    try:
        with connect(url) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def _reason(error: Exception) -> str:
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    if isinstance(error, redis.ResponseError):
        if "DB index" in str(error):
            return "has no database of this number"
        code = re.match(r"[A-Z]+", str(error))
        return f"refuses our commands ({code.group() if code else 'no reason given'})"
    if isinstance(error, redis.ConnectionError | OSError):
        cause = error.__cause__ or error.__context__ or error
        detail = isinstance(cause, OSError) and cause.strerror
        return f"cannot be reached ({detail or 'it closed the connection'})"
    return _NOT_REDIS


# Our own server: a process of its own on a loopback port, its data in a folder.

HOST: Final = "127.0.0.1"
LOG: Final = "redis.log"
_RECORD: Final = "server.json"
_LOCK: Final = "server.lock"
_CONFIG: Final = "server.conf"
_SOME_PORT: Final = 1
"""The port in a record until one is chosen."""


class ServerRecord(StartRecord):
    """The server of a folder; it has the nonce on its command line and reports it when asked."""

    port: Annotated[int, Field(gt=0, lt=65_536)]
    password: Annotated[str, Field(repr=False)] = ""
    """Needed because every user of the machine can connect to loopback."""
    options: list[str] = Field(default_factory=list)

    @property
    def url(self) -> str:
        """Address of the server's first database, with its password if it has one."""
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}{HOST}:{self.port}/0"

    @property
    def data_file(self) -> str:
        """The name of a dump that is never written: so the server reports the nonce, even after FLUSHALL."""
        return f"{self.nonce}.rdb"


def read_record(folder: Path) -> ServerRecord | None:
    """The folder's record; None if there is none that can be read."""
    try:
        return ServerRecord.model_validate_json((folder / _RECORD).read_bytes())
    except (OSError, ValidationError):
        return None


def write_record(folder: Path, record: ServerRecord) -> None:
    """Replace the folder's record; a reader sees the old one or the new one, whole."""
    write_whole(folder / _RECORD, record.model_dump_json())


def forget_record(folder: Path, nonce: str) -> None:
    """Remove the record of this start; that of another start stays."""
    record = read_record(folder)
    if record and record.nonce == nonce:
        (folder / _RECORD).unlink(missing_ok=True)


def start_server(folder: Path, port: int | None, options: Sequence[str], password: str) -> ServerRecord:
    """Start a server that keeps its data in the folder, and wait until it answers.

    On the port of a dead server it keeps that server's password too, for clients that still know both. On any
    other port it uses the given password: a stranger may have taken the old port and heard the old password.
    The server holds a lock on the folder as long as it lives: two never write to the same data, even if
    the parent of the first died before it could record the start. Raises RedisNotStarted.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_file(folder / _LOCK) as lock:
            take(lock, ALONE, fixed.REDIS_FOLDER_SECONDS)
            record = ServerRecord(
                port=port or _SOME_PORT, nonce=secrets.token_hex(16), password=password, options=list(options)
            )
            if port is not None:
                return _start(folder, record, lock.fileno())
            return _start_on_some_port(folder, record, lock.fileno())
    except StillLocked:
        running = read_record(folder)
        process = running.process if running else None
        silent = f" that does not answer, process {process.pid}" if process and process.alive else ""
        raise RedisNotStarted(f"{folder} is in use by a Redis server{silent}; stop it first.") from None
    except OSError as error:
        raise RedisNotStarted(f"Redis cannot be started in {folder}: {error.strerror or error}.") from error


def _start_on_some_port(folder: Path, record: ServerRecord, lock: int) -> ServerRecord:
    dead = read_record(folder)
    for port in _ports(folder):
        old_password = dead.password if dead and dead.port == port else ""
        update = {"port": port, "nonce": secrets.token_hex(16), "password": old_password or record.password}
        try:
            return _start(folder, record.model_copy(update=update), lock)
        except PortTaken as error:
            last_error = error
    raise last_error


def _ports(folder: Path) -> Iterator[int]:
    """The port of the folder's last server, for clients that still know it, then free ones."""
    if stale := read_record(folder):
        yield stale.port
    for _ in range(fixed.REDIS_PORT_TRIES):
        with socket.create_server((HOST, 0)) as chosen:
            port = int(chosen.getsockname()[1])
        yield port


def _start(folder: Path, record: ServerRecord, lock: int) -> ServerRecord:
    options = {
        "--port": record.port,
        "--bind": HOST,
        "--protected-mode": "yes",
        "--daemonize": "no",
        "--dir": folder,
        "--dbfilename": record.data_file,
        "--save": "",
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--aof-load-truncated": "yes",
        "--maxmemory-policy": "noeviction",
    }
    words = [str(word) for pair in options.items() for word in pair]
    command = [str(find_server_binary()), str(folder / _CONFIG), *words, *record.options]
    if _is_taken(record.port):
        raise _port_taken(record.port)
    log = folder / LOG
    if log.exists():
        log.replace(folder / f"{LOG}.1")
    # Recorded before there is a process: whoever finds this record can ask the port for the rest.
    write_record(folder, record)
    # The password is in a file, not in the arguments, which every user of the machine can read.
    write_whole(folder / _CONFIG, f"requirepass {record.password}\n" if record.password else "")
    process = spawn(command, log, lock)
    try:
        wait_until_ready(folder, record, process)
    except BaseException:
        process.send(KILL)
        process.gone_within(fixed.REDIS_KILL_SECONDS)
        forget_record(folder, record.nonce)
        raise
    full = record.model_copy(update={"pid": process.pid, "born": process.born})
    write_record(folder, full)
    return full


def wait_until_ready(folder: Path, record: ServerRecord, process: Process) -> None:
    """Wait until exactly this server has read its data and answers; raises RedisNotStarted."""
    url, end = record.url, time.monotonic() + fixed.REDIS_START_SECONDS
    # The nonce first: on a taken port a stranger would answer too.
    while not (identity(url) == (record.data_file, process.pid) and is_ready(url)):
        dead, late = not process.alive, time.monotonic() > end
        # Another program may have taken the port between our check and the server's start.
        if dead and _is_taken(record.port):
            raise _port_taken(record.port)
        if dead or late:
            line = last_line(folder / LOG)
            words = f"; its last words: {line!r}" if line else ""
            if dead:
                raise RedisDied(f"Redis did not start in {folder}{words}.")
            raise RedisNotStarted(f"Redis did not answer within {fixed.REDIS_START_SECONDS:g} s{words}.")
        time.sleep(fixed.REDIS_POLL_SECONDS)


def _port_taken(port: int) -> PortTaken:
    return PortTaken(f"Port {port} of {HOST} is taken by another program.")


def _is_taken(port: int) -> bool:
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return True
    return False


@dataclass(slots=True)
class RedisServer:
    """One running server of ours; no other process is ever signalled.

    It outlives its parent until somebody calls `stop`. Every write is in its log within a second.
    """

    folder: Path
    port: int
    options: tuple[str, ...]
    process: Process
    nonce: str
    password: str = field(default="", repr=False)

    @classmethod
    def start(
        cls, folder: Path, *, port: int | None = None, options: Sequence[str] = (), password: str = ""
    ) -> Self:
        """Start a server with the folder's data, on its last port or a free one; raises RedisNotStarted."""
        folder = folder.absolute()
        return cls._of(folder, start_server(folder, port, options, password))

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """The folder's server if it runs and answers; never a stranger that has its port or pid."""
        folder = folder.absolute()
        record = read_record(folder)
        # If our process is gone, a stranger listens: it must not even hear the password.
        if record is None or (record.process and not record.process.alive):
            return None
        found = identity(record.url)
        if found is None or found[0] != record.data_file:
            return None
        if record.pid is None:  # its parent died before it could record that
            full = record.model_copy(update={"pid": found[1], "born": born(found[1])})
            wait_until_ready(folder, record, Process(found[1], full.born or ""))
            write_record(folder, full)
            record = full
        server = cls._of(folder, record)
        return server if server.pid == found[1] and server.alive else None

    @classmethod
    def _of(cls, folder: Path, record: ServerRecord) -> Self:
        process = Process(record.pid or 0, record.born or "")
        return cls(folder, record.port, tuple(record.options), process, record.nonce, record.password)

    @property
    def url(self) -> str:
        """Address of its first database, with its password if it has one."""
        return ServerRecord(port=self.port, nonce=self.nonce, password=self.password).url

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether its process still runs."""
        return self.process.alive

    def stop(self) -> None:
        """Let it write its data and end, or kill it if it does not; does nothing if it is gone."""
        self.process.send(TERMINATE)
        if not self.process.gone_within(fixed.REDIS_STOP_SECONDS):
            self.process.send(KILL)
        self._wait_for_its_end()
        forget_record(self.folder, self.nonce)

    def kill(self) -> None:
        """Kill it at once, as a power cut would; its record stays."""
        self.process.send(KILL)
        self._wait_for_its_end()

    def restart(self) -> None:
        """Stop it if it runs, and start it with the same data, port and password."""
        self.stop()
        again = self.start(self.folder, port=self.port, options=self.options, password=self.password)
        self.process, self.nonce = again.process, again.nonce

    def _wait_for_its_end(self) -> None:
        if not self.process.gone_within(fixed.REDIS_KILL_SECONDS):
            raise ServiceUnavailable(
                f"Redis, process {self.pid}, cannot be ended; see whether its disk hangs."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


# Its users: the first starts it, the last stops it.

_DOOR: Final = "door.lock"
_USERS: Final = "users.lock"


@contextmanager
def running_redis(settings: Settings) -> Iterator[str]:
    """The URL of a Redis that answers inside the block; raises a ServiceUnavailable that says why not."""
    if settings.redis_url is not None:
        url = settings.redis_url.get_secret_value()
        check_reachable(url)
        yield url
        return
    with _own_server((settings.data_dir / fixed.REDIS_FOLDER).absolute()) as server:
        yield server.url


def known_redis_url(settings: Settings) -> str:
    """REDIS_URL, or the URL of our own server if it runs; starts nothing. Raises RedisUnreachable."""
    if settings.redis_url is not None:
        return settings.redis_url.get_secret_value()
    folder = (settings.data_dir / fixed.REDIS_FOLDER).absolute()
    if server := RedisServer.find(folder):
        return server.url
    raise RedisUnreachable(f"No Redis runs in {folder}: start one with `sale-sofia up`, or set REDIS_URL.")


def answering_redis_url(settings: Settings) -> str:
    """As `known_redis_url`, of a server that answers and takes writes; else RedisUnreachable says why."""
    url = known_redis_url(settings)
    check_reachable(url)
    return url


def own_redis_died(settings: Settings) -> bool:
    """Whether our own server was started and has ended without being stopped."""
    record = read_record((settings.data_dir / fixed.REDIS_FOLDER).absolute())
    process = record.process if record else None
    return settings.redis_url is None and process is not None and not process.alive


def stop_unused_redis(settings: Settings) -> None:
    """Stop our own server if its last user was killed before it could; leaves it if somebody uses it."""
    folder = (settings.data_dir / fixed.REDIS_FOLDER).absolute()
    if server := RedisServer.find(folder):
        with lock_file(folder / _USERS) as users:
            _leave(folder, users, server)


@contextmanager
def _own_server(folder: Path) -> Iterator[RedisServer]:
    """Our own server, started by the first user and stopped by the last; a killed user does not count."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RedisNotStarted(f"Redis cannot be started in {folder}: {error.strerror}.") from error
    with lock_file(folder / _USERS) as users:
        with _door(folder):
            take(users, SHARED)
            # A password, so that no other user of the machine can send messages to our workers.
            server = RedisServer.find(folder) or RedisServer.start(folder, password=secrets.token_hex(32))
        user = os.getpid()
        try:
            yield server
        finally:
            # A forked child gets here too, but is no user.
            if os.getpid() == user:
                _leave(folder, users, server)


def _leave(folder: Path, users: IO[str], server: RedisServer) -> None:
    # Release the lock before the door: the next process must not take us for a user.
    with _door(folder), users, suppress(StillLocked):
        take(users, ALONE)
        # Another process may have replaced the server that we used.
        (RedisServer.find(folder) or server).stop()


@contextmanager
def _door(folder: Path) -> Iterator[None]:
    """Let one process at a time begin or end its use."""
    with lock_file(folder / _DOOR) as door:
        try:
            take(door, ALONE, fixed.REDIS_DOOR_SECONDS)
        except StillLocked:
            raise RedisNotStarted(
                f"For {fixed.REDIS_DOOR_SECONDS:g} s another process is starting or stopping Redis "
                f"in {folder}."
            ) from None
        yield
