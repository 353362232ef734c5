"""Makes properties, sellers and descriptions that could be true."""

from collections.abc import Sequence
from html import escape, unescape
from random import Random

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia_simulator import names
from sale_sofia_simulator.model import (
    CONSTRUCTION_WEIGHTS,
    CONSTRUCTIONS,
    FEATURES,
    FLATS,
    OPEN_LAND,
    OTHERS,
    Age,
    Kind,
    Place,
    Property,
    Prose,
    Seller,
)
from sale_sofia_simulator.text import spaced

_FLAT_WEIGHTS = (14, 34, 30, 10, 6, 6)
_SHARE_OTHER_KINDS = 0.08
_SHARE_RENT = 0.18
_SHARE_ELSEWHERE = 0.025
_AREAS = {
    1: (28, 62), 2: (45, 95), 3: (70, 140), 4: (110, 200), 5: (140, 320), 6: (90, 260), 7: (25, 400),
    8: (20, 80), 9: (60, 200), 10: (80, 600), 11: (50, 250), 12: (8, 300), 13: (60, 500), 14: (30, 900),
    15: (12, 40), 16: (100, 2000), 17: (400, 3000), 18: (300, 3000), 19: (1000, 20000), 20: (80, 900),
}  # fmt: skip
ELSEWHERE = (("Вароша", "varosha"), ("Запад 2", "zapad-2"))
NO_SUCH_HOODS = frozenset({"m-t-batareyata", "m-t-yubileyna-gora", "m-t-yaladzha"})
"""Neighbourhoods of the list that imot.bg itself does not have: nothing stands in them."""
_AGES = {"use": 38, "will": 22, "bare": 8, "decade": 6, "used_decade": 12, "used": 6, "none": 8}
_YEARS = {"use": (1998, 2026), "will": (2026, 2030), "bare": (2005, 2028), "used": (1960, 2020)}
_DECADES = (1950, 1999)
_FIRMS = 60
_SHARE_BROKER = 0.4


def chance(rng: Random, share: float) -> bool:
    """True in `share` of the cases."""
    return rng.random() < share


def pick(rng: Random, values: Sequence[str], weights: Sequence[float]) -> str:
    """One of the values, by weight."""
    return rng.choices(values, weights)[0]


def make_home(rng: Random, number: int, *, flat: bool = False) -> Property:
    """A property of any kind, or a flat with a number of rooms when asked for one."""
    kind = _kind(rng, flat=flat)
    land = kind.property_type in OPEN_LAND
    deal = "rent" if chance(rng, _SHARE_RENT) and not land else "sale"
    area = rng.randint(*_AREAS[kind.number])
    floor, floors_total = _storeys(rng, kind)
    construction = None
    if not land and not chance(rng, 0.85 if deal == "rent" else 0.05):
        construction = pick(rng, tuple(CONSTRUCTIONS), CONSTRUCTION_WEIGHTS)
    age = _age(rng) if construction else Age("none", 2000)
    return Property(
        number=number,
        kind=kind,
        deal=deal,
        place=_place(rng),
        area_sqm=area,
        yard_sqm=rng.randint(60, 900) if kind.storeys_only else None,
        floor=floor,
        floors_total=floors_total,
        construction=construction,
        age=age,
        district_heating=None if land else pick(rng, _DISTRICT_HEATING, (55, 10, 6, 4, 25)) or None,
        gas=None if land else pick(rng, ("ДА", "НЕ", ""), (14, 10, 76)) or None,
        features=() if land else _features(rng, construction, age),
        price_eur=_price(rng, deal, area, land=land),
        vat=pick(rng, ("none", "included", "excluded", ""), (48, 30, 12, 10)) or None,
    )


_DISTRICT_HEATING = ("ДА", "НЕ", "Лок.отопл.", "Прокарва се", "")


def _kind(rng: Random, *, flat: bool) -> Kind:
    if flat:
        return rng.choice(FLATS[:-1])
    if chance(rng, _SHARE_OTHER_KINDS):
        return rng.choice(OTHERS)
    return rng.choices(FLATS, _FLAT_WEIGHTS)[0]


def _place(rng: Random) -> Place:
    street = names.street(rng) if chance(rng, 0.35) else None
    if chance(rng, _SHARE_ELSEWHERE):
        name, slug = rng.choice(ELSEWHERE)
        return Place("Търговище", "grad-targovishte", name, slug, None, None, None, street)
    known = neighbourhoods()
    start = int(len(known) * rng.random() ** 2)
    return in_sofia(next(hood for hood in known[start:] if hood.slug not in NO_SUCH_HOODS), street)


def in_sofia(hood: Neighbourhood, street: str | None) -> Place:
    """A place in this neighbourhood."""
    return Place("София", "grad-sofiya", hood.name, hood.slug, hood.district, hood.lat, hood.lon, street)


