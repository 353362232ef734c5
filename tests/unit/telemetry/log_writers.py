"""What the processes of these tests do."""

import os
from pathlib import Path

from sale_sofia.telemetry.logs import locked_for_writing, rotate_log

LINES = 1500
BEYOND = 90_000


def line(writer: int, number: int) -> bytes:
    return b"%d:%d:%s\n" % (writer, number, b"x" * (number % 60))


def write_lines(path: Path, writer: int) -> None:
    """Write lines as a service's handler does, and now and then put the file aside as its starter does."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(LINES):
        whole = line(writer, number)
        with locked_for_writing(file):
            os.write(file, whole[:3])  # in two pieces: only the lock keeps them together
            os.write(file, whole[3:])
        if number % 10 == 0:
            rotate_log(path, BEYOND)
    os.close(file)
