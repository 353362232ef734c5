"""Ports: a free one, those that real processes listen on, and whether another address leads to them."""

import socket
import ssl
from collections.abc import Iterable
from pathlib import Path

OTHER = "127.0.0.2"
"""Another address of this machine: a server on 127.0.0.1 does not answer there, one on all addresses does."""
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For plain HTTP alone: else httpx reads all certificates, which takes longer than most requests."""
_LISTENS = "0A"
_IPV4_BYTES = 4


def free_port() -> int:
    """One that nobody listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def listening(pids: Iterable[int]) -> set[tuple[str, int]]:
    """Address and port of every TCP socket that these processes listen on."""
    inodes = {inode for pid in pids for inode in _sockets(pid)}
    rows = [line.split() for name in ("tcp", "tcp6") for line in _lines(name)]
    return {_place(row[1]) for row in rows if row[3] == _LISTENS and row[9] in inodes}


def answers(host: str, port: int) -> bool:
    """Whether a connection can be made."""
    try:
        socket.create_connection((host, port), timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True


def _sockets(pid: int) -> set[str]:
    try:
        links = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return set()
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def _lines(name: str) -> list[str]:
    path = Path("/proc/net") / name
    return path.read_text("ascii").splitlines()[1:] if path.exists() else []


def _place(told: str) -> tuple[str, int]:
    address, _, port = told.partition(":")
    packed = b"".join(bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8))
    family = socket.AF_INET if len(packed) == _IPV4_BYTES else socket.AF_INET6
    return socket.inet_ntop(family, packed), int(port, 16)
