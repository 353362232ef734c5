"""One worker process of `bench/limiter.py`: several waiters that take turn after turn, and a sleeper."""

import asyncio
import random
import time
from collections.abc import Coroutine
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from limiter_order import WARM_UP, Order, Turn, Work
from limiter_systems import SYSTEMS, TakeTurn, answer

READY = "ready"
WARM_UPS = 2
CONTROL_SECONDS = (0.05, 0.15)
"""Lengths of the sleeps that are the control; chance keeps the processes from waking together."""


def work(pipe: "Connection[Any, Any]") -> None:
    """Carry out one order after the other, until there is none."""
    with asyncio.Runner() as runner:
        while (order := pipe.recv()) is not None:
            pipe.send(runner.run(_carry_out(order, pipe)))


async def _carry_out(order: Order, pipe: "Connection[Any, Any]") -> Work:
    done = Work()
    async with SYSTEMS[order.system](order) as take_turn:
        await _warm_up(take_turn, order.waiters)
        pipe.send(READY)
        start = await asyncio.to_thread(pipe.recv)
        await asyncio.sleep(start - time.time())
        waiters = [_take_turns(take_turn, order, done) for _ in range(order.waiters)]
        await _until(start + order.seconds, [*waiters, _control(done)])
    return done


async def _warm_up(take_turn: TakeTurn, waiters: int) -> None:
    """Every waiter has its connection, the server every script: nothing is done for the first time later."""
    for _ in range(WARM_UPS):
        await asyncio.gather(*(take_turn(WARM_UP) for _ in range(waiters)))


async def _until(end: float, endless: list[Coroutine[Any, Any, None]]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(end - time.time()):
            await asyncio.gather(*endless)


async def _take_turns(take_turn: TakeTurn, order: Order, done: Work) -> None:
    answer.set(None)
    while True:
        done.begun += 1
        await take_turn(order.domain)
        _note(done, time.time())
        await asyncio.sleep(order.pause_seconds)


def _note(done: Work, now: float) -> None:
    done.went.append(now)
    told = answer.get()
    if told is not None and told[1] > 0:
        done.turns.append(Turn(*told, now))


async def _control(done: Work) -> None:
    while True:
        wanted = random.uniform(*CONTROL_SECONDS)
        wake = time.time() + wanted
        await asyncio.sleep(wanted)
        done.control_late.append(time.time() - wake)
