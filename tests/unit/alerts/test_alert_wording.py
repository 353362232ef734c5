"""The words of messages: both languages whole, every number right, nothing from a portal obeyed."""

from datetime import datetime
from typing import Any, get_args

import pytest

from sale_sofia.advice.scoring.profile import BREAKERS
from sale_sofia.alerts.rules import BUYER_KINDS
from sale_sofia.alerts.store import Item
from sale_sofia.alerts.wording import safe_url, word_message, words_of
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.model import PropertyType
from sale_sofia.settings.words import LANGUAGES, Language, Said
from sale_sofia.telemetry.incidents import IncidentKind
from tables import each_row

FLAT: dict[str, Any] = {
    "property_type": "apartment",
    "rooms": 3,
    "area_sqm": 87.5,
    "floor": 4,
    "floors_total": 8,
    "neighbourhood": "Лозенец",
    "under_construction": None,
    "site": "imot.bg",
    "url": "https://www.imot.bg/obiava-1b2",
    "price_eur": 182_000.0,
    "eur_sqm": 2_496.0,
    "vat": "excluded",
    "points": 2.94,
    "score": 4.2,
    "known": 0.7,
    "unknown": ["act15", "elevator"],
    "portals": ["alo.bg", "imot.bg"],
}
INCIDENT = {
    "kind": "empty_job",
    "site": "imot.bg",
    "job_id": "j1",
    "opened_at": 1_794_640_000.0,
    "closed_at": None,
    "message": Said("job.empty").stored(),
}


