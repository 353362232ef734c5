"""Market and same flat elsewhere: their numbers are those of the commands; of which part is always said."""

import re
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import delete, insert, select

from app_runs import put_adverts, store
from sale_sofia.advice.market.market import Cell, Market, read_market
from sale_sofia.app import formatting as fmt
from sale_sofia.flats import overrides
from sale_sofia.flats.prices import cheaper_elsewhere
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import listing_sources, match_links
from sale_sofia.flats.views import review_queue
from sale_sofia.history.tables import listings
from sale_sofia.settings.model import Settings
from web_pages import browser, harm, spaced

KNOWN = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "title": "Тристаен", "price_eur": 200_000.0,
    "vat": "included", "area_sqm": 100.0, "floor": 3, "floors_total": 8, "construction": "brick",
    "year_built": 2015, "city": "София", "neighbourhood": "Лозенец", "seller_name": "Агенция",
}  # fmt: skip
DISTRICT = "Младост"
NEIGHBOURS = ("Младост 1", "Младост 2", "Младост 3")
"""All in one district."""
TOO_FEW = "{asked}: цената на m² се знае за {found}, а за медиана трябват поне 3. Показаното е за {shown}."


def test_nothing_at_all_is_said_to_be_nothing(tmp_path: Path) -> None:
    with browser(tmp_path) as buyer:
        assert "Няма имоти, от които да се смята." in buyer.text("/market")
        assert "Още няма нито една обява." in buyer.text("/cross_site?view=review")
        assert buyer.data("/market.json")["cells"] == []
        assert buyer.data("/cross_site.json") == {"cheaper": [], "review": []}


def test_market_figures_are_those_of_the_command(demo_world: Path) -> None:
    settings = Settings(data_dir=demo_world, market_least_flats=3)
    with browser(demo_world, market_least_flats=3) as buyer:
        html = buyer.html("/market")
        data = buyer.data("/market.json")
    now = datetime.now(UTC).timestamp()
    market = read_market(store(demo_world), settings, now=now)
    whole = [(cell, found) for cell, found in market.cells.items() if cell.rooms is None]
    assert len(whole) > 3
    assert [row[0:1] + row[2:6] for row in _rows(html, "by-place")] == [
        [
            cell.neighbourhood or "цяла София",
            spaced(fmt.euro_per_sqm(found.eur_sqm.median if found.eur_sqm else None)),
            spaced(f"{fmt.euro(found.eur_sqm.low)} – {fmt.euro(found.eur_sqm.high)}")
            if found.eur_sqm
            else "?",
            str(found.prices),
            str(found.stock),
        ]
        for cell, found in whole
    ]
    city = market.cells[Cell(None, None)]
    assert data["shown"]["stock"] == city.stock
    assert city.eur_sqm is not None
    assert data["shown"]["eur_sqm"] == city.eur_sqm._asdict()
    assert [cell["neighbourhood"] for cell in data["cells"]] == [cell.neighbourhood for cell in market.cells]


@pytest.fixture
def quarters(tmp_path: Path) -> Path:
    """Three neighbourhoods of a district with one flat each, and one elsewhere with three."""
    for number, place in enumerate((*NEIGHBOURS, "Лозенец", "Лозенец", "Лозенец")):
        own = {"external_id": f"9{number}", "url": f"https://www.imot.bg/obiava-9{number}", "floor": number}
        price = {"neighbourhood": place, "price_eur": 200_000.0 + 30_000 * number}
        put_adverts(tmp_path, KNOWN | own | price)
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "heading", "sentence", "scope"),
    [
        ("", "Цяла София", "", "city"),
        ("place=Лозенец", "Лозенец", "", "neighbourhood"),
        (
            "place=Младост 1",
            "Район Младост",
            TOO_FEW.format(asked="Младост 1", found="1 имот", shown="район Младост"),
            "district",
        ),
        (
            "place=Младост 4&rooms=3",
            "Район Младост · тристаен",
            TOO_FEW.format(asked="Младост 4 (тристаен)", found="0 имота", shown="район Младост"),
            "district",
        ),
        (
            "place=Люлин 5",
            "Цяла София",
            TOO_FEW.format(asked="Люлин 5", found="0 имота", shown="цяла София"),
            "city",
        ),
    ],
)
def test_what_is_shown_instead_of_too_few_flats_is_said(
    asked: str, heading: str, sentence: str, scope: str, quarters: Path
) -> None:
    query = quote(asked, safe="=&")
    with browser(quarters, market_least_flats=3) as buyer:
        html = buyer.html(f"/market?{query}")
        data = buyer.data(f"/market.json?{query}")
    tree = LexborHTMLParser(html)
    title, told = tree.css_first("#figures"), tree.css_first(".box.unsure")
    assert title is not None
    assert title.text() == heading
    assert (told.text().removeprefix("⚠ ") if told else "") == sentence
    assert data["shown"]["scope"] == scope
    market = _market(quarters)
    place, rooms = data["asked"]["place"], data["asked"]["rooms"]
    cells = market.districts if scope == "district" else market.cells
    name = {"district": DISTRICT, "neighbourhood": place, "city": None}[scope]
    found = cells[Cell(name, rooms)]
    assert found.eur_sqm is not None
    assert data["shown"]["eur_sqm"] == found.eur_sqm._asdict()
    assert f"{fmt.euro(found.eur_sqm.median)}/m²".replace(fmt.SPACE, " ") in html


