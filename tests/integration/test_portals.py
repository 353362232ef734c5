"""Every portal crawled as a person does it, from its simulated twin: each advert once, as it really is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import ALONE, crawl_arguments, differences, run, stored, truth
from forked_simulators import start_forked
from sale_sofia_simulator.render import TWIN_PORTALS
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

ADVERTS = 45
QUICK = {"DOMAIN_RATE_LIMITS": json.dumps(dict.fromkeys(TWIN_PORTALS, 60_000)), "ARCHIVE_ENABLED": "false"}


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSimulator]:
    folder = tmp_path_factory.mktemp("twins")
    config = SimulatorConfig(
        sites=tuple(TWIN_PORTALS), properties=ADVERTS, seed=7, port=0, truth=folder / "truth.jsonl"
    )
    with start_forked(config) as running:
        yield running


@pytest.mark.parametrize("site", TWIN_PORTALS)
def test_a_crawl_stores_every_advert_as_it_is(simulator: RunningSimulator, tmp_path: Path, site: str) -> None:
    done = run(tmp_path, *crawl_arguments(simulator, site), **ALONE, **QUICK)
    assert done.returncode == 0, done.stderr[-2000:]
    true = {key: row for key, row in truth(simulator).items() if key[0] == site}
    assert len(true) == ADVERTS
    assert differences(stored(tmp_path), true) == {}
