"""Nobody at work in a data folder: no services, no crawl, nobody who has its database open."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sale_sofia.crawl.errors import SiteBusy
from sale_sofia.operations.services.ownership import (
    ALONE,
    Ownership,
    ServicesBusy,
    StillLocked,
    lock_file,
    take,
)
from sale_sofia.operations.settings import RUN_FOLDER
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.storage.sqlite import is_in_use


@contextmanager
def standstill(data_dir: Path) -> Iterator[None]:
    """Until the end of the block no crawl begins in the folder, and no services start.

    Raises ServicesBusy where somebody runs its services or has its database open, SiteBusy where one crawls.
    """
    with ExitStack() as stack:
        ownership = Ownership(data_dir / RUN_FOLDER)
        if not ownership.take(shared=False):
            holder = ownership.holder()
            who = f"process {holder.pid}" if holder else "another process"
            raise ServicesBusy(
                f"The services in {data_dir} are run by {who}; stop them with `sale-sofia down`, "
                "or the crawl where it runs."
            )
        stack.callback(ownership.release)
        for path in sorted((data_dir / "locks").glob("*.lock")):
            file = stack.enter_context(lock_file(path))
            try:
                take(file, ALONE)
            except StillLocked:
                who = path.read_text("ascii").strip() or "unknown"
                raise SiteBusy(
                    f"{path.stem} is being crawled by process {who}; wait for it or stop it"
                ) from None
        if is_in_use(data_dir / DATABASE_FILE):
            raise ServicesBusy(
                f"Somebody has {data_dir / DATABASE_FILE} open, a worker or a dashboard; stop it first."
            )
        yield
