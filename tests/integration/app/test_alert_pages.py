"""Alerts: rules are added, changed, switched and removed as the command does it, and no secret is shown."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from selectolax.lexbor import LexborHTMLParser

from alert_servers import alert_servers
from app_runs import put_adverts, store
from sale_sofia.alerts.outbox import NewMessage, add_message, note_failed, note_sent, take
from sale_sofia.alerts.outbox import due_messages as due
from sale_sofia.alerts.store import Item, save_items
from sale_sofia.app.pages.alerts import stamp_of
from sale_sofia.buyer.searches import save_search
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said, dictionary
from web_pages import Browser, browser, form_fields, plain

RULE = {"name": "Моят", "profile": "default", "channels": ["phone"], "cheaper_percent": 4}
FILE: dict[str, Any] = {
    "channels": {"phone": "json://user:TopSecret77@127.0.0.1:9/token-Secret88", "mail": "json://127.0.0.1:9/y"},
    "quiet_hours": {"from": "22:30", "to": "08:00"},
    "buyer": [RULE],
}  # fmt: skip
REMARK = "# mine, by hand\n"
CONFLICT = dictionary()["conflict"]["bg"]
FACTS = (
    "property_type", "rooms", "area_sqm", "floor", "floors_total", "neighbourhood", "under_construction",
    "price_eur", "vat", "points", "score", "known",
)  # fmt: skip
KEPT = "Правилата са записани."


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "alerts.yaml"
    path.write_text(REMARK + yaml.safe_dump(FILE, allow_unicode=True, sort_keys=False), "utf-8")
    return path


@pytest.fixture
def owner(rules: Path) -> Iterator[Browser]:
    with browser(rules.parent) as opened:
        yield opened


def written(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    assert text.startswith(REMARK)
    values: dict[str, Any] = yaml.safe_load(text)
    assert values["channels"] == FILE["channels"]
    return values


def form(owner: Browser, address: str, action: str = "") -> dict[str, Any]:
    """What a browser would send of the first form of this action; of a rule's own by default."""
    html = owner.html(address)
    assert "Secret" not in html
    chosen = f'form[action="{action}"]' if action else 'form:has([name="kind"])'
    return form_fields(html, f"main {chosen}")


def test_a_rule_is_changed_and_what_has_no_field_stays(rules: Path, owner: Browser) -> None:
    sent = form(owner, "/alerts?rule=Моят")
    assert sent | {"stamp": ""} == {
        "kind": "buyer", "stamp": "", "name": "Моят", "of": "profile:default",
        "tell": ["new", "cut", "back", "gone", "cheaper"], "min_score": "", "cut_percent": "3",
        "unknown": ["true"], "channels": ["phone"], "digest": "08:30",
    }  # fmt: skip
    changed = {
        "tell": ["new", "gone"], "channels": ["phone", "mail"], "min_score": "3.5", "cut_percent": "2,5",
        "daily": "true", "digest": "9:05",
    }  # fmt: skip
    told = owner.fill("/alerts", **(sent | changed))
    assert KEPT in told
    assert written(rules)["buyer"] == [
        {
            "name": "Моят", "profile": "default", "tell": ["new", "gone"], "min_score": 3.5,
            "cut_percent": 2.5, "unknown": True, "channels": ["phone", "mail"], "digest": "09:05",
            "cheaper_percent": 4,
        }
    ]  # fmt: skip
    assert (
        "Моят · ✓ да веднъж дневно в 09:05, когато имот, който минава „default“, с поне 3,5 точки "
        "се появи или изчезне, не между 22:30 и 8, по phone, mail"
    ) in told
    again = form(owner, "/alerts?rule=Моят")
    assert (again["min_score"], again["cut_percent"], again["digest"]) == ("3.5", "2,5", "09:05")


