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
    Seller,
)
from sale_sofia_simulator.pieces import attribute, ballast, fill, script_json
from sale_sofia_simulator.text import WORDS, decimals, grouped, imot_moment, leva, ordinal, spaced

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


# What every imot.bg page has around its own part, and the gallery of some.

CHARSET = "windows-1251"
_SLOTS = ("imot.bg_details_top_980_", "imot_sidebar_left", "imot_sidebar_right", "imot.bg_inner_details")
_MOST_VISIBLE = 6
_NO_PHOTO = (
    '\n        <img src="//www.imot.bg/images/picturess/nophoto_660x495.svg" class="noborder" alt="">\n'
)


def page(  # noqa: PLR0913
    body: str,
    *,
    title: str,
    description: str,
    canonical: str,
    imot_id: str = "",
    image: str = "",
    links: str = "",
    data: str = "",
    targeting: str = "",
    weight: int = 30,
) -> bytes:
    """The whole page; `weight` is the size in kilobytes of the scripts in its head."""
    slots = "".join(
        f'          googletag.defineSlot("/1/{slot}", [[160, 600], [300, 250]], "div-gpt-ad-{slot}")\n'
        f"            .addService(googletag.pubads()){targeting}.setCollapseEmptyDiv(true,true);\n\n"
        for slot in _SLOTS
    )
    head = fill(
        "imot_head",
        title=title,
        description=attribute(description),
        canonical=canonical,
        links=links,
        image=image,
        ballast=ballast(weight, "imot head"),
        slots=slots,
    )
    text = head + fill("imot_top", imot_id=imot_id) + body + fill("imot_foot", data=data)
    return text.encode(CHARSET)


def gallery(title: str, heading: str, summary: str, photos: tuple[str, ...], tier: str = "") -> str:
    """Carousel, thumbnails, and the line over them; without photos only the portal's empty picture."""
    icon = f"https://www.imot.bg/images/picturess/icons/{tier.lower()}.svg"
    slides = [
        fill("imot_slide", photo=photo, title=title, number=number) for number, photo in enumerate(photos, 1)
    ]
    small = [
        fill(
            "imot_thumbnail",
            photo=small_photo(photo),
            title=title,
            number=index + 1,
            index=index,
            style="" if index else 'style="opacity: 0.7;"',
        )
        for index, photo in enumerate(photos)
    ]
    return fill(
        "imot_gallery",
        heading=heading,
        summary=summary,
        promo=f'<img src="{icon}" class="promoLine" alt="status">' if tier else "",
        slides="".join(slides) or _NO_PHOTO,
        small="".join(small),
        visible=min(len(photos), _MOST_VISIBLE),
        count=len(photos),
        ballast=ballast(3, "imot gallery"),
    )


def small_photo(photo: str) -> str:
    """The address of the thumbnail of a photo, without its scheme."""
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    return f"{folder.rpartition('//')[0]}/{name}"


_TITLES = (
    "{words} - {area} кв.м / {price}, {seller} :: imot.bg Обява {tail}",
    "{words} - {area} кв.м / {price} :: imot.bg Обява {tail}",
    "{words}, {area} кв.м, {price} | imot.bg | {tail}",
)
_LONGEST_SUMMARY = 80
_SELLERS = {"agency": "Агенция", "developer": "Инвеститор", "private": "Частно лице"}
_PRIVATE_ONLY = '<br><span style="font-size:12px;">Този имот се предлага само на частни лица</span>'
_FIRM_RUBRICS = {
    "prodazhbi": "Продава",
    "naemi": "Дава под наем",
    "kupuva": "Купува",
    "tarsi-da-naeme": "Наема",
}
_MEDALS = "ybrp"
_PROMO = '<img src="//www.imot.bg/images/picturess/icons/vip.svg" class="promo" alt="VIP" loading="lazy">'
_STRANGERS = 500
_FORM_ROWS = 4


