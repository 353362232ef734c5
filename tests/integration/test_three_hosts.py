"""Workers on two hosts, the servers on a third: one is killed, nothing is lost or doubled.

`bench/three_hosts.py` cuts a host off for longer than its leases too, and does both again and again.
"""

from pathlib import Path

import pytest

from hosts_crawl import SITE, three_hosts
from hosts_scenario import begin, findings, kill_and_restart
from hurried_services import HURRIED_PROGRAMS
from postgres_servers import NoPostgres, binaries
from sale_sofia_simulator.simulation import SimulatorConfig

SEED = 22
ADVERTS = 40


def test_a_killed_host_loses_and_doubles_nothing(tmp_path: Path) -> None:
    try:
        binaries()
    except NoPostgres as reason:
        pytest.skip(str(reason))
    print(f"seed {SEED}")  # noqa: T201 - by which it can be repeated
    config = SimulatorConfig(
        sites=(SITE,), properties=ADVERTS, seed=SEED, port=0, faults="slow:0.2", slow_seconds=1.0
    )
    with three_hosts(tmp_path / "h", config, HURRIED_PROGRAMS) as crawl:
        begin(crawl)
        kill_and_restart(crawl)
        crawl.until(lambda: crawl.state() == "COMPLETE", 150, "end")
        found = findings(crawl, {})
        assert found == {}, f"{found}{crawl.tail()}"
