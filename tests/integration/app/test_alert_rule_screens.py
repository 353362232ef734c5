"""Rules of alerts on their page: added, changed, switched off and removed, as the command does it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from app_runs import open_screen, table, words

RULE = {"name": "Моят", "profile": "default", "channels": ["phone"], "cheaper_percent": 4}
FILE = {
    "channels": {"phone": "json://user:TopSecret77@127.0.0.1:9/x", "mail": "json://127.0.0.1:9/y"},
    "buyer": [RULE],
}
REMARK = "# mine, by hand\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "alerts.yaml"
    path.write_text(REMARK + yaml.safe_dump(FILE, allow_unicode=True, sort_keys=False), "utf-8")
    return path


def written(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    assert text.startswith(REMARK)
    values: dict[str, Any] = yaml.safe_load(text)
    assert values["channels"] == FILE["channels"]
    return values


def opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    screen = open_screen("alerts", path.parent, monkeypatch)
    assert "TopSecret77" not in words(screen)
    return screen


def field(screen: AppTest, kind: str, name: str) -> Any:  # noqa: ANN401 - a control of any kind
    return next(one for one in getattr(screen, kind) if str(one.key).endswith(f":{name}"))


def choose(screen: AppTest, name: str) -> None:
    screen.selectbox(key="rule").select(name).run()


def keep(screen: AppTest) -> None:
    next(button for button in screen.button if button.label == "Запази правилото").click().run()
    assert not screen.exception


def test_a_rule_is_changed_and_what_has_no_field_stays(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(rules, monkeypatch)
    field(screen, "multiselect", "tell").set_value(["new", "gone"])
    field(screen, "multiselect", "channels").set_value(["phone", "mail"])
    field(screen, "selectbox", "score").select("3,5")
    field(screen, "checkbox", "daily").check()
    keep(screen)
    assert "Правилата са записани." in words(screen)
    assert written(rules)["buyer"] == [
        {
            "name": "Моят", "profile": "default", "tell": ["new", "gone"], "min_score": 3.5,
            "cut_percent": 3, "unknown": True, "channels": ["phone", "mail"], "digest": "08:30",
            "cheaper_percent": 4,
        }
    ]  # fmt: skip
    (row,) = table(opened(rules, monkeypatch))
    assert (row["Действа"], row["Казва"], row["Канали"], row["Кога"]) == (
        "✓ да", "нови, свалени", "phone, mail", "веднъж дневно в 08:30",
    )  # fmt: skip


def test_a_rule_is_switched_off_and_on(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(rules, monkeypatch)
    screen.button(key="rule-switch").click().run()
    assert written(rules)["buyer"] == [RULE | {"enabled": False}]
    assert table(screen)[0]["Действа"] == "✗ спряно"
    assert screen.button(key="rule-switch").label == "Включи"
    field(screen, "text_input", "name").set_value("Друго име")
    keep(screen)
    assert written(rules)["buyer"][0]["enabled"] is False
    screen.button(key="rule-switch").click().run()
    assert "enabled" not in written(rules)["buyer"][0]


def test_rules_of_both_kinds_are_added(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(rules, monkeypatch)
    choose(screen, "＋ ново правило за имоти")
    field(screen, "text_input", "name").set_value("Следени")
    field(screen, "selectbox", "of").select("избраните")
    keep(screen)
    choose(screen, "＋ ново правило за инциденти")
    field(screen, "text_input", "name").set_value("Събиране")
    field(screen, "multiselect", "incidents").set_value(["collapse", "drift"])
    keep(screen)
    values = written(rules)
    assert values["buyer"][1] == {
        "name": "Следени", "shortlist": True, "tell": ["cut", "back", "gone", "cheaper"],
        "cut_percent": 3, "unknown": True, "channels": ["phone"],
    }  # fmt: skip
    assert values["operator"] == [
        {
            "name": "Събиране",
            "incidents": ["collapse", "drift"],
            "urgent": False,
            "ends": True,
            "channels": ["phone"],
        }
    ]
    assert [row["Правило"] for row in table(screen)] == ["Моят", "Следени", "Събиране"]


def test_a_rule_is_removed(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(rules, monkeypatch)
    assert "Правилото „Моят“ ще изчезне от файла." in words(screen)
    screen.button(key="rule-remove").click().run()
    assert written(rules)["buyer"] == []
    assert "Няма правила." in words(screen)


def test_what_cannot_be_is_said_and_nothing_is_written(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rules.read_bytes()
    screen = opened(rules, monkeypatch)
    field(screen, "multiselect", "channels").set_value([])
    keep(screen)
    assert "Канали\\: изберете поне 1" in screen.error[0].value
    assert rules.read_bytes() == before


def test_a_rule_that_somebody_else_changed_is_not_overwritten(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = opened(rules, monkeypatch)
    other = rules.read_text("utf-8").replace("cheaper_percent: 4", "cheaper_percent: 9")
    rules.write_text(other, "utf-8")
    screen.button(key="rule-remove").click().run()
    assert "правилото 'Моят' вече е друго" in screen.error[0].value
    assert rules.read_text("utf-8") == other


def test_a_file_to_begin_with_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = open_screen("alerts", tmp_path, monkeypatch)
    screen.button(key="alerts-begin").click().run()
    assert (tmp_path / "alerts.yaml").exists()
    assert "За да има правила, първо запишете канал във файла" in words(screen)
