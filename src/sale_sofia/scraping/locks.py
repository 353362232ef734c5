"""One crawl of a portal at a time, also after the plug was pulled."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sale_sofia.data.database import Database
from sale_sofia.scraping.errors import SiteBusy


@contextmanager
def site_lock(database: Database, folder: Path, site: str) -> Iterator[None]:
    """Hold the portal: on this machine, and on all others that use the same database server.

    System and server let go of it when the process ends, however it ends.

    Raises:
        SiteBusy: it says who has it.
    """
    with _on_this_machine(folder, site), database.portal_lock(site) as holder:
        if holder is not None:
            raise SiteBusy(f"{site} is being crawled by {holder}; wait for it or stop it there")
        yield


@contextmanager
def _on_this_machine(folder: Path, site: str) -> Iterator[None]:
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
