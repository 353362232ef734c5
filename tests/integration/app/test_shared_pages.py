"""A flat for who is not of the household, over HTTP: by a secret link, without what is said of it."""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from PIL import Image, ImageDraw
from selectolax.lexbor import LexborHTMLParser

from app_runs import put_adverts, store
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings
from web_pages import Browser, browser, form_fields, harm, plain

AGENCY, PRIVATE, HIDDEN = "+35929812345", "+359888123456", "+359878654321"
ADVERTS = (
    {
        "deal": "sale", "property_type": "apartment", "title": "Тристаен, 0888 12 34 56", "rooms": 3,
        "price_eur": 100_000.0, "area_sqm": 80.0, "seller_kind": "private", "seller_name": "Пешо Петров",
        "phones": [PRIVATE], "photo_urls": ["https://photos.example/1.jpg"],
        "description": "Светъл апартамент.\nЗвънете на 0888-123-456 или (0888) 12.34.56!",
    },
    {
        "deal": "sale", "property_type": "apartment", "title": "Двустаен", "price_eur": 90_000.0,
        "seller_kind": "agency", "seller_name": "Дом ООД", "phones": [AGENCY],
        "description": "Тихо. Тел. 0888123456, 029812345",
    },
    {"deal": "sale", "property_type": "apartment", "title": "Без вид продавач", "phones": [HIDDEN]},
)  # fmt: skip
LINK = re.compile(r'value="(http://[^"]+/shared/[^"]+)"')
PRIVATE_WORDS = ("my note", "my reason", "shortlist", "Ана", "Борис", "в кратката листа", "3 000", "Оценка")


@contextmanager
def stranger(known: Browser) -> Iterator[Browser]:
    with Browser(known.base_url, follow_redirects=False) as opened:
        yield opened


def shared(asks: Browser, number: int = 1, days: int = 7) -> str:
    """A link as the page shows it."""
    origin = {"origin": str(asks.base_url).rstrip("/")}
    answer = asks.post(f"/flat/{number}/share", data={"days": days}, headers=origin)
    found = LINK.search(answer.text)
    assert found, plain(answer.text)
    return found[1]


def test_the_link_shows_the_flat_and_nothing_that_is_said_of_it(ana: Browser) -> None:
    ana.fill("/flat/1/status", status="shortlist", reason="my reason")
    ana.fill("/flat/1/note", text="my note")
    ana.fill("/flat/1/decision", status="shortlist", was_status="shortlist", renovation="3000")
    link = shared(ana)
    with stranger(ana) as bank:
        answer = bank.get(link)
        assert answer.status_code == 200
        told = plain(answer.text)
        for part in (
            "€ 100 000",
            "80 m²",
            "Светъл апартамент.",
            "imot.bg",
            "private",
            "By the adverts as of",
        ):
            assert part in told, (part, told)
        assert 'src="https://photos.example/1.jpg"' in answer.text
        assert [word for word in PRIVATE_WORDS if word in answer.text] == []
        digits = re.sub(r"\D", "", told)
        assert ("888123456" in digits, "Петров" in told) == (False, False)
        assert bank.cookies == httpx.Cookies(), "nothing is kept in a stranger's browser"


def test_of_who_sells_for_a_living_the_phone_is_shown_and_of_who_does_not_say_none(ana: Browser) -> None:
    with stranger(ana) as bank:
        told = plain(bank.get(shared(ana, 2)).text)
        assert "agency Дом ООД · +35929812345" in told
        assert "Тел. 0888123456, 029812345" in told, "an agency's own words"
        assert HIDDEN not in bank.get(shared(ana, 3)).text


def test_an_agency_that_copied_the_owners_words_does_not_give_away_their_phone(
    ana: Browser, tmp_path: Path
) -> None:
    database = store(tmp_path)
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    database.dispose()
    ana.fill("/cross_site/answer", one="1", two="2", answer="same")
    with stranger(ana) as bank:
        told = plain(bank.get(shared(ana, 2)).text)
    assert "agency Дом ООД · +35929812345" in told
    assert "Тихо. Тел. …" in told
    assert "0888" not in told


def test_no_way_leads_from_it_into_the_pages(ana: Browser) -> None:
    link = shared(ana)
    with stranger(ana) as bank:
        answer = bank.get(link)
        leads = re.findall(r'(?:href|src|action)="([^"]*)"', answer.text)
        assert [one for one in leads if not one.startswith(("https://", "data:image/"))] == []
        assert harm(answer.text.replace("<style>", "<i>").replace("</style>", "</i>")) == []
        headers = answer.headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert "noindex" in headers["x-robots-tag"]
        assert "script" not in headers["content-security-policy"]
        for path in ("/", "/flat/1", "/people", "/static/app.js", "/drawing/00000000.svg", "/search.json"):
            assert bank.get(path).status_code == 401, path
        origin = {"origin": str(bank.base_url).rstrip("/")}
        for path in (link, "/shared_links/end", "/flat/1/share", "/flat/1/note"):
            assert bank.post(path, data={"link": 1}, headers=origin).status_code in {401, 405, 429}, path
        for more in ("/", "/x", ".json", "/..", "/%2e%2e/flat/1", "%2fflat%2f1", "?profile=default"):
            told = bank.get(link + more)
            assert told.status_code in {200, 401, 410}, more
            assert "my note" not in told.text
        assert bank.get(link).status_code == 200


