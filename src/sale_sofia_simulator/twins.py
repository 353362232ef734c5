"""Adverts of the portals beside imot.bg and bazar.bg: each is the same property as an advert of imot.bg."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia_simulator.homes import chance
from sale_sofia_simulator.model import CONSTRUCTIONS, Advert, ImotAdvert, Money, Place, World
from sale_sofia_simulator.truth import Truth

TWINS: Final = {
    "alo.bg": 10_000_000,
    "homes.bg": 1_000_000,
    "imoti.com": 20_000_000,
    "imoti.net": 6_000_000,
    "luximmo.bg": 300_000,
    "olx.bg": 140_000_000,
    "suprimmo.bg": 600_000,
}
"""Each portal and the number its adverts begin with; every property has a number of its own."""
_HOME = "София"
_MISFILED = "Надежда 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinAdvert(Advert):
    """The same advert as another portal shows it."""

    number: int
    imot_id: str
    position: tuple[float, float] | None
    misfiled: bool
    """Whether the seller filed it under Sofia although it is elsewhere."""


def twin_adverts(world: World, site: str) -> tuple[TwinAdvert, ...]:
    """What this portal shows of the world: an advert for each on imot.bg."""
    return tuple(make_twin(site, advert) for advert in world.imot)


def make_twin(site: str, source: ImotAdvert) -> TwinAdvert:
    """The same world always gives the same advert."""
    rng = Random(f"{site}:{source.external_id}")
    number = TWINS[site] + source.home.number
    misfiled = site == "olx.bg" and source.home.place.city != _HOME
    home = replace(source.home, place=_filed(source.home.place)) if misfiled else source.home
    return TwinAdvert(
        site=site,
        external_id=_external_id(site, number, source),
        url="",
        title=f"{source.title} в {source.home.place.city}" if misfiled else _title(source),
        home=home,
        money=_money(rng, source, site),
        prose=source.prose,
        seller=source.seller,
        posted=source.posted,
        updated=source.updated,
        views=source.views,
        photos=(),
        tier=source.tier,
        number=number,
        imot_id=source.external_id,
        position=_position(rng, home.place),
        misfiled=misfiled,
    )


def _external_id(site: str, number: int, source: ImotAdvert) -> str:
    if site != "homes.bg":
        return str(number)
    kind = "h" if source.home.kind.property_type in {"house", "villa"} else "a"
    return f"{kind}{'r' if source.home.deal == 'rent' else 's'}{number}"


def _title(source: ImotAdvert) -> str:
    return f"{source.title.capitalize()}, {source.home.place.neighbourhood}"


def _filed(place: Place) -> Place:
    return replace(
        place,
        city=_HOME,
        city_slug="grad-sofiya",
        neighbourhood=_MISFILED,
        slug="nadezhda-1",
        district="Надежда",
        street=None,
    )


def _money(rng: Random, source: ImotAdvert, site: str) -> Money:
    if not source.money.shown:
        return Money("ask", source.home.price_eur)
    both = site != "homes.bg" and chance(rng, 0.7)
    return Money("both" if both else "eur", source.home.price_eur)


def _position(rng: Random, place: Place) -> tuple[float, float] | None:
    if place.lat is None or place.lon is None or not chance(rng, 0.5):
        return None
    return round(place.lat + rng.uniform(-0.004, 0.004), 5), round(place.lon + rng.uniform(-0.004, 0.004), 5)


def photo_names(advert: TwinAdvert, most: int) -> list[str]:
    """Names of its photos, made from its number."""
    rng = Random(f"photos:{advert.site}:{advert.number}")
    return [f"{rng.getrandbits(40):010x}" for _ in range(rng.randint(0, most))]


def blank_truth(advert: TwinAdvert, url: str) -> Truth:
    """What every portal prints of an advert; the rest is null until the portal's own truth says more."""
    home, money = advert.home, advert.money
    facts: dict[str, Any] = dict.fromkeys(
        (
            "family_id", "description", "vat", "yard_sqm", "floor", "floors_total", "construction",
            "year_built", "under_construction", "act_status", "elevator", "furnishing", "condition", "street",
            "lat", "lon", "seller_kind", "seller_name", "posted_at", "updated_at", "views",
            "previous_price_eur", "area_net_sqm", "metro_station", "metro_distance_m",
        )
    )  # fmt: skip
    lists: dict[str, Any] = {
        name: [] for name in ("heating", "parking", "phones", "features", "photo_urls", "orientation")
    }
    return facts | lists | {
        "site": advert.site,
        "kind": "listing",
        "url": url,
        "external_id": advert.external_id,
        "deal": home.deal,
        "property_type": home.kind.property_type,
        "rooms": home.kind.rooms,
        "title": advert.title,
        "price_eur": money.eur,
        "price_bgn": money.bgn,
        "area_sqm": home.area_sqm,
        "city": home.place.city,
        "district": home.place.district,
        "neighbourhood": home.place.neighbourhood,
        "flags": ["place_conflict"] if advert.misfiled else [],
    }  # fmt: skip


def construction(advert: TwinAdvert) -> str | None:
    """What the printed construction means."""
    return CONSTRUCTIONS.get(advert.home.construction or "")


def printed_features(advert: TwinAdvert) -> list[str]:
    """The features of a portal that files heating among them."""
    home = advert.home
    heating = {"ТЕЦ": "ДА", "Локално отопление": "Лок.отопл."}
    kinds = [word for word, flag in heating.items() if home.district_heating == flag]
    return [*home.features, *kinds, *(["Газ"] if home.gas == "ДА" else [])]


def sofia_phones(advert: TwinAdvert) -> list[str]:
    """The seller's numbers as a listing names them."""
    return [f"+359{phone[1:]}" for phone in advert.seller.phones]


# The numbers under which a portal of its own files Sofia's neighbourhoods.

_UNKNOWN = 10_000


def hood_ids(known: Mapping[str, int]) -> dict[int, Neighbourhood]:
    """Every neighbourhood by its number: the portal's own where it is `known` by name, else one made up."""
    return {known.get(hood.name, _UNKNOWN + hood.id): hood for hood in neighbourhoods()}


def family_ids() -> dict[int, Neighbourhood]:
    """As the imot.bg family numbers them."""
    return {hood.id: hood for hood in neighbourhoods()}


def tilde_list(query: Mapping[str, list[str]], name: str) -> list[int]:
    """The numbers of a filter of that family: 6~10~11~."""
    return [int(part) for part in query.get(name, [""])[0].split("~") if part.isdecimal()]


def with_tildes(query: Mapping[str, list[str]], *names: str) -> str:
    """These filters as an address has them, with its question mark; nothing where none is set."""
    set_ones = {name: numbers for name in names if (numbers := tilde_list(query, name))}
    spelled = [f"{name}={''.join(f'{number}~' for number in numbers)}" for name, numbers in set_ones.items()]
    return "?" + "&".join(spelled) if spelled else ""
