"""The page of one imot.bg advert, in windows-1251 as the portal sends it."""

from typing import NamedTuple
from sale_sofia_simulator.portals.imot_bg.words import floor_in_line
from sale_sofia_simulator.portals.imot_bg.words import heating_in_line
from sale_sofia_simulator.model import RUBRIC_NAMES
from sale_sofia_simulator.model import RUBRICS
from sale_sofia_simulator.model import ImotAdvert
from sale_sofia_simulator.pieces import script_json
from sale_sofia_simulator.text import leva
from sale_sofia_simulator.portals.imot_bg.words import VAT_TEXTS
from sale_sofia_simulator.portals.imot_bg.words import per_sqm
from sale_sofia_simulator.portals.imot_bg.words import price_html
from sale_sofia_simulator.model import Seller
from sale_sofia_simulator.names import grouped
from sale_sofia_simulator.pieces import fill
from functools import cache
from random import Random
from sale_sofia_simulator.homes import make_home
from sale_sofia_simulator.model import DEAL_WORDS
from sale_sofia_simulator.model import Money
from sale_sofia_simulator.model import Property
from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.model import KINDS
from sale_sofia_simulator.pieces import lines
from sale_sofia_simulator.portals.imot_bg.page import gallery
from sale_sofia_simulator.portals.imot_bg.page import CHARSET
from sale_sofia_simulator.portals.imot_bg.page import page
from sale_sofia_simulator.portals.imot_bg.words import params_html
from sale_sofia_simulator.portals.imot_bg.words import price_line
from sale_sofia_simulator.text import imot_moment

# The JSON-LD of an imot.bg page, with the portal's own mistakes.

_LONGEST_SUMMARY = 80


class Crumb(NamedTuple):
    """One step of the way to an advert."""

    name: str
    path: str


def breadcrumbs(advert: ImotAdvert) -> list[Crumb]:
    """Rubric, town, neighbourhood, type."""
    home, place = advert.home, advert.home.place
    steps = (
        (RUBRIC_NAMES[home.deal], RUBRICS[home.deal]),
        (f"град {place.city}", place.city_slug),
        (place.neighbourhood, place.slug),
        (home.kind.plural, home.kind.slug),
    )
    path, crumbs = "/obiavi", []
    for name, slug in steps:
        path = f"{path}/{slug}"
        crumbs.append(Crumb(name, path))
    return crumbs


def crumb_links(crumbs: list[Crumb]) -> str:
    """The visible breadcrumbs."""
    return "".join(f'<arrow></arrow> <a href="{crumb.path}">{crumb.name}</a>' for crumb in crumbs)


def data_scripts(advert: ImotAdvert) -> str:
    """BreadcrumbList always, Offer where the layout has one."""
    scripts = [_breadcrumb_list(breadcrumbs(advert))]
    if advert.offer:
        scripts.append(_offer(advert))
    return "\n".join(
        f'      <script type="application/ld+json">\n{script_json(data, readable=True)}\n      </script>'
        for data in scripts
    )


def _breadcrumb_list(crumbs: list[Crumb]) -> dict[str, object]:
    steps = [("Imot.bg", "https://www.imot.bg"), *((c.name, f"https://www.imot.bg{c.path}") for c in crumbs)]
    return {
        "@context": "https://schema.org",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": i, "name": name, "item": item}
            for i, (name, item) in enumerate(steps, 1)
        ],
    }


def _offer(advert: ImotAdvert) -> dict[str, object]:
    """The offer; it calls every advert a rent, and that is how the portal prints it."""
    home, money = advert.home, advert.money
    in_leva = money.layout == "bgn"
    return {
        "@context": "https://schema.org",
        "@type": "Offer",
        "url": advert.url,
        "priceCurrency": "BGN" if in_leva else "EUR",
        "price": leva(money.amount_eur) if in_leva else money.amount_eur,
        "availability": "https://schema.org/InStock",
        "itemOffered": {
            "@type": "Product",
            "name": f"Дава под Наем {home.kind.label}, град {home.place.city}, {home.place.neighbourhood}",
            "description": summary(advert),
            "image": [photo.replace("//big", "/big") for photo in advert.photos],
            "sku": advert.external_id,
            "brand": {"@type": "Organization", "name": "Imot.bg"},
        },
        "seller": _seller(advert),
    }


