"""Bytes carried between two connections, unread."""

import asyncio
from contextlib import suppress

from sale_sofia.config.proxies import ROTATOR_IDLE_SECONDS, ROTATOR_PIECE_BYTES
from sale_sofia.proxies.tunnel import Streams


async def carry_both(near: Streams, far: Streams) -> bool:
    """Carry bytes both ways until one side ends; whether any came back."""
    came = asyncio.create_task(_carry(far[0], near[1]))
    went = asyncio.create_task(_carry(near[0], far[1]))
    try:
        await went
        return await came > 0
    finally:
        came.cancel()
        went.cancel()


async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> int:
    carried = 0
    with suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(ROTATOR_IDLE_SECONDS):
                piece = await source.read(ROTATOR_PIECE_BYTES)
            if not piece:
                break
            carried += len(piece)
            to.write(piece)
            await to.drain()
    with suppress(OSError):
        to.write_eof()
    return carried
