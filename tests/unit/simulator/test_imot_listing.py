import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from sale_sofia_simulator.model import ImotAdvert, Money, World
from sale_sofia_simulator.portals.imot_bg import (
    floor_words,
    listing_page,
    per_sqm,
    price_html,
)
from tables import each_row

QUIRKS = (
    r'class="cena">[\d ]+ €<br>[\d ]+\.\d\d лв\.<',
    r'class="cena">[\d ]+ €</div>',
    r'class="cena">[\d ]+ EUR</div>',
    r'class="cena">[\d ]+\.\d\d лв\.</div>',
    r'class="cena">при запитване</div>',
    r'class="PriceInfo">Не се начислява ДДС<',
    r'class="PriceInfo">Цената е без ДДС<',
    r'class="PriceInfo">Цената е с включено ДДС<',
    r"<strong>\d+-(?:ви|ри|ти|ми) от \d+</strong>",
    r"<strong>Партер от \d+</strong>",
    r"<strong>Сутерен от \d+</strong>",
    r"Етаж:<br/><strong>\d</strong>",
    r"Двор:<br/><strong>\d+ m<sup>2</sup>",
    r"ТEЦ:<br/><strong>ДА<",
    r"ТEЦ:<br/><strong>НЕ<",
    r"ТEЦ:<br/><strong>Лок\.отопл\.<",
    r"ТEЦ:<br/><strong>Прокарва се<",
    r"Газ:<br/><strong>ДА<",
    r"Газ:<br/><strong>НЕ<",
    r"</strong>Въведен в експлоатация <strong>\d{4} г\.<",
    r"</strong>Въведен в експлоатация <strong>\d{4} - \d{4} г\.<",
    r"</strong>Въведен в експлоатация </div>",
    r"</strong>Ще бъде въведен в експлоатация <strong>\d{4} г\.<",
    r", </strong><strong>\d{4} - \d{4} г\.<",
    r", </strong><strong>\d{4} г\.<",
    r"Строителство:<br/><strong>[^<]+, </strong></div>",
    r"<div>Публикувана в \d+:\d\d на ",
    r"<div>Коригирана в \d+:\d\d на ",
    r'class="type">Брокер:.*class="type">(?:Агенция|Инвеститор):',
    r'class="type">Агенция:<',
    r'class="type">Инвеститор:<',
    r"/Частно лице/",
    r", Частно лице, ",
    r"\d{10}; \d{10}",
    r'rel="alternate"',
    r"showpricechange\(",
    r'class="location">\s+град [^<]+<div style="font-weight:normal;">(?:ул|бул)\.',
    r'class="location">\s+град Търговище, ',
    r"nophoto_660x495",
    r"&#9742;",
    r"m&sup2;",
)


SURVEYED = 125
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
    for advert in world.imot[::EACH]:
        body = listing_page(advert)
        text = body.decode("windows-1251")
        seen.sizes.append(len(body))
        seen.ended += text.rstrip().endswith("</html>")
        seen.counts.update(quirk for quirk in QUIRKS if re.search(quirk, text, re.DOTALL))
    return seen


def _first(texts: Sequence[str], pattern: str) -> list[str]:
    return [found[1].strip() if (found := re.search(pattern, text, re.DOTALL)) else "" for text in texts]


def test_pages_are_windows_1251_by_their_own_word_and_no_utf8(world: World) -> None:
    body = listing_page(world.imot[0])
    assert b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">' in body
    with pytest.raises(UnicodeDecodeError):
        body.decode()


@pytest.mark.slow
def test_pages_weigh_as_much_as_the_real_ones_and_end(survey: Survey) -> None:
    assert len(survey.sizes) == SURVEYED
    assert min(survey.sizes) >= 100_000
    assert max(survey.sizes) <= 140_000
    assert survey.ended == SURVEYED