def item(kind: str = "new", **fields: Any) -> Item:  # noqa: ANN401 - any fact
    return Item(f"{kind}|1", kind, ("Моят дом",), {**FLAT, **fields}, property_id=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_is_a_word_for_everything(language: Language) -> None:
    words = words_of(language)
    assert set(words["type"]) == set(get_args(PropertyType))
    assert (words["type"]["villa"], words["condition"]["metro"]) in {("вила", "метро"), ("villa", "metro")}
    assert words["type"]["other"] in {"имот", "property"}
    assert set(BREAKERS) <= set(words["condition"])
    assert (
        {*BUYER_KINDS, "viewing", "incident", "incident_end"} == set(words["kind"]) <= set(words["subject"])
    )
    kinds = {kind for kind in IncidentKind if not kind.startswith("drift_")} | {"drift"}
    assert kinds == set(words["incident"])


def test_a_new_flat() -> None:
    assert word_message([item()], "bg") == (
        "sale-sofia: Ново: тристаен, Лозенец, 87,5 m², € 182 000",
        (
            "Цена: € 182 000 без ДДС\n"
            "€ 2 496/m², 87,5 m², етаж 4 от 8, Лозенец\n"
            "Оценка: 2,9 от 5; 4,2 върху известното, което е 70%\n"
            "Неизвестно: акт 15, асансьор\n"
            "Портали: alo.bg, imot.bg\n"
            "https://www.imot.bg/obiava-1b2\n"
            "Защо: Моят дом"
        ),
    )


def test_a_cut() -> None:
    text = word_message([item("cut", old_eur=200_000.0, vat=None, points=None, unknown=[])], "en")
    assert text == (
        "sale-sofia: Cheaper: three-room, Лозенец, 87.5 m², € 182 000",
        (
            "Price: € 200 000 → € 182 000 (−9.0%)\n"
            "€ 2 496/m², 87.5 m², floor 4 of 8, Лозенец\n"
            "Portals: alo.bg, imot.bg\n"
            "https://www.imot.bg/obiava-1b2\n"
            "Why: Моят дом"
        ),
    )


def test_cheaper_elsewhere() -> None:
    text = word_message([item("cheaper", old_eur=200_000.0, other_site="bazar.bg", vat=None)], "bg")
    assert text.body.splitlines()[0] == "Цена: € 182 000 в imot.bg вместо € 200 000 в bazar.bg (−9,0%)"
    taxed = {"old_eur": 175_000.0, "other_vat": "excluded", "change": 182 / 210 - 1}
    text = word_message([item("cheaper", **taxed, other_site="bazar.bg", vat="included")], "en")
    assert text.body.splitlines()[0] == (
        "Price: € 182 000 with VAT on imot.bg instead of € 175 000 without VAT on bazar.bg (−13.3%)"
    )


def test_a_price_that_is_only_where_prices_begin() -> None:
    text = word_message([item(price_from=True)], "en")
    assert text.body.splitlines()[0] == "Price: from € 182 000 without VAT"


def test_what_is_not_known_is_left_out() -> None:
    nothing = dict.fromkeys(FLAT) | {"unknown": [], "portals": [], "site": "imot.bg", "url": "https://a.bg/1"}
    text = word_message([Item("new|1", "new", ("R",), nothing, property_id=1)], "bg")
    assert text == ("sale-sofia: Ново: имот", "Цена: ?\nhttps://a.bg/1\nЗащо: R")


def test_an_incident_with_its_beginning_and_its_end() -> None:
    begun = Item("incident|1", "incident", ("Ops",), INCIDENT, incident_id=1)
    over = Item(
        "incident_end|1", "incident_end", ("Ops",), {**INCIDENT, "closed_at": 1_794_641_800.0}, incident_id=1
    )
    assert word_message([begun], "bg") == (
        "sale-sofia: Проблем: обхождане без обяви – imot.bg",
        "порталът не показа нито една обява\nОт: 14.11.2026 09:06\nОбхождане: j1\nЗащо: Ops",
    )
    assert word_message([over], "bg") == (
        "sale-sofia: Край: обхождане без обяви – imot.bg",
        (
            "порталът не показа нито една обява\nОт: 14.11.2026 09:06\nДо: 14.11.2026 09:36 (30 мин)\n"
            "Обхождане: j1\nЗащо: Ops"
        ),
    )
    assert word_message([begun], "en").body.startswith("the portal showed no advert\nSince: ")
    drift = Item(
        "incident|2", "incident", ("Ops",), {**INCIDENT, "kind": "drift_price_per_sqm"}, incident_id=2
    )
    assert "страниците на портала са променени" in word_message([drift], "bg").subject


def test_a_message_of_many_things_groups_them_the_best_first() -> None:
    items = [item(points=float(number % 5), url=f"https://a.bg/{number}") for number in range(45)]
    text = word_message([*items, item("cut", old_eur=300_000.0)], "bg")
    assert text.subject == "sale-sofia: 46 новини: нови 45, по-евтини 1"
    assert text.body.count("Ново:") == 40
    assert "https://a.bg/4\n" in text.body
    assert text.body.endswith("И още 6; всички: sale-sofia alerts log")


def test_a_message_holds_as_many_flats_as_its_channel_takes() -> None:
    items = [item(points=float(number)) for number in range(5)]
    whole = word_message(items, "bg").body
    assert word_message(items, "bg", longest=len(whole)).body == whole
    cut = whole
    for shown in (4, 3, 2, 1):
        longest = len(cut) - 1
        cut = word_message(items, "bg", longest=longest).body
        assert len(cut) <= longest
        assert cut.startswith("== нови (5) ==\n\nНово:")
        assert cut.count("Ново:") == shown
        assert cut.endswith(f"И още {5 - shown}; всички: sale-sofia alerts log")


HOSTILE = (
    "Лозенец\r\nBcc: all@example.com\n\n<script>x</script> @everyone `rm` [a](http://x) \u202e\x00"
    + "я" * 500
)


@pytest.mark.parametrize("language", ["bg", "en"])
def test_nothing_from_a_portal_is_obeyed(language: Language) -> None:
    hostile = item(neighbourhood=HOSTILE, site=HOSTILE, portals=[HOSTILE], url=f"javascript:{HOSTILE}")
    told = Item(
        "incident|1", "incident", (HOSTILE,), {**INCIDENT, "message": HOSTILE, "site": HOSTILE}, incident_id=1
    )
    for text in (
        word_message([hostile], language),
        word_message([told], language),
        word_message([hostile, told], language),
    ):
        assert "\n" not in text.subject
        assert "\r" not in text.subject + text.body
        assert len(text.subject) <= 120
        assert max(map(len, text.body.splitlines())) <= 400
        assert not any(sign in text.subject + text.body for sign in "<>@`\x00\u202e")
        assert "javascript" not in text.body
        assert not any(line.startswith("Bcc:") for line in text.body.splitlines())


@each_row(
    ("url", "kept"),
    [
        ("https://www.imot.bg/obiava-1b2?x=1&y=%D1%8F", True),
        ("http://127.0.0.1:8080/a", True),
        ("javascript:alert(1)", False),
        ("https://good.bg@evil.example/", False),
        ("https://a.bg/\nBcc: x", False),
        ("https://a.bg/<b>", False),
        ("https:///x", False),
        ("https://a.bg/" + "x" * 500, False),
        ("", False),
    ],
)
def test_only_plain_addresses_of_the_web_are_told(url: str, *, kept: bool) -> None:
    assert (safe_url(url) == url) is kept


def test_a_viewing_is_told_with_what_one_needs_on_the_way() -> None:
    starts_at = datetime(2026, 11, 25, 17, 30, tzinfo=SOFIA).timestamp()
    more = {"starts_at": starts_at, "minutes": 30, "agent": "Иван\n@all", "phone": "0888", "place": None}
    text = word_message([item("viewing", **more, remarks=None)], "bg")
    assert text.subject == "sale-sofia: Оглед 25.11.2026 17:30: тристаен, Лозенец, 87,5 m², € 182 000"
    assert text.body.splitlines() == [
        "Оглед: 25.11.2026 17:30, 30 мин",
        "Агент: Иван ＠all",
        "Телефон: 0888",
        "€ 2 496/m², 87,5 m², етаж 4 от 8, Лозенец",
        "https://www.imot.bg/obiava-1b2",
    ]