def _seller(advert: ImotAdvert) -> dict[str, object]:
    if advert.seller.kind == "private":
        return {"@type": "Person"}
    return {
        "@type": "RealEstateAgent",
        "name": advert.seller.name,
        "url": f"https://{advert.seller.handle}.imot.bg",
    }


def summary(advert: ImotAdvert) -> str:
    """The line of facts, cut short in the middle of a word."""
    home = advert.home
    facts = [
        f"{home.area_sqm} кв.м",
        f"двор {home.yard_sqm} кв.м" if home.yard_sqm else "",
        floor_in_line(home),
        *heating_in_line(home),
        *home.features,
    ]
    return f"{', '.join(fact for fact in facts if fact)[:_LONGEST_SUMMARY]} ..."


# The price block of an imot.bg advert, with the button to its history.

_HISTORY_BUTTON = """
      <span>
        <a onclick="{call}" title="Покажи история на цената">
          <img src="//www.imot.bg/images/picturess/icons/price-stat.svg">
        </a>
      </span>
"""
_HISTORY_BOX = """
      <div class="priceHistory {css}" id="{name}">
        <div class="title">История на цената <span onclick="{call}"></span></div>
        <statistiki></statistiki>
      </div>
"""


def price_parts(advert: ImotAdvert) -> dict[str, object]:
    """Every part of the page that prints the price; no VAT text without a price."""
    money, each = advert.money, per_sqm(advert.money, advert.home.area_sqm)
    vat = VAT_TEXTS[advert.home.vat] if money.shown else ""
    return {
        "price": price_html(money),
        "per_sqm": f"<span>{each}</span>" if each else "",
        "m2": f'<div class="m2">{each}</div>' if each else "",
        "vat": vat,
        "price_info": f'<div class="PriceInfo">{vat}</div>' if vat else "",
        "credit": _credit(advert),
        **_history(advert),
    }


def _history(advert: ImotAdvert) -> dict[str, object]:
    if not advert.trend or not advert.money.shown:
        return dict.fromkeys(("history_button", "history_box", "history_link"), "")
    box, link = _history_call(advert, "priceHistory2"), _history_call(advert, "priceHistory")
    return {
        "history_button": _HISTORY_BUTTON.format(call=box),
        "history_box": _HISTORY_BOX.format(css="priceHistory2", name="priceHistory2", call=box),
        "history_link": f'<a onclick="{link}" title="Покажи история на цената"></a>'
        + _HISTORY_BOX.format(css="priceHistory1", name="priceHistory", call=link),
    }


def _history_call(advert: ImotAdvert, where: str) -> str:
    price = round(advert.money.amount_eur)
    words = f"'{advert.external_id}','a{advert.seller.user}','{price}','EUR','{where}'"
    return f"showpricechange({words}); return false;"


def _credit(advert: ImotAdvert) -> str:
    if advert.home.deal == "rent" or not advert.money.shown:
        return ""
    price = round(advert.money.amount_eur)
    frame = f'<iframe src="/small-calculator?price={price}" name="baner">&nbsp;</iframe>'
    return f'<div class="credit">{frame}</div>'


# The blocks of an imot.bg advert that say who offers it.

_KINDS = {"agency": "Агенция", "developer": "Инвеститор"}
_PRIVATE = "/Частно лице/"
_PRIVATE_ONLY = '<br><span style="font-size:12px;">Този имот се предлага само на частни лица</span>'
_RUBRICS = (
    ("prodazhbi", "Продава"),
    ("naemi", "Дава под наем"),
    ("kupuva", "Купува"),
    ("tarsi-da-naeme", "Наема"),
)
_MEDALS = "ybrp"


def contacts(seller: Seller, *, private_only: bool) -> str:
    """The contact line, then the broker's block before the firm's; a private person has only the line."""
    line = fill(
        "imot_contact",
        phones=plain_phones(seller),
        private=_PRIVATE if seller.kind == "private" else "",
        note=_PRIVATE_ONLY if private_only else "",
    )
    if seller.kind == "private":
        return line
    return line + (_broker(seller) if seller.broker else "") + _firm(seller)


