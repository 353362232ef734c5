"""Where a refresh stands, for all processes: one at a time, its numbers, and announcements."""

import time
from dataclasses import dataclass
from typing import Final, Literal, cast

from redis.asyncio import Redis

from sale_sofia.config.proxies import EVENTS_CHANNEL, PROGRESS_TTL_SECONDS, REFRESH_LOCK_SECONDS

Status = Literal["DISPATCHED", "CHECKING", "COMPLETE", "FAILED", "REPLACED"]
FINAL: Final = frozenset({"COMPLETE", "FAILED", "REPLACED"})
LOCK_KEY: Final = "proxies:refresh:lock"
ENDED_KEY: Final = "proxies:refresh:ended"
_LOCK_MS: Final = int(REFRESH_LOCK_SECONDS * 1000)
_RUNNING: Final = ":running"
# A message may come twice: whoever begins first has the job, and the lock says so.
_BEGIN: Final = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])
return 1
"""
# A lock is its holder's to renew and to give back; nobody else's.
_RENEW: Final = (
    "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0"
)
_FREE: Final = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


@dataclass(frozen=True, slots=True)
class RefreshProgress:
    """The numbers of one refresh."""

    job_id: str
    status: Status
    candidates: int = 0
    """Found so far."""
    checked: int = 0
    usable: int = 0
    started_at: float | None = None
    completed_at: float | None = None
    error: str = ""

    @property
    def finished(self) -> bool:
        """Whether it has come to an end."""
        return self.status in FINAL


class RefreshBoard:
    """Guarantee: at most one refresh holds the lock; a dead one's is free after a minute."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    async def take(self, job_id: str) -> str:
        """Ask for the lock, for a job that is only sent; who holds it now."""
        taken = await self.redis.set(LOCK_KEY, job_id, nx=True, px=_LOCK_MS)
        return job_id if taken else await self.holder() or job_id

    async def begin(self, job_id: str) -> bool:
        """Whether this job may run now: nobody else does, and it was not begun before."""
        return bool(await self.redis.eval(_BEGIN, 1, LOCK_KEY, job_id, _RUNNING, _LOCK_MS))

    async def renew(self, job_id: str) -> bool:
        """Hold on to the lock; False where it is lost."""
        return bool(await self.redis.eval(_RENEW, 1, LOCK_KEY, job_id + _RUNNING, _LOCK_MS))

    async def free(self, job_id: str) -> None:
        """Give the lock back, and note when."""
        await self.redis.set(ENDED_KEY, time.time(), ex=PROGRESS_TTL_SECONDS)
        await self.redis.eval(_FREE, 1, LOCK_KEY, job_id + _RUNNING)

    async def holder(self) -> str | None:
        """The job that is sent or under way."""
        found = await self.redis.get(LOCK_KEY)
        return None if found is None else str(found).removesuffix(_RUNNING)

    async def seconds_since_last(self) -> float | None:
        """How long ago the last refresh ended; None where none did lately."""
        ended = await self.redis.get(ENDED_KEY)
        return None if ended is None else max(0.0, time.time() - float(ended))

    async def write(self, progress: RefreshProgress) -> None:
        """Show the numbers, and tell whoever waits."""
        async with self.redis.pipeline(transaction=True) as pipe:
            for name in _SHOWN:
                value = getattr(progress, name)
                if value is not None:
                    pipe.set(_key(progress.job_id, name), value, ex=PROGRESS_TTL_SECONDS)
            pipe.publish(EVENTS_CHANNEL, progress.job_id)
            await pipe.execute()

    async def read(self, job_id: str) -> RefreshProgress | None:
        """The numbers of a job; None where nobody knows it."""
        found = await self.redis.mget([_key(job_id, name) for name in _SHOWN])
        if found[0] is None:
            return None
        status, candidates, checked, usable, started, completed, error = map(_text, found)
        return RefreshProgress(
            job_id,
            cast("Status", status),
            int(candidates or 0),
            int(checked or 0),
            int(usable or 0),
            float(started) if started else None,
            float(completed) if completed else None,
            error,
        )


_SHOWN: Final = ("status", "candidates", "checked", "usable", "started_at", "completed_at", "error")


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _key(job_id: str, name: str) -> str:
    return f"proxies:{job_id}:{name}"
