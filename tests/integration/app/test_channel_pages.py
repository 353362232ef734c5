"""Channels set up over HTTP from nothing, on real servers of loopback; each failure is one clear sentence."""

import logging
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from alert_servers import BOT, HOST, AlertServers, alert_servers
from app_runs import put_adverts
from sale_sofia.alerts.rules import BUYER_KINDS, load_alerts
from web_pages import Browser, browser, form_fields, plain

ADVERT = {"deal": "sale", "property_type": "apartment", "title": "Тристаен", "price_eur": 100_000.0}
PASSWORD = "Word-Secret77"  # noqa: S105 - of a server of this test
SECONDS = 1.0


@pytest.fixture(scope="module")
def shared() -> Iterator[AlertServers]:
    with alert_servers() as running:
        yield running


@pytest.fixture
def servers(shared: AlertServers) -> AlertServers:
    """As on their first day."""
    shared.came.clear()
    shared.chats.clear()
    shared.blocked.clear()
    shared.mail_password, shared.mail_refusal, shared.answer_seconds = PASSWORD, None, 0.0
    return shared


@pytest.fixture
def owner(request: pytest.FixtureRequest, servers: AlertServers, tmp_path: Path) -> Iterator[Browser]:
    """Who waits long for all but those that never answer."""
    put_adverts(tmp_path, ADVERT)
    seconds = SECONDS if "[silent" in request.node.name else 60.0
    with browser(tmp_path, alert_telegram_url=servers.telegram_url, alert_send_seconds=seconds) as opened:
        yield opened


def mail(servers: AlertServers, **more: str) -> dict[str, str]:
    server = {"host": HOST, "port": str(servers.mail_port), "mode": "insecure"}
    return {"address": "ana@example.com", "password": PASSWORD, **server, **more}


def kept(folder: Path) -> dict[str, Any]:
    path = folder / "channels.yaml"
    if not path.exists():
        return {}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))["channels"]
    return found


def test_telegram_from_a_token_to_a_message(owner: Browser, servers: AlertServers, tmp_path: Path) -> None:
    assert "Няма канали." in owner.text("/channels")
    told = owner.fill("/channels/telegram", token=BOT)
    assert "Отворете @flat_teller_bot в Telegram и натиснете Start" in told
    servers.chats |= {77: "Ана", -100: "Двамата"}
    answer = owner.post("/channels/telegram", data={"token": "", "back": "/search"})
    assert BOT not in answer.text
    assert "Кой чат? Двамата Ана" in plain(answer.text)
    fields = form_fields(answer.text, 'form[action="/channels/chat"]')
    told = owner.fill("/channels/chat", **fields, chat="77")
    assert "Telegram Ана: пробното съобщение е прието, каналът е запазен." in told
    assert "Запазени търсения" in told, "back where one came from"
    assert [(one.uid, one.subject) for one in servers.came] == [("77", "sale-sofia: Проба")]
    assert kept(tmp_path) == {"Telegram Ана": {"url": f"tgram://{BOT}/77", "person": None}}
    assert BOT not in owner.html("/channels") + owner.html("/alerts") + owner.get("/channels.json").text
    assert "Telegram Ана · tgram://***" in owner.text("/channels")
    file = load_alerts(tmp_path)
    assert file is not None
    assert list(file.channels) == ["Telegram Ана"], "commands and workers have it too"


def test_mail_from_an_address_to_a_message(owner: Browser, servers: AlertServers, tmp_path: Path) -> None:
    assert "E-mail example.com: пробното" in owner.fill("/channels/mail", **mail(servers))
    (came,) = servers.came
    assert (came.channel, came.subject) == ("mail", "sale-sofia: Проба")
    assert (came.headers["From"], came.headers["To"]) == ("ana@example.com", "ana@example.com")
    assert "E-mail example.com 2: " in owner.fill("/channels/mail", **mail(servers))
    assert "E-mail example.com: Съобщението е прието." in owner.fill(
        "/channels/test", channel="E-mail example.com"
    )
    assert len(servers.came) == 3
    shown = owner.html("/channels")
    assert PASSWORD not in shown
    assert "ana@" not in shown
    owner.fill("/channels/remove", channel="E-mail example.com")
    assert list(kept(tmp_path)) == ["E-mail example.com 2"]