def dealer(seller: Seller) -> str:
    """The firm's box beside the advert; nothing for a private person."""
    if seller.kind == "private":
        return ""
    return fill(
        "imot_dealer", handle=seller.handle, name=seller.name, address=seller.address, **_medal(seller)
    )


def private_line(seller: Seller) -> str:
    """The remark after the telephone of a private person."""
    return f"{_PRIVATE}<br>" if seller.kind == "private" else ""


def plain_phones(seller: Seller) -> str:
    """The numbers without spaces, a semicolon between two."""
    return "; ".join(seller.phones)


def _broker(seller: Seller) -> str:
    return fill(
        "imot_broker",
        broker=seller.broker,
        phones=_spoken_phones(seller),
        handle=seller.handle,
        number=f"14{seller.user:015d}",
    )


def _firm(seller: Seller) -> str:
    rubrics = " | ".join(
        f'<a href="https://{seller.handle}.imot.bg/obiavi/{rubric}">{word}</a>' for rubric, word in _RUBRICS
    )
    return fill(
        "imot_firm",
        kind=_KINDS[seller.kind],
        name=seller.name,
        phones=_spoken_phones(seller),
        handle=seller.handle,
        rubrics=rubrics,
        address=seller.address,
        **_medal(seller),
    )


def _spoken_phones(seller: Seller) -> str:
    return "; ".join(grouped(phone) for phone in seller.phones)


def _medal(seller: Seller) -> dict[str, object]:
    return {"since": seller.since, "medal": _MEDALS[seller.since % len(_MEDALS)]}


# The strip of other adverts under an imot.bg advert: other prices, other areas, other ids.

_STRIP = """
              <div class="similarOfferNew">
                <div class="title">
                  <h2 style="font-size:16px; margin:0; padding:0">{heading}</h2>
                </div>
                <div class="items">
{items}
                </div>
              </div>
"""
_PROMO = '<img src="//www.imot.bg/images/picturess/icons/vip.svg" class="promo" alt="VIP" loading="lazy">'

_STRANGERS = 500


def similar(advert: ImotAdvert) -> str:
    """Other adverts of the same seller, or of the neighbourhood for a private person."""
    rng = Random(f"similar {advert.external_id}")
    items = "".join(_stranger(rng.randrange(_STRANGERS)) for _ in range(rng.randint(6, 12)))
    return _STRIP.format(heading=_heading(advert), items=items)


def _heading(advert: ImotAdvert) -> str:
    if advert.seller.name is None:
        return "Още обяви в района"
    link = f"https://{advert.seller.handle}.imot.bg"
    return (
        f'<a href="{link}" target="_blank">Още обяви в imot.bg от {advert.seller.name}</a>'
        f'<a href="{link}" target="_blank" class="small">Виж всички</a>'
    )


@cache
def _stranger(which: int) -> str:
    rng = Random(f"imot stranger {which}")
    return _item(rng, make_home(rng, 0))


def _item(rng: Random, home: Property) -> str:
    other = (
        f"1{home.kind.letter('sale')}{rng.randint(1_600_000_000, 1_776_000_000)}{rng.randrange(100_000):05d}"
    )
    return fill(
        "imot_similar_item",
        id=other,
        slug=f"prodava-{home.kind.advert_slug}-grad-sofiya-{home.place.slug}",
        promo=_PROMO if rng.random() < 0.5 else "",  # noqa: PLR2004
        trend=rng.choice(("", "", " UP", " DOWN")),
        tail=other[-3:],
        title=f"{DEAL_WORDS['sale']} {home.kind.label}",
        price=price_html(Money("both", home.price_eur)),
        area=home.area_sqm,
        hood=home.place.neighbourhood,
    )


# The statistics form of an imot.bg advert: 972 options that are never closed, as on the real page.

