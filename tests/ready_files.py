"""A database file with all tables: the migrations run once in each test process, tests get copies."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database


def put_ready_file(path: Path) -> None:
    """An empty, current database at this place; a file that is there is left as it is."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_ready_bytes())


@cache
def _ready_bytes() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        database = Database(f"sqlite:///{path}", busy_timeout_seconds=30, busy_retries=3)
        initialize_database(database)
        database.dispose()
        return path.read_bytes()
