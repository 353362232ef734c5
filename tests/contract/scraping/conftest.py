from collections.abc import Iterator

import pytest

from sale_sofia.data.database import Database
from sale_sofia.data.jobs import create_job


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    """A real database of each kind, with one job."""
    made = Database(store_url, busy_timeout_seconds=5, busy_retries=2)
    with made.write() as connection:
        create_job(connection, job_id="job", site="imot.bg", start_urls=["x"], listing_limit=None, now=1.0)
    yield made
    made.dispose()
