"""What the operator starts from the pages: a crawl or a probe of a portal, as the command of the same name.

Each is a process of its own, so that neither the pages nor it wait for the other; two crawls of one portal
are kept apart by its lock, wherever they were started. They end with the server; a crawl goes on next time.
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
"""The command of each."""


@dataclass(slots=True)
class Errand:
    """One of them, until another of its kind and portal takes its place."""

    kind: Kind
    site: str
    process: "subprocess.Popen[str]"
    began_at: float
    ended_at: float | None = None
    code: int | None = None
    data: Mapping[str, Any] | None = None
    """What it printed, as JSON; None while it runs, and where it printed none."""
    last_line: str = ""
    """The last line of what it said beside that."""


def _command(kind: Kind, site: str) -> list[str]:
    return own_program("sale_sofia", *COMMANDS[kind], site, "--json")


class Errands:
    """Those of this server, the newest of each kind and portal."""

    def __init__(self, settings: Settings, command: Callable[[Kind, str], list[str]] = _command) -> None:
        self._settings = settings
        self._command = command
        self._lock = threading.Lock()
        self._errands: dict[tuple[Kind, str], Errand] = {}
        self._threads: list[threading.Thread] = []

    def start(self, kind: Kind, site: str) -> bool:
        """Start it; False, and nothing is started, where the same one still runs."""
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
        """The last begun first."""
        with self._lock:
            return sorted(self._errands.values(), key=lambda errand: -errand.began_at)

    def stop(self) -> None:
        """End all that run, and wait for that; by force what does not listen."""
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
