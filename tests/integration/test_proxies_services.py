"""Orchestrator, worker, rotator and fleet, all real: refresh, wait, tunnel; and no password anywhere."""

import asyncio
import json
import os
import signal
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from check_pages import check_page
from contract.proxies.pools import proxy
from crawls import run, start
from fleet_thread import RunningFleet, fleet_before
from hurried_services import forked_programs
from listening import free_port
from parallel_crawls import until
from proxy_fleet import PASSWORD
from redis_servers import fresh_database, shared_server
from sale_sofia.celery_app import configuration
from sale_sofia.crawl.resilience.owners import birth
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.proxies.control import ProxiesStillMissing
from sale_sofia.proxies.pool import open_pool
from sale_sofia.proxies.sources import ProxySource, SourceList
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import load_settings

KINDS = {"good": 3, "with_password": 2, "dead": 4}


@contextmanager
def listening() -> Iterator[int]:
    """A portal that takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    told = {"DATA_DIR": str(tmp_path / "data"), "WORKER_PROCESSES": "2", "ROTATOR_PORT": str(free_port())}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    return told


def command_lines() -> str:
    """What the process list shows of every process."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(entry.read_bytes().decode("latin-1"))
        except OSError:
            continue
    return "\n".join(lines)


def tunnel_status(port: int, to: str, **headers: str) -> int:
    """The rotator's answer to CONNECT."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("CONNECT", to, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def page_through(port: int, page: int, ca: str) -> bytes:
    """The end of a page over TLS, by way of the rotator."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as near:
        near.sendall(f"CONNECT 127.0.0.1:{page} HTTP/1.1\r\n\r\n".encode())
        assert near.recv(1000).startswith(b"HTTP/1.1 200")
        with ssl.create_default_context(cafile=ca).wrap_socket(near, server_hostname="127.0.0.1") as far:
            far.sendall(b"GET / HTTP/1.1\r\n\r\n")
            return b"".join(iter(lambda: far.recv(1000), b""))[-4:]


def uses_of(told: str) -> int:
    """How often proxies were used, all portals together."""
    return sum(row["uses"] for row in json.loads(told)["stats"]["*"])


def lasting(stats: dict[str, Any]) -> dict[str, dict[str, tuple[Any, ...]]]:
    """What stays true of each proxy on each portal when time goes on."""
    names = ("uses", "successes", "score", "last_reason")
    return {
        domain: {row["id"]: tuple(row[name] for name in names) for row in rows}
        for domain, rows in stats["stats"].items()
    }


def with_sources(data: Path, fleet: RunningFleet) -> None:
    listed = data.parent / "list"
    listed.write_text(fleet.lines())
    SourceList(data).add(ProxySource(str(listed)))


