"""Pages of imot.bg adverts, in windows-1251 as the portal sends them."""

from functools import cache
from random import Random

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.homes import make_home
from sale_sofia_simulator.model import (
    DEAL_WORDS,
    KINDS,
    RUBRIC_NAMES,
    RUBRICS,
    Age,
    ImotAdvert,
    Money,
    Property,
)
from sale_sofia_simulator.pieces import fill, fill_json, script_json
from sale_sofia_simulator.text import WORDS, decimals, leva, ordinal, spaced

# imot.bg's own spellings of a price, a floor and the parameters of a property.

VAT_TEXTS = {
    "none": "Не се начислява ДДС",
    "excluded": "Цената е без ДДС",
    "included": "Цената е с включено ДДС",
    None: "",
}
_GROUND = {0: "Партер", -1: "Сутерен"}


def price_html(money: Money) -> str:
    """The price as every part of a page prints it."""
    euro, lev = spaced(round(money.amount_eur)), f"{decimals(leva(money.amount_eur), '.')} лв."
    return {
        "both": f"{euro} €<br>{lev}",
        "eur": f"{euro} €",
        "eur_word": f"{euro} EUR",
        "bgn": lev,
        "ask": "при запитване",
    }[money.layout]


def per_sqm(money: Money, area: int) -> str:
    """The price of a square metre in brackets, empty where no price is printed."""
    each = Money(money.layout, round(money.amount_eur / area))
    return f"({price_html(each).replace('<br>', ', ')}/m<sup>2</sup>)" if money.shown else ""


def floor_words(home: Property) -> str:
    """5-ти от 8, Партер от 4, Сутерен от 5; the bare number of storeys of a house."""
    if home.floor is None:
        return str(home.floors_total or "")
    return f"{_GROUND.get(home.floor) or ordinal(home.floor)} от {home.floors_total}"


def floor_in_line(home: Property) -> str:
    """The same inside a line of facts: 5-ти ет. от 8, Партер от 4, 3 ет."""
    words = floor_words(home)
    if home.floor is None:
        return f"{words} ет." if words else ""
    return words if home.floor < 1 else words.replace(" от", " ет. от")


def heating_in_line(home: Property) -> list[str]:
    """The heating words of a line of facts: only what there is, with a Cyrillic Е this time."""
    district = "ТЕЦ" if home.district_heating == "ДА" else home.district_heating
    return [word for word in ("Газ" if home.gas == "ДА" else "НЕ", district) if word and word != "НЕ"]


def age_words(age: Age) -> str:
    """Въведен в експлоатация 2019 г."""
    return f"{age.state} {age.span}".strip()


def params_html(home: Property) -> str:
    """The parameter boxes; the label of the district heating has a Latin E."""
    boxes = [
        ("Двор", f"{home.yard_sqm} m<sup>2</sup>" if home.yard_sqm else ""),
        ("Етаж", floor_words(home)),
        ("Газ", home.gas),
        ("ТEЦ", home.district_heating),
    ]
    html = f"<div>Площ:<br/><strong>{home.area_sqm} m<sup>2</sup></strong></div>\n    "
    html += "".join(f"<div>{label}:<br/><strong>{value}</strong></div>" for label, value in boxes if value)
    if not home.construction:
        return html
    state = f"{home.age.state} " if home.age.state else ""
    span = f"<strong>{home.age.span}</strong>" if home.age.span else ""
    return f"{html}<div>Строителство:<br/><strong>{home.construction}, </strong>{state}{span}</div>"


CHARSET = "windows-1251"


_TITLES = (
    "{words} - {area} кв.м / {price}, {seller} :: imot.bg Обява {tail}",
    "{words} - {area} кв.м / {price} :: imot.bg Обява {tail}",
    "{words}, {area} кв.м, {price} | imot.bg | {tail}",
)
_LONGEST_SUMMARY = 80
_SELLERS = {"agency": "Агенция", "developer": "Инвеститор", "private": "Частно лице"}
_STRANGERS = 500
_FORM_ROWS = 4


def listing_page(advert: ImotAdvert) -> bytes:
    """The bytes of the page; every character has a place in windows-1251."""
    home, place, seller = advert.home, advert.home.place, advert.seller
    where = f"град {place.city}, {place.neighbourhood}"
    crumbs, price = _breadcrumbs(home), price_html(advert.money)
    title = _TITLES[2 if advert.old_layout else seller.name is None].format(
        words=f"{advert.title} в {where}",
        area=home.area_sqm,
        price=price.replace("<br>", " » "),
        seller=seller.name,
        tail=advert.external_id[-6:],
    )
    return fill(
        "imot_page",
        body="imot_detail.html",
        weight=30,
        title=title,
        description=f"imot.bg: Обява: {title}",
        canonical=advert.url,
        data=_data_scripts(advert, crumbs),
        advert=advert,
        seller_kind=_SELLERS[seller.kind],
        rubric=RUBRICS[home.deal],
        mail=f"{Random(advert.external_id).getrandbits(2400):0600x}",
        where=where,
        params=params_html(home),
        price=price,
        each=per_sqm(advert.money, home.area_sqm),
        vat=VAT_TEXTS[home.vat] if advert.money.shown else "",
        stats=_stats(advert),
        similar=_similar(advert),
        crumbs=crumbs,
        summary=_gallery_line(advert),
    ).encode(CHARSET)