def test_a_link_that_is_forged_over_or_taken_back_shows_nothing(ana: Browser, tmp_path: Path) -> None:
    link, other = shared(ana), shared(ana, 2)
    token = link.rpartition("/")[2].partition("?")[0]
    with stranger(ana) as bank:
        forged = (token[:-1], f"{token}A", token.swapcase(), "A" * 43, token[::-1])
        answers = [bank.get(f"/shared/{one}?lang=en") for one in forged]
        assert [one.status_code for one in answers] == [410] * 5
        assert "This link is over or was taken back." in answers[0].text
        with closing(sqlite3.connect(tmp_path / "sale_sofia.db")) as db:
            (digest,) = db.execute("SELECT digest FROM shared_links WHERE property_id = 1").fetchone()
            assert bank.get(f"/shared/{digest}").status_code == 410, "what is stored opens nothing"
            db.execute("UPDATE shared_links SET ends_at = ? WHERE property_id = 1", (time.time() - 1,))
            db.commit()
        assert (bank.get(link).status_code, bank.get(other).status_code) == (410, 200)
        listed = ana.html("/people")
        assert "Ана" in plain(listed)
        fields = form_fields(listed, "form[action='/shared_links/end']")
        ana.fill("/shared_links/end", **fields)
        assert bank.get(other).status_code == 410
        assert "/shared_links/end" not in ana.html("/people")


def test_the_links_of_a_flat_are_listed_with_who_made_them(ana: Browser) -> None:
    ana.fill("/people/add", name="Борис", language="en", role="buyer")
    shared(ana, days=30)
    assert re.search(r"Ана, \d\d\.\d\d\.\d{4} \d\d:\d\d; until \d\d\.", ana.text("/flat/1"))
    assert "/shared_links/end" not in ana.html("/flat/2")
    assert "/shared/" not in ana.html("/flat/1") + ana.html("/people"), "it is not shown again"
    for days in ("0", "366", "x", "-1", "99999999999999999999"):
        assert "a link lasts from 1 to 365 days" in ana.fill("/flat/1/share", days=days, back="/flat/1")


@pytest.mark.parametrize(
    ("form", "fields"),
    [("/flat/1/share", {"days": "7"}), ("/people/link", {"name": "Ана"}), ("/agenda/subscribe", {})],
)
def test_every_way_on_from_a_page_that_answers_a_form_leads_somewhere(
    ana: Browser, form: str, fields: dict[str, str]
) -> None:
    answer = ana.post(form, data=fields, headers={"origin": str(ana.base_url).rstrip("/")})
    tree = LexborHTMLParser(answer.text)
    ways = {node.attributes["href"] for node in tree.css("a.language")}
    ways |= {node.attributes["value"] for node in tree.css("input[name=back]")}
    ways |= {node.attributes["action"] for node in tree.css("form[method=get]")}
    assert len(ways) > 1
    assert {way: ana.get(way or "").status_code for way in ways} == dict.fromkeys(ways, 200)


def test_behind_the_password_of_the_house_a_link_opens_one_flat(tmp_path: Path) -> None:
    put_adverts(tmp_path, *ADVERTS)
    with browser(tmp_path, dashboard_password="the house") as owner:  # noqa: S106 - of this test alone
        owner.fill("/", password="the house")  # noqa: S106 - of this test alone
        link = shared(owner)
        with stranger(owner) as bank:
            assert "€ 100 000" in plain(bank.get(link).text)
            assert (bank.get("/flat/1").status_code, bank.get(f"{link}/x").status_code) == (401, 401)


def test_a_sheet_is_one_page_with_what_others_may_know(ana: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    ana.fill("/flat/1/note", text="my note")
    told: list[str] = []
    real = ImageDraw.ImageDraw.text

    def text(self: ImageDraw.ImageDraw, at: object, words: str, *more: object) -> None:
        told.append(words)
        real(self, at, words, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", text)
    pdf = ana.get("/flat/1/sheet.pdf")
    assert (pdf.status_code, pdf.headers["content-type"]) == (200, "application/pdf")
    assert (pdf.content[:5], pdf.content.count(b"/Type /Page\n")) == (b"%PDF-", 1)
    written = " ".join(told).replace("\N{NO-BREAK SPACE}", " ")
    for part in (
        "€ 100 000",
        "80 m²",
        "Светъл апартамент.",
        "imot.bg · private",
        "prices are asked, not agreed",
    ):
        assert part in written, (part, written)
    assert ("888" in re.sub(r"\D", "", written), "my note" in written, "Петров" in written) == (False,) * 3
    picture = Image.open(BytesIO(ana.get("/flat/1/sheet.png").content))
    assert picture.size == (1240, 1754)
    with stranger(ana) as bank:
        assert bank.get("/flat/1/sheet.pdf").status_code == 401
    assert ana.get("/flat/99/sheet.pdf").status_code == 404