FAULTS: dict[str, tuple[str, dict[str, str], str, str]] = {
    "wrong token": (
        "telegram", {"token": BOT.replace("AAH", "AAX")},
        "Telegram не познава този токен; вземете го отново от @BotFather",
        "Telegram does not know this token; take it again from @BotFather",
    ),
    "no token": (
        "telegram", {"token": "what"},
        "това не е токен на бот; @BotFather го дава като 123456789:AbC…",
        "this is no token of a bot; @BotFather gives it as 123456789:AbC…",
    ),
    "blocked bot": (
        "chat", {"chat": "77"},
        "ботът е спрян в този чат; отворете чата и натиснете Start",
        "the bot is blocked in this chat; open the chat and press Start",
    ),
    "silent network": (
        "telegram", {"token": BOT}, "няма отговор за 1 секунди", "no answer within 1 seconds"
    ),
    "wrong password": (
        "mail", {"password": "another Secret99"},
        "пощенският сървър не прие името и паролата (535 5.7.8 Authentication credentials invalid); на някои пощи трябва парола за приложения",  # noqa: E501
        "the mail server did not take the name and the password (535 5.7.8 Authentication credentials invalid); some mailboxes want an app password",  # noqa: E501
    ),
    "refused mail": (
        "mail", {},
        "пощенският сървър отказа писмото: 550 5.1.1 no such reader",
        "the mail server says 550 5.1.1 no such reader",
    ),
    "silent mail": (
        "mail", {},
        "пощенският сървър не може да бъде достигнат: не отговори навреме",
        "the mail server cannot be reached: it did not answer in time",
    ),
    "no preset": (
        "mail", {"host": ""},
        "не знам кой сървър приема писмата на example.com; напишете го",
        "I do not know which server takes the mail of example.com; write it",
    ),
    "no address": ("mail", {"address": "ana"}, "'ana' не е имейл адрес", "'ana' is no e-mail address"),
    "no url": (
        "other", {"url": "Secret 55"},
        "не е адрес на Apprise; пише се като scheme://…, един адрес без интервали",
        "is no Apprise URL; write it as scheme://…, one URL without spaces",
    ),
    "no topic": (
        "ntfy", {"topic": "не така"},
        "темата е от букви на латиница, цифри, тирета и долни черти, до 64 знака",
        "a topic is made of Latin letters, digits, dashes and underscores, up to 64 of them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_each_failure_is_one_sentence_and_nothing_is_kept(
    fault: str, owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    form, changed, *sentences = FAULTS[fault]
    with socket.create_server((HOST, 0)) as nobody:  # takes the call and says nothing
        fields = {**(mail(servers) if form == "mail" else {}), **changed}
        match fault:
            case "blocked bot":
                servers.chats[77] = "Ана"
                servers.blocked.add(77)
                owner.fill("/channels/telegram", token=BOT)
            case "silent network":
                servers.answer_seconds = 2 * SECONDS
            case "refused mail":
                servers.mail_refusal = "550 5.1.1 no such reader"
            case "silent mail":
                fields["port"] = str(nobody.getsockname()[1])
        for language, sentence in zip(("bg", "en"), sentences, strict=True):
            owner.cookies.set("sale_sofia_language", language)
            answer = owner.post(f"/channels/{form}", data={**fields, "back": "/search"})
            assert f'alert">{sentence}</p>' in answer.text.replace("&#39;", "'")
            assert "Secret" not in answer.text
            assert 'name="back" value="/search"' in answer.text, "and the way back is not lost"
    assert (kept(tmp_path), servers.came) == ({}, [])


def test_what_is_typed_stands_for_nothing_of_this_machine(
    owner: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, servers: AlertServers
) -> None:
    monkeypatch.setenv("HOUSE_KEY", "Secret66")
    url = f"{servers.hook_url}?note=${{HOUSE_KEY}}"
    assert "json: пробното съобщение е прието" in owner.fill("/channels/other", url=url)
    assert "Secret66" not in str(servers.came)
    file = load_alerts(tmp_path)
    assert file is not None
    assert file.channels["json"].get_secret_value() == url


def test_no_secret_is_logged(owner: Browser, servers: AlertServers, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    servers.chats[77] = "Ана"
    owner.fill("/channels/telegram", token=BOT)
    owner.fill("/channels/chat", chat="77")
    owner.fill("/channels/mail", **mail(servers))
    owner.fill("/channels/mail", **(mail(servers) | {"password": "wrong Secret99"}))
    assert [one for one in (BOT, PASSWORD, "Secret99") if one in caplog.text] == []


def test_tell_me_leads_to_the_screen_and_back_and_is_one_tap_then(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    told = owner.fill("/search/tell", rooms=["3"], back="/search?rooms=3")
    assert "Изберете първо къде да ви казваме." in told
    assert "Добавете канал и ще се върнете, откъдето дойдохте." in told
    wanted = form_fields(owner.post("/flat/1/tell").text, 'form[action="/channels/mail"]')["then"]
    assert wanted.startswith('["\\u0418\\u043c\\u043e\\u0442 1", {"flat": 1, ')
    owner.fill("/channels/mail", **mail(servers), back="/search?rooms=3")
    for path in ("/search/tell", "/search/tell", "/flat/1/tell", "/today/tell?profile=default"):
        told = owner.fill(path, rooms=["3"], back="/search?rooms=3")
        assert "казваме по: E-mail example.com" in told
    rules = yaml.safe_load((tmp_path / "alerts.yaml").read_text("utf-8"))["buyer"]
    own = {"channels": ["E-mail example.com"]}
    assert rules == [
        {"name": "Стаи тристаен", "search": "Стаи тристаен", **own},
        {"name": "Имот 1", "flat": 1, "tell": list(BUYER_KINDS), "cut_percent": 0, **own},
        {"name": "default", "profile": "default", **own},
    ]
    assert "Имот 1 · ✓ да веднага, когато имот № 1 се появи, поевтинее" in owner.text("/alerts")
    told = owner.fill("/channels/remove", channel="E-mail example.com")
    assert yaml.safe_load((tmp_path / "alerts.yaml").read_text("utf-8"))["buyer"] == []


@pytest.mark.parametrize(
    ("then", "told_of"),
    [
        ('["x", {"enabled": false}]', []),
        ('["x"]', []),
        ("[" * 9_999, []),
        ('["x", {"search": "none"}]', []),
        ('["Имот 1", {"flat": 1}]', ["Имот 1"]),
    ],
    ids=["a key of another kind", "half", "deep", "no such search", "ours"],
)
def test_what_was_wanted_is_told_once_there_is_a_channel(
    then: str, told_of: list[str], owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    answer = owner.post("/channels/mail", data=mail(servers) | {"then": then, "password": "wrong"})
    assert form_fields(answer.text, 'form[action="/channels/ntfy"]')["then"] == then, "it is not forgotten"
    told = owner.fill("/channels/mail", **mail(servers), then=then)
    assert "E-mail example.com: пробното съобщение е прието" in told
    rules = yaml.safe_load((tmp_path / "alerts.yaml").read_text("utf-8")).get("buyer") or []
    assert [rule["name"] for rule in rules] == told_of
    assert ("казваме по: E-mail example.com" in told) == bool(told_of)


def test_each_sets_up_their_own_and_operators_servers_of_their_choice(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    owner.fill("/people/add", name="Ана", language="bg")
    owner.fill("/channels/mail", **mail(servers))
    owner.fill("/people/add", name="Борис", language="en", role="buyer")
    answer = owner.post("/people/link", data={"name": "Борис"})
    link = answer.text.partition('value="http')[2].partition('"')[0]
    with Browser(owner.base_url) as boris:
        boris.post(f"http{link}")
        mine = "Only whose channel it is may do this, or who operates."
        assert mine in boris.fill("/channels/mail", **mail(servers))
        assert mine in boris.fill("/channels/other", url=servers.hook_url)
        assert mine in boris.fill("/channels/ntfy", topic="flats", server="http://10.0.0.1")
        assert mine in boris.fill("/channels/remove", channel="E-mail example.com")
        assert mine in boris.fill("/channels/test", channel="E-mail example.com")
        servers.chats[88] = "Boris"
        boris.fill("/channels/telegram", token=BOT)
        assert "Telegram Boris · tgram://*** · mine" in boris.fill("/channels/chat", chat="88")
        boris.fill("/flat/1/tell", back="/flat/1")
        owner.fill("/flat/1/tell", back="/flat/1")
    rules = yaml.safe_load((tmp_path / "alerts.yaml").read_text("utf-8"))["buyer"]
    assert [rule["channels"] for rule in rules] == [["Telegram Boris", "E-mail example.com"]]
    owners = {name: one["person"].partition("-")[0] for name, one in kept(tmp_path).items()}
    assert owners == {"E-mail example.com": "1", "Telegram Boris": "2"}