def test_a_rule_is_switched_off_and_on_and_a_change_leaves_it_so(rules: Path, owner: Browser) -> None:
    assert "Моят · ✗ спряно" in owner.fill("/alerts/switch", **form(owner, "/alerts", "/alerts/switch"))
    assert written(rules)["buyer"] == [RULE | {"enabled": False}]
    owner.fill("/alerts", **(form(owner, "/alerts?rule=Моят") | {"name": "Друго име"}))
    assert written(rules)["buyer"][0]["name"] == "Друго име"
    assert written(rules)["buyer"][0]["enabled"] is False
    assert "Друго име · ✓ да" in owner.fill("/alerts/switch", **form(owner, "/alerts", "/alerts/switch"))
    assert "enabled" not in written(rules)["buyer"][0]


def test_rules_of_both_kinds_are_added(rules: Path, owner: Browser) -> None:
    owner.fill("/alerts", **(form(owner, "/alerts?new=buyer") | {"name": "Следени", "of": "shortlist"}))
    own = {"name": "Събиране", "incidents": ["collapse", "drift"]}
    told = owner.fill("/alerts", **(form(owner, "/alerts?new=operator") | own))
    values = written(rules)
    assert values["buyer"] == [
        RULE,
        {
            "name": "Следени", "shortlist": True, "tell": ["cut", "back", "gone", "cheaper"],
            "cut_percent": 3, "unknown": True, "channels": ["phone"],
        },
    ]  # fmt: skip
    assert values["operator"] == [
        {
            "name": "Събиране", "incidents": ["collapse", "drift"], "urgent": False, "ends": True,
            "channels": ["phone"],
        }
    ]  # fmt: skip
    assert "Следени · ✓ да веднага, когато имот, който следите, поевтинее с 3 %, се върне" in told
    troubles = "много по-малко обяви от обикновено, страниците на портала са променени"
    assert f"Събиране · ✓ да веднага, при: {troubles}, не между 22:30 и 8, по phone" in told
    data = owner.data("/alerts.json")
    assert data["rules"] == {kind: values[kind] for kind in ("buyer", "operator")}
    assert data["channels"][0] == {
        "name": "phone",
        "service": "json",
        "rules": ["Моят", "Следени", "Събиране"],
    }


def test_a_rule_can_be_of_a_saved_search(rules: Path, owner: Browser) -> None:
    database = store(rules.parent)
    with database.write() as connection:
        save_search(connection, "Близо", {"rooms": [3]}, now=time.time(), replace=False)
    sent = form(owner, "/alerts?new=buyer") | {"name": "Т", "of": "search:Близо", "min_score": "4"}
    owner.fill("/alerts", **sent)
    assert written(rules)["buyer"][1]["search"] == "Близо"
    assert "min_score" not in written(rules)["buyer"][1]
    assert form(owner, "/alerts?rule=Т")["of"] == "search:Близо"
    database.dispose()


def test_what_a_rule_would_have_told_is_counted_and_named(tmp_path: Path) -> None:
    own = {"deal": "sale", "property_type": "apartment", "rooms": 3, "city": "София"}
    put_adverts(tmp_path, own | {"price_eur": 100_000.0}, own | {"price_eur": 120_000.0, "rooms": 2})
    database = store(tmp_path)
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    with database.write() as connection:
        save_search(connection, "Тристайни", {"rooms": [3]}, now=time.time())
    database.dispose()
    rule = {"name": "Т", "search": "Тристайни", "channels": ["phone"]}
    file = yaml.safe_dump({**FILE, "buyer": [rule, RULE]}, allow_unicode=True)
    (tmp_path / "alerts.yaml").write_text(file, "utf-8")
    with browser(tmp_path) as owner:
        assert "щеше да каже:" not in owner.text("/alerts")
        told = owner.text("/alerts?preview=Т")
        assert "За последните 14 дни щеше да каже: 1 Ново: тристаен, € 100 000" in told
        assert 'href="/flat/1"' in owner.html("/alerts?preview=Т")


