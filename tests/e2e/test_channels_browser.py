"""From nothing to a message received by the browser alone: Telegram and e-mail, on servers of loopback.

With Telegram three taps: "tell me", "find the chat", the chat. Then what was asked for is told.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from alert_servers import BOT, HOST, AlertServers, alert_servers
from browser_pages import PATIENCE_MS, TELEPHONE, Window
from dashboards import Served, running_dashboard
from sale_sofia.alerts.rules import load_alerts

PASSWORD = "of-the-mailbox"  # noqa: S105 - of a server of this test
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def servers() -> Iterator[AlertServers]:
    with alert_servers() as running:
        running.mail_password = PASSWORD
        yield running


@pytest.fixture(scope="module")
def dashboard(data: Path, servers: AlertServers) -> Iterator[Served]:
    with running_dashboard(data, ALERT_TELEGRAM_URL=servers.telegram_url) as running:
        yield running


def test_from_nothing_to_messages(buyer: Window, servers: AlertServers, data: Path) -> None:
    page = buyer.page
    page.set_viewport_size(TELEPHONE)
    buyer.open("")
    buyer.press("Кажи ми")
    expect(buyer.main).to_contain_text("Добавете канал и ще се върнете, откъдето дойдохте.")
    page.get_by_label("Токен на бота").fill(BOT)
    servers.chats[77] = "Ана"  # who pressed Start, as the screen says
    buyer.press("Намери чата")
    expect(buyer.main).to_contain_text("Отворете @flat_teller_bot в Telegram")
    assert buyer.faults() == []
    page.set_viewport_size(TELEPHONE)
    buyer.press("Ана")
    expect(page.get_by_role("heading", level=1)).to_have_text("Днес")
    told = "Telegram Ана: пробното съобщение е прието, каналът е запазен. Ще ви казваме по: Telegram Ана"
    expect(page.locator("#snack")).to_contain_text(told)
    assert [(one.channel, one.uid) for one in servers.came] == [("telegram", "77")]
    buyer.press("Кажи ми")
    expect(page.locator("#snack")).to_contain_text("Вече ви казваме по: Telegram Ана")
    buyer.open("channels")
    page.get_by_label("Имейл адрес").fill("ana@example.com")
    page.get_by_label("Парола").fill(PASSWORD)
    page.locator("summary", has_text="Друг пощенски сървър").click()
    page.locator("#k-host").fill(HOST)
    page.locator("#k-port").fill(str(servers.mail_port))
    page.locator("#k-mode").select_option("insecure")
    buyer.press("Изпрати проба и запази")
    buyer.has("E-mail example.com")
    assert servers.came[-1].headers["To"] == "ana@example.com"
    assert BOT not in page.content()
    assert PASSWORD not in page.content()
    buyer.open("flat/1")
    buyer.press("Кажи ми")
    expect(page.locator("#snack")).to_contain_text("Ще ви казваме по: Telegram Ана, E-mail example.com")
    file = load_alerts(data)
    assert file is not None
    assert [(rule.profile, rule.flat, len(rule.channels)) for rule in file.buyer] == [
        ("default", None, 1),
        (None, 1, 2),
    ]
