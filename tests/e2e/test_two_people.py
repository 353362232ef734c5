"""Two people in two real browsers, a phone and a desk: each is themselves, and sees the word of the other."""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

import web_pages
from app_runs import put_adverts
from browser_pages import DESK, TELEPHONE, person, tab

ADVERT = {"deal": "sale", "property_type": "apartment", "title": "Тристаен", "price_eur": 100_000.0}

MUCH = """(one) => {
  for (let n = 0; n < 200; n++) one.append(Object.assign(document.createElement("p"), { textContent: n }));
}"""


def test_a_phone_and_a_desk(browser: Browser, tmp_path: Path) -> None:
    put_adverts(tmp_path, ADVERT)
    with (
        web_pages.browser(tmp_path) as served,
        person(browser, **TELEPHONE) as phone,
        person(browser, **DESK) as desk,
        tab(phone, str(served.base_url).rstrip("/")) as ana,
        tab(desk, str(served.base_url).rstrip("/")) as boris,
    ):
        for name in ("Ана", "Борис"):
            ana.open("people")
            ana.page.locator("#p-name").fill(name)
            ana.press("Добави")
        ana.press("Връзка за вход: Борис")
        boris.page.goto(ana.page.locator("input[readonly]").input_value())
        boris.press("Влез")
        for opened in (ana, boris):
            opened.open("flat/1")
        ana.page.locator(".bar .keep").click()
        boris.page.locator(".bar .reject summary").click()
        boris.page.get_by_role("button", name="шумна улица").click()
        for opened in (ana, boris):
            expect(opened.page.locator("#snack")).to_contain_text("Отбелязано")
            opened.reload()
            expect(opened.page.locator(".summary")).to_contain_text("Ана ★ · Борис ✗ шумна улица")
        expect(ana.page.locator(".choices a[href='/people']")).to_have_text("Ана")
        expect(boris.page.locator(".choices a[href='/people']")).to_have_text("Борис")
        ana.press("Направи връзка")
        link = ana.page.locator("input[readonly]").input_value()
        assert ana.faults() == []
        boris.open("criteria")
        boris.has("1 от 1 отхвърлени: шумна улица")
        assert boris.faults() == []
        phone.clear_cookies()
        ana.page.goto(link)
        assert ana.title() == "Тристаен"
        ana.page.locator("main").evaluate(MUCH)
        printed = ana.page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) == 1, (
            "however much there is, it is one page"
        )
        ana.page.goto(f"{ana.url}/flat/1")
        assert ana.page.locator("#password").is_visible()
        for opened in (ana, boris):
            assert (opened.errors, opened.outside, opened.dialogs) == ([], [], [])
