"""Ends what works on a folder when whoever started it has died without doing so, as by `kill -9`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def guarded(data: Path, redis: Path) -> Iterator[None]:
    """Inside, and beyond our own death, every process of this DATA_DIR and this Redis has an end."""
    command = [sys.executable, __file__, str(data.absolute()), str(redis.absolute())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:
        try:
            yield
        finally:
            guard.kill()


def main(data: str, redis: str) -> None:
    """Wait for the end of standard input, which is our starter's end, and then end the others."""
    sys.stdin.read()
    from sale_sofia.operations.services.redis import RedisServer  # noqa: PLC0415 - hardly ever needed

    for pid in _of_folder(data):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if server := RedisServer.find(Path(redis)):
        server.kill()


def _of_folder(data: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and f"DATA_DIR={data}".encode() in _environment(entry):
                yield int(entry.name)


def _environment(entry: Path) -> list[bytes]:
    return (entry / "environ").read_bytes().split(b"\0")


if __name__ == "__main__":
    main(*sys.argv[1:])
