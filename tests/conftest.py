import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from demo_worlds import copied, demo_data
from postgres_servers import READY, PostgresServer, end_shared_server, server_or_skip
from ready_files import put_ready_file
from redis_servers import fresh_database, session_server
from sale_sofia.services.redis_server import RedisServer

STORES = ("sqlite", "postgresql")

# A shell ignores these for what it runs in the background, and programs that a test starts would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# How long an example takes says more of the machine than of the code.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis of this test process's own."""
    yield from session_server()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty database of that Redis; the next one is empty too."""
    return fresh_database(redis_server)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL of this test process's own; without one the test is skipped."""
    yield server_or_skip()
    end_shared_server()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """A database of its own with all tables, empty."""
    return postgres_server.new_database(READY)


@pytest.fixture(scope="session")
def demo_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The DATA_DIR of the demo, for reading only."""
    return demo_data(tmp_path_factory)


@pytest.fixture
def demo_copy(demo_world: Path, tmp_path: Path) -> Path:
    """A DATA_DIR with the demo's world that a test may write to."""
    return copied(demo_world, tmp_path / "demo")


@pytest.fixture(params=STORES)
def empty_store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database of each kind can be made; there are no tables yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'x.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.new_database()


@pytest.fixture(params=STORES)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each kind, with all tables, empty."""
    return _ready(request, tmp_path)


@pytest.fixture(scope="module", params=STORES)
def module_store_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """As `store_url`, for all tests of a module together."""
    return _ready(request, tmp_path_factory.mktemp("store"))


def _ready(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return server.new_database(READY)
    put_ready_file(folder / "x.db")
    return f"sqlite:///{folder / 'x.db'}"
