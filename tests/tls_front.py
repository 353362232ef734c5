"""TLS in front of a server that has none: what comes in over TLS is handed to it, and back."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HOST = "127.0.0.1"
CHUNK = 65_536
START_SECONDS = 60
SETTLE_SECONDS = 0.1


@contextmanager
def tls_front(port: int, certificate: Path, key: Path) -> Iterator[int]:
    """The port at which `port` of loopback is to be had over TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(HOST, port)
        try:
            await asyncio.gather(_hand_over(reader, back), _hand_over(there, writer))
        finally:
            for end_of_it in (writer, back):
                end_of_it.transport.abort()

    async def serve() -> asyncio.Server:
        return await asyncio.start_server(handle, HOST, 0, ssl=context)

    async def end() -> None:
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(SETTLE_SECONDS)  # a transport closes its socket a moment after it was told to

    server = asyncio.run_coroutine_threadsafe(serve(), loop).result(START_SECONDS)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(START_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _hand_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()