def _storeys(rng: Random, kind: Kind) -> tuple[int | None, int | None]:
    """The floor and the number of floors."""
    if kind.storeys_only:
        return None, rng.randint(1, 4)
    if kind.property_type in {*OPEN_LAND, "garage", "hotel"} or chance(rng, 0.04):
        return None, None
    total = rng.randint(2, 20)
    level = rng.random()
    if level < 0.07:  # noqa: PLR2004
        return 0 if level > 0.015 else -1, total  # noqa: PLR2004
    return rng.randint(1, total), total


def _age(rng: Random) -> Age:
    form = pick(rng, tuple(_AGES), tuple(_AGES.values()))
    return Age(form, rng.randint(*_YEARS.get(form, _DECADES)))


def _features(rng: Random, construction: str | None, age: Age) -> tuple[str, ...]:
    if chance(rng, 0.06):
        return ()
    chosen = set(rng.sample(FEATURES, rng.randint(0, 7)))
    if age.state.startswith("Въведен"):
        chosen.discard("В строеж")
    first = (construction,) if construction and chance(rng, 0.85) else ()
    return (*first, *(feature for feature in FEATURES if feature in chosen))


def _price(rng: Random, deal: str, area: int, *, land: bool) -> int:
    per_sqm = rng.uniform(2, 60) if land else rng.uniform(1300, 4200)
    if deal == "rent":
        return max(90, round(area * rng.uniform(6, 18)))
    step = rng.choice((1, 10, 100, 500, 1000))
    return max(1000, round(area * per_sqm / step) * step)


def make_seller(rng: Random, seed: int) -> Seller:
    """One of the world's firms, or a private person seen once."""
    kind = pick(rng, ("agency", "developer", "private"), (78, 10, 12))
    if kind == "private":
        return Seller(kind, None, None, _phones(rng), 2020, "", None, rng.randint(100_000, 4_999_999))
    same = Random(f"{seed}:{kind}:{rng.randrange(_FIRMS)}")
    name = names.firm(same, builder=kind == "developer")
    return Seller(
        kind=kind,
        name=name,
        handle=names.handle(name),
        since=same.randint(2004, 2025),
        address=f"гр. София, {names.street(same)} {same.randint(1, 150)}",
        user=same.randint(100_000, 4_999_999),
        phones=_phones(rng),
        broker=names.person(rng) if chance(rng, _SHARE_BROKER) else None,
    )


def _phones(rng: Random) -> tuple[str, ...]:
    return tuple({names.mobile(rng): None for _ in range(2 if chance(rng, 0.1) else 1)})


def describe(rng: Random, place: Place, area: int, age: Age) -> Prose:
    """A description of a handful of sentences; a few adverts have a single one, some a long story."""
    sentences = [rng.choice(names.WORDS["openings"])]
    for pool in (names.WORDS[name] for name in ("rooms", "house", "money", "places")):
        sentences += rng.sample(pool, rng.randrange(len(pool)))
    sentences.append(rng.choice(names.WORDS["endings"]))
    per = rng.randrange(1500, 4200, 10)
    words = {
        "hood": escape(place.neighbourhood),
        "ref": rng.randrange(100_000, 999_999),
        "n": rng.randrange(1, 4),
        "small": rng.randrange(3, 14),
        "net": round(area * 0.86),
        "floors": rng.randrange(3, 19),
        "other": rng.choice((3, 4, 5, 6, 9)),
        "year": rng.randrange(2010, 2020),
        "year2": max(age.year, 2020) + rng.randrange(1, 4),
        "per": spaced(per),
        "per2": spaced(per + 350),
        "garage": spaced(rng.randrange(18, 60) * 1000),
        "area2": area + rng.randrange(5, 60),
        "price2": spaced(rng.randrange(90, 600) * 1000),
        "fee": rng.randrange(15, 90),
        "walk": rng.randrange(3, 16),
        "bus": rng.randrange(60, 120),
    }
    html = sentences[0].format(**words)
    for sentence in sentences[1:]:
        html += rng.choice(("<br>", "<br><br>", " ", "<br />", "<br>  ")) + sentence.format(**words)
    return Prose(html, plain(html), glued(html))


def plain(html: str) -> str:
    """The text of our own markup: line breaks kept, white space squeezed in each line, no empty lines."""
    lines = unescape(html.replace("<br />", "<br>")).split("<br>")
    return "\n".join(squeezed for line in lines if (squeezed := " ".join(line.split())))


def glued(html: str) -> str:
    """The text of our own markup as bazar.bg strips it: line breaks vanish, white space is squeezed."""
    return " ".join(unescape(html.replace("<br />", "<br>").replace("<br>", "")).split())
