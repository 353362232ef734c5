"""imoti.net and imoti.com: what the captured adverts do not show, in markup and JSON of their shape."""

import json
from typing import Any

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import Answer, read_page
from sale_sofia.websites.registry import get_scraper
from tables import each_row

NET = "https://www.imoti.net/bg/obiava/{}/sofia/lozenec/{}/6000001"
COM = "https://www.imoti.com/obiava/85000001/prodava-2-staen-grad-sofiya-lozenets"


def net(
    price: str = "", rows: str = "", *, deal: str = "prodava", kind: str = "dvustaen", more: str = ""
) -> Answer:
    url = NET.format(deal, kind)
    header = "".join(
        f'<div class="big-price"> <strong>{amount}</strong> </div>' for amount in price.split("|") if amount
    )
    body = (
        f'<section id="js-ad-container"><h1>Продава</h1><span class="location">София, Лозенец</span>{more}'
        "</section>"
        f'<aside class="info-sidebar"><header class="blue-header">{header}</header>'
        f'<div class="simple-table"><table>{rows}</table></div></aside>'
    )
    page = f'<html><head><link rel="canonical" href="{url}"></head><body>имот {body}</body></html>'
    return read_page(get_scraper("imoti.net"), Page(f"{url}/", page.encode()))


def row(label: str, value: str) -> str:
    return f"<tr> <td>{label}</td> <td>{value}</td> </tr>"


@each_row(
    ("printed", "eur", "bgn", "vat"),
    [
        ("126 600 €|247 608 BGN", 126600, 247608, None),
        ("126 600 €", 126600, None, None),
        ("126 600 EUR", 126600, None, None),
        ("500 €|978 BGN", 500, 978, None),
        ("126 600 € без ДДС", 126600, None, "excluded"),
        ("Цена при запитване", None, None, None),
        ("", None, None, None),
    ],
)
def test_prices_of_imoti_net(printed: str, eur: float | None, bgn: float | None, vat: str | None) -> None:
    answer = net(printed)
    assert (answer["price_eur"], answer["price_bgn"], answer["vat"], answer["flags"]) == (eur, bgn, vat, [])


@each_row(
    ("words", "vat"),
    [("", None), (" без ДДС", "excluded"), (" с ДДС", "included"), (" с вкл. ДДС", "included")],
)
def test_vat_of_imoti_net_on_a_card_and_on_the_page(words: str, vat: str | None) -> None:
    card = (
        '<html><body><ul class="list-view real-estates"><li class="clearfix"><a class="box-link" '
        f'href="{NET.format("prodava", "dvustaen")}/"></a><strong class="price">126 600 €{words}</strong>'
        "</li></ul>имоти</body></html>"
    )
    found = get_scraper("imoti.net").search(Page("https://www.imoti.net/bg/obiavi/r/prodava/", card.encode()))
    assert found.cards[0].facts.get("price_eur") == 126_600
    assert found.cards[0].facts.get("vat") == net(f"126 600 €{words}")["vat"] == vat


@each_row(
    ("printed", "floor", "storeys"),
    [("2 от 5", 2, 5), ("0 от 5", 0, 5), (" от 6", None, 6), ("7 от 5", None, None), ("", None, None)],
)
def test_floors_of_imoti_net(printed: str, floor: int | None, storeys: int | None) -> None:
    answer = net("1 €", row("Етаж :", printed))
    assert (answer["floor"], answer["floors_total"]) == (floor, storeys)


@each_row(
    ("deal", "act", "status", "building"),
    [
        ("prodava", "Да", "act16", False),
        ("prodava", "Не", None, None),
        ("prodava--v-stroej", "Не", None, True),
        ("dava-pod-naem", "Да", "act16", False),
    ],
)
def test_acts_and_deals_of_imoti_net(deal: str, act: str, status: str | None, building: bool | None) -> None:  # noqa: FBT001
    answer = net("1 €", row("Акт 16:", act), deal=deal)
    assert (answer["act_status"], answer["under_construction"]) == (status, building)
    assert answer["deal"] == ("rent" if deal == "dava-pod-naem" else "sale")


def test_the_area_of_the_table_where_the_heading_has_none() -> None:
    label = "Квадратура /м<sup>2</sup>/:"
    assert net(rows=row(label, "63"))["area_sqm"] == 63
    heading = '<h2 itemprop="name">Парцел, 1 200 м<sup>2</sup></h2>'
    plot = net(rows=row(label, "1200"), kind="parcel", more=heading)
    assert (plot["area_sqm"], plot["property_type"]) == (1200, "plot")
    assert net(rows=row("Цена на м<sup>2</sup>/EUR/:", "2 010"))["area_sqm"] is None


