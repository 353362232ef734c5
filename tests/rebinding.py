"""A network of its own with a resolver that changes its mind: run by `unshare -rmn`, it prints what came.

A name leads to a public address when it is looked up first, and to the loopback ever after.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

PUBLIC = "93.184.216.34"
INSIDE = "127.0.0.1"
NAME = "www.imot.bg"
ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _UP = 0x8913, 0x8914, 0x8916, 1
_A_RECORD = 1


def raise_loopback() -> None:
    """The loopback interface, with a public address beside its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", up)[1] | _UP
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))
        address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(PUBLIC))
        fcntl.ioctl(any_socket, _SIOCSIFADDR, address)


def resolve(asked: list[str]) -> None:
    """Answer every question, with no time to live."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((INSIDE, 53))

    def serve() -> None:
        while True:
            question, sender = server.recvfrom(512)
            server.sendto(_reply(question, asked), sender)

    threading.Thread(target=serve, daemon=True).start()


def _reply(question: bytes, asked: list[str]) -> bytes:
    end = question.index(b"\0", 12) + 5
    kind = struct.unpack("!H", question[end - 4 : end - 2])[0]
    head, body = question[:2], question[12:end]
    if kind != _A_RECORD:
        return head + struct.pack("!HHHHH", 0x8180, 1, 0, 0, 0) + body
    asked.append(INSIDE if asked else PUBLIC)
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(asked[-1])
    return head + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + body + record


def listen(address: str, note: Callable[[bytes], None]) -> None:
    """Note whatever connects here."""
    server = socket.create_server((address, 80))

    def serve() -> None:
        while True:
            with server.accept()[0] as came:
                note(came.recv(4096))
                came.sendall(ROBOTS)

    threading.Thread(target=serve, daemon=True).start()


def main(folder: str, *command: str) -> None:
    """Set it all up, run the command in it, and tell who was asked for what."""
    raise_loopback()
    resolver = Path(folder) / "resolv.conf"
    resolver.write_text(f"nameserver {INSIDE}\n")
    subprocess.run(["mount", "--bind", resolver, "/etc/resolv.conf"], check=True)  # noqa: S607
    looked_up: list[str] = []
    came: dict[str, list[str]] = {PUBLIC: [], INSIDE: []}
    resolve(looked_up)
    for address, lines in came.items():
        listen(address, lambda head, lines=lines: lines.append(head.partition(b"\r\n")[0].decode()))  # type: ignore[misc]
    told = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    json.dump(
        {"looked_up": looked_up, "came": came, "code": told.returncode, "said": told.stderr}, sys.stdout
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
