"""A month of alerts: each of 40 things for buyers and 12 incidents exactly once, whatever happens to whom."""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from alert_month import DAYS, STARTS
from alert_runs import kill_while_sending, send_rest, settled, start_run, wait_for
from alert_servers import AlertServers, alert_servers
from alert_world import DAY, HOUR, AlertWorld, facts_in
from contract.storage.helpers import ready_database
from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.delivery import Delivery
from sale_sofia.alerts.looking import Looking
from sale_sofia.alerts.outbox import Delivered, read_log
from sale_sofia.alerts.rules import AlertsFile, load_alerts
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings

KILLS = int(os.environ.get("ALERT_KILLS", "1"))
LAST = 29
LATE_DAYS = (15, 19)
"""On these days things happen in quiet hours."""
DOWN_DAYS = (10, 20)
LEFT_FROM = 26
"""From this day on nobody sends: the killed processes have to."""


@pytest.fixture
def servers() -> Iterator[AlertServers]:
    with alert_servers() as both:
        yield both


@dataclass(slots=True)
class Month:
    world: AlertWorld
    servers: AlertServers
    file: AlertsFile

    def look(self) -> None:
        Looking(self.world.settings, self.world.database, self.file, lambda: self.world.now).look()

    def send(self, after: float = 0.0) -> Delivered:
        channels, quiet = channels_of(self.file), self.file.quiet_hours
        moment = self.world.now + after
        return Delivery(self.world.settings, self.world.database, channels, quiet, lambda: moment).run()

    def play(self, day: int) -> None:
        for happens in DAYS[day]:
            happens(self.world)
        self.world.match()
        self.look()
        self.look()  # a second look tells nothing again
        if day in DOWN_DAYS:
            self.be_down_for_an_hour()
        elif day < LEFT_FROM:
            self.send()

    def be_down_for_an_hour(self) -> None:
        self.servers.down()
        before = len(self.servers.came)
        failed = [self.send(after) for after in (0, 61, 400, 1300, 3000)]
        assert all(one.failed and not one.sent and set(one.errors) == {"mail", "hook"} for one in failed)
        assert len(self.servers.came) == before
        self.servers.up()
        for hours in (1, 2, 3):
            self.send(hours * HOUR)

    def told(self) -> Counter[tuple[str, str, str]]:
        return Counter(fact for one in self.servers.came for fact in facts_in(one))


def begin(folder: Path, servers: AlertServers) -> Month:
    """A month that ends now; quiet hours begin three hours from now and last for four."""
    now = time.time()
    world = AlertWorld(
        Settings(data_dir=folder), ready_database(folder / "sale_sofia.db"), now - (LAST + 0.1) * DAY
    )
    here = datetime.fromtimestamp(now, UTC).astimezone(SOFIA)
    quiet = {
        "quiet_from": f"{here + timedelta(hours=3):%H:%M}",
        "quiet_to": f"{here + timedelta(hours=7):%H:%M}",
    }
    world.begin(servers, file=quiet)
    world.match()
    file = load_alerts(folder)
    assert file is not None
    return Month(world, servers, file)


def test_each_thing_of_a_month_is_told_once(tmp_path: Path, servers: AlertServers) -> None:
    month = begin(tmp_path, servers)
    world, start = month.world, month.world.now
    month.look()
    assert month.send() == Delivered(), "what is there when the rules begin is not told"
    for day in range(1, LAST + 1):
        world.now = STARTS[day] = start + day * DAY + (6.5 * HOUR if day in LATE_DAYS else 0)
        came = len(servers.came)
        month.play(day)
        if day in LATE_DAYS:
            assert [one for one in servers.came[came:] if one.channel == "mail"] == [], "it is quiet"
    buyer = Counter(kind for (channel, kind, _) in world.expected.elements() if channel == "mail")
    assert buyer == {"new": 16, "cut": 10, "back": 5, "gone": 4, "cheaper": 5}
    assert sum(kind == "incident" for _, kind, _ in world.expected) == 12

    kill_and_finish(month, tmp_path)

    assert month.told() == world.expected
    assert set(servers.counted().values()) == {1}, "no message came twice"
    with world.database.read() as connection:
        log = read_log(connection, limit=1000)
    assert {one.uid for one in log} == set(servers.counted())
    assert {one.state for one in log} == {"sent"}
    assert sum(one.attempts > 1 for one in log) > 0, "while the channels were down messages were tried again"
    world.database.dispose()


def kill_and_finish(month: Month, folder: Path) -> None:
    seed = int(os.environ.get("ALERT_SEED", time.time_ns() % 2**32))
    print(f"ALERT_SEED={seed} ALERT_KILLS={KILLS}")  # noqa: T201 - to play it again
    chance = random.Random(seed)
    database = month.world.database
    month.servers.answer_seconds = 0.3
    killed = sum(kill_while_sending(start_run(folder), month.servers, chance) for _ in range(KILLS))
    assert killed, "at least one was killed"
    month.servers.answer_seconds = 0.0
    wait_for(partial(settled, database))  # a sender whose starter was killed ends the message in its hand
    send_rest(folder, database)