def listing_page(advert: ImotAdvert) -> bytes:
    """The bytes of the page; every character has a place in windows-1251."""
    home, place, seller = advert.home, advert.home.place, advert.seller
    where = f"град {place.city}, {place.neighbourhood}"
    search = f"//www.imot.bg/obiavi/{RUBRICS[home.deal]}/{place.city_slug}/{place.slug}"
    features = "\n".join(f"<div>{feature}</div>" for feature in home.features)
    crumbs = _breadcrumbs(home)
    body = fill(
        "imot_detail",
        advert=advert,
        home=home,
        place=place,
        rubric=RUBRICS[home.deal],
        short_url=advert.url.removeprefix("https:"),
        mail=f"{Random(advert.external_id).getrandbits(2400):0600x}",
        where=where,
        street=f'<div style="font-weight:normal;">{place.street}</div>' if place.street else "",
        comma_street=f", {place.street}" if place.street else "",
        hood_search=search,
        kind_search=f"{search}/{home.kind.slug}",
        moment=f"{'Коригирана' if advert.corrected else 'Публикувана'} в {imot_moment(advert.updated)}",
        params=params_html(home),
        gallery=gallery(
            advert.title,
            f"{price_html(advert.money)},, {advert.title}, {where}",
            _gallery_line(advert),
            advert.photos,
            advert.tier,
        ),
        description=fill("imot_description", text=advert.prose.html),
        features=fill("imot_features", items=features) if features else "",
        contacts=_contacts(seller, private_only=advert.private_only),
        phones="; ".join(seller.phones),
        private="/Частно лице/<br>" if seller.kind == "private" else "",
        dealer="" if seller.kind == "private" else fill("imot_dealer", seller=seller, medal=_medal(seller)),
        stats=_stats(advert),
        similar=_similar(advert),
        crumbs="".join(f'<arrow></arrow> <a href="{path}">{name}</a>' for name, path in crumbs.items()),
        **_price_parts(advert),
    )
    title = _TITLES[2 if advert.old_layout else seller.name is None].format(
        words=f"{advert.title} в {where}",
        area=home.area_sqm,
        price=price_html(advert.money).replace("<br>", " » "),
        seller=seller.name,
        tail=advert.external_id[-6:],
    )
    photo = "".join(photo.removeprefix("https:") for photo in advert.photos[:1])
    mobile = advert.url.replace("www.", "m.")
    alternate = f'<link rel="alternate" media="only screen and (max-width: 640px)" href="{mobile}" />'
    return page(
        body,
        title=title,
        description=f"imot.bg: Обява: {title}",
        canonical=advert.url,
        imot_id=advert.external_id,
        image=f'<meta property="og:image" content="{photo}" />' if photo else "",
        links=alternate if advert.old_layout else "",
        data=_data_scripts(advert, crumbs),
        targeting=f".setTargeting('agency', ['{seller.handle or ''}'])"
        f".setTargeting('AdvertTown', ['ГРАД {place.city.upper()}'])"
        f".setTargeting('AdvertDistrict', ['{place.neighbourhood.upper()}'])"
        f".setTargeting('AdvertTypeImot', ['{home.kind.label}'])",
    )


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
    context: dict[str, object] = {"@context": "https://schema.org"}
    steps = {"Imot.bg": "", **crumbs}
    items = [
        {"@type": "ListItem", "position": i, "name": name, "item": f"https://www.imot.bg{path}"}
        for i, (name, path) in enumerate(steps.items(), 1)
    ]
    scripts: list[dict[str, object]] = [{"@type": "BreadcrumbList", "itemListElement": items}]
    if advert.offer:
        scripts.append(_offer(advert))
    spelled = [script_json(context | data, readable=True) for data in scripts]
    return "\n".join(
        f'      <script type="application/ld+json">\n{text}\n      </script>' for text in spelled
    )


def _offer(advert: ImotAdvert) -> dict[str, object]:
    """The offer; it calls every advert a rent, and that is how the portal prints it."""
    home, money, seller = advert.home, advert.money, advert.seller
    in_leva = money.layout == "bgn"
    facts = (
        f"{home.area_sqm} кв.м",
        f"двор {home.yard_sqm} кв.м" if home.yard_sqm else "",
        floor_in_line(home),
        *heating_in_line(home),
        *home.features,
    )
    agent = {
        "@type": "RealEstateAgent",
        "name": seller.name,
        "url": f"https://{seller.handle}.imot.bg",
    }
    return {
        "@type": "Offer",
        "url": advert.url,
        "priceCurrency": "BGN" if in_leva else "EUR",
        "price": leva(money.amount_eur) if in_leva else money.amount_eur,
        "availability": "https://schema.org/InStock",
        "itemOffered": {
            "@type": "Product",
            "name": f"Дава под Наем {home.kind.label}, град {home.place.city}, {home.place.neighbourhood}",
            "description": f"{', '.join(fact for fact in facts if fact)[:_LONGEST_SUMMARY]} ...",
            "image": [photo.replace("//big", "/big") for photo in advert.photos],
            "sku": advert.external_id,
            "brand": {"@type": "Organization", "name": "Imot.bg"},
        },
        "seller": {"@type": "Person"} if seller.kind == "private" else agent,
    }


def _price_parts(advert: ImotAdvert) -> dict[str, object]:
    """Every part of the page that prints the price, with its history; no VAT text without a price."""
    money, each = advert.money, per_sqm(advert.money, advert.home.area_sqm)
    vat = VAT_TEXTS[advert.home.vat] if money.shown else ""
    price = round(money.amount_eur)
    credit = f'<iframe src="/small-calculator?price={price}" name="baner">&nbsp;</iframe>'
    parts: dict[str, object] = {
        "price": price_html(money),
        "per_sqm": f"<span>{each}</span>" if each else "",
        "m2": f'<div class="m2">{each}</div>' if each else "",
        "vat": vat,
        "price_info": f'<div class="PriceInfo">{vat}</div>' if vat else "",
        "credit": f'<div class="credit">{credit}</div>' if advert.home.deal == "sale" and money.shown else "",
    }
    if not advert.trend or not money.shown:
        return parts | dict.fromkeys(("history_button", "history_box", "history_link"), "")
    words = f"'{advert.external_id}','a{advert.seller.user}','{price}','EUR'"
    button = f"showpricechange({words},'priceHistory2'); return false;"
    link = f"showpricechange({words},'priceHistory'); return false;"
    return parts | {
        "history_button": fill("imot_history_button", call=button),
        "history_box": fill("imot_history_box", css="priceHistory2", name="priceHistory2", call=button),
        "history_link": f'<a onclick="{link}" title="Покажи история на цената"></a>'
        + fill("imot_history_box", css="priceHistory1", name="priceHistory", call=link),
    }


