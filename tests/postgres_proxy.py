"""A TCP proxy between a client and PostgreSQL that breaks a connection at the moment of a commit."""

import socket
import threading
import time
from contextlib import suppress
from typing import Literal, Self

Fault = Literal["answer lost", "request lost", "request late"]
_COMMIT = b"COMMIT\0"
_CHUNK = 65_536
LATE_SECONDS = 1.0


class PostgresProxy:
    """Passes everything on, until a fault is armed: the next commit meets it, and it is over."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.fault: Fault | None = None
        self.met = 0
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._sockets: list[socket.socket] = [self._listener]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._sockets:
            _close(one)
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                self._start(self._to_server, client, server)
                self._start(self._to_client, client, server)

    def _start(self, work: object, client: socket.socket, server: socket.socket) -> None:
        thread = threading.Thread(target=work, args=(client, server), daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while sent := client.recv(_CHUNK):
                if self.fault is not None and sent.endswith(_COMMIT):
                    self._break(sent, client, server)
                    return
                server.sendall(sent)
        _close(server)

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while answer := server.recv(_CHUNK):
                client.sendall(answer)
        _close(client)

    def _break(self, sent: bytes, client: socket.socket, server: socket.socket) -> None:
        fault, self.fault = self.fault, None
        self.met += 1
        _close(client)
        if fault == "request late":
            time.sleep(LATE_SECONDS)
        if fault != "request lost":
            server.sendall(sent)
        time.sleep(LATE_SECONDS)
        _close(server)


def _close(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
