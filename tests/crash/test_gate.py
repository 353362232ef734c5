"""Who goes through the shared gate is killed at every command to Redis, before it is sent and after.

Its place and its probe come back to the first on its machine who asks, the rate holds for all others, and
what it reported counts once or not at all.
"""

import asyncio
import math
import os
import re
import time
import traceback
from collections.abc import Callable
from typing import Any, Literal, NoReturn

import pytest
import redis
from redis.asyncio.connection import AbstractConnection

from sale_sofia.crawl.resilience.breaker import CircuitState
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.policy import BreakerRules, BulkheadRules, ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.scripts import CallerTime, connect
from sale_sofia.settings.model import Settings

IMOT = "imot.bg"
PER_MINUTE = 1200.0
TURN = 60 / PER_MINUTE
LIMIT = 2
LEASE = 100.0
RULES = BreakerRules(fail_max=2, reset_timeout_seconds=10, half_open_calls=1, probe_lease_seconds=LEASE)
NOW = 1000.0
When = Literal["before", "after"]
WHEN: tuple[When, ...] = ("before", "after")
STEPS = ("admit", "still", "keep", "report")
"""The scripts of one request."""
FAILED = 255
_COMMAND = re.compile(rb"(?:\A|(?<=\r\n))\*\d+\r\n")


def gate_at(url: str, now: float) -> RedisGate:
    """The gate, at this moment of a clock of the test's own."""
    retry = ResilienceConfig.from_settings(Settings()).retry
    bulkhead = BulkheadRules(lease_seconds=LEASE, busy_seconds=2.0)
    return RedisGate(
        redis=connect(url),
        config=ResilienceConfig(breaker=RULES, retry=retry, bulkhead=bulkhead),
        rate_of=lambda _: PER_MINUTE,
        limit_of=lambda _: LIMIT,
        random=lambda: 0.0,
        clock=lambda: now,
        caller_time=CallerTime(),
    )


async def go_and_fail(gate: RedisGate) -> None:
    """A request from its beginning to its end: it waits for its turn, and fails."""
    entry = await gate.admit(IMOT, math.inf)
    assert isinstance(entry, Admission)
    entry = await gate.wait(entry)
    assert isinstance(entry, Admission)
    assert await gate.keep(entry.place)
    await gate.report(entry, Outcome.failure())
    await gate.close()


def fork_and_kill(url: str, at: int, when: When) -> int:
    """A process goes through the gate and ends at its n-th command; at none, it gives how many it sent.

    Nobody else may use the server: that it has read all is seen by who is still connected.
    """
    with redis.Redis.from_url(url) as client:
        clients = len(client.client_list())
        if not (child := os.fork()):
            _live(url, at, when)
        _, status = os.waitpid(child, 0)
        deadline = time.monotonic() + 10
        while len(client.client_list()) > clients:
            assert time.monotonic() < deadline, "the server has not read all that was sent"
            time.sleep(0.001)
    return os.waitstatus_to_exitcode(status)


def _live(url: str, at: int, when: When) -> NoReturn:
    send, sent = AbstractConnection.send_packed_command, [0]

    async def counted(self: Any, command: Any, *args: Any, **more: Any) -> None:  # noqa: ANN401 - as the library's
        packed = command if isinstance(command, bytes) else b"".join(command)
        before, sent[0] = sent[0], sent[0] + len(_COMMAND.findall(packed))
        reached = before < at <= sent[0]
        if reached and when == "before":
            os._exit(0)
        await send(self, command, *args, **more)  # what is packed together goes with one write
        if reached:
            os._exit(0)

    AbstractConnection.send_packed_command = counted  # type: ignore[method-assign]
    try:
        asyncio.run(go_and_fail(gate_at(url, NOW)))
        os._exit(sent[0])
    except BaseException:  # noqa: BLE001 - nothing of it may reach the tests that this process was forked from
        traceback.print_exc()
        os._exit(FAILED)


def commands_of(url: str, life: Callable[[], object]) -> list[str]:
    """What the server was told by whoever ran a script meanwhile, by its own MONITOR."""
    found: dict[str, list[str]] = {}
    with (
        redis.Redis.from_url(url) as client,
        redis.Redis.from_url(url) as asking,
        client.monitor() as monitor,
    ):
        life()
        asking.echo("over")
        for told in monitor.listen():
            if told["command"] == "ECHO over":
                return next(names for names in found.values() if "EVALSHA" in names)
            found.setdefault(told["client_port"], []).append(told["command"].split()[0])
    raise AssertionError("it says no more")


