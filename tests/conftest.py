from collections.abc import Iterator

import pytest

from redis_servers import fresh_database, session_server
from sale_sofia.services.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis of this test process's own."""
    yield from session_server()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty database of that Redis; the next one is empty too."""
    return fresh_database(redis_server)