def _gallery_line(advert: ImotAdvert) -> str:
    home, floor = advert.home, floor_words(advert.home)
    facts = (
        f"Площ: {home.area_sqm} кв.м",
        _SELLERS[advert.seller.kind],
        f"Етаж: {floor}" if floor else "",
        f"Газ: {home.gas}" if home.gas else "",
        f"ТEЦ: {home.district_heating}" if home.district_heating else "",
        home.construction,
        age_words(home.age),
    )
    return "".join(f"{fact}, " for fact in facts if fact)


def _breadcrumbs(home: Property) -> dict[str, str]:
    """The way to an advert: the name of each step and its path."""
    place, path, crumbs = home.place, "/obiavi", {}
    steps = {
        RUBRIC_NAMES[home.deal]: RUBRICS[home.deal],
        f"град {place.city}": place.city_slug,
        place.neighbourhood: place.slug,
        home.kind.plural: home.kind.slug,
    }
    for name, slug in steps.items():
        path = f"{path}/{slug}"
        crumbs[name] = path
    return crumbs


def _data_scripts(advert: ImotAdvert, crumbs: dict[str, str]) -> str:
    """The JSON-LD: BreadcrumbList always, Offer where the layout has one."""
    home = advert.home
    steps = {name: f"https://www.imot.bg{path}" for name, path in {"Imot.bg": "", **crumbs}.items()}
    scripts = [fill_json("breadcrumbs", context="https://schema.org", steps=steps, nested=False)]
    if advert.offer:
        yard = f"двор {home.yard_sqm} кв.м" if home.yard_sqm else ""
        facts = (f"{home.area_sqm} кв.м", yard, floor_in_line(home), *heating_in_line(home), *home.features)
        offer = fill_json(
            "imot_offer",
            advert=advert,
            home=home,
            seller=advert.seller,
            in_leva=advert.money.layout == "bgn",
            summary=f"{', '.join(filter(None, facts))[:_LONGEST_SUMMARY]} ...",
            images=[photo.replace("//big", "/big") for photo in advert.photos],
        )
        scripts.append(offer)
    spelled = [script_json(data, readable=True) for data in scripts]
    return "\n".join(
        f'      <script type="application/ld+json">\n{text}\n      </script>' for text in spelled
    )


def _similar(advert: ImotAdvert) -> str:
    """Other adverts of the same seller, or of the neighbourhood for a private person."""
    rng = Random(f"similar {advert.external_id}")
    return "".join(_stranger(rng.randrange(_STRANGERS)) for _ in range(rng.randint(6, 12)))


@cache
def _stranger(which: int) -> str:
    rng = Random(f"imot stranger {which}")
    home = make_home(rng, 0)
    stamp = f"{rng.randint(1_600_000_000, 1_776_000_000)}{rng.randrange(100_000):05d}"
    return fill(
        "imot_similar_item",
        id=f"1{home.kind.letter('sale')}{stamp}",
        slug=f"prodava-{home.kind.advert_slug}-grad-sofiya-{home.place.slug}",
        promoted=rng.random() < 0.5,  # noqa: PLR2004
        trend=rng.choice(("", "", " UP", " DOWN")),
        tail=stamp[-3:],
        title=f"{DEAL_WORDS['sale']} {home.kind.label}",
        price=price_html(Money("both", home.price_eur)),
        home=home,
    )


def _stats(advert: ImotAdvert) -> str:
    """The statistics form: 972 options never closed; its first row is the advert's type, town and place."""
    kind, place = advert.home.kind, advert.home.place
    town = f"град {place.city}"
    own = f"ida={advert.external_id}&pt={kind.number}~~~~"
    label = f"{kind.label}, {town}, {place.neighbourhood}"
    graph = f"/pcgi/graph.cgi?{own}&vi={label}~~~~&kv={advert.home.area_sqm}"
    row = _form_row(1)
    for choice in (kind.label, town, place.neighbourhood):
        row = _selected(row, choice)
    return fill(
        "imot_stats",
        advert=advert,
        graph=graph,
        words=WORDS,
        items=row + "".join(_form_row(number) for number in range(2, _FORM_ROWS + 1)),
    )


def _selected(row: str, label: str) -> str:
    end = row.find(f'">{label}\n')
    start = row.rfind("<option value", 0, end)
    return row if end < 0 else f"{row[:start]}<option selected value{row[start + len('<option value') :]}"


@cache
def _form_row(row: int) -> str:
    towns = [(2 * i + 1, f"град {town}") for i, town in enumerate(WORDS["towns"])]
    return fill(
        "imot_stats_item",
        row=row,
        kinds=[("0", ""), *((kind.number, kind.label) for kind in KINDS)],
        towns=[("", ""), *towns],
        hoods=[("", ""), *((hood.id, hood.name) for hood in neighbourhoods())],
    )
