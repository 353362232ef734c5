"""One host under fire: `sale-sofia up` on a data folder, by a clock and under a name of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from command_server import COMMAND
from host_clocks import HostClock
from parallel_crawls import running_in
from process_sizes import children
from sale_sofia.operations.services.processes import read_child
from sale_sofia.operations.services.redis import read_record
from sale_sofia.operations.settings import RUN_FOLDER

PATIENCE_SECONDS = 90.0
"""For a process that should be there, and for `up` to leave when it is told to."""
POLL_SECONDS = 0.05


@dataclass(slots=True)
class Machine:
    """A host. What it notes in `breaches` should never have come to pass."""

    name: str
    folder: Path
    environ: Mapping[str, str]
    clock: HostClock | None
    apart: bool
    """Whether it has a name of its own, as a host among several."""
    shared: tuple[str, ...] = ()
    """Addresses of servers that are not its own: without one `up` may end, when it says so."""
    breaches: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    """Seconds that each start took that was let be."""
    up: "subprocess.Popen[bytes] | None" = None
    began: float = 0.0
    _logs: int = 0

    @property
    def data(self) -> Path:
        """Its DATA_DIR."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What its last `up` says."""
        return self.folder / f"up{self._logs}.log"

    def start(self) -> None:
        """`up`, as a supervisor of the system starts it after each end."""
        self._logs += 1
        self.folder.mkdir(parents=True, exist_ok=True)
        own = self.clock.environ if self.clock else {}
        named = ["unshare", "--uts", "sh", "-c", f'hostname {self.name} && exec "$@"', "sh"]
        with self.log.open("wb") as log:
            self.up = subprocess.Popen(
                [*(named if self.apart else []), str(COMMAND), "up", "--no-flower"],
                env={**self.environ, **own, "DATA_DIR": str(self.data)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.began = time.monotonic()

    @property
    def ready(self) -> bool:
        """Whether its services were all at work since its last start."""
        return b"running: " in self.log.read_bytes()

    def wait_until_ready(self) -> None:
        """Until its services are at work; a start that ends by itself, or takes too long, is a breach."""
        while not self.ready:
            self.look_after()
            if time.monotonic() - self.began > PATIENCE_SECONDS:
                self.breaches.append(f"up was not at work in {PATIENCE_SECONDS:g} s: {self.last_words()}")
                return
            time.sleep(POLL_SECONDS)
        if self.began:
            self.starts.append(time.monotonic() - self.began)
            self.began = 0.0

    def look_after(self) -> None:
        """Start `up` again when it has ended, which nobody told it to."""
        if self.up is not None and (code := self.up.poll()) is not None:
            after = f" {time.monotonic() - self.began:.1f} s after its start" if self.began else ""
            said = self.last_words()
            if not any(name in said for name in self.shared):
                self.breaches.append(f"up ended by itself{after} with {code}: {said}")
            self.start()

    def last_words(self) -> str:
        """Of `up`, for a report."""
        return " | ".join(self.log.read_text("utf-8", "replace").strip().splitlines()[-3:])[-600:]

    def pids(self, role: str) -> list[int]:
        """The processes that are `up`, `redis`, `worker`, its `pool`, `beat` or `everything` now."""
        return [pid for pid in _ROLES[role](self) if _lives(pid)]

    def wait_for(self, role: str) -> list[int]:
        """The processes of a role, when there are some."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := self.pids(role)):
            self.look_after()
            if time.monotonic() > end:
                self.breaches.append(f"there was no {role} for {PATIENCE_SECONDS:g} s: {self.last_words()}")
                return []
            time.sleep(POLL_SECONDS)
        return found

    def kill_everything(self) -> None:
        """As a pulled plug; again and again, as some may be born meanwhile."""
        while victims := self.pids("everything"):
            send(victims, signal.SIGKILL)
            if self.up is not None:
                self.up.wait()
        self.up = None

    def stop(self) -> None:
        """Tell `up` to end, and see that nothing of it is left."""
        if self.up is None:
            return
        self.up.terminate()
        try:
            code = self.up.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.breaches.append(f"up did not end in {PATIENCE_SECONDS:g} s: {self.last_words()}")
        else:
            if code:
                self.breaches.append(f"up ended with {code} when told to stop: {self.last_words()}")
        left = running_in(self.data)
        self.breaches += [f"left running: {pid} {command}" for pid, command in left.items()]
        self.kill_everything()


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """A signal to processes that were ours a moment ago."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def can_have_names() -> bool:
    """Whether a host can have a name of its own here."""
    if not shutil.which("unshare"):
        return False
    tried = subprocess.run(
        ["unshare", "--uts", "hostname", "probe"],  # noqa: S607 - the system's
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def zombies(parents: Iterable[int]) -> list[int]:
    """The dead children that these processes have not taken leave of."""
    return [child for parent in parents for child in children(parent) if not _lives(child)]


def _main(name: str) -> Callable[[Machine], list[int]]:
    def found(machine: Machine) -> list[int]:
        record = read_child(machine.data / RUN_FOLDER / f"{name}.json")
        return [record.pid] if record and record.pid else []

    return found


def _redis(machine: Machine) -> list[int]:
    record = read_record(machine.data / "redis")
    return [record.pid] if record and record.pid else []


_ROLES: Mapping[str, Callable[[Machine], list[int]]] = {
    "up": lambda machine: [machine.up.pid] if machine.up else [],
    "redis": _redis,
    "worker": _main("worker"),
    "pool": lambda machine: [child for main in _main("worker")(machine) for child in children(main)],
    "beat": _main("beat"),
    "everything": lambda machine: list(running_in(machine.data)),
}
