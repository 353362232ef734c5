"""One crawl of a portal at a time on this machine, also after the plug was pulled."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SiteBusy(RuntimeError):
    """Another crawl of this portal is running."""


@contextmanager
def site_lock(folder: Path, site: str) -> Iterator[None]:
    """Hold the portal's lock. The system lets go of it when the process ends, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{site}.lock").open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise SiteBusy(f"{site} is being crawled by process {holder}; wait for it or stop it") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
