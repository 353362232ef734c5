"""Somebody who follows a page of documentation to the letter, on portals that exist only on this machine."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from celery_server import server_variables
from command_lines import File, Line, Shown, Step
from command_server import PATIENCE_SECONDS, Begun, CommandServer, shared_commands
from crawls import site_folder
from forked_programs import LOOPBACK_ONLY
from forked_simulators import start_forked
from parallel_world import HURRIED
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

ADVERTS = 12
CRAWLED = ("imot.bg", "bazar.bg", "homes.bg")
"""Portals that are read here; each of the others has its own tests, and is switched off."""
STOPPED = {0, 130, -signal.SIGINT}
READY: Mapping[str, str] = {
    "up": "running: ",
    "dashboard": "dashboard: http://127.0.0.1:",
    "metrics": "metrics: http://127.0.0.1:",
    "rotator": "CONNECT only",
    "simulate": "http://127.0.0.1:",
    "worker": " ready.",
    "beat": "beat: Starting",
    "flower": "http://127.0.0.1:",
}
"""Commands that run until somebody ends them, and what they say when they are at work."""
ENDS_BY_ITSELF = {"--once", "render"}
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")


@dataclass(slots=True)
class Reader:
    """A folder, the variables that were exported in it, and what is still running."""

    server: CommandServer
    folder: Path
    environ: dict[str, str]
    replaced: Mapping[str, str]
    """What the page says, and what stands for it here: addresses, numbers of flats, names of files."""
    said: Mapping[str, str]
    """What comes through a pipe, by the words in front of it."""
    served: dict[str, str]
    """What servers said that were seen at work on some page already; `up` is for the page's own crawls."""
    running: list[tuple[str, Begun]] = field(default_factory=list)
    printed: str = ""

    def follow(self, steps: Iterable[Step], codes: Mapping[str, int]) -> list[str]:
        """All that did not go as the page says; empty when all did."""
        try:
            wrong = [found for step in steps for found in self._take(step, codes)]
        finally:
            left = list(self._stop_all())
        return wrong + left

    def _take(self, step: Step, codes: Mapping[str, int]) -> Iterator[str]:
        if isinstance(step, File):
            path = self.folder / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, "utf-8")
        elif isinstance(step, Shown):
            yield from (f"not shown: {line}" for line in step.lines if not is_shown(line, self.printed))
        else:
            yield from self._type(step, codes)

    def _type(self, line: Line, codes: Mapping[str, int]) -> Iterator[str]:
        environ = {name: self._here(value) for name, value in line.environ.items()}
        if not line.words:
            self.environ |= environ
            return
        words = [self._here(word) for word in line.words]
        ready = ready_words(words)
        if ready and line.command in self.served:
            self.printed += self.served[line.command]
            return
        said = self.said[line.source] if line.source else ""
        begun = self.server.begin(words[1:], self.environ | environ, self.folder, said)
        if ready is None:
            yield from self._wait(line, begun, codes.get(line.command, 0))
        else:
            self.running.append((line.text, begun))
            yield from self._wait_ready(line, begun, ready)

    def _here(self, word: str) -> str:
        """What stands for the word; a pattern is the newest file that it fits."""
        ours = self.replaced.get(word, word).replace("$PWD", str(self.folder))
        if "*" not in ours:
            return ours
        found = max(self.folder.glob(ours), default=self.folder / ours)
        return str(found.relative_to(self.folder))

    def _wait(self, line: Line, begun: Begun, expected: int) -> Iterator[str]:
        code = self.server.ended(begun)
        self.printed += begun.told()
        if code is None:
            os.killpg(begun.pid, signal.SIGKILL)
        if code != expected or "Traceback (most recent call last)" in begun.told():
            yield f"{line.text}: exit code {code}, not {expected}\n{begun.told()[-2000:]}"

    def _wait_ready(self, line: Line, begun: Begun, ready: str) -> Iterator[str]:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while ready not in begun.told():
            if self.server.ended(begun, 0.1) is not None or time.monotonic() > deadline:
                yield f"{line.text}: it never said {ready!r}\n{begun.told()[-2000:]}"
                self.running.pop()
                return
        self.printed += begun.told()
        if line.words[1] != "up":
            self.served[line.command] = begun.told()

    def _stop_all(self) -> Iterator[str]:
        for line, begun in reversed(self.running):
            code = self.server.ended(begun, 0.1)
            if code is None:
                os.kill(begun.pid, signal.SIGINT)
                code = self.server.ended(begun)
            if code not in STOPPED or "Traceback (most recent call last)" in begun.told():
                yield f"{line}: ended with {code}\n{begun.told()[-2000:]}"
            if code is None:
                os.killpg(begun.pid, signal.SIGKILL)
        self.running.clear()


