import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from compiled_once import compile_once
from demo_worlds import EVERY_ADVERT_OPENED, copied, demo_data
from postgres_servers import PostgresServer, server_or_skip
from ready_files import put_ready_file
from redis_servers import fresh_database, shared_server
from sale_sofia.history.jobs import create_job
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.storage.database import Database
from shares import shared_out

# A shell ignores these for what it runs in the background, and programs that a test starts would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# How long an example takes says more of the machine than of the code.
# The same examples in every run; new ones: --hypothesis-profile search.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("suite")

compile_once()

# Every advert is opened, so that what is stored can be compared with the truth page by page. Adverts that are
# linked instead are the matter of contract/crawl/test_linking.py and unit/crawl/test_family_days.py.
for name, value in EVERY_ADVERT_OPENED.items():
    os.environ.setdefault(name, value)

MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of the user's own there
"""Files in memory, where the system has such a place."""
ENOUGH_BYTES = 6 << 30
"""Four times what the files of a whole run take."""
SELDOM = (20_000, 20, 50)
"""After how many new things there is a search for garbage, and how seldom one among the older ones."""


def pytest_configure(config: pytest.Config) -> None:
    """The tests' files are in memory where there is room: tests of a store wait for the disk."""
    if not MEMORY.is_dir() or config.getoption("basetemp"):
        return
    if shutil.disk_usage(MEMORY).free > ENOUGH_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collectstart() -> None:
    """Modules and tests stay: a search for garbage among them, while they are read, finds nothing."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every process begins with its share of the long tests and ends with short ones: all end together."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes > 1:
        items[:] = shared_out(items, processes)


def pytest_collection_finish() -> None:
    """No search for garbage goes through all modules and tests again: it took an eighth of a run's time."""
    gc.freeze()
    gc.set_threshold(*SELDOM)
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Nothing of a run that passed stays in memory."""
    root = os.environ.get("PYTEST_DEBUG_TEMPROOT")
    if exitstatus == pytest.ExitCode.OK and root == str(MEMORY) and "PYTEST_XDIST_WORKER" not in os.environ:
        factory: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined] # noqa: SLF001
        shutil.rmtree(factory.getbasetemp(), ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server() -> RedisServer:
    """The Redis of this run, shared by all its test processes."""
    return shared_server()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """An empty database of that Redis; the next one is empty too."""
    return fresh_database(redis_server)


@pytest.fixture
def own_redis_url(tmp_path: Path) -> Iterator[str]:
    """A Redis of the test's own, for what others must not feel: other limits, scripts forgotten."""
    with RedisServer.start(tmp_path / "own-redis") as server:
        yield server.url


@pytest.fixture(scope="session")
def postgres_server() -> PostgresServer:
    """The PostgreSQL of this run, shared by all its test processes; without one the test is skipped."""
    return server_or_skip()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database of its own with all tables, empty; afterwards it is emptied for the next test."""
    with postgres_server.borrowed() as url:
        yield url


@pytest.fixture(scope="session")
def demo_world() -> Path:
    """The DATA_DIR of the demo, for reading only."""
    return demo_data()


@pytest.fixture
def demo_copy(demo_world: Path, tmp_path: Path) -> Path:
    """A DATA_DIR with the demo's world that a test may write to."""
    return copied(demo_world, tmp_path / "demo")


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    """A database with all tables, empty; in contract/ one of each kind."""
    put_ready_file(tmp_path / "x.db")
    return f"sqlite:///{tmp_path / 'x.db'}"


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    """The database at `store_url`, with one job."""
    made = Database(store_url, busy_timeout_seconds=5, busy_retries=2)
    with made.write() as connection:
        create_job(connection, job_id="job", site="imot.bg", start_urls=["x"], listing_limit=None, now=1.0)
    yield made
    made.dispose()
