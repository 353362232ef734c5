"""Workers on two hosts, the servers on a third: one is cut off, one is killed, nothing is lost or doubled."""

import random
from pathlib import Path

import pytest

from hosts import why_not
from hosts_crawl import SITE, three_hosts
from hosts_scenario import begin, cut_off, findings, kill_and_restart
from postgres_servers import NoPostgres, binaries
from sale_sofia.simulator.simulator_config import SimulatorConfig

SEED = random.SystemRandom().randrange(10**6)
ADVERTS = 200
CUT_SECONDS = 6.0
"""At least, and longer than a lease of 5 s; `bench/three_hosts.py` cuts for 30."""


def test_a_host_cut_off_and_one_killed_lose_and_double_nothing(tmp_path: Path) -> None:
    try:
        binaries()
    except NoPostgres as reason:
        pytest.skip(str(reason))
    config = SimulatorConfig(
        sites=(SITE,), properties=ADVERTS, seed=SEED, port=0, faults="slow:0.2", slow_seconds=1.0
    )
    with three_hosts(tmp_path / "h", config) as crawl:
        begin(crawl)
        held = cut_off(crawl, CUT_SECONDS) if crawl.network.apart else {}
        kill_and_restart(crawl)
        crawl.until(lambda: crawl.state() == "COMPLETE", 150, "end")
        found = findings(crawl, held)
        assert found == {}, f"seed {SEED}: {found}{crawl.tail()}"
    if not crawl.network.apart:
        pytest.skip(f"a host was killed, but none cut off: {why_not()}")
