"""A Redis for all who need one: that of REDIS_URL, else our own, shared and stopped by the last user."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from sale_sofia.config.services import REDIS_DOOR_SECONDS, REDIS_FOLDER
from sale_sofia.config.settings import Settings
from sale_sofia.services.errors import RedisNotStarted, RedisUnreachable
from sale_sofia.services.folder_locks import ALONE, SHARED, StillLocked, lock_file, take
from sale_sofia.services.processes import Process
from sale_sofia.services.redis_client import check_reachable
from sale_sofia.services.redis_record import read_record
from sale_sofia.services.redis_server import RedisServer

_DOOR: Final = "door.lock"
_USERS: Final = "users.lock"


@contextmanager
def running_redis(settings: Settings) -> Iterator[str]:
    """The URL of a Redis that answers, for as long as it is needed.

    Raises:
        RedisUnreachable: REDIS_URL is set, but that server cannot be used.
        NoRedisServer: there is no program to start.
        RedisNotStarted: our own server did not come up.
    """
    if settings.redis_url is not None:
        url = settings.redis_url.get_secret_value()
        check_reachable(url)
        yield url
        return
    with _own_server((settings.data_dir / REDIS_FOLDER).absolute()) as server:
        yield server.url


def known_redis_url(settings: Settings) -> str:
    """The URL of REDIS_URL, or of our own server while it runs; nothing is started.

    Raises:
        RedisUnreachable: there is neither.
    """
    if settings.redis_url is not None:
        return settings.redis_url.get_secret_value()
    folder = (settings.data_dir / REDIS_FOLDER).absolute()
    if server := RedisServer.find(folder):
        return server.url
    raise RedisUnreachable(f"No Redis runs in {folder}: start one with `sale-sofia up`, or set REDIS_URL.")


def own_redis_died(settings: Settings) -> bool:
    """Whether our own server was started and has ended since, without anybody having stopped it."""
    record = read_record((settings.data_dir / REDIS_FOLDER).absolute())
    if settings.redis_url is not None or record is None or not record.pid or not record.born:
        return False
    return not Process(record.pid, record.born).alive


def stop_unused_redis(settings: Settings) -> None:
    """Stop our own server when its last user was killed and could not; nothing when somebody uses it."""
    folder = (settings.data_dir / REDIS_FOLDER).absolute()
    if server := RedisServer.find(folder):
        with lock_file(folder / _USERS) as users:
            _leave(folder, users, server)


@contextmanager
def _own_server(folder: Path) -> Iterator[RedisServer]:
    """Our own server, started by the first user and stopped by the last; a killed user no longer counts."""
    _make(folder)
    with lock_file(folder / _USERS) as users:
        with _door(folder):
            take(users, SHARED)
            # Made up for this server: another user of the machine must not write messages to our workers.
            server = RedisServer.find(folder) or RedisServer.start(folder, password=secrets.token_hex(32))
        user = os.getpid()
        try:
            yield server
        finally:
            # A forked child comes by here too, but it never came in.
            if os.getpid() == user:
                _leave(folder, users, server)


def _leave(folder: Path, users: IO[str], server: RedisServer) -> None:
    # The lock ends before the door opens: who comes in must not find it, who leaves not take us for a user.
    with _door(folder), users, suppress(StillLocked):
        take(users, ALONE)
        # Somebody may have replaced the server that we came for.
        (RedisServer.find(folder) or server).stop()


@contextmanager
def _door(folder: Path) -> Iterator[None]:
    """Only one comes in or leaves at a time."""
    with lock_file(folder / _DOOR) as door:
        try:
            take(door, ALONE, REDIS_DOOR_SECONDS)
        except StillLocked:
            raise RedisNotStarted(
                f"For {REDIS_DOOR_SECONDS:g} s another process is starting or stopping Redis in {folder}."
            ) from None
        yield


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RedisNotStarted(f"Redis cannot be started in {folder}: {error.strerror}.") from error
