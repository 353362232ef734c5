"""Alerts killed at every point: each thing is told once through each channel.

One moment is no process's to bridge: the channel has taken a message, and that is not noted yet. Then it is
sent again under its id, once.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from alert_servers import AlertServers, Came, alert_servers
from alert_world import DAY, HOUR, AlertWorld, facts_in
from contract.storage.helpers import ready_database
from crash_crawls import delivering_here, own_clock
from crash_points import Enumeration, State, count_points
from sale_sofia.alerts.outbox import count_messages
from sale_sofia.alerts.running import Alerts
from sale_sofia.installation import open_database
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind

NOON = datetime(2026, 5, 4, 12, tzinfo=SOFIA).timestamp()


@pytest.fixture
def servers() -> Iterator[AlertServers]:
    with alert_servers() as both:
        yield both


def news(data: Path, servers: AlertServers) -> AlertWorld:
    """Rules that know what there is; then one flat is new, one cheaper, one that is followed gone."""
    data.mkdir()
    database = ready_database(data / "sale_sofia.db")
    world = AlertWorld(Settings(data_dir=data), database, NOON - DAY)
    world.begin(servers, flats=3)
    world.match()
    world.say("old2", "shortlist")
    tell(world.settings, database, world.now)
    world.now = NOON
    world.seen("n1", 101)
    world.cut("old1", 10)
    world.gone("old2")
    world.begins(IncidentKind.COLLAPSE, "imot.bg")
    world.match()
    world.expect("new", "n1")
    world.expect("cut", "old1")
    world.expect("gone", "old2")
    database.dispose()
    return world


def tell(settings: Settings, database: Database, now: float) -> None:
    """What `alerts run` does at this moment, and again the next morning, when the digest is due."""
    with own_clock() as clock:
        for moment in (now, now + DAY - HOUR):
            clock.now = moment
            Alerts(settings, database).run(60)
    database.dispose()


def told(messages: tuple[Came, ...]) -> Counter[tuple[str, str, str]]:
    return Counter(fact for one in messages for fact in facts_in(one))


def test_alerts_killed_at_every_point(tmp_path: Path, servers: AlertServers) -> None:
    with delivering_here():
        expected = news(tmp_path / "before", servers).expected
        start = len(servers.came)

        def come() -> tuple[Came, ...]:
            return tuple(servers.came[start:])

        for name in ("alone", "place"):
            shutil.copytree(tmp_path / "before", tmp_path / name)
        settings = Settings(data_dir=tmp_path / "alone")
        counted = count_points(settings.data_dir, lambda: tell(settings, open_database(settings), NOON))
        whole = told(come())
        assert expected <= whole
        assert sum(kind.startswith("incident") for _, kind, _ in whole) == 1

        start, place = len(servers.came), Settings(data_dir=tmp_path / "place")
        database = open_database(place)
        crash = Enumeration(place.data_dir, tmp_path / "states", come)
        crash.run(lambda: tell(place, database, NOON))
        wrong = {}
        for state in crash.recovered(place.data_dir):
            start = len(servers.came)
            tell(place, database, NOON + HOUR)
            faults = [*mistold(whole, state, come()), *database.faults()]
            counts = database.run_read(count_messages)
            faults += [f"not all is sent: {counts}"] if counts["sent"] != sum(counts.values()) else []
            database.dispose()
            if faults:
                wrong[str(state)] = faults
    assert wrong == {}
    crash.check_complete(counted, least=200)


def mistold(
    whole: Counter[tuple[str, str, str]], state: State[tuple[Came, ...]], after: tuple[Came, ...]
) -> list[str]:
    """What a channel lacks, or got twice though there was no doubt that it had it."""
    found = told((*state.first, *after))
    doubtful = {one.uid for one in state.last[len(state.first) :]}
    again = {one.uid for one in state.last} & {one.uid for one in after}
    faults = [f"{found - whole} instead of {whole - found}"] if found != whole else []
    return (
        faults if again == doubtful and len(again) <= 1 else [*faults, f"{again} came again, not {doubtful}"]
    )