def test_refresh_wait_and_rotator(
    tmp_path: Path, surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, port = tmp_path / "data", int(surroundings["ROTATOR_PORT"])
    with (
        listening() as portal,
        check_page(tmp_path / "page") as (page, named),
        fleet_before(portal, KINDS, others=(page,)) as fleet,
    ):
        with_sources(data, fleet)
        for name, value in named.items():
            monkeypatch.setenv(name, value)
        with forked_programs(), Orchestrator(load_settings()) as services:
            services.start_celery()
            address = services.start_rotator()
            assert address == f"http://127.0.0.1:{port}"
            assert tunnel_status(port, f"127.0.0.1:{portal}") == 503
            with pytest.raises(ProxiesStillMissing, match="0 of 5"):
                services.proxies.wait_for_proxies(0.5, {"imot.bg": 5})
            job = services.trigger_proxy_refresh()
            found = services.proxies.wait_for_proxies(60, {"imot.bg": 5})
            ended = services.wait_for_refresh_completion(job, 60)
            assert (found, services.wait_for_proxies(1)) == ({"imot.bg": 5}, {})
            assert (ended.status, ended.checked, ended.usable) == ("COMPLETE", 9, 5)
            # With enough nothing is waited for; with fewer than are wanted, until the refresh has ended.
            for least in (5, 6):
                wanted = services.settings.model_copy(update={"min_proxies_to_start": least})
                proxies = replace(services.proxies, settings=wanted)
                assert proxies.supply(["imot.bg"], 600, services.supervise) == {"imot.bg": 5}
            assert tunnel_status(port, f"127.0.0.1:{portal}") == 200
            assert services.start_rotator() == address
            assert PASSWORD not in command_lines()
            assert page_through(port, page, named["PROXY_JUDGE_CA"]) == b"here"
            until(lambda: uses_of(run(data, "proxies", "stats", "--json").stdout), "the report of that use")
            told = [
                run(data, "proxies", *what, ROTATOR_PORT=str(port))
                for what in (["list"], ["stats", "--json"])
            ]
        with pytest.raises(OSError, match="refused"):
            tunnel_status(port, f"127.0.0.1:{portal}")
        # Redis is gone with its services; what it knew is told all the same.
        afterwards = run(data, "proxies", "stats", "--json")
        assert set(fleet.door.sources) <= {one.host for one in fleet.members}
    assert [one.returncode for one in told] == [0, 0]
    during, after = (lasting(json.loads(one.stdout)) for one in (told[1], afterwards))
    assert len(during["*"]) == 5
    assert uses_of(told[1].stdout) == 1
    assert after == during
    logs = "".join(path.read_text("utf-8", errors="replace") for path in (data / "logs").glob("*"))
    assert PASSWORD not in told[0].stdout + told[1].stdout + logs


def test_beat_refreshes_every_six_hours(surroundings: dict[str, str], redis_url: str) -> None:
    os.environ["REDIS_URL"] = redis_url
    try:
        entry = configuration()["beat_schedule"]["refresh-proxies-every-6h"]
    finally:
        del os.environ["REDIS_URL"]
    assert surroundings
    assert entry["task"] == "sale_sofia.proxies.tasks.refresh_proxies"
    assert (entry["schedule"].hour, entry["schedule"].minute) == ({0, 6, 12, 18}, {0})


def test_a_mubeng_of_the_users_is_called_with_a_file_not_with_passwords(
    tmp_path: Path, surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in that listens where it is told to, as mubeng does, and notes how it was called."""
    program = tmp_path / "mubeng"
    program.write_text(
        "#!/usr/bin/env python3\nimport json, os, socket, sys, time\n"
        "open(os.environ['DATA_DIR'] + '/called', 'w').write(json.dumps(sys.argv[1:]))\n"
        "host, port = sys.argv[sys.argv.index('-a') + 1].split(':')\n"
        "server = socket.create_server((host, int(port)))\ntime.sleep(600)\n"
    )
    program.chmod(0o700)
    data = tmp_path / "data"
    monkeypatch.setenv("MUBENG_PATH", str(program))
    with (
        listening() as portal,
        check_page(tmp_path / "page") as (page, named),
        fleet_before(portal, {"with_password": 1}, others=(page,)) as fleet,
        Orchestrator(load_settings()) as services,
    ):
        with pytest.raises(ServiceUnavailable, match="The pool is empty"):
            services.start_rotator()
        with_sources(data, fleet)
        assert run(data, "proxies", "refresh", **named).returncode == 0
        services.start_rotator()
    called = json.loads((data / "called").read_text())
    listed = Path(called[called.index("-f") + 1])
    assert called[:2] == ["-a", f"127.0.0.1:{surroundings['ROTATOR_PORT']}"]
    assert PASSWORD not in " ".join(called)
    assert PASSWORD in listed.read_text()
    assert listed.stat().st_mode & 0o777 == 0o600


def test_a_stopped_rotator_command_leaves_no_mubeng_behind(tmp_path: Path) -> None:
    """A stand-in that listens where it is told to, and notes its process."""
    program, data, redis_url = tmp_path / "mubeng", tmp_path / "data", fresh_database(shared_server())
    program.write_text(
        "#!/usr/bin/env python3\nimport os, socket, sys, time\n"
        "host, port = sys.argv[sys.argv.index('-a') + 1].split(':')\n"
        "open(os.environ['DATA_DIR'] + '/pid', 'w').write(str(os.getpid()))\n"
        "server = socket.create_server((host, int(port)))\ntime.sleep(600)\n"
    )
    program.chmod(0o700)

    async def fill() -> None:
        async with open_pool(load_settings(), redis_url) as pool:
            await pool.put(proxy(1))

    asyncio.run(fill())
    told = {"MUBENG_PATH": str(program), "REDIS_URL": redis_url, "ROTATOR_PORT": str(free_port())}
    command = start(data, "rotator", **told)
    assert command.stderr
    assert "by mubeng" in command.stderr.readline()
    pid = int((data / "pid").read_text())
    command.terminate()
    command.communicate(timeout=30)
    try:
        assert birth(pid) is None
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
