"""The power goes at any moment: what was said to be done is there, and nothing half-written counts."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import FAST, run
from forked_simulators import start_forked
from power_disk import Disk, NoCompiler, make, shim
from power_work import SITE, losses, watched
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig
from seeds import SEED

STATES = 20


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    (tmp_path / "log").touch()
    config = SimulatorConfig(
        sites=(SITE,), properties=3, seed=SEED, port=0, log=tmp_path / "log", truth=tmp_path / "truth"
    )
    with start_forked(config) as running:
        yield running


def test_nothing_is_lost_that_was_said_to_be_done(tmp_path: Path, simulator: RunningSimulator) -> None:
    try:
        shim()
    except NoCompiler as reason:
        pytest.skip(str(reason))
    rng, left = random.Random(SEED), tmp_path / "left"
    work = watched(tmp_path, simulator, quick=True)
    assert list(losses(work, left, rng, STATES)) == [], f"seed {SEED}"

    disk = Disk(work.root)  # and once in the middle of the crawl, by the commands themselves
    disk.replay(work.notes[: work.crawl_middle])
    make(disk.left("some", rng), left)
    resumed = run(left / "data", "resume", "--json", **FAST)
    assert resumed.returncode == 0, f"seed {SEED}: {resumed.stderr}"
    assert [job["state"] for job in json.loads(resumed.stdout)["jobs"]] in ([], ["COMPLETE"]), f"seed {SEED}"