def test_a_rule_is_removed_after_a_question_that_needs_no_script(rules: Path, owner: Browser) -> None:
    question = LexborHTMLParser(owner.html("/alerts")).css("details:has(form)")[0]
    assert "open" not in question.attributes
    assert "Правилото „Моят“ ще изчезне от файла." in plain(question.html or "")
    assert "Няма правила." in owner.fill("/alerts/remove", **form(owner, "/alerts", "/alerts/remove"))
    assert written(rules)["buyer"] == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"channels": []}, "Канали: изберете поне 1"),
        ({"name": ""}, "Име: не може да е празно"),
        ({"cut_percent": "много"}, "Поевтинял с поне, %: трябва да е число"),
        ({"of": "profile:gone"}, "gone"),
        ({"of": "none"}, "изберете за какво е правилото"),
        ({"daily": "true", "digest": "25:00"}, "'25:00' не е час"),
    ],
)
def test_what_cannot_be_is_told_beside_the_fields_and_nothing_is_written(
    changed: dict[str, Any], sentence: str, rules: Path, owner: Browser
) -> None:
    before = rules.read_bytes()
    sent = form(owner, "/alerts?rule=Моят") | {"name": "Ново име"} | changed
    page = owner.post("/alerts?rule=Моят", data=sent)
    assert page.status_code == 400
    shown = LexborHTMLParser(page.text).css('main form:has([name="kind"])')[0]
    assert sentence in plain(shown.css('[role="alert"]')[0].html or "")
    assert (shown.css('[name="name"]')[0].attributes["value"] or "") == sent["name"]
    assert rules.read_bytes() == before


def test_a_rule_that_somebody_else_changed_is_not_overwritten(rules: Path, owner: Browser) -> None:
    sent = form(owner, "/alerts?rule=Моят") | {"name": "Мое"}
    buttons = {action: form(owner, "/alerts", action) for action in ("/alerts/switch", "/alerts/remove")}
    other = rules.read_text("utf-8").replace("cheaper_percent: 4", "cheaper_percent: 9")
    rules.write_text(other, "utf-8")
    assert CONFLICT in owner.fill("/alerts", **sent)
    for action, fields in buttons.items():
        assert CONFLICT in owner.fill(action, **fields), action
    assert rules.read_text("utf-8") == other
    owner.fill("/alerts", **(form(owner, "/alerts?rule=Моят") | {"name": "Мое"}))
    assert (written(rules)["buyer"][0]["name"], written(rules)["buyer"][0]["cheaper_percent"]) == ("Мое", 9)


def test_a_file_to_begin_with_is_made_once(tmp_path: Path) -> None:
    with browser(tmp_path) as owner:
        assert "Още няма правила. Започнете тук" in owner.text("/alerts")
        assert owner.data("/alerts.json") == {"error": None, "channels": [], "rules": {}, "log": []}
        told = owner.fill("/alerts/begin")
        assert "За да има правила, първо добавете канал." in told
        before = (tmp_path / "alerts.yaml").read_bytes()
        assert "вече има такъв файл" in owner.fill("/alerts/begin")
    assert (tmp_path / "alerts.yaml").read_bytes() == before


def test_a_file_that_cannot_be_used_is_told_and_left(rules: Path, owner: Browser) -> None:
    sent = form(owner, "/alerts?rule=Моят")
    rules.write_text("channels: 7\n", "utf-8")
    assert "Канали" in owner.text("/alerts")
    assert owner.data("/alerts.json")["error"]
    assert owner.post("/alerts?rule=Моят", data=sent).status_code == 400
    assert rules.read_text("utf-8") == "channels: 7\n"