def test_pages_hold_the_972_options_of_the_statistics_form_unclosed(imot_texts: Sequence[str]) -> None:
    assert {text.count("<option") for text in imot_texts} == {972}
    assert not any("</option>" in text for text in imot_texts)


def test_the_first_three_selects_show_the_adverts_own_type_town_and_place(imot_texts: Sequence[str]) -> None:
    assert {text.count("<option selected value") for text in imot_texts} == {2, 3}


@pytest.mark.slow
@each_row("quirk", QUIRKS)
def test_each_quirk_occurs_but_never_everywhere(survey: Survey, quirk: str) -> None:
    assert 0 < survey.counts[quirk] < SURVEYED


def test_the_label_of_the_district_heating_has_a_latin_letter(imot_texts: Sequence[str]) -> None:
    labels = {label for text in imot_texts for label in re.findall(r"<div>(Т.Ц):<br/>", text)}
    assert labels == {"Т\x45Ц"}


def test_the_offer_is_sometimes_missing_and_always_calls_itself_a_rent(imot_texts: Sequence[str]) -> None:
    offers = [_offer(text) for text in imot_texts]
    assert 5 < offers.count(None) < 60
    names = {" ".join(offer["itemOffered"]["name"].split()[:3]) for offer in offers if offer}
    assert names == {"Дава под Наем"}


def _offer(text: str) -> dict[str, dict[str, str]] | None:
    scripts = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    parsed = [json.loads(script) for script in scripts]
    return next((data for data in parsed if data["@type"] == "Offer"), None)


def test_the_printed_texts_are_those_of_the_world(town: World, imot_texts: Sequence[str]) -> None:
    adverts = town.imot
    assert _first(imot_texts, r"Обява: (\w+)</span>") == [advert.external_id for advert in adverts]
    assert _first(imot_texts, r'class="advHeader">.*?class="title">(.*?)</div>') == [a.title for a in adverts]
    assert _first(imot_texts, r'rel="canonical" href="(.*?)"') == [advert.url for advert in adverts]
    assert _first(imot_texts, r"посетена <span>(\d+)</span>") == [str(advert.views) for advert in adverts]
    assert _first(imot_texts, r"<strong>(\d+) m<sup>") == [str(advert.home.area_sqm) for advert in adverts]


def test_the_carousel_holds_the_photos_in_their_order(town: World, imot_texts: Sequence[str]) -> None:
    for advert, text in zip(town.imot, imot_texts, strict=True):
        assert tuple(re.findall(r' data-src="(.*?)"', text)) == advert.photos
        assert all(re.search(rf"/{advert.external_id[-3:]}//big1?/", photo) for photo in advert.photos)


def test_prices_are_worded_as_the_portal_words_them() -> None:
    assert price_html(Money("both", 149900)) == "149 900 €<br>293 178.92 лв."
    assert price_html(Money("eur_word", 99702)) == "99 702 EUR"
    assert per_sqm(Money("both", 149900), 56) == "(2 677 €, 5 235.76 лв./m<sup>2</sup>)"
    assert per_sqm(Money("ask", 149900), 56) == ""


def test_a_house_prints_its_storeys_alone(world: World) -> None:
    advert = next(advert for advert in world.imot if advert.home.kind.storeys_only)
    house, text = advert.home, listing_page(advert).decode("windows-1251")
    assert floor_words(house) == str(house.floors_total)
    assert f"<div>Двор:<br/><strong>{house.yard_sqm} m<sup>2</sup></strong></div>" in text


def test_a_private_person_has_no_dealer_box(world: World) -> None:
    text = _page(world, kind="private")
    assert 'class="type"' not in text
    assert 'class="dealer"' not in text
    assert '{"@type": "Person"}' in text or '"@type": "Offer"' not in text


def _page(world: World, kind: str) -> str:
    advert: ImotAdvert = next(advert for advert in world.imot if advert.seller.kind == kind)
    return listing_page(advert).decode("windows-1251")
