"""One server of each kind for a whole run of tests, shared by all its processes and ended with it.

The first test that wants a server has a keeper started: a process that starts the server, writes down where
it is, and stops it when the run is over, however that ends. Who breaks a server starts one of its own.
"""

import fcntl
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 0.02
_READY = "ready"
_keepers: list["subprocess.Popen[bytes]"] = []
"""Those that this process started: they outlive it, and Python would call that a fault."""


def run_folder() -> Path:
    """A folder that all processes of this run of tests share; the last keeper removes it."""
    folder = Path(tempfile.gettempdir()) / f"sale-sofia-tests-{_run_process()}"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # PostgreSQL runs as another user
    return folder


def _run_process() -> int:
    """The process whose end is the end of the run: of xdist's workers, whoever started them."""
    return os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()


@contextmanager
def only_one(name: str) -> Iterator[Path]:
    """Inside is one process of the run at a time; gives a file of that name for what it wants to keep."""
    path = run_folder() / name
    with path.open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


def kept_server(
    kind: str, module: str, more: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> Path:
    """The folder of the run's server, which answers; `module` is run as its keeper, with these words too."""
    folder = run_folder() / kind
    with only_one(f"{kind}.lock"):
        if not (folder / _READY).exists():
            _start_keeper(folder, module, more, environ)
    return folder


def _start_keeper(folder: Path, module: str, more: Sequence[str], environ: Mapping[str, str] | None) -> None:
    folder.mkdir(exist_ok=True)
    program = str(Path(__file__).with_name(f"{module}.py"))
    with (folder / "keeper.log").open("w") as log:
        keeper = subprocess.Popen(
            [sys.executable, program, str(folder), str(_run_process()), *more],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _keepers.append(keeper)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not (folder / _READY).exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError((folder / "keeper.log").read_text("utf-8"))
        time.sleep(_LOOK_SECONDS)


def keep(start: Callable[[Path], Callable[[], None]]) -> None:
    """A keeper's life: start the server in its folder, tell of it, and stop it when the run is over."""
    folder, run = Path(sys.argv[1]), int(sys.argv[2])
    over = os.pidfd_open(run)
    stop = start(folder)
    try:
        tell_ready(folder)
        select.select([over], [], [])
    finally:
        stop()
        remove(folder)


def tell_ready(folder: Path) -> None:
    """The server of this folder answers."""
    (folder / _READY).touch()


def remove(folder: Path) -> None:
    """The folder of a server that has ended; with the last one goes that of the run."""
    shutil.rmtree(folder, ignore_errors=True)
    if not any(path.is_dir() for path in folder.parent.iterdir()):
        shutil.rmtree(folder.parent, ignore_errors=True)