def test_a_test_message_is_sent_and_the_answer_told(tmp_path: Path) -> None:
    with alert_servers() as servers, browser(tmp_path) as owner:
        file = {"channels": {"hook": servers.hook_url, "nobody": FILE["channels"]["phone"]}}
        (tmp_path / "alerts.yaml").write_text(yaml.safe_dump(file), "utf-8")
        assert "hook: Съобщението е прието." in owner.fill("/alerts/test", channel="hook")
        assert [one.channel for one in servers.came] == ["hook"]
        answer = owner.post("/alerts/test", data={"channel": "nobody"})
        refused = LexborHTMLParser(answer.text).css('[role="alert"]')[0].text()
        assert refused.startswith("nobody: ")
        assert "Secret" not in answer.text
        assert CONFLICT in owner.fill("/alerts/test", channel="gone")
        assert len(servers.came) == 1


def test_channels_and_quiet_hours_are_shown_without_any_secret(owner: Browser) -> None:
    told, html, data = owner.text("/alerts"), owner.html("/alerts"), owner.get("/alerts.json").text
    assert "phone · json://*** · Моят" in told
    assert "mail · json://*** · никое правило" in told
    assert "Тихи часове: 22:30–08:00" in told
    assert "Secret" not in html + data


def test_the_log_says_what_was_sent_and_why(rules: Path, owner: Browser) -> None:
    assert "Още нищо не е изпращано." in owner.text("/alerts")
    now, database = 1_794_900_000.0, store(rules.parent)

    def fill(connection: Any) -> None:  # noqa: ANN401 - a connection
        known = {"unknown": [], "portals": [], "site": "imot.bg", "url": "https://a.bg/1"}
        facts = dict.fromkeys(FACTS) | known
        item = Item("new|1", "new", ("Събиране", "Моят"), facts, property_id=1)
        (number,) = save_items(connection, [item], now=now).values()
        for channel in ("phone", "mail"):
            add_message(connection, NewMessage(channel, "operator", (number,), now), now=now)
        sent, failed = due(connection, now=now, without=[])
        tokens = [take(connection, one, now=now, lease_until=now + 60) or "" for one in (sent, failed)]
        note_sent(connection, sent.id, tokens[0], now=now + 60)
        note_failed(connection, failed.id, tokens[1], error=Said("channel.refused"), not_before=now + 3600)

    database.run_write(fill)
    database.dispose()
    waiting, sent = owner.data("/alerts.json")["log"]
    assert (sent["state"], sent["at"], sent["channel"]) == ("sent", now + 60, "phone")
    assert sent["rules"] == ["Моят", "Събиране"]
    assert (waiting["state"], waiting["at"], waiting["attempts"]) == ("waiting", now + 3600, 1)
    assert waiting["message"] == "sale-sofia: Ново: имот"
    assert waiting["error"] == Said("channel.refused").in_words("bg")
    rows = LexborHTMLParser(owner.html("/alerts")).css("tbody tr")
    cells = [[plain(cell.html or "") for cell in row.css("th, td")] for row in rows]
    assert cells == [
        ["17.11.2026 10:20", "… чака", "mail", "Моят, Събиране", waiting["message"], "1", waiting["error"]],
        ["17.11.2026 09:21", "✓ изпратено", "phone", "Моят, Събиране", sent["message"], "1", ""],
    ]


def test_a_search_that_a_rule_names_is_not_forgotten(owner: Browser, rules: Path) -> None:
    """Without it the file could not be used: no rule would tell anything any more."""
    owner.cookies.set("sale_sofia_language", "en")
    owner.fill("/search/save", name="Наше", rooms="3", back="/search")
    owner.fill("/search/tell", rooms="3", back="/search")
    assert [rule["name"] for rule in written(rules)["buyer"]] == ["Моят", "Наше"]
    told = owner.fill("/search/forget", name="Наше", back="/search")
    assert "rules alert on the search 'Наше': Наше; remove them first" in told
    owner.fill("/alerts/remove", stamp=stamp_of(written(rules)["buyer"][1]))
    owner.fill("/search/forget", name="Наше", back="/search")
    told = owner.fill("/search/forget", name="Наше", back="/search")
    assert "Somebody else changed this meanwhile" in told, "two may press it at once"