async def pass_through(gate: RedisGate, outcome: Outcome) -> None:
    entry = await gate.admit(IMOT, math.inf)
    assert isinstance(entry, Admission)
    await gate.report(entry, outcome)


def closed(url: str) -> None:
    """Somebody has had a turn just now."""
    asyncio.run(_done(gate_at(url, NOW), Outcome.ok()))


def half_open(url: str) -> None:
    """The circuit was opened; the next who comes is the probe, and only one."""
    asyncio.run(_done(gate_at(url, NOW - 20), Outcome.failure(), Outcome.failure()))
    asyncio.run(_took_a_turn(url))


async def _done(gate: RedisGate, *outcomes: Outcome) -> None:
    for one in outcomes:
        await pass_through(gate, one)
    await gate.close()


async def _took_a_turn(url: str) -> None:
    gate = gate_at(url, NOW)
    await gate.limiter.reserve(IMOT, math.inf, NOW)
    await gate.close()


def emptied(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.flushdb()


@pytest.mark.parametrize("begin", [closed, half_open])
def test_killed_at_every_command(own_redis_url: str, begin: Callable[[str], None]) -> None:
    begin(own_redis_url)
    fork_and_kill(own_redis_url, 0, "after")  # from now on the server knows the scripts
    emptied(own_redis_url)
    begin(own_redis_url)
    sent: list[int] = []
    commands = commands_of(own_redis_url, lambda: sent.append(fork_and_kill(own_redis_url, 0, "after")))
    assert sent == [len(commands)], "what the process counts is what the server has heard"
    scripts = [number for number, name in enumerate(commands, 1) if name == "EVALSHA"]
    assert len(scripts) == len(STEPS), f"{STEPS} in {commands}"
    points = [(at, when) for at in range(1, len(commands) + 1) for when in WHEN]
    print(f"{len(points)} points: before and after each of {len(commands)} commands")  # noqa: T201 - for the log
    assert len(points) >= 22, "fewer commands prove less"

    for at, when in points:
        emptied(own_redis_url)
        begin(own_redis_url)
        assert fork_and_kill(own_redis_url, at, when) == 0
        reached = at if when == "after" else at - 1
        done = {step for step, number in zip(STEPS, scripts, strict=True) if number <= reached}
        told = f"{when} command {at}, {commands[at - 1]}"
        asyncio.run(check_rate(own_redis_url, done, told))
        check = check_places if begin is closed else check_probe
        asyncio.run(check(own_redis_url, done, told))


async def check_rate(url: str, done: set[str], told: str) -> None:
    """The next turn comes after all that were given, whether or not their holders lived to use them."""
    gate = gate_at(url, NOW)
    slot = await gate.limiter.reserve(IMOT, math.inf, NOW)
    assert slot.wait_seconds >= TURN * (1 + ("admit" in done)) - 0.001, told
    await gate.close()


async def check_places(url: str, done: set[str], told: str) -> None:
    """All places are there at once, and no more; of the failures each counts once."""
    gate = gate_at(url, NOW + 1)
    entries = [await gate.admit(IMOT, math.inf) for _ in range(LIMIT + 1)]
    assert [isinstance(one, Admission) for one in entries] == [True] * LIMIT + [False], told
    for entry in entries[:1]:
        assert isinstance(entry, Admission)
        await gate.report(entry, Outcome.failure())
    state = await gate.redis.hget("circuit:{imot.bg}", "state")
    assert (state == CircuitState.OPEN) == ("report" in done), told
    await gate.close()


async def check_probe(url: str, done: set[str], told: str) -> None:
    """There is a probe again at once, and only one; where the last one's failure was heard, not so soon."""
    gate = gate_at(url, NOW + 1 + ("report" in done) * LEASE)
    entries = [await gate.admit(IMOT, math.inf) for _ in range(2)]
    assert isinstance(entries[0], Admission), told
    assert entries[0].permission.probe, told
    assert isinstance(entries[1], Refusal), told
    await gate.close()
