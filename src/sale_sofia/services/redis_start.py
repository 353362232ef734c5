"""Bringing up our own Redis server in a folder."""

import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sale_sofia.config.services import (
    REDIS_FOLDER_SECONDS,
    REDIS_KILL_SECONDS,
    REDIS_POLL_SECONDS,
    REDIS_PORT_TRIES,
    REDIS_START_SECONDS,
)
from sale_sofia.services.errors import PortTaken, RedisDied, RedisNotStarted
from sale_sofia.services.folder_locks import ALONE, StillLocked, lock_file, take
from sale_sofia.services.log_files import last_line
from sale_sofia.services.own_files import write_own
from sale_sofia.services.processes import KILL, Process, spawn
from sale_sofia.services.redis_binary import find_server_binary
from sale_sofia.services.redis_client import identity, is_ready
from sale_sofia.services.redis_record import ServerRecord, forget_record, read_record, write_record

HOST: Final = "127.0.0.1"
LOG: Final = "redis.log"
_OLD_LOG: Final = "redis.log.1"
_LOCK: Final = "server.lock"
_CONFIG: Final = "server.conf"
_SOME_PORT: Final = 1
"""Stands in a record until a port is chosen."""


def server_url(record: ServerRecord) -> str:
    """Address of our own server's first database, with its password if it has one."""
    login = f":{record.password}@" if record.password else ""
    return f"redis://{login}{HOST}:{record.port}/0"


def data_file(nonce: str) -> str:
    """The nonce as the server tells it: as the name of a dump, which it never writes, as all goes to the log.

    A key in a database would be gone with the first FLUSHALL.
    """
    return f"{nonce}.rdb"


def start_server(folder: Path, port: int | None, options: Sequence[str], password: str) -> ServerRecord:
    """Start a server that keeps its data in the folder, and wait until it answers.

    On the port of a server that died it keeps that one's password too, for those who still know both. On any
    other the password is the one given: a stranger may have taken the old port, and heard the old password.
    The server holds a lock on the folder as long as it lives: two never write to the same data, even when
    whoever started the first died before it could be written down.

    Raises:
        RedisNotStarted: it did not come up; PortTaken when the port asked for belongs to another program.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_file(folder / _LOCK) as lock:
            take(lock, ALONE, REDIS_FOLDER_SECONDS)
            record = ServerRecord(
                port=port or _SOME_PORT, nonce=_nonce(), password=password, options=list(options)
            )
            if port is not None:
                return _start(folder, record, lock.fileno())
            return _start_on_some_port(folder, record, lock.fileno())
    except StillLocked:
        raise RedisNotStarted(f"{folder} is in use by {_holder(folder)}; stop it first.") from None
    except OSError as error:
        raise RedisNotStarted(f"Redis cannot be started in {folder}: {error.strerror or error}.") from error


def _holder(folder: Path) -> str:
    record = read_record(folder)
    known = record and record.pid and record.born and Process(record.pid, record.born).alive
    return (
        f"a Redis server that does not answer, process {record.pid}" if record and known else "a Redis server"
    )


def _start_on_some_port(folder: Path, wanted: ServerRecord, lock: int) -> ServerRecord:
    dead = read_record(folder)
    for port in _ports(folder):
        known = dead.password if dead and dead.port == port else ""
        update = {"port": port, "nonce": _nonce(), "password": known or wanted.password}
        try:
            return _start(folder, wanted.model_copy(update=update), lock)
        except PortTaken as error:
            taken = error
    raise taken


def _ports(folder: Path) -> Iterator[int]:
    """The port that the folder's last server had, for those who still know it, then free ones."""
    if stale := read_record(folder):
        yield stale.port
    for _ in range(REDIS_PORT_TRIES):
        with socket.create_server((HOST, 0)) as chosen:
            port = int(chosen.getsockname()[1])
        yield port


def _nonce() -> str:
    return secrets.token_hex(16)


def _start(folder: Path, record: ServerRecord, lock: int) -> ServerRecord:
    command = [str(find_server_binary()), str(folder / _CONFIG), *_arguments(folder, record)]
    if _is_taken(record.port):
        raise _port_taken(record.port)
    _keep_old_log(folder)
    # Written down before there is a process: who finds this record can ask the port for the rest.
    write_record(folder, record)
    # In a file, not in the arguments, which every user of the machine can read.
    write_own(folder / _CONFIG, f"requirepass {record.password}\n" if record.password else "")
    process = spawn(command, folder / LOG, lock)
    try:
        wait_until_ready(folder, record, process)
    except BaseException:
        process.send(KILL)
        process.gone_within(REDIS_KILL_SECONDS)
        forget_record(folder, record.nonce)
        raise
    full = record.model_copy(update={"pid": process.pid, "born": process.born})
    write_record(folder, full)
    return full


def _arguments(folder: Path, record: ServerRecord) -> list[str]:
    options = {
        "--port": record.port,
        "--bind": HOST,
        "--protected-mode": "yes",
        "--daemonize": "no",
        "--dir": folder,
        "--dbfilename": data_file(record.nonce),
        "--save": "",
        "--appendonly": "yes",
        "--appendfsync": "everysec",
        "--aof-load-truncated": "yes",
        "--maxmemory-policy": "noeviction",
    }
    return [*(str(word) for pair in options.items() for word in pair), *record.options]


def _keep_old_log(folder: Path) -> None:
    log = folder / LOG
    if log.exists():
        log.replace(folder / _OLD_LOG)


def wait_until_ready(folder: Path, record: ServerRecord, process: Process) -> None:
    """Wait until this very server has read its data and answers.

    Raises:
        RedisNotStarted: it died, or takes too long; with the last line of its log.
    """
    url, end = server_url(record), time.monotonic() + REDIS_START_SECONDS
    # The nonce first: on a port that was taken, a stranger would answer too.
    while not (identity(url) == (data_file(record.nonce), process.pid) and is_ready(url)):
        if not process.alive:
            raise _failure(folder, record.port)
        if time.monotonic() > end:
            raise RedisNotStarted(
                f"Redis did not answer within {REDIS_START_SECONDS:g} s{_last_word(folder)}."
            )
        time.sleep(REDIS_POLL_SECONDS)


def _failure(folder: Path, port: int) -> RedisNotStarted:
    # Somebody may have been faster in the moment between our look at the port and the server's.
    if _is_taken(port):
        return _port_taken(port)
    return RedisDied(f"Redis did not start in {folder}{_last_word(folder)}.")


def _port_taken(port: int) -> PortTaken:
    return PortTaken(f"Port {port} of {HOST} is taken by another program.")


def _is_taken(port: int) -> bool:
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return True
    return False


def _last_word(folder: Path) -> str:
    said = last_line(folder / LOG)
    return f"; its last words: {said!r}" if said else ""