def test_a_district_counts_the_flats_of_all_its_neighbourhoods(quarters: Path) -> None:
    market = _market(quarters)
    assert {cell: found.stock for cell, found in market.districts.items() if cell.rooms is None} == {
        Cell("Лозенец", None): 3,
        Cell(DISTRICT, None): 3,
    }
    prices = market.districts[Cell(DISTRICT, None)].eur_sqm
    assert prices is not None
    assert prices.median == 2300.0


def test_where_no_median_can_be_told_the_place_itself_is_shown(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        told = buyer.text(f"/market?place={quote('Лозенец')}")
        nothing = buyer.text("/market?rooms=maisonette")
    assert "Лозенец Медиана €/m² ? ? · n = 1 На пазара 1" in told
    assert "Показаното е за" not in told
    assert "Няма имоти, от които да се смята." in nothing


def test_each_neighbourhood_leads_to_its_search(quarters: Path) -> None:
    with browser(quarters) as buyer:
        html = buyer.html("/market?rooms=3")
        links = [
            str(link.attributes["href"]) for link in LexborHTMLParser(html).css('td a[href^="/search?"]')
        ]
        found = {
            str(parse_qs(urlsplit(link).query).get("neighbourhood", ["all"])[0]): buyer.data(
                link.replace("/search?", "/search.json?")
            )["count"]
            for link in links
        }
    assert found == {"all": 6, "Лозенец": 3, "Младост 1": 1, "Младост 2": 1, "Младост 3": 1}


def test_rents_are_a_market_of_their_own(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN, KNOWN | {"deal": "rent", "price_eur": 900.0, "vat": None})
    with browser(tmp_path, market_least_flats=1) as buyer:
        sale, rent = (buyer.data(f"/market.json?deal={deal}")["shown"] for deal in ("sale", "rent"))
        told = buyer.text("/market?deal=rent")
        assert "€ 9/m²" in told
        assert "от 1 имот, свалени: 0" in told
    assert (sale["eur_sqm"]["median"], rent["eur_sqm"]["median"]) == (2000.0, 9.0)


def test_flats_cheaper_elsewhere_are_those_of_the_command(demo_world: Path) -> None:
    with store(demo_world).read() as connection:
        cheaper = cheaper_elsewhere(read_flats(connection))
        waiting = review_queue(connection, limit=200)
    with browser(demo_world) as buyer:
        told = buyer.text("/cross_site")
        data = buyer.data("/cross_site.json")
    assert f"По-евтини на друг портал: {len(cheaper)}" in told
    assert [(one["id"], one["saving_eur"]) for one in data["cheaper"]] == [
        (one.flat.property_id, one.saving_eur) for one in cheaper
    ]
    assert [one["properties"] for one in data["review"]] == [
        [line.property_id, line.other_id] for line in waiting
    ]
    first = cheaper[0]
    assert f"{spaced(fmt.euro(first.cheapest.price_eur))} ({first.cheapest.site}) вместо" in told
    assert spaced(f"▼ {fmt.MINUS}{fmt.euro(first.saving_eur)}") in told


def test_a_flat_cheaper_elsewhere_counts_vat_on_both_sides(tmp_path: Path) -> None:
    bazar = {"site": "bazar.bg", "external_id": "5000", "url": "https://bazar.bg/obiava-5000/x"}
    put_adverts(tmp_path, KNOWN | {"vat": "excluded"})
    put_adverts(tmp_path, KNOWN | bazar | {"price_eur": 220_000.0, "seller_name": "Друга"})
    matching = PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path))
    matching.match_all()
    one, two = _properties(matching)
    if one != two:
        overrides.link(matching, one, two)
    with browser(tmp_path) as buyer:
        told = buyer.text("/cross_site")
    assert "€ 220 000 (bazar.bg) вместо € 200 000 без ДДС (imot.bg)" in told
    assert "▼ −€ 20 000 с ДДС (−8,3 %)" in told


@pytest.fixture
def doubted(tmp_path: Path) -> PropertyMatching:
    """Two flats that may be one."""
    other = {"floor": None, "price_eur": 260_000.0, "area_sqm": 70.0, "seller_name": "<b>Друга</b>"}
    put_adverts(tmp_path, KNOWN, KNOWN | other)
    matching = PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path))
    matching.match_all()
    with matching.database.write() as connection:
        low, high = sorted(connection.scalars(select(listings.c.id)))
        connection.execute(delete(match_links))
        connection.execute(insert(match_links).values(low=low, high=high, probability=0.62, kind=0))
    return matching


