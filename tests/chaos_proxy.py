"""A TCP proxy between a client and Redis that does, on demand, what networks do now and then."""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Self

from chaos_requests import Requests

HOST = "127.0.0.1"
CHUNK = 65_536
PATIENCE_SECONDS = 60
RST_ON_CLOSE = struct.pack("ii", 1, 0)
HANDSHAKE = frozenset({"HELLO", "AUTH", "SELECT", "CLIENT"})


class _Connection:
    """One client and its own connection to the server."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.client, self.server = client, server
        self.requests = Requests()
        self.lost = False
        """Bytes of it vanished: nothing gets through any more, not even its end."""
        self.reply_dropped = False

    def close(self) -> None:
        self.client.close()
        self.server.close()

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()

    def reset(self) -> None:
        for writer in (self.client, self.server):
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_ON_CLOSE)
        self.abort()


class ChaosProxy:
    """Runs in a thread of its own, so that sync and async tests use it alike.

    Guarantee: a fault is on when its call returns, and without one nothing is changed; `connections` counts
    each client it accepted, `commands` each command that the server got from it.
    """

    def __init__(self, target_host: str, target_port: int) -> None:
        self.target = target_host, target_port
        self.connections = 0
        self.commands = 0
        self.port = 0
        self._drops, self._dropped_command = 0, ""
        self._vanish, self._delay = False, 0.0
        self._open: set[_Connection] = set()
        self._listener: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chaos-proxy", daemon=True)

    @property
    def url(self) -> str:
        """The server's first database, by way of the proxy."""
        return f"redis://{HOST}:{self.port}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    # The faults. Each stays until `pass_on`, and those of different kinds add up.

    def pass_on(self) -> None:
        """No fault any more, also after `refuse`; what was lost stays lost."""
        self._do(self._heal())

    def drop_reply(self, times: int = 1, command: str = "") -> None:
        """The server does the next commands, but the answer is swallowed and the connection closed.

        Commands with which a client introduces itself do not count, nor, with `command`, do others than it.
        """
        self._drops, self._dropped_command = times, command.upper()

    def blackhole(self) -> None:
        """Bytes vanish both ways, while every connection stays open and new ones are accepted."""
        self._vanish = True

    def latency(self, seconds: float) -> None:
        """Every answer comes this much later."""
        self._delay = seconds

    def reset(self) -> None:
        """Break off every present connection with a TCP reset; later ones are welcome."""
        self._do(self._reset())

    def refuse(self) -> None:
        """Accept no new connection; present ones go on."""
        self._do(self._stop_listening())

    def _do(self, action: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(action, self._loop).result(PATIENCE_SECONDS)

    async def _listen(self) -> None:
        if self._listener is None:
            self._listener = await asyncio.start_server(self._serve, HOST, self.port)
            self.port = self._listener.sockets[0].getsockname()[1]

    async def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def _heal(self) -> None:
        self._drops, self._vanish, self._delay = 0, False, 0.0
        await self._listen()

    async def _reset(self) -> None:
        for connection in self._open:
            connection.reset()

    async def _end(self) -> None:
        await self._stop_listening()
        for connection in self._open:
            connection.abort()
        # Without their connections the tasks come to an end by themselves.
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=PATIENCE_SECONDS / 2)
        await asyncio.sleep(0)  # a closed transport says goodbye one turn later

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            server_reader, server_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return
        connection = _Connection(writer, server_writer)
        self._open.add(connection)
        try:
            await self._pump_both(reader, server_reader, connection)
        finally:
            self._open.discard(connection)
            connection.close()

    async def _pump_both(
        self, client: asyncio.StreamReader, server: asyncio.StreamReader, connection: _Connection
    ) -> None:
        pumps = [
            asyncio.ensure_future(self._requests(client, connection)),
            asyncio.ensure_future(self._replies(server, connection)),
        ]
        try:
            # The end of one side is the end of both, but a lost connection stays until the proxy ends it.
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            if self._lost(connection):
                await asyncio.wait(pumps)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _requests(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                if self._lost(connection):
                    continue
                for command in connection.requests.feed(data):
                    self._forwarding(command, connection)
                connection.server.write(data)
                await connection.server.drain()

    async def _replies(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                if connection.reply_dropped:
                    return
                await asyncio.sleep(self._delay)
                if not self._lost(connection):
                    connection.client.write(data)
                    await connection.client.drain()

    def _lost(self, connection: _Connection) -> bool:
        connection.lost = connection.lost or self._vanish
        return connection.lost

    def _forwarding(self, command: str, connection: _Connection) -> None:
        self.commands += 1
        meant = command == self._dropped_command if self._dropped_command else command not in HANDSHAKE
        if self._drops and meant:
            self._drops -= 1
            connection.reply_dropped = True
