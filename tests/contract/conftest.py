"""Contracts: one suite for every backend. Here a store is SQLite and PostgreSQL; elsewhere SQLite alone.

The quick tests of `make test FAST=1` leave PostgreSQL out.
"""

from pathlib import Path

import pytest

from postgres_servers import READY, PostgresServer
from ready_files import put_ready_file

STORES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))


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
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    put_ready_file(tmp_path / "x.db")
    return f"sqlite:///{tmp_path / 'x.db'}"


@pytest.fixture(scope="module", params=STORES)
def module_store_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """As `store_url`, for all tests of a module together."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return server.new_database(READY)
    folder = tmp_path_factory.mktemp("store")
    put_ready_file(folder / "x.db")
    return f"sqlite:///{folder / 'x.db'}"