def test_a_pair_stands_side_by_side(doubted: PropertyMatching, tmp_path: Path) -> None:
    with browser(tmp_path) as buyer:
        html, told = buyer.html("/cross_site?view=review"), buyer.text("/cross_site?view=review")
    assert "Дадени отговори: 0 · чакат отговор: 1" in told
    assert "Вероятността A и B да са един имот е 62 %." in told
    rows = {name: rest for name, *rest in _rows(html)}
    assert rows["Цена"] == ["€ 200 000", "≠", "€ 260 000"]
    assert rows["Площ"] == ["100 m²", "≠", "70 m²"]
    assert rows["Етаж"] == ["3/8", "?", "?/8"]
    assert rows["Стаи"] == ["3", "=", "3"]
    assert rows["Продава"] == ["Агенция", "≠", "<b>Друга</b>"]
    assert harm(html) == []
    assert len(_properties(doubted)) == 2


@pytest.mark.parametrize(
    ("answer", "flats", "said", "left"),
    [
        ("same", 1, "Същият имот", "Няма двойки, които чакат отговор."),
        ("different", 2, "Различни имоти", "Няма двойки, които чакат отговор."),
        ("unsure", 2, "Не съм сигурен", "Не сте сигурни от"),
    ],
)
def test_a_pair_is_the_same_different_or_left_open(
    answer: str, flats: int, said: str, left: str, doubted: PropertyMatching, tmp_path: Path
) -> None:
    one, two = _properties(doubted)
    form = {"one": one, "two": two, "answer": answer, "back": "/cross_site?view=review"}
    with browser(tmp_path) as buyer:
        told = buyer.fill("/cross_site/answer", **form)
        assert f"Отбелязано: {said}" in told
        assert left in told
        assert len(set(_properties(doubted))) == flats
        if answer == "same":  # in another window it still waits
            assert "Междувременно някой друг промени това" in buyer.fill("/cross_site/answer", **form)


@pytest.mark.parametrize(
    "form",
    [
        {"one": "1", "two": "2", "answer": "maybe"},
        {"one": "1", "two": "x", "answer": "same"},
        {"one": "1", "two": "1", "answer": "same"},
        {"one": "1", "two": "99", "answer": "same"},
    ],
)
def test_an_answer_that_cannot_be_changes_nothing(
    form: dict[str, str], doubted: PropertyMatching, tmp_path: Path
) -> None:
    with browser(tmp_path) as buyer:
        assert "Междувременно някой друг промени това" in buyer.fill("/cross_site/answer", **form)
    assert len(set(_properties(doubted))) == 2


def test_long_lists_have_pages_at_their_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.app.pages.elsewhere.OFFERS_PER_PAGE", 1)
    for number in (1, 2):
        own = {"neighbourhood": NEIGHBOURS[number], "floor": number, "area_sqm": 60.0 + 10 * number}
        imot = {"external_id": f"7{number}", "url": f"https://www.imot.bg/obiava-7{number}"}
        bazar = {
            "site": "bazar.bg",
            "external_id": f"500{number}",
            "url": f"https://bazar.bg/obiava-500{number}/x",
            "price_eur": 150_000.0 - 20_000 * number,
        }
        put_adverts(tmp_path, KNOWN | own | imot)
        put_adverts(tmp_path, KNOWN | own | bazar)
    matching = PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path))
    matching.match_all()
    with matching.database.read() as connection:
        of = dict(
            connection.execute(
                select(listings.c.external_id, listing_sources.c.property_id).join(
                    listing_sources, listing_sources.c.listing_id == listings.c.id
                )
            ).all()
        )
    for number in (1, 2):
        if of[f"7{number}"] != of[f"500{number}"]:
            overrides.link(matching, of[f"7{number}"], of[f"500{number}"])
    with browser(tmp_path) as buyer:
        first, second = buyer.text("/cross_site"), buyer.text("/cross_site?page=2")
    assert re.findall(r"вместо € 200 000 \(imot\.bg\) ▼ (\S+ \d+ \d+)", first) == ["−€ 90 000"]
    assert re.findall(r"вместо € 200 000 \(imot\.bg\) ▼ (\S+ \d+ \d+)", second) == ["−€ 70 000"]


def _market(data: Path) -> Market:
    settings = Settings(data_dir=data, market_least_flats=3)
    now = datetime.now(UTC).timestamp()
    return read_market(store(data), settings, now=now)


def _properties(matching: PropertyMatching) -> list[int]:
    with matching.database.read() as connection:
        chosen = select(listing_sources.c.property_id).order_by(listing_sources.c.listing_id)
        return list(connection.scalars(chosen))


def _rows(html: str, section: str = "") -> list[list[str]]:
    """A table of the page, row by row; of a section by the id of its heading, the one that links."""
    chosen = f'section[aria-labelledby="{section}"] table.links tbody tr' if section else "tbody tr"
    return [
        [cell.text().strip() for cell in row.css("th, td")]
        for row in LexborHTMLParser(spaced(html)).css(chosen)
    ]