_TOWNS = (
    "Благоевград", "Бургас", "Варна", "Велико Търново", "Видин", "Враца", "Габрово", "Добрич", "Кърджали",
    "Кюстендил", "Ловеч", "Монтана", "Пазарджик", "Перник", "Плевен", "Пловдив", "Разград", "Русе",
    "Силистра", "Сливен", "Смолян", "София", "Стара Загора", "Търговище", "Хасково", "Шумен", "Ямбол",
)  # fmt: skip
_SHOWS = (
    "Цена на имота", "Цена на кв.м.", "Наем на имота", "Цена/Год.наем", "Брой оферти", "Брой търсения",
    "Разглеждания",
)  # fmt: skip
_PERIODS = ("1 месец", "1 година", "3 години", "5 години", "10 години", "22 години")
_ROWS = 4

_ITEM = """          <item>
            <div><num class="color{row}">{row}</num></div>
            <div>
              <select name="n{row}_vi"{disabled}>{kinds}
</select>
            </div>
            <div>
              <select name="n{row}_nr" onchange="javascript:change_nr_cr({fields})"{disabled}>
                {towns}

              </select>
            </div>
            <div>
              <select name="n{row}_cr"{disabled}>
                {hoods}

              </select>
            </div>
            <div>{clear}</div>
          </item>
"""
_CLEAR = (
    '<a title="Изчисти" class="delete" href="javascript:;" onclick="clear_fields_graph({row});">'
    "<span>Изчисти</span></a>"
)


def stats(advert: ImotAdvert) -> str:
    """The form; its first row is the advert's own type, town and neighbourhood."""
    graph = _graph(advert)
    return fill(
        "imot_stats",
        imot_id=advert.external_id,
        graph=graph,
        shows=lines([_radio(graph, "grt", i, word, first=1) for i, word in enumerate(_SHOWS, 1)]),
        periods=lines([_radio(graph, "grp", i, word, first=3) for i, word in enumerate(_PERIODS, 1)]),
        items=_own_row(advert) + _other_rows(),
    )


def _graph(advert: ImotAdvert) -> str:
    home = advert.home
    label = f"{home.kind.label}, град {home.place.city}, {home.place.neighbourhood}"
    own = f"ida={advert.external_id}&pt={home.kind.number}~~~~"
    return f"/pcgi/graph.cgi?{own}&vi={label}~~~~&kv={home.area_sqm}"


def _radio(graph: str, name: str, number: int, word: str, *, first: int) -> str:
    checked = " checked" if number == first else ""
    return (
        f"            <label id=\"l_{name}{number}\" onclick=\"javascript:setgraph('{graph}','')\">"
        f'<input type="radio" name="{name}" value="{number}"{checked} style="margin-top:5px;"> {word}</label>'
    )


def _own_row(advert: ImotAdvert) -> str:
    home = advert.home
    row = _plain_row(1)
    for label in (home.kind.label, f"град {home.place.city}", home.place.neighbourhood):
        row = _selected(row, label)
    return row


def _selected(row: str, label: str) -> str:
    end = row.find(f'">{label}\n')
    start = row.rfind("<option value", 0, end)
    return row if end < 0 else f"{row[:start]}<option selected value{row[start + len('<option value') :]}"


@cache
def _other_rows() -> str:
    return "".join(_plain_row(row) for row in range(2, _ROWS + 1))


@cache
def _plain_row(row: int) -> str:
    return _ITEM.format(
        row=row,
        disabled=" disabled" if row == 1 else "",
        fields=f"document.graphform.n{row}_nr,document.graphform.n{row}_cr",
        kinds='<option value="0">\n' + _options([(kind.number, kind.label) for kind in KINDS]),
        towns='<option value="">\n'
        + _options([(2 * i + 1, f"град {town}") for i, town in enumerate(_TOWNS)]),
        hoods='<option value="">\n' + _options([(hood.id, hood.name) for hood in neighbourhoods()]),
        clear="&nbsp;" if row == 1 else _CLEAR.format(row=row),
    )


def _options(choices: list[tuple[int, str]]) -> str:
    return lines([f'<option value="{value}">{word}' for value, word in choices])



