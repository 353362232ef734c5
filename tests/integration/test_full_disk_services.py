"""A disk that gets full under `sale-sofia up`: it waits, and when there is room again all goes on."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from crawls import crawl_arguments, differences, end_of, in_background, stored, truth
from forked_simulators import start_forked
from parallel_crawls import PATIENCE_SECONDS, QUICK, running_in, services_forked, until, wait_until_said
from sale_sofia_simulator.simulation import SimulatorConfig

ADVERTS = 24
SOON = {**QUICK, "DOMAIN_RATE_LIMITS": '{"imot.bg": 600}', "LEASE_SECONDS": "5"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["/usr/bin/mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["/usr/bin/umount", "--lazy", place], check=True)


def fill(disk: Path) -> None:
    """Leave not a byte."""
    with (disk / "filler").open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_disk_full_under_up_is_waited_out_and_the_crawl_completes(tmp_path: Path, disk: Path) -> None:
    log, true = tmp_path / "log", tmp_path / "truth"
    config = SimulatorConfig(sites=("imot.bg",), properties=ADVERTS, seed=3, port=0, log=log, truth=true)
    data = disk / "data"
    with start_forked(config) as simulator, services_forked(data, **SOON) as up:
        crawl = in_background(data, *crawl_arguments(simulator, "imot.bg"), "--parallel", **SOON)
        until(lambda: log.exists() and len(log.read_text().splitlines()) > ADVERTS // 3, "some pages")
        fill(disk)
        for pid, told in running_in(data).items():
            if "--quiet worker" in told:
                os.kill(pid, signal.SIGKILL)  # on a full disk it cannot be started again
        wait_until_said(up, f"There is no room in {data}. Waiting for room; then all goes on.")
        (disk / "filler").unlink()
        wait_until_said(up, "There is room again; going on.")
        ended = end_of(crawl, PATIENCE_SECONDS)
        assert ended.returncode == 0, ended.stderr
        assert '"COMPLETE"' in ended.stdout
        assert differences(stored(data), truth(simulator)) == {}
    assert up.returncode == 0
    assert running_in(data) == {}