def test_a_type_that_only_the_heading_knows() -> None:
    answer = net("1 €", kind="neshto-drugo", more='<h2 itemprop="name">Пентхаус, 120 м<sup>2</sup></h2>')
    assert (answer["property_type"], answer["area_sqm"]) == ("apartment", 120)


def test_a_date_of_json_ld_is_the_posting() -> None:
    thing = {
        "@context": "x",
        "@graph": [{"@type": ["WebPage", "RealEstateListing"], "datePosted": "2026-08-01T10:00"}],
    }
    script = f'<script type="application/ld+json">{json.dumps(thing)}</script>'
    assert net("1 €", more=script)["posted_at"] == "2026-08-01T10:00:00+03:00"
    day = script.replace("T10:00", "")
    assert net("1 €", more=day)["posted_at"] is None


@pytest.mark.parametrize(
    ("printed", "total"), [("/999+ имота/", None), ("/348 имота/", 348), ("/1 имот/", 1)]
)
def test_what_ends_with_a_plus_is_no_total(printed: str, total: int | None) -> None:
    card = '<a class="box-link" href="/bg/obiava/prodava/sofia/lozenec/dvustaen/6000001/"></a>'
    body = (
        f'<span id="number-of-estates">{printed}</span>'
        f'<ul class="list-view real-estates"><li class="clearfix">{card}</li></ul>'
    )
    url = "https://www.imoti.net/bg/obiavi/r/prodava/sofia/"
    found = read_page(get_scraper("imoti.net"), Page(url, f"<html><body>{body}</body></html>".encode()))
    assert (len(found["cards"]), found["total"]) == (1, total)


# imoti.com

ADVERT: dict[str, Any] = {
    "pntxt": "Продава ", "pubtypetxt": "2-стаен", "nraion": "град София", "craion": "Лозенец",
    "price": "99 999", "currency": "€", "price_type": "", "price2": "195 581,04", "currency2": "лв.",
    "area": 51, "area_type": "кв.м", "et": "3-ти", "etmax": "", "tec": "-", "tel": "-",
    "mraion": "42.710195,23.311738,0",
    "similar": [{"price": " 1 €", "area": "1 кв.м", "pubtype": "Парцел", "views": 1}],
}  # fmt: skip
ABSENT = object()


def com(url: str = COM, **changed: Any) -> Answer:  # noqa: ANN401
    advert = {key: value for key, value in (ADVERT | changed).items() if value is not ABSENT}
    return com_page({"advert": advert, "url": COM.removeprefix("https://www.imoti.com")}, url)


def com_page(data: dict[str, Any], url: str = COM) -> Answer:
    state = {
        "1": {"b": {"data": {"nraion": []}}},
        "3127198432": {"b": {"data": data, "status": "success"}, "s": 200},
        "http_GET_x_": {"body": {"data": data, "status": "success"}},
    }
    script = f'<script id="ng-state" type="application/json">{json.dumps(state, ensure_ascii=False)}</script>'
    return read_page(get_scraper("imoti.com"), Page(url, f"<html><body>имот{script}</body></html>".encode()))


@pytest.mark.parametrize("missing", ["3127198432", "http_GET_x_"])
def test_one_copy_of_the_advert_is_enough(missing: str) -> None:
    both = {"3127198432": "b", "http_GET_x_": "body"}
    (key, inner) = next((key, inner) for key, inner in both.items() if key != missing)
    state = {key: {inner: {"data": {"advert": ADVERT, "url": "/obiava/85000001/x"}}}}
    script = f'<script id="ng-state" type="application/json">{json.dumps(state, ensure_ascii=False)}</script>'
    page = Page(COM, f"<html><body>имот{script}</body></html>".encode())
    answer = read_page(get_scraper("imoti.com"), page)
    assert (answer["price_eur"], answer["area_sqm"], answer["floor"], answer["lat"]) == (99999, 51, 3, None)


