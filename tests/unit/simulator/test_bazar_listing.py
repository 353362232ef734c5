import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from sale_sofia_simulator.model import SOFIA, Money, World
from sale_sofia_simulator.portals.bazar_bg import listing_page, price_html, sums, valid_until
from tables import each_row

QUIRKS = (
    r'class="current-price">\s*[\d ]+ €\s*<span class="separator"></span>\s*[\d ,]+ лв\s*</div>',
    r'class="current-price">\s*[\d ,]+ лв\s*<span class="separator"></span>\s*[\d ]+ €\s*</div>',
    r'class="current-price">\s*[\d ]+ €\s*</div>',
    r'class="current-price">\s*[\d ,]+ лв\s*</div>',
    r'class="current-price">\s*Договаряне\s*<span class="separator"></span>\s*Договаряне\s*</div>',
    r'class="current-price">\s*[\d ]+,\d\d €',
    r'with-a-price-arrow">\s*[\d ]+ €\s*<div class="old-price">\s*[\d ]+ €\s*<img[^>]+price-up\.svg',
    r'with-a-price-arrow">\s*[\d ]+ €\s*<div class="old-price">\s*[\d ]+ €\s*<img[^>]+price-down\.svg',
    r'class="price-vat-type-content">Не се начислява ДДС<',
    r'class="price-vat-type-content">Цената е без ДДС<',
    r'class="price-vat-type-content">Цената е с включен ДДС<',
    r'class="adPrice  ?"',
    r'og:price" content="Договаряне"',
    r'data-lat="42\.\d+" data-long="23\.\d+"',
    r'"span4">Eтаж</div><div class="span8"><span >\d+<',
    r'"span4">Брой етажи</div><div class="span8"><span >\d+<',
    r'"span4">Тип апартамент</div><div class="span8"><span >\d-стаен<',
    r'"span4">Тип апартамент</div><div class="span8"><span >Mногостаен<',
    r'"span4">Година</div><div class="span8"><span >\d{4}<',
    r"Продава Апартамент в гр\. ",
    r"Дава под наем Апартамент в гр\. ",
    r"обновена днес в \d\d:\d\d ч\.",
    r"обновена вчера в \d\d:\d\d ч\.",
    r"обновена на \d\d [а-я]+ в \d\d:\d\d ч\.",
    r'title="гр\. Търговище, ',
    r'class="usrName">Потребител \d+<',
    r'class="usrName">[А-Я ]+ 02/8000100 0888000\d{3}<',
    r'href="https://\w+\.imot\.bg" class="usrAds"',
    r'class="clearfix text show-more-height"></div>',
    r'class="clearfix text show-more-height"><div><span><span>',
    r'class="picture" src="//cdn\d\.focus\.bg/bazar/\w\w/pics/\w{32}\.webp"',
    r'class="picture" src="/img/gallery/noPhoto\.svg"',
    r"adNameTOP",
)


SURVEYED = 250
EACH = 1000 // SURVEYED


@dataclass
class Survey:
    """What a thousand pages show, counted one page after the other."""

    counts: Counter[str] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)
    ended: int = 0


@pytest.fixture(scope="module")
def survey(world: World) -> Survey:
    seen = Survey()
    for advert in world.bazar[::EACH]:
        body = listing_page(advert)
        text = body.decode()
        seen.sizes.append(len(body))
        seen.ended += text.rstrip().endswith("</html>")
        seen.counts.update(quirk for quirk in QUIRKS if re.search(quirk, text))
    return seen


def _price_block(text: str) -> str:
    return text.partition('class="rightSide span"')[2].partition('class="otherDetails"')[0]


def _product(text: str) -> dict[str, Any]:
    scripts = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    return next(data for script in scripts if (data := json.loads(script)).get("@type") == "Product")


@pytest.mark.slow
def test_pages_weigh_as_much_as_the_real_ones_and_end(survey: Survey) -> None:
    assert len(survey.sizes) == SURVEYED
    assert min(survey.sizes) >= 100_000
    assert max(survey.sizes) <= 140_000
    assert survey.ended == SURVEYED


@pytest.mark.slow
@each_row("quirk", QUIRKS)
def test_each_quirk_occurs_but_never_everywhere(survey: Survey, quirk: str) -> None:
    assert 0 < survey.counts[quirk] < SURVEYED


def test_the_latin_letters_of_the_portal_are_there(bazar_texts: Sequence[str]) -> None:
    floors = {label for text in bazar_texts for label in re.findall(r'"span4">(.таж)<', text)}
    rooms = {word for text in bazar_texts for word in re.findall(r"<span >(.ногостаен)<", text)}
    assert floors == {"\x45таж"}
    assert rooms == {"\x4dногостаен"}


def test_other_adverts_with_other_prices_come_before_the_price(bazar_texts: Sequence[str]) -> None:
    for text in bazar_texts:
        before = text.partition('class="adPrice')[0]
        assert before.count('<span class="price">') >= 20


def test_an_asking_advert_has_a_zero_price_and_no_expiry(town: World, bazar_texts: Sequence[str]) -> None:
    for advert, text in zip(town.bazar, bazar_texts, strict=True):
        offer = _product(text)["offers"]
        assert (offer["price"] == 0) is (not advert.money.shown)
        assert ("priceValidUntil" in offer) is advert.money.shown


def test_the_expiry_is_31_days_later_on_the_wall_clock() -> None:
    assert valid_until(datetime(2026, 4, 8, 18, 57, 3, tzinfo=SOFIA)) == "2026-05-09T18:57:03+0300"
    assert valid_until(datetime(2026, 3, 10, 12, 0, tzinfo=SOFIA)) == "2026-04-10T12:00:00+0300"


def test_the_printed_texts_are_those_of_the_world(town: World, bazar_texts: Sequence[str]) -> None:
    for advert, text in zip(town.bazar, bazar_texts, strict=True):
        place = advert.home.place
        product = _product(text)
        assert (product["sku"], product["name"]) == (int(advert.external_id), advert.title)
        assert product["description"] == advert.prose.glued
        assert f"<span> гр. {place.city}, {place.neighbourhood} </span>" in text
        assert [f"https:{photo}" for photo in _gallery(text)] == list(advert.photos)


def _gallery(text: str) -> list[str]:
    return re.findall(r'class="gallery-element [^>]*>\s*<img[^>]* src="(.*?)"', text)


def test_the_price_block_prints_the_price_of_the_world(town: World, bazar_texts: Sequence[str]) -> None:
    for advert, text in zip(town.bazar, bazar_texts, strict=True):
        assert all(words in _price_block(text) for words in sums(advert.money))


def test_prices_are_worded_as_the_portal_words_them() -> None:
    assert sums(Money("bgn_first", 350000)) == ["684 540,50 лв", "350 000 €"]
    assert sums(Money("both", 400000)) == ["400 000 €", "782 332 лв"]
    changed = " ".join(price_html(Money("both", 486, 469)).split())
    assert 'with-a-price-arrow"> 486 € <div class="old-price"> 469 € <img' in changed
    assert '950,53 лв <div class="old-price">917,28 лв</div>' in changed