_TITLES = (
    "{words} - {area} кв.м / {price}, {seller} :: imot.bg Обява {tail}",
    "{words} - {area} кв.м / {price} :: imot.bg Обява {tail}",
    "{words}, {area} кв.м, {price} | imot.bg | {tail}",
)
_FEATURES = """  <div class="borderBox MB20">
    <div class="carExtri">
      <span class="Title">Особености</span><br/>
      <div class="items">
        {items}

      </div>
    </div>
  </div>
"""


def listing_page(advert: ImotAdvert) -> bytes:
    """The bytes of the page; every character has a place in windows-1251."""
    body = fill("imot_detail", **_texts(advert), **price_parts(advert), **_blocks(advert))
    text = page(
        body,
        title=_title(advert),
        description=f"imot.bg: Обява: {_title(advert)}",
        canonical=advert.url,
        imot_id=advert.external_id,
        image=_image(advert),
        links=_links(advert),
        data=data_scripts(advert),
        targeting=_targeting(advert),
    )
    return text.encode(CHARSET)


def _texts(advert: ImotAdvert) -> dict[str, object]:
    place = advert.home.place
    search = f"//www.imot.bg/obiavi/{RUBRICS[advert.home.deal]}/{place.city_slug}/{place.slug}"
    return {
        "rubric": RUBRICS[advert.home.deal],
        "advert_title": advert.title,
        "url": advert.url,
        "short_url": advert.url.removeprefix("https:"),
        "imot_id": advert.external_id,
        "mail": f"{Random(advert.external_id).getrandbits(2400):0600x}",
        "place": f"град {place.city}, {place.neighbourhood}",
        "city": place.city,
        "street": f'<div style="font-weight:normal;">{place.street}</div>' if place.street else "",
        "comma_street": f", {place.street}" if place.street else "",
        "hood_search": search,
        "kind_search": f"{search}/{advert.home.kind.slug}",
        "plural": advert.home.kind.plural,
        "moment": f"{'Коригирана' if advert.corrected else 'Публикувана'} в {imot_moment(advert.updated)}",
        "views": advert.views,
        "params": params_html(advert.home),
    }


def _blocks(advert: ImotAdvert) -> dict[str, object]:
    return {
        "gallery": gallery(advert),
        "description": fill("imot_description", text=advert.prose.html),
        "features": _features(advert),
        "contacts": contacts(advert.seller, private_only=advert.private_only),
        "phones": plain_phones(advert.seller),
        "private": private_line(advert.seller),
        "dealer": dealer(advert.seller),
        "stats": stats(advert),
        "similar": similar(advert),
        "crumbs": crumb_links(breadcrumbs(advert)),
    }


def _features(advert: ImotAdvert) -> str:
    items = "\n".join(f"<div>{feature}</div>" for feature in advert.home.features)
    return _FEATURES.format(items=items) if items else ""


def _title(advert: ImotAdvert) -> str:
    place = advert.home.place
    form = _TITLES[2 if advert.old_layout else advert.seller.name is None]
    return form.format(
        words=f"{advert.title} в град {place.city}, {place.neighbourhood}",
        area=advert.home.area_sqm,
        price=price_line(advert.money),
        seller=advert.seller.name,
        tail=advert.external_id[-6:],
    )


def _image(advert: ImotAdvert) -> str:
    return "".join(
        f'<meta property="og:image" content="{photo.removeprefix("https:")}" />'
        for photo in advert.photos[:1]
    )


def _links(advert: ImotAdvert) -> str:
    if not advert.old_layout:
        return ""
    mobile = advert.url.replace("www.", "m.")
    return f'<link rel="alternate" media="only screen and (max-width: 640px)" href="{mobile}" />'


def _targeting(advert: ImotAdvert) -> str:
    home = advert.home
    return (
        f".setTargeting('agency', ['{advert.seller.handle or ''}'])"
        f".setTargeting('AdvertTown', ['ГРАД {home.place.city.upper()}'])"
        f".setTargeting('AdvertDistrict', ['{home.place.neighbourhood.upper()}'])"
        f".setTargeting('AdvertTypeImot', ['{home.kind.label}'])"
    )


