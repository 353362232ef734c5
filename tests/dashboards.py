"""The dashboard as a person starts it: our own command on a free port, until the test ends."""

import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

from command_server import COMMAND

PATIENCE = 180.0
_ADDRESS = re.compile(r"dashboard: (http://\S+)")


class Dashboard:
    """A running `sale-sofia dashboard`."""

    def __init__(self, data: Path, *arguments: str, **more: str) -> None:
        words = ("dashboard", "--no-open", *(arguments or ("--port", "0")))
        self.process = subprocess.Popen(
            [COMMAND, *words],
            env=surroundings(data, more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: Queue[str | None] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.said: list[str] = []
        self.url = self._address()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _address(self) -> str:
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except Empty:
                line = None
            if line is None:
                self.stop()
                raise AssertionError(f"the dashboard did not start: {''.join(self.said)}")
            self.said.append(line)
            if found := _ADDRESS.search(line):
                return found[1]

    def stop(self) -> int:
        """Asked to end as by `kill`; its exit code."""
        self.process.terminate()
        return self.end()

    def end(self) -> int:
        """Waits for its end; its exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join()
        if self.process.stdout:
            self.process.stdout.close()
        return code


def surroundings(data: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Our environment without a person's own dashboard and database."""
    ours = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "DISPLAY")}
    return {**ours, "DATA_DIR": str(data), "COLUMNS": "200", **more}


@contextmanager
def running_dashboard(data: Path, **more: str) -> Iterator[Dashboard]:
    """A dashboard on any free port; it is gone afterwards."""
    dashboard = Dashboard(data, **more)
    try:
        yield dashboard
    finally:
        dashboard.stop()