@each_row(
    ("changed", "eur", "flags"),
    [
        ({}, 99999, []),
        ({"price2": ABSENT, "currency2": ABSENT}, 99999, []),
        ({"price_type": "на месец"}, 99999, []),
        ({"price_type": "на кв.м"}, None, ["price_unreadable"]),
        ({"price": "при запитване"}, None, []),
        ({"price": "", "price2": ""}, None, []),
        ({"price": ABSENT}, None, []),
        ({"price2": "300 000"}, None, ["currency_conflict"]),
    ],
)
def test_prices_of_imoti_com(changed: dict[str, Any], eur: float | None, flags: list[str]) -> None:
    answer = com(**changed)
    assert (answer["price_eur"], answer["flags"]) == (eur, flags)


@each_row(
    ("kind", "area", "sqm"),
    [
        ("2-стаен", 51, 51),
        ("2-стаен", "51", 51),
        ("2-стаен", "51 кв.м", 51),
        ("2-стаен", "51.5", 51.5),
        ("2-стаен", "9.769", None),
        ("Парцел", "5632", 5632),
        ("Земеделска земя", "9.769", 9769),
        ("Земеделска земя", 9.769, 9769),
        ("Земеделска земя", "9.769 кв. м", 9769),
        ("Земеделска земя", 4333, 4333),
        ("Земеделска земя", "4333 кв. м", 4333),
        ("Земеделска земя", 12, None),
    ],
)
def test_areas_of_imoti_com(kind: str, area: object, sqm: float | None) -> None:
    assert com(pubtypetxt=kind, area=area)["area_sqm"] == sqm


@pytest.mark.parametrize(("area", "sqm"), [("9.769 кв. м", 9769), ("4333 кв. м", 4333), ("12 кв. м", None)])
def test_farmland_on_a_card(area: str, sqm: float | None) -> None:
    card = {"url": "/obiava/85000001/x", "pubtype": "Земеделска земя", "area": area}
    state = {"http_GET_x_": {"body": {"data": {"adverts": [card], "advfind": 1, "lastpage": 1}}}}
    script = f'<script id="ng-state" type="application/json">{json.dumps(state, ensure_ascii=False)}</script>'
    page = Page(
        "https://www.imoti.com/prodazhbi/grad-sofiya", f"<html><body>имот{script}</body></html>".encode()
    )
    assert read_page(get_scraper("imoti.com"), page)["cards"][0].get("area_sqm") == sqm


@each_row(
    ("kind", "changed", "floor", "storeys"),
    [
        ("2-стаен", {"et": "3-ти", "etmax": "8"}, 3, 8),
        ("2-стаен", {"et": "Партер", "etmax": 8}, 0, 8),
        ("2-стаен", {"et": "", "etmax": "8"}, None, 8),
        ("2-стаен", {"et": "9-ти", "etmax": "8"}, None, None),
        ("Къща", {"et": "2", "etmax": ""}, None, 2),
    ],
)
def test_floors_of_imoti_com(
    kind: str, changed: dict[str, Any], floor: int | None, storeys: int | None
) -> None:
    answer = com(pubtypetxt=kind, **changed)
    assert (answer["floor"], answer["floors_total"]) == (floor, storeys)


def test_the_key_of_the_telephone_is_gas() -> None:
    assert com(tec="ДА", tel="ДА")["heating"] == ["district", "gas"]
    assert com(tec="Лок.отопл.", tel="НЕ")["heating"] == ["local"]
    assert com()["heating"] == []


def test_a_page_that_gives_only_its_id_is_no_advert() -> None:
    for data in ({"url": "/obiava/85000001/x"}, {"url": "/obiava/85000001/x", "title": "Продава 2-стаен"}):
        assert com_page(data)["error"]["type"] == "layout_changed"
    answer = com_page({"url": "/obiava/85000001/x", "advert": {"h1": "Продава", "ida": "1b176790617543967"}})
    assert answer["error"]["message"] == "of the advert nothing is found but its id and its title"


def test_a_gallery_before_it_runs_and_plans_beside_it() -> None:
    slides = "".join(f'<div><img src="/web/{name}.jpg"></div>' for name in ("a", "b", "a"))
    popup = '<div data-popup="{}"><img src="/web/loading.png"><div class="gallery-slider-pics">{}</div></div>'
    plan = popup.format("sketch", '<div class="owl-item"><img src="/web/plan.jpg"></div>')
    photos = ["https://www.imoti.net/web/a.jpg", "https://www.imoti.net/web/b.jpg"]
    assert net("1 €", more=popup.format("gallery", slides) + plan)["photo_urls"] == photos
    assert net("1 €", more=plan)["photo_urls"] == []
