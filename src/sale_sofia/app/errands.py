"""Crawls and probes of a portal that the operator starts from the pages, by the commands of these names.

Each is a process of its own, so that neither it nor the pages block the other; two crawls of one portal
exclude each other by its lock, wherever they were started. They end with the server; a crawl can be resumed.
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from sale_sofia.app.settings import ERRAND_STOP_SECONDS, LONGEST_MESSAGE
from sale_sofia.settings.model import Settings, environment_of
from sale_sofia.settings.programs import own_program

Kind = Literal["run", "probe"]
COMMANDS: Final[Mapping[Kind, tuple[str, ...]]] = {"run": ("crawl",), "probe": ("sites", "probe")}
"""The command of each kind."""


@dataclass(slots=True)
class Errand:
    """A crawl or a probe, until the next of its kind and portal replaces it."""

    kind: Kind
    site: str
    process: "subprocess.Popen[str]"
    began_at: float
    ended_at: float | None = None
    code: int | None = None
    data: Mapping[str, Any] | None = None
    """The JSON it printed; None while it runs, and where it printed none."""
    last_line: str = ""
    """The last line of its standard error."""


def _command(kind: Kind, site: str) -> list[str]:
    return own_program("sale_sofia", *COMMANDS[kind], site, "--json")


class Errands:
    """The newest crawl and probe of each portal that this server started."""

    def __init__(self, settings: Settings, command: Callable[[Kind, str], list[str]] = _command) -> None:
        self._settings = settings
        self._command = command
        self._lock = threading.Lock()
        self._errands: dict[tuple[Kind, str], Errand] = {}
        self._threads: list[threading.Thread] = []

    def start(self, kind: Kind, site: str) -> bool:
        """Start one; returns False and starts nothing while the same one runs."""
        with self._lock:
            last = self._errands.get((kind, site))
            if last and last.ended_at is None:
                return False
            process = subprocess.Popen(  # noqa: S603 - our own command; the portal is one that is known
                self._command(kind, site),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment_of(self._settings, os.environ),
            )
            errand = self._errands[kind, site] = Errand(kind, site, process, time.time())
            thread = threading.Thread(target=self._follow, args=(errand,), daemon=True)
            self._threads.append(thread)
            thread.start()
            return True

    def newest(self) -> list[Errand]:
        """All of them, the last started first."""
        with self._lock:
            return sorted(self._errands.values(), key=lambda errand: -errand.began_at)

    def stop(self) -> None:
        """Terminate all that run and wait for them; kill those that do not end in time."""
        for errand in self.newest():
            if errand.ended_at is None:
                errand.process.terminate()
        for thread in self._threads:
            thread.join(ERRAND_STOP_SECONDS)
        for errand in self.newest():
            if errand.ended_at is None:
                errand.process.kill()

    def _follow(self, errand: Errand) -> None:
        stdout, stderr = errand.process.communicate()
        try:
            data = json.loads(stdout)
        except ValueError:
            data = None
        lines = stderr.strip().splitlines()
        with self._lock:
            errand.data = data if isinstance(data, dict) else None
            errand.last_line = lines[-1][:LONGEST_MESSAGE] if lines else ""
            errand.code = errand.process.returncode
            errand.ended_at = time.time()
