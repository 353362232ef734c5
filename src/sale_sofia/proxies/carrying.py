"""Bytes carried between two connections, unread."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from sale_sofia.config.proxies import ROTATOR_IDLE_SECONDS, ROTATOR_PIECE_BYTES
from sale_sofia.proxies.tunnel import Streams


def _always() -> bool:
    return True


async def carry_both(near: Streams, far: Streams, may_go: Callable[[], bool] = _always) -> bool:
    """Carry bytes both ways until one side ends, or until none `may_go`; whether any came back."""
    came = asyncio.create_task(_carry(far[0], near[1], _always))
    went = asyncio.create_task(_carry(near[0], far[1], may_go))
    try:
        await went
        return await came > 0
    finally:
        came.cancel()
        went.cancel()


async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter, may_go: Callable[[], bool]) -> int:
    carried = 0
    with suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(ROTATOR_IDLE_SECONDS):
                piece = await source.read(ROTATOR_PIECE_BYTES)
            if not piece or not may_go():
                break
            carried += len(piece)
            to.write(piece)
            await to.drain()
    with suppress(OSError):
        to.write_eof()
    return carried
