"""A round of alerts: its failure is an incident, a silent channel too, and workers get it every minute."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from alert_servers import alert_servers
from alert_world import AlertWorld
from contract.storage.helpers import ready_database
from sale_sofia.alerts import tasks
from sale_sofia.alerts.after_crawl import alert_after_crawl
from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.delivery import Delivery
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.alerts.running import Alerts
from sale_sofia.celery_app import configuration
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents

NOW = 1_790_000_000.0
RULES = "{{channels: {{gone: 'json://127.0.0.1:{port}/'}}, operator: [{{name: Ops, channels: [gone]}}]}}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AlertWorld]:
    settings = Settings(data_dir=tmp_path, min_free_disk_mb=0)
    found = AlertWorld(settings, ready_database(tmp_path / "sale_sofia.db"), NOW)
    yield found
    found.database.dispose()


def kinds(world: AlertWorld) -> list[str]:
    with world.database.read() as connection:
        return [f"{one.kind} {one.site}" for one in open_incidents(connection)]


def rules(world: AlertWorld, text: str) -> None:
    (world.settings.data_dir / "alerts.yaml").write_text(text, "utf-8")


def test_a_failure_is_an_incident_and_ends_with_it(world: AlertWorld) -> None:
    rules(world, "{nonsense: 1}")
    assert not alert_after_crawl(world.settings, world.database, 1.0)
    assert kinds(world) == ["alerts_failed sale-sofia"]
    rules(world, "{}")
    assert alert_after_crawl(world.settings, world.database, 1.0)
    assert kinds(world) == []


def test_without_rules_incidents_are_found_all_the_same(world: AlertWorld) -> None:
    little = world.settings.model_copy(update={"min_free_disk_mb": 1_000_000})
    assert alert_after_crawl(little, world.database, 1.0, lambda: world.now)
    assert kinds(world) == ["disk_low sale-sofia"]


@pytest.mark.slow
def test_a_crawl_without_rules_loads_nothing_of_alerts(tmp_path: Path) -> None:
    program = """
import sys
from sale_sofia.alerts.after_crawl import alert_after_crawl
from sale_sofia.installation import open_database
from sale_sofia.settings.model import load_settings
from sale_sofia.storage.migrate import initialize_database

settings = load_settings()
database = open_database(settings)
initialize_database(database)
assert alert_after_crawl(settings, database, 1.0)
print(*sorted({"httpx"} & sys.modules.keys() | {name for name in sys.modules if ".alerts." in name}))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [
        f"sale_sofia.alerts.{name}" for name in ("after_crawl", "settings", "tables")
    ]


@pytest.mark.slow
def test_what_judges_flats_and_what_sends_is_not_imported_without_need() -> None:
    needless = {"sale_sofia.alerts.looking", "sale_sofia.alerts.delivery", "httpx"}
    program = f"import sys, sale_sofia.alerts.running; sys.exit(not {needless}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_channel_that_takes_nothing_for_long_is_an_incident(world: AlertWorld) -> None:
    with alert_servers() as servers:
        port = servers.hook_port
    rules(world, RULES.format(port=port))
    world.begins(IncidentKind.COLLAPSE, "imot.bg")

    def round_after(seconds: float) -> list[str]:
        """A round without its own process: the clock is ours."""
        world.now = NOW + seconds
        alerts = Alerts(world.settings, world.database, lambda: world.now)
        file = load_alerts(world.settings.data_dir)
        assert file is not None
        alerts.look(file)
        Delivery(world.settings, world.database, channels_of(file), None, lambda: world.now).run()
        alerts.run(0.0)
        return kinds(world)

    assert round_after(0) == ["collapse imot.bg"]
    assert round_after(7199) == ["collapse imot.bg"]
    assert round_after(7200) == ["collapse imot.bg", "channel_silent gone"]
    with alert_servers() as servers:
        rules(world, RULES.format(port=servers.hook_port).replace("/'", "/hook'"))
        assert round_after(20_000) == ["collapse imot.bg"]
        assert [one.subject for one in servers.came] == [
            "sale-sofia: Проблем: много по-малко обяви от обикновено – imot.bg",
            "sale-sofia: Проблем: канал не приема съобщения – gone",
        ]


def test_workers_get_a_round_every_minute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    entry = configuration()["beat_schedule"]["tell"]
    assert entry["schedule"] == 60.0
    assert f'name="{entry["task"]}"' in inspect.getsource(tasks)
    assert entry["options"] == {"expires": 60.0}
    assert configuration()["beat_schedule"]["follow"]["schedule"] < 60.0  # before them: what they tell of
