"""Rules are edited in their file: whole or not at all, nobody's change lost, remarks and secrets kept."""

import stat
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app_runs import store
from sale_sofia.alerts.editing import RuleChanged, RuleFile
from sale_sofia.alerts.kept import ChannelFile, KeptChannel
from sale_sofia.alerts.outbox import NewMessage, add_message, due_messages
from sale_sofia.alerts.rules import AlertsError, load_alerts
from sale_sofia.alerts.running import Alerts
from sale_sofia.alerts.store import Item, save_items
from sale_sofia.buyer.evaluations import By
from sale_sofia.buyer.opinions import dismiss, welcome
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident

HEAD = 'channels: {mail: "json://${MAIL_TOKEN}@127.0.0.1:9"}   # a secret of the environment\n'
RULE: dict[str, Any] = {"name": "Мое", "profile": "default", "channels": ["mail"]}


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuleFile:
    monkeypatch.setenv("MAIL_TOKEN", "TopSecret77")
    file = RuleFile(Settings(data_dir=tmp_path), store(tmp_path))
    file.begin()
    file.path.write_text(file.path.read_text("utf-8").replace("channels: {}\n", HEAD), "utf-8")
    return file


def names(rules: RuleFile) -> list[str]:
    file = load_alerts(rules.settings.data_dir)
    assert file is not None
    return [rule.name for rule in file.rules]


def test_a_rule_is_added_changed_switched_and_removed_and_the_rest_stays(rules: RuleFile) -> None:
    before = rules.path.read_text("utf-8")
    rules.add("buyer", RULE)
    assert rules.written() == {"buyer": [RULE], "operator": []}
    rules.change(RULE, RULE | {"tell": ["cut"], "digest": "08:30"})
    assert rules.find_rule("Мое") == RULE | {"tell": ["cut"], "digest": "08:30"}
    rules.switch("Мое", enabled=False)
    assert rules.find_rule("Мое")["enabled"] is False
    rules.switch("Мое", enabled=True)
    assert "enabled" not in rules.find_rule("Мое")
    assert "${MAIL_TOKEN}" in rules.path.read_text("utf-8")
    assert "TopSecret77" not in rules.path.read_text("utf-8")
    rules.remove(rules.find_rule("Мое"))
    assert rules.path.read_text("utf-8") == before
    assert stat.S_IMODE(rules.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (RULE | {"channels": ["phone"]}, "no channel phone"),
        (RULE | {"profile": "nobody"}, "no profile 'nobody'"),
        ({"name": "x", "search": "never", "channels": ["mail"]}, "no saved search 'never'"),
        (RULE | {"tell": []}, "tell"),
        (RULE | {"name": "a/b"}, "is no name"),
        (RULE | {"digest": "25:00"}, "is no time of day"),
        (RULE | {"shortlist": True}, "say one of"),
    ],
)
def test_what_cannot_be_is_a_sentence_and_nothing_is_written(
    rules: RuleFile, rule: dict[str, Any], sentence: str
) -> None:
    rules.add("buyer", RULE | {"name": "Първо"})
    before = rules.path.read_bytes()
    with pytest.raises(AlertsError, match=sentence) as wrong:
        rules.add("buyer", rule)
    assert "TopSecret77" not in str(wrong.value)
    with pytest.raises(AlertsError, match=sentence):
        rules.change(rules.find_rule("Първо"), rule)
    assert rules.path.read_bytes() == before


def test_the_channels_of_a_removed_person_leave_the_rules_too(rules: RuleFile) -> None:
    database, folder = rules.database, rules.settings.data_dir
    by, kept = By("Ана", 1.0), ChannelFile(folder)
    with database.write() as connection:
        ana, boris = (welcome(connection, name, "bg", "operator", now=1.0) for name in ("Ана", "Борис"))
    for person in (ana, boris):
        channel = KeptChannel(url=SecretStr("json://127.0.0.1:9/"), person=person.stamp)
        kept.keep(person.name, channel, ())
    kept.keep_bot(boris.stamp, "1:secret")
    rules.add("buyer", RULE | {"channels": ["Борис", "Ана"]})
    rules.add("buyer", RULE | {"name": "Негово", "channels": ["Борис"]})
    with database.write() as connection:
        items = tuple(save_items(connection, [Item("new|1|R", "new", ("R",), {})], now=1.0).values())
        add_message(connection, NewMessage("Борис", "buyer", items, 5.0), now=1.0)
        dismiss(connection, boris, by)
    rules.forget_person(boris)
    assert rules.written()["buyer"] == [RULE | {"channels": ["Ана"]}]
    assert (list(kept.read().channels), kept.bot_of(boris.stamp)) == (["Ана"], None)
    assert database.run_read(partial(due_messages, now=9.0, without=())) == []
    with database.write() as connection:
        dismiss(connection, ana, by)
    rules.forget_person(ana)
    assert kept.read().channels["Ана"].person is None, "the single buyer goes on"
    assert rules.written()["buyer"] == [RULE | {"channels": ["Ана"]}]


