"""Short notes that end by themselves: in Redis for all workers, in a file where there is only one process."""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

_PREFIX: Final = "lane"
_GONE: Final = (RedisError, OSError)


class Notes(Protocol):
    """Notes of one portal by their names."""

    async def read(self, name: str) -> Any:  # noqa: ANN401 - whatever was written
        """What was written, until its time is over; then None."""

    async def write(self, name: str, value: object, seconds: float) -> None:
        """Keep a value, which JSON must know, for so long."""

    async def count(self, name: str, seconds: float) -> int:
        """How often this was called within the present span of so many seconds, this time included."""

    async def forget(self, name: str) -> None:
        """Keep it no longer."""


@dataclass(slots=True)
class RedisNotes:
    """See `Notes`: shared by all workers. Without Redis nothing is known, and every count is too much."""

    redis: Redis
    domain: str
    clock: Callable[[], float] = time.time

    async def read(self, name: str) -> Any:  # noqa: ANN401
        """See `Notes`."""
        with suppress(*_GONE):
            return _valid(await self.redis.get(self._key(name)), self.clock())
        return None

    async def write(self, name: str, value: object, seconds: float) -> None:
        """See `Notes`."""
        told = json.dumps([value, self.clock() + seconds])
        with suppress(*_GONE):
            await self.redis.set(self._key(name), told, ex=max(1, round(seconds)))

    async def count(self, name: str, seconds: float) -> int:
        """See `Notes`."""
        key = self._key(f"{name}:{int(self.clock() // seconds)}")
        with suppress(*_GONE):
            async with self.redis.pipeline(transaction=True) as pipe:
                pipe.incr(key)
                pipe.expire(key, max(1, round(seconds)))
                return int((await pipe.execute())[0])
        return sys.maxsize

    async def forget(self, name: str) -> None:
        """See `Notes`."""
        with suppress(*_GONE):
            await self.redis.delete(self._key(name))

    def _key(self, name: str) -> str:
        return f"{_PREFIX}:{{{self.domain}}}:{name}"


@dataclass(slots=True)
class FileNotes:
    """See `Notes`: of the one process that crawls the portal, and of the next one after it."""

    path: Path
    clock: Callable[[], float] = time.time

    async def read(self, name: str) -> Any:  # noqa: ANN401
        """See `Notes`."""
        return _valid(self._all().get(name), self.clock())

    async def write(self, name: str, value: object, seconds: float) -> None:
        """See `Notes`."""
        self._save({**self._all(), name: json.dumps([value, self.clock() + seconds])})

    async def count(self, name: str, seconds: float) -> int:
        """See `Notes`."""
        key = f"{name}:{int(self.clock() // seconds)}"
        number = int(await self.read(key) or 0) + 1
        await self.write(key, number, seconds)
        return number

    async def forget(self, name: str) -> None:
        """See `Notes`."""
        self._save({key: value for key, value in self._all().items() if key != name})

    def _all(self) -> dict[str, str]:
        """What is still valid; a file that was damaged is as good as none: everything is found out again."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
            now = self.clock()
            return {name: told for name, told in dict(found).items() if _valid(told, now) is not None}
        except (OSError, ValueError, TypeError, RecursionError):
            return {}

    def _save(self, notes: dict[str, str]) -> None:
        """Whole or not at all, for its owner alone: cookies are in it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(notes, file)
        fresh.replace(self.path)


def _valid(told: str | bytes | None, now: float) -> Any:  # noqa: ANN401
    value, until = json.loads(told) if told else (None, 0.0)
    return value if now < until else None
