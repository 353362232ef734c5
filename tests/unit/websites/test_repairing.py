"""Proposed selectors: they give the known values on the new pages, of the right type, or there is none."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.registry import page_limits
from sale_sofia.websites.repair import Sample, known_facts, propose, written
from sale_sofia.websites.site_file import SiteConfig, load_site_config

BASE = load_site_config("imot.bg").model_dump(by_alias=True, exclude_defaults=True)


def site_of(fields: Mapping[str, Any], rows: Mapping[str, Any] | None = None) -> TableSite:
    listing = {"ids": [{"css": "#id"}], "fields": fields, "rows": rows or {}}
    json_sources = {"state": {"after": "STATE="}}
    given = {**BASE, "proof": [], "listing": listing, "json": json_sources, "split": ()}
    return TableSite(SiteConfig.model_validate(given), page_limits())


def page(body: str, number: int) -> Page:
    text = f'<html><body>на<b id="id">{number}</b>{body}</body></html>'
    return Page(f"https://www.imot.bg/{number}", text.encode())


def samples(site: TableSite, field: str, old: str, new: str, adverts: int = 5) -> list[Sample]:
    """Adverts as they were and as they are; `{}` is each one's own number."""
    made = []
    for number in range(1, adverts + 1):
        facts = known_facts(site, page(old.replace("{}", str(number)), number))[field]
        made.append(Sample(page(new.replace("{}", str(number)), number), facts))
    return made


PRICE = {"price": {"from": [{"css": ".price"}], "parse": "price"}}
OLD_PRICE = '<i class="price">{}1 000 €</i>'


def test_a_renamed_class_is_found_with_its_evidence() -> None:
    site = site_of(PRICE)
    new = '<p class="sum">{}1 000 €</p><p class="other">9 €</p><p class="sum2">{}1 000 € от</p>'
    best = propose(site, "price", samples(site, "price", OLD_PRICE, new))[0]
    assert written(best.place.link) == {"css": "p.sum"}
    assert (best.right, best.wrong, best.pages) == (5, 0, 5)


def test_a_number_of_another_type_is_none() -> None:
    site = site_of(PRICE)
    new = '<p class="sum">{}1 000</p><p class="area">{}1 000 кв.м</p>'
    assert propose(site, "price", samples(site, "price", OLD_PRICE, new)) == []


def test_a_place_that_is_right_by_chance_is_none() -> None:
    """It holds the price of one advert, and other prices on the pages of others."""
    site = site_of(PRICE)
    new = '<p class="similar">11 000 €</p>'
    assert propose(site, "price", samples(site, "price", OLD_PRICE, new)) == []


def test_too_few_pages_propose_nothing() -> None:
    site = site_of(PRICE)
    assert propose(site, "price", samples(site, "price", OLD_PRICE, '<p class="sum">{}1 000 €</p>', 2)) == []


def test_an_edited_advert_does_not_stand_in_the_way() -> None:
    site = site_of(PRICE)
    found = samples(site, "price", OLD_PRICE, '<p class="sum">{}1 000 €</p>', 12)
    found[7] = Sample(page('<p class="sum">7 777 €</p>', 8), found[7].facts)
    best = propose(site, "price", found)[0]
    assert (best.right, best.wrong) == (11, 1)


def test_a_json_key_among_several() -> None:
    path = ["price.value", "price.currency"]
    site = site_of({"price": {"from": [{"json": "state", "path": path}], "parse": "price"}})
    old = "STATE=" + json.dumps({"price": {"value": "{}1,000", "currency": "EUR"}})
    new = "STATE=" + json.dumps({"price": {"amount": "{}1,000", "fee": "5", "currency": "EUR"}})
    best = propose(site, "price", samples(site, "price", old, new))[0]
    assert written(best.place.link)["path"] == ["price.amount", "price.currency"]


ROWS = {"params": {"css": ".row", "label": ".name", "value": ".said"}}
AREA = {"area_sqm": {"from": [{"row": "Площ"}], "parse": "area"}}
OLD_ROW = '<div class="row"><b class="name">Площ</b><i class="said">{}0 кв.м</i></div>'


@pytest.mark.parametrize(
    ("new", "link", "rows"),
    [
        (OLD_ROW.replace("Площ", "Area"), {"row": "area"}, None),
        (
            OLD_ROW.replace("row", "fact"),
            {"row": "Площ"},
            {"css": "div.fact", "label": ".name", "value": ".said"},
        ),
    ],
)
def test_rows_under_another_label_or_class(
    new: str, link: dict[str, Any], rows: dict[str, Any] | None
) -> None:
    site = site_of(AREA, ROWS)
    best = propose(site, "area_sqm", samples(site, "area_sqm", OLD_ROW, new))[0]
    assert written(best.place.link) == link
    assert (best.place.rows and written(best.place.rows)) == rows


def test_names_that_no_selector_can_hold_are_left_out() -> None:
    site = site_of(PRICE)
    new = """<o:p class="sum" name='a"b'>{}1 000 €</o:p><x name='c\\d'>{}1 000 €</x>"""
    best = propose(site, "price", samples(site, "price", OLD_PRICE, new))[0]
    assert written(best.place.link) == {"css": ".sum"}