def test_a_removed_channel_leaves_rules_and_outbox_unless_the_file_has_its_name(rules: RuleFile) -> None:
    database, kept = rules.database, ChannelFile(rules.settings.data_dir)
    own = "mail"
    for name in (own, "Мой"):
        kept.keep(name, KeptChannel(url=SecretStr("json://127.0.0.1:9/")), ())
    before = rules.written()["buyer"]
    rules.add("buyer", RULE | {"name": "Мое", "channels": ["Мой"]})
    rules.add("buyer", RULE | {"name": "Тяхно", "channels": [own]})
    with database.write() as connection:
        items = tuple(save_items(connection, [Item("new|1|R", "new", ("R",), {})], now=1.0).values())
        for name in (own, "Мой"):
            add_message(connection, NewMessage(name, "buyer", items, 5.0), now=1.0)
    for name in (own, "Мой"):
        rules.drop_channel(name)
    assert rules.written()["buyer"] == [*before, RULE | {"name": "Тяхно", "channels": [own]}]
    assert [due.channel for due in database.run_read(partial(due_messages, now=9.0, without=()))] == [own]


def test_two_rules_of_one_name_are_refused(rules: RuleFile) -> None:
    rules.add("buyer", RULE)
    with pytest.raises(AlertsError, match="two rules are called Мое"):
        rules.add("operator", {"name": "Мое", "channels": ["mail"]})


def test_who_looked_at_an_old_rule_changes_nothing(rules: RuleFile) -> None:
    rules.add("buyer", RULE)
    seen = rules.find_rule("Мое")
    rules.switch("Мое", enabled=False)
    before = rules.path.read_bytes()
    with pytest.raises(RuleChanged, match="no longer what it was"):
        rules.change(seen, RULE | {"tell": ["gone"]})
    with pytest.raises(RuleChanged):
        rules.remove(seen)
    assert rules.path.read_bytes() == before


def test_many_who_add_at_once_lose_no_rule(rules: RuleFile) -> None:
    def add(number: int) -> None:
        rules.add("buyer", RULE | {"name": f"Правило {number}"})

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names(rules)) == [f"Правило {number}" for number in range(8)]


def test_a_rule_that_is_off_tells_nothing(rules: RuleFile) -> None:
    rules.add("operator", {"name": "Crawls", "channels": ["mail"], "enabled": False})
    with rules.database.write() as connection:
        open_incident(connection, Trouble(IncidentKind.COLLAPSE, "imot.bg", Said.of("few")), now=900.0)
    assert names(rules) == ["Crawls"]
    assert _told(rules) == 0
    rules.switch("Crawls", enabled=True)
    assert _told(rules) == 1
    assert _told(rules) == 0


def _told(rules: RuleFile) -> int:
    file = load_alerts(rules.settings.data_dir)
    assert file is not None
    return Alerts(rules.settings, rules.database, clock=lambda: 1000.0).look(file).items


def test_there_is_one_file_to_begin_with(rules: RuleFile) -> None:
    before = rules.path.read_bytes()
    with pytest.raises(AlertsError, match="is there already"):
        rules.begin()
    assert rules.path.read_bytes() == before


def test_a_rule_that_is_not_there_is_named_with_those_that_are(rules: RuleFile) -> None:
    rules.add("buyer", RULE)
    with pytest.raises(AlertsError, match="no rule 'Твое'; there are: Мое"):
        rules.switch("Твое", enabled=True)
