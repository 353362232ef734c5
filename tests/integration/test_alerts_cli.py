"""Alerts as a person uses them: the commands, bad input, secrets, and a sender that dies."""

import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from alert_runs import send_rest, settled, start_run, wait_for
from alert_servers import PATIENCE, AlertServers, alert_servers
from alert_world import DAY, AlertWorld
from contract.storage.helpers import ready_database
from crawls import FAST, crawl_arguments, run
from forked_simulators import start_forked
from process_sizes import children
from sale_sofia.alerts.looking import Looking
from sale_sofia.alerts.outbox import SENDING, count_messages, read_log
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.alerts.tables import alert_messages
from sale_sofia.cli.console import out
from sale_sofia.cli.main import main
from sale_sofia.settings.model import Settings
from sale_sofia_simulator.simulation import SimulatorConfig

SECRET = "gEh31m-9917"  # noqa: S105 - planted to be looked for


@pytest.fixture
def servers() -> Iterator[AlertServers]:
    with alert_servers() as both:
        yield both


@pytest.fixture
def world(tmp_path: Path, servers: AlertServers) -> Iterator[AlertWorld]:
    """Rules that have begun, and three flats that are new to them."""
    now = time.time() - DAY
    world = AlertWorld(Settings(data_dir=tmp_path), ready_database(tmp_path / "sale_sofia.db"), now)
    world.begin(servers, flats=2)
    path = tmp_path / "alerts.yaml"
    path.write_text(no_quiet_hours(path.read_text("utf-8")), "utf-8")
    world.match()
    yield world
    world.database.dispose()


def no_quiet_hours(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("quiet_hours"))


def news(world: AlertWorld) -> None:
    """The rules learn what there is; then three flats are new."""
    look(world)
    world.now = time.time()
    for number in range(3):
        world.seen(f"n{number}", 101 + number)
    world.match()


def look(world: AlertWorld) -> None:
    file = load_alerts(world.settings.data_dir)
    assert file is not None
    Looking(world.settings, world.database, file, lambda: world.now).look()


@dataclass(frozen=True, slots=True)
class Told:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