def _contacts(seller: Seller, *, private_only: bool) -> str:
    """The contact line, then the broker's block before the firm's; a private person has only the line."""
    line = fill(
        "imot_contact",
        phones="; ".join(seller.phones),
        private="/Частно лице/" if seller.kind == "private" else "",
        note=_PRIVATE_ONLY if private_only else "",
    )
    if seller.kind == "private":
        return line
    phones = "; ".join(grouped(phone) for phone in seller.phones)
    broker = fill("imot_broker", seller=seller, phones=phones, number=f"14{seller.user:015d}")
    rubrics = " | ".join(
        f'<a href="https://{seller.handle}.imot.bg/obiavi/{rubric}">{word}</a>'
        for rubric, word in _FIRM_RUBRICS.items()
    )
    firm = fill(
        "imot_firm",
        seller=seller,
        kind=_SELLERS[seller.kind],
        phones=phones,
        rubrics=rubrics,
        medal=_medal(seller),
    )
    return line + (broker if seller.broker else "") + firm


def _medal(seller: Seller) -> str:
    return _MEDALS[seller.since % len(_MEDALS)]


def _similar(advert: ImotAdvert) -> str:
    """Other adverts of the same seller, or of the neighbourhood for a private person."""
    rng, seller = Random(f"similar {advert.external_id}"), advert.seller
    items = "".join(_stranger(rng.randrange(_STRANGERS)) for _ in range(rng.randint(6, 12)))
    heading = "Още обяви в района"
    if seller.name is not None:
        link = f'<a href="https://{seller.handle}.imot.bg" target="_blank"'
        heading = f'{link}>Още обяви в imot.bg от {seller.name}</a>{link} class="small">Виж всички</a>'
    return fill("imot_similar", heading=heading, items=items)


@cache
def _stranger(which: int) -> str:
    rng = Random(f"imot stranger {which}")
    home = make_home(rng, 0)
    stamp = f"{rng.randint(1_600_000_000, 1_776_000_000)}{rng.randrange(100_000):05d}"
    return fill(
        "imot_similar_item",
        id=f"1{home.kind.letter('sale')}{stamp}",
        slug=f"prodava-{home.kind.advert_slug}-grad-sofiya-{home.place.slug}",
        promo=_PROMO if rng.random() < 0.5 else "",  # noqa: PLR2004
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
        shows=_radios(graph, "grt", "shows", checked=1),
        periods=_radios(graph, "grp", "periods", checked=3),
        items=row + "".join(_form_row(number) for number in range(2, _FORM_ROWS + 1)),
    )


def _radios(graph: str, name: str, words: str, *, checked: int) -> str:
    return "\n".join(
        f"            <label id=\"l_{name}{number}\" onclick=\"javascript:setgraph('{graph}','')\">"
        f'<input type="radio" name="{name}" value="{number}"{" checked" if number == checked else ""}'
        f' style="margin-top:5px;"> {word}</label>'
        for number, word in enumerate(WORDS[words], 1)
    )


def _selected(row: str, label: str) -> str:
    end = row.find(f'">{label}\n')
    start = row.rfind("<option value", 0, end)
    return row if end < 0 else f"{row[:start]}<option selected value{row[start + len('<option value') :]}"


@cache
def _form_row(row: int) -> str:
    kinds = [(kind.number, kind.label) for kind in KINDS]
    towns = [(2 * i + 1, f"град {town}") for i, town in enumerate(WORDS["towns"])]
    clear = (
        f'<a title="Изчисти" class="delete" href="javascript:;" onclick="clear_fields_graph({row});">'
        "<span>Изчисти</span></a>"
    )
    return fill(
        "imot_stats_item",
        row=row,
        disabled=" disabled" if row == 1 else "",
        fields=f"document.graphform.n{row}_nr,document.graphform.n{row}_cr",
        kinds=_options([("0", ""), *kinds]),
        towns=_options([("", ""), *towns]),
        hoods=_options([("", ""), *((hood.id, hood.name) for hood in neighbourhoods())]),
        clear="&nbsp;" if row == 1 else clear,
    )


def _options(choices: list[tuple[str | int, str]]) -> str:
    return "\n".join(f'<option value="{value}">{word}' for value, word in choices)
