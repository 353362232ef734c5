"""Links of messages, taken from the messages and used over HTTP: once, in time, by whom they are for."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from alert_servers import BOT, HOST, AlertServers, alert_servers
from app_runs import put_adverts, store
from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.delivery import Delivery
from sale_sofia.alerts.kept import ChannelFile, KeptChannel, kept_channels
from sale_sofia.alerts.links import addresses, link_key
from sale_sofia.alerts.outbox import Delivered, NewMessage, add_message, read_log
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.alerts.settings import LINK_PATH
from sale_sofia.alerts.store import Item, save_items
from sale_sofia.app.entrance import _describe_link
from sale_sofia.buyer.evaluations import evaluation_of
from sale_sofia.buyer.opinions import opinions_on
from sale_sofia.settings.model import Settings
from web_pages import Browser, browser, plain

ADVERT = {"deal": "sale", "property_type": "apartment", "title": "Тристаен {x}", "price_eur": 100_000.0}
PUBLIC = "https://flats.example.com"
LINK = re.compile(rf"{PUBLIC}(/do/\S+)")
WEEKS = 15 * 86_400.0
FACTS: dict[str, Any] = {
    "property_type": "apartment", "rooms": 3, "area_sqm": 80.0, "floor": 4, "floors_total": 8,
    "neighbourhood": "Лозенец", "under_construction": None, "site": "imot.bg", "url": "https://a.bg/1",
    "price_eur": 100_000.0, "eur_sqm": 1_250.0, "vat": None, "points": 3.1, "score": 4.0, "known": 0.8,
    "unknown": [], "portals": ["imot.bg"], "best": ["location", "price"], "photo": "https://a.bg/1.jpg",
    "metro": [4, 6], "centre": [12, 12], "old_eur": 110_000.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def servers() -> Iterator[AlertServers]:
    with alert_servers() as running:
        yield running


@pytest.fixture
def owner(tmp_path: Path, servers: AlertServers) -> Iterator[Browser]:
    put_adverts(tmp_path, ADVERT)
    with browser(tmp_path, alert_telegram_url=servers.telegram_url) as opened:
        yield opened


def add_mail(asks: Browser, servers: AlertServers) -> None:
    server = {"host": HOST, "port": str(servers.mail_port), "mode": "insecure"}
    asks.fill("/channels/mail", address="ana@example.com", password="", **server)
    servers.came.clear()


def deliver(
    folder: Path, servers: AlertServers, *, ago: float = 0.0, public: str | None = PUBLIC, news: int = 1
) -> Any:  # noqa: ANN401 - text, or None
    """A message of flat 1, through the one channel; what came, or why it did not; None: it was not tried."""
    settings = Settings(data_dir=folder, dashboard_url=public, alert_telegram_url=servers.telegram_url)
    file, database, now = load_alerts(folder), store(folder), time.time() - ago
    assert file is not None
    channels = channels_of(file, kept_channels(folder))

    def decide(connection: Any) -> None:  # noqa: ANN401 - a connection
        key = f"cut|{len(read_log(connection, limit=99))}"
        items = [Item(f"{key}|{one}", "cut", ("Моят",), FACTS, property_id=1) for one in range(news)]
        numbers = tuple(save_items(connection, items, now=now).values())
        add_message(connection, NewMessage(next(iter(channels)), "buyer", numbers, now), now=now)

    database.run_write(decide)
    done: Delivered = Delivery(settings, database, channels, clock=lambda: now).run()
    database.dispose()
    return servers.came[-1].body if done.sent else next(iter(done.errors.values()), None)


def links(body: str) -> tuple[str, str]:
    keep, reject = LINK.findall(body)
    return keep, reject


@contextmanager
def stranger(owner: Browser) -> Iterator[Browser]:
    """A browser that nobody knows, as the one of a chat."""
    with Browser(owner.base_url) as opened:
        yield opened


def enter(owner: Browser, boris: Browser) -> None:
    """Boris comes in by a link of his own."""
    shown = owner.post("/people/link", data={"name": "Борис"}).text
    boris.post(f"/enter/{shown.partition('/enter/')[2].partition('?')[0]}")


def press(asks: Browser, link: str) -> tuple[int, str]:
    answer = asks.post(link, headers={"origin": str(asks.base_url).rstrip("/")})
    return answer.status_code, plain(answer.text)


def said(folder: Path) -> list[tuple[str, str | None]]:
    database = store(folder)
    found = database.run_read(lambda connection: opinions_on(connection, [1])).get(1, ())
    database.dispose()
    return [(one.person, one.opinion) for one in found]


def test_a_message_says_all_that_one_decides_by(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    add_mail(owner, servers)
    lines = deliver(tmp_path, servers).splitlines()
    assert lines[:7] == [
        "Цена: € 110 000 → € 100 000 (−9,1%)",
        "€ 1 250/m², 80 m², етаж 4 от 8, Лозенец",
        "4–6 мин пеша до метро, 12 мин с транспорт до Сердика",
        "Оценка: 3,1 от 5; 4,0 върху известното, което е 80%",
        "Силни страни: Място, Цена на m²",
        "Портали: imot.bg",
        "https://a.bg/1",
    ]
    assert lines[7:10] == ["Снимка: https://a.bg/1.jpg", "Защо: Моят", f"Виж: {PUBLIC}/flat/1"]
    assert [line.partition(" https")[0] for line in lines[10:]] == ["★ Запази:", "✗ Отхвърли:"]
    assert PUBLIC not in deliver(tmp_path, servers, public=None), "no address, no links"


def test_a_message_that_is_too_long_for_telegram_says_how_many_it_leaves_out(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    servers.chats[77] = "Ана"
    owner.fill("/channels/telegram", token=BOT)
    owner.fill("/channels/chat", chat="77")
    body = deliver(tmp_path, servers, news=40)
    shown = body.count("https://a.bg/1\n")
    assert 5 < shown < 40
    assert body.endswith(f"И още {40 - shown}; всички: sale-sofia alerts log")


def test_in_telegram_they_are_buttons(owner: Browser, servers: AlertServers, tmp_path: Path) -> None:
    owner.fill("/people/add", name="Ана", language="bg")
    servers.chats[77] = "Ана"
    owner.fill("/channels/telegram", token=BOT)
    owner.fill("/channels/chat", chat="77")
    body, came = deliver(tmp_path, servers), servers.came[-1]
    assert (came.channel, came.uid, PUBLIC in body) == ("telegram", "77", False)
    assert body.endswith("Снимка: https://a.bg/1.jpg\nЗащо: Моят")
    assert list(came.headers) == ["picture", "Виж", "★ Запази", "✗ Отхвърли"]
    assert (came.headers["picture"], came.headers["Виж"]) == ("https://a.bg/1.jpg", f"{PUBLIC}/flat/1")
    with stranger(owner) as phone:
        for label, opinion in (("✗ Отхвърли", "rejected"), ("★ Запази", "liked")):
            assert press(phone, came.headers[label].removeprefix(PUBLIC))[0] == 200
            assert said(tmp_path) == [("Ана", opinion)]
    home = "http://localhost:8501"
    before = len(servers.came)
    told = deliver(tmp_path, servers, public=home)
    assert [line.partition(" http")[0] for line in told.splitlines() if home in line] == [
        "Виж:", "★ Запази:", "✗ Отхвърли:",
    ], "where Telegram takes no button they are lines"  # fmt: skip
    assert (list(servers.came[-1].headers), len(servers.came)) == (["picture"], before + 1), (
        "and it came once"
    )


def test_a_look_does_nothing_and_the_button_acts_once(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    owner.fill("/people/add", name="Ана", language="bg")
    add_mail(owner, servers)
    keep, reject = links(deliver(tmp_path, servers))
    with stranger(owner) as phone:
        for _ in range(2):
            assert "Тристаен {x} · € 100 000 ★ Запази имота" in plain(phone.get(keep).text)
        assert said(tmp_path) == []
        assert press(phone, keep) == (200, "Жилище в София Запазен е. Виж имота")
        assert said(tmp_path) == [("Ана", "liked")]
        used = (410, "Жилище в София Тази връзка вече е използвана.")
        assert press(phone, keep) == used
        assert (phone.get(keep).status_code, plain(phone.get(keep).text)) == used
        assert press(phone, reject)[0] == 200, "the other one is another link"
        assert said(tmp_path) == [("Ана", "rejected")]
        assert phone.get("/flat/1").status_code == 401, "it lets nobody in"
        foreign = phone.post(reject, headers={"origin": "https://evil.example"})
        assert foreign.status_code == 403


def test_forged_expired_and_foreign_links_are_refused(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    owner.fill("/people/add", name="Ана", language="en")
    add_mail(owner, servers)
    keep, reject = links(deliver(tmp_path, servers))
    over, _ = links(deliver(tmp_path, servers, ago=WEEKS))
    path, _, asked = keep.partition("?")
    words, _, signature = path.removeprefix("/do/").partition(".")
    other_words = reject.removeprefix("/do/").partition(".")[0]
    owner.fill("/people/add", name="Борис", language="en", role="buyer")
    with stranger(owner) as phone, stranger(owner) as boris:
        enter(owner, boris)
        refusals = {
            f"/do/{other_words}.{signature}?{asked}": "This link is not ours.",
            f"/do/{words}.{signature[::-1]}?{asked}": "This link is not ours.",
            f"/do/{words}?{asked}": "This link is not ours.",
            "/do/%00?lang=en": "This link is not ours.",
            over: "This link is over.",
        }
        for link, sentence in refusals.items():
            assert (phone.get(link).status_code, press(phone, link)) == (
                410,
                (410, f"A home in Sofia {sentence}"),
            )
        assert press(boris, keep) == (410, "A home in Sofia This link is another person's.")
        assert said(tmp_path) == []
        assert press(owner, keep)[0] == 200
        assert said(tmp_path) == [("Ана", "liked")]


def test_nothing_is_sent_to_or_done_for_who_is_removed(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    owner.fill("/people/add", name="Ана", language="en")
    owner.fill("/people/add", name="Борис", language="en", role="operator")
    with stranger(owner) as boris:
        enter(owner, boris)
        add_mail(boris, servers)
        keep, _ = links(deliver(tmp_path, servers))
        owner.fill("/people/remove", name="Борис")
        owner.fill("/people/add", name="Борис", language="en", role="buyer")
        assert press(boris, keep) == (410, "A home in Sofia This link is of somebody who is no longer here.")
    assert said(tmp_path) == []
    assert kept_channels(tmp_path) == {}
    left = KeptChannel(url=SecretStr("json://127.0.0.1:9/"), person="9-1.000")  # as in an old backup
    ChannelFile(tmp_path).keep("left", left, ())
    assert deliver(tmp_path, servers) == "whose channel it is, is no longer here; remove the channel"
    assert "of somebody who is no longer here" in owner.text("/channels?lang=en")


def test_who_rejected_a_flat_is_told_nothing_of_it(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    owner.fill("/people/add", name="Ана", language="en")
    owner.fill("/people/add", name="Борис", language="en", role="buyer")
    add_mail(owner, servers)
    with stranger(owner) as boris:
        enter(owner, boris)
        boris.fill("/flat/1/status", status="rejected")
        assert deliver(tmp_path, servers).startswith("Price:"), "it is not hers who rejected it"
        boris.fill("/flat/1/status", status="shortlist")
    owner.fill("/flat/1/status", status="rejected")
    assert deliver(tmp_path, servers) is None, "he likes it, she does not"
    owner.fill("/flat/1/status", status="new")
    assert deliver(tmp_path, servers).startswith("Price:")


def test_who_rejects_it_again_by_a_link_keeps_the_reason(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    owner.fill("/people/add", name="Ана", language="en")
    add_mail(owner, servers)
    _, reject = links(deliver(tmp_path, servers))
    owner.fill("/flat/1/status", status="rejected", reason="noise")
    with stranger(owner) as phone:
        assert press(phone, reject)[0] == 200
    (opinion,) = owner.data("/flat/1.json")["opinions"]
    assert (opinion["opinion"], opinion["reason"]) == ("rejected", "noise")


def test_the_one_buyer_keeps_by_a_link_until_there_are_people(
    owner: Browser, servers: AlertServers, tmp_path: Path
) -> None:
    add_mail(owner, servers)
    keep, reject = links(deliver(tmp_path, servers))
    owner.fill("/flat/1/status", status="viewing")
    with stranger(owner) as phone:
        assert press(phone, keep)[0] == 200
        database = store(tmp_path)
        assert database.run_read(lambda one: evaluation_of(one, 1)).status == "viewing", "nothing is undone"
        database.dispose()
        owner.fill("/people/add", name="Ана", language="bg")
        assert press(phone, reject)[1] == "Жилище в София Тази връзка е на човек, който вече не е тук."
    assert PUBLIC not in deliver(tmp_path, servers), "a channel that is nobody's own acts for nobody"


def test_a_link_names_a_flat_without_a_title(tmp_path: Path) -> None:
    put_adverts(tmp_path, {**ADVERT, "title": None})
    database, now = store(tmp_path), time.time()
    key = database.run_write(link_key)
    token = addresses("", key, "m", 1, None, now=now)["keep"].removeprefix(LINK_PATH)
    shown = database.run_read(lambda connection: _describe_link(connection, token, None, now))
    database.dispose()
    assert shown == ("keep", "№ 1 · €\N{NO-BREAK SPACE}100\N{NO-BREAK SPACE}000")