class Alerts:
    """`sale-sofia alerts …` in this process; what it starts is real."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        monkeypatch.setenv("DATA_DIR", str(folder))
        monkeypatch.setattr(out, "_width", 200)  # it may have been made for a narrow screen long since

    def __call__(self, *arguments: str) -> Told:
        self._monkeypatch.setattr(sys, "argv", ["sale-sofia", "alerts", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        said = self._capsys.readouterr()
        return Told(int(end.value.code or 0), said.out, said.err)


@pytest.fixture
def alerts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Alerts:
    return Alerts(tmp_path, monkeypatch, capsys)


def test_the_commands_and_that_no_secret_is_shown_or_kept(
    world: AlertWorld, servers: AlertServers, alerts: Alerts, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = world.settings.data_dir
    hook = f"json://{SECRET}:{SECRET}@127.0.0.1:{servers.hook_port}/hook?+X-Token={SECRET}"
    monkeypatch.setenv("HOOK_URL", hook)
    text = (folder / "alerts.yaml").read_text("utf-8")
    (folder / "alerts.yaml").write_text(text.replace(servers.hook_url, "${HOOK_URL}"), "utf-8")
    news(world)
    servers.down()
    failed = alerts("run", "--json")
    assert failed.code == 1, failed
    counts = failed.json
    assert (counts["flats"], counts["items"], counts["messages"]) == (3, 3, 6)
    assert (counts["sent"], counts["failed"], counts["waiting"]) == (0, 2, 6)
    assert "A Connection error occurred sending JSON notification to 127.0.0.1" in counts["errors"]["hook"]
    assert "the mail server cannot be reached" in counts["errors"]["mail"]
    tested = alerts("test", "hook")
    assert tested.code == 1
    assert tested.out.startswith("hook: A Connection error occurred")
    servers.up()
    taken = {"taken": True, "error": None}
    assert alerts("test", "--json").json == {"channels": {"mail": taken, "hook": taken}}
    assert [one.subject for one in servers.came] == ["sale-sofia: Проба"] * 2
    log = alerts("log", "--limit", "3", "--json").json["messages"]
    assert [(one["channel"], one["state"]) for one in log] == [("hook", "waiting")] * 3
    assert [one["attempts"] for one in log] == [0, 0, 1]
    outputs = [alerts(name, *more) for name in ("log", "rules", "channels") for more in ((), ("--json",))]
    assert [one.code for one in outputs] == [0] * 6
    assert "json://***" in outputs[4].out
    assert "Лозенец до 200" in outputs[2].out
    everything = "".join(one.out + one.err for one in [*outputs, tested, failed]) + json.dumps(log)
    assert SECRET not in everything
    assert "notification to 127.0.0.1" in everything
    world.database.dispose()
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert SECRET.encode() not in held
    assert str(servers.hook_port).encode() not in b"".join(_outbox(folder)), "channels are only named there"


def _outbox(folder: Path) -> Iterator[bytes]:
    with sqlite3.connect(folder / "sale_sofia.db") as connection:
        for row in connection.execute("SELECT uid, channel, state, token FROM alert_messages"):
            yield repr(row).encode()


BAD = {
    "{channels: {x: 'json://a/'}, bayer: []}": "unknown key bayer",
    "{channels: {x: 'exec://rm'}}": "no service exec:// here",
    "{channels: {x: 'mailto://nobody'}}": "alerts.yaml: channels.x: not a usable Apprise URL",
    "{channels: {m: 'json://a/'}, buyer: [{name: A, channels: [m], profile: x}]}": "no profile 'x'; there",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_rules_are_one_sentence(tmp_path: Path, alerts: Alerts, text: str) -> None:
    (tmp_path / "alerts.yaml").write_text(text, "utf-8")
    told = alerts("run")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("sale-sofia: ")
    assert BAD[text] in told.err
    assert len(told.err.strip().splitlines()) == 1


def test_a_rule_is_added_switched_and_removed(tmp_path: Path, alerts: Alerts) -> None:
    path = tmp_path / "alerts.yaml"
    path.write_text("# mine\nchannels: {hook: 'json://127.0.0.1/'}\nbuyer: []\n", "utf-8")
    before = path.read_text("utf-8")
    assert alerts("add", "Flats", "--channel", "hook", "--profile", "default", "--digest", "08:30").code == 0
    assert alerts("add", "Followed", "--channel", "hook").code == 0
    assert alerts("off", "Flats").code == 0
    assert rules(alerts) == [
        ("Flats", "default", False, "08:30:00", False),
        ("Followed", None, True, None, True),
    ]
    assert alerts("on", "Flats").code == 0
    assert alerts("remove", "Followed").code == 0
    assert rules(alerts) == [("Flats", "default", False, "08:30:00", True)]
    assert path.read_text("utf-8").startswith("# mine\n"), "remarks stay"
    for wrong in (("on", "None"), ("remove", "None"), ("add", "Flats", "--channel", "hook"),
                  ("add", "X", "--channel", "fax")):  # fmt: skip
        written = path.read_text("utf-8")
        told = alerts(*wrong)
        assert (told.code, told.out, len(told.err.strip().splitlines())) == (2, "", 1), told
        assert path.read_text("utf-8") == written
    assert alerts("remove", "Flats").code == 0
    assert path.read_text("utf-8") == before


def rules(alerts: Alerts) -> list[tuple[Any, ...]]:
    keys = ("name", "profile", "shortlist", "digest", "enabled")
    return [tuple(rule[key] for key in keys) for rule in alerts("rules", "--json").json["buyer"]]


def test_a_file_to_begin_with(tmp_path: Path, alerts: Alerts) -> None:
    told = alerts("rules")
    assert (told.code, "`sale-sofia alerts init` writes one" in told.err) == (2, True)
    assert alerts("init").code == 0
    path = tmp_path / "alerts.yaml"
    assert path.stat().st_mode & 0o777 == 0o600
    assert alerts("run", "--json").json["messages"] == 0
    path.write_text(path.read_text("utf-8") + "\n# mine\n", "utf-8")
    assert alerts("init").code == 2
    assert path.read_text("utf-8").endswith("# mine\n")
    told = alerts("test", "phone")
    assert (told.code, "no channel 'phone'; there are: none" in told.err) == (2, True)


def test_a_sender_that_dies_with_a_message_in_hand(world: AlertWorld, servers: AlertServers) -> None:
    """Nobody can know whether it arrived: it is sent again under its id, and the log says so."""
    folder = world.settings.data_dir
    news(world)
    servers.answer_seconds = 60.0  # the channel has the message, and has not said so
    with start_run(folder, ALERT_SEND_SECONDS="120") as starter:
        wait_for(lambda: bool(servers.came))
        (sender,) = children(starter.pid)
        os.kill(sender, signal.SIGKILL)
        starter.communicate(timeout=PATIENCE)
    assert starter.returncode == 2, "sending failed, and it says so"
    servers.answer_seconds = 0.0
    end_leases(world)
    send_rest(folder, world.database)
    assert sorted(servers.counted().values()) == [1, 1, 1, 1, 1, 2]
    with world.database.read() as connection:
        broken = {one.uid for one in read_log(connection, limit=100) if one.breaks}
    assert broken == {uid for uid, times in servers.counted().items() if times > 1}


def end_leases(world: AlertWorld) -> None:
    """Time passes: the message in the dead sender's hand is free again."""
    with world.database.write() as connection:
        ended = alert_messages.update().where(alert_messages.c.state == SENDING).values(lease_until=0.0)
        assert connection.execute(ended).rowcount == 1


def test_a_killed_starter_leaves_nothing_half_done(world: AlertWorld, servers: AlertServers) -> None:
    news(world)
    servers.answer_seconds = 1.0
    with start_run(world.settings.data_dir) as starter:
        wait_for(lambda: bool(servers.came))
        starter.kill()
        starter.communicate(timeout=PATIENCE)
    servers.answer_seconds = 0.0
    wait_for(partial(settled, world.database))
    # What was in hand when the kill came was sent and noted.
    assert world.database.run_read(count_messages)["sent"] == len(servers.came)
    send_rest(world.settings.data_dir, world.database)
    assert list(servers.counted().values()) == [1] * 6


def test_a_crawl_tells_what_it_found(tmp_path: Path, servers: AlertServers) -> None:
    (tmp_path / "alerts.yaml").write_text(
        f"channels: {{hook: '{servers.hook_url}'}}\noperator: [{{name: Ops, channels: [hook]}}]\n", "utf-8"
    )
    more = {**FAST, "MIN_FREE_DISK_MB": "1000000"}
    with start_forked(SimulatorConfig(properties=5, seed=3, port=0)) as simulator:
        told = run(tmp_path, *crawl_arguments(simulator, "imot.bg"), **more)
    assert told.returncode == 0, told.stderr
    assert [one.subject for one in servers.came] == ["sale-sofia: Проблем: малко място на диска – sale-sofia"]
