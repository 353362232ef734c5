from collections.abc import Iterator
from pathlib import Path

import pytest

from sale_sofia.data.database import Database
from sale_sofia.data.jobs import create_job
from sale_sofia.data.migrate import initialize_database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A real database with one job."""
    made = Database(f"sqlite:///{tmp_path / 'x.db'}", busy_timeout_seconds=5, busy_retries=2)
    initialize_database(made)
    with made.write() as connection:
        create_job(connection, job_id="job", site="imot.bg", start_urls=["x"], listing_limit=None, now=1.0)
    yield made
    made.dispose()
