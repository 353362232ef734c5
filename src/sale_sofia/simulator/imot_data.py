"""The JSON-LD of an imot.bg page, with the portal's own mistakes."""

from typing import NamedTuple

from sale_sofia.simulator.imot_words import floor_in_line, heating_in_line
from sale_sofia.simulator.kinds import RUBRIC_NAMES, RUBRICS
from sale_sofia.simulator.model import ImotAdvert
from sale_sofia.simulator.pieces import script_json
from sale_sofia.simulator.text import leva

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