def ready_words(words: list[str]) -> str | None:
    """What a command says when it is at work; None for one that ends by itself."""
    if ENDS_BY_ITSELF & set(words) or len(words) == 1:
        return None
    return READY.get(words[1])


def is_shown(line: str, printed: str) -> bool:
    """Whether a printed line has these pieces, in this order."""
    pieces = [" ".join(piece.split()) for piece in line.split("…")]
    return any(_in_order(pieces, " ".join(one.split())) for one in printed.splitlines())


def _in_order(pieces: list[str], text: str) -> bool:
    place = 0
    for piece in pieces:
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


@dataclass(frozen=True, slots=True)
class DocsWorld:
    """Simulated twins of some portals, site files that lead to them, and the folder of who came first."""

    server: CommandServer
    simulator: RunningSimulator
    root: Path

    served: dict[str, str] = field(default_factory=dict)
    first: str = "first"
    """Whoever begins with nothing and crawls; the others have a copy of what came of it."""

    @property
    def data(self) -> Path:
        """The DATA_DIR of the first."""
        return self.root / self.first / "data"

    @property
    def looked_up(self) -> Path:
        """The names of other hosts that anybody wanted to ask; not there when nobody did."""
        return self.root / "looked-up"

    def environ(self, folder: Path) -> dict[str, str]:
        """No setting of the caller's; every portal is on loopback and asks for no patience."""
        kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        rates = dict.fromkeys((*CRAWLED, "default"), 60_000)
        return {
            **kept,
            "COLUMNS": "160",
            "SITES_DIR": str(folder / "portals"),
            "DOMAIN_RATE_LIMITS": json.dumps(rates),
            "WORKER_PROCESSES": "2",
            "PYTHONPATH": LOOPBACK_ONLY,
            "LOOKED_UP": str(self.looked_up),
            **server_variables(HURRIED),
        }

    def reader(
        self, name: str, replaced: Mapping[str, str], said: Mapping[str, str], *, empty: bool
    ) -> Reader:
        """Somebody in a folder of the page's own, with adverts there unless it begins with nothing."""
        folder = self.root / name
        shutil.copytree(self.root / "portals", folder / "portals")
        if not empty:
            shutil.copytree(self.data, folder / "data", ignore=shutil.ignore_patterns("locks", "run"))
        return Reader(self.server, folder, self.environ(folder), replaced, said, self.served)

    def asked(self, *arguments: str) -> str:
        """What a command prints where the first was."""
        folder = self.root / self.first
        begun = self.server.begin(arguments, self.environ(folder), folder)
        assert self.server.ended(begun) == 0, begun.told()
        return begun.told()


@contextmanager
def docs_world(root: Path) -> Iterator[DocsWorld]:
    """All of it, until the block ends."""
    config = SimulatorConfig(sites=CRAWLED, properties=ADVERTS, port=0)
    with start_forked(config) as simulator:
        for site in CRAWLED:
            site_folder(root / "portals", site, start_urls=simulator.start_urls(site))
        for site in {*AVAILABLE_SITES} - {*CRAWLED}:
            (root / "portals" / f"{site}.yaml").write_text("enabled: false\n", "utf-8")
        yield DocsWorld(shared_commands(), simulator, root)
