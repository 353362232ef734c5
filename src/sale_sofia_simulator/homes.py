"""Makes properties, sellers and descriptions that could be true."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape, unescape
from random import Random

from sale_sofia.flats.settings import BUILT_BETWEEN
from sale_sofia.geography.gazetteer import metres_outside
from sale_sofia.geography.metro import walk_from
from sale_sofia.geography.shapes import Point
from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia_simulator import text
from sale_sofia_simulator.model import CONSTRUCTIONS, FLATS, KINDS, Age, Kind, Place, Property, Prose, Seller
from sale_sofia_simulator.text import spaced

_OTHERS = tuple(kind for kind in KINDS if not kind.flat)
_OPEN_LAND = frozenset({"plot", "land"})
_CONSTRUCTION_WEIGHTS = (70, 14, 6, 4, 3, 2)
_FEATURES: Sequence[str] = text.TABLES["features"]
_FLAT_WEIGHTS = (14, 34, 30, 10, 6, 6)
_SHARE_OTHER_KINDS = 0.08
_SHARE_RENT = 0.18
_SHARE_ELSEWHERE = 0.025
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
    land = kind.property_type in _OPEN_LAND
    deal = "rent" if chance(rng, _SHARE_RENT) and not land else "sale"
    area = rng.randint(*text.TABLES["areas"][kind.number])
    floor, floors_total = _storeys(rng, kind)
    construction = None
    if not land and not chance(rng, 0.85 if deal == "rent" else 0.05):
        construction = pick(rng, tuple(CONSTRUCTIONS), _CONSTRUCTION_WEIGHTS)
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
        return rng.choice(_OTHERS)
    return rng.choices(FLATS, _FLAT_WEIGHTS)[0]


def _place(rng: Random) -> Place:
    street = rng.choice(text.WORDS["streets"]) if chance(rng, 0.35) else None
    if chance(rng, _SHARE_ELSEWHERE):
        name, slug = rng.choice(ELSEWHERE)
        return Place("Търговище", "grad-targovishte", name, slug, None, None, None, street)
    hoods = neighbourhoods()
    start = int(len(hoods) * rng.random() ** 2)
    return in_sofia(next(hood for hood in hoods[start:] if hood.slug not in NO_SUCH_HOODS), street)


def in_sofia(hood: Neighbourhood, street: str | None) -> Place:
    """A place in this neighbourhood."""
    return Place("София", "grad-sofiya", hood.name, hood.slug, hood.district, hood.lat, hood.lon, street)


def _storeys(rng: Random, kind: Kind) -> tuple[int | None, int | None]:
    """The floor and the number of floors."""
    if kind.storeys_only:
        return None, rng.randint(1, 4)
    if kind.property_type in {*_OPEN_LAND, "garage", "hotel"} or chance(rng, 0.04):
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
    chosen = set(rng.sample(_FEATURES, rng.randint(0, 7)))
    if age.state.startswith("Въведен"):
        chosen.discard("В строеж")
    first = (construction,) if construction and chance(rng, 0.85) else ()
    return (*first, *(feature for feature in _FEATURES if feature in chosen))


def _price(rng: Random, deal: str, area: int, *, land: bool) -> int:
    per_sqm = rng.uniform(2, 60) if land else rng.uniform(1300, 4200)
    if deal == "rent":
        return max(90, round(area * rng.uniform(6, 18)))
    step = rng.choice((1, 10, 100, 500, 1000))
    return max(1000, round(area * per_sqm / step) * step)


# A lifelike city: flats in neighbourhoods that are known, at what is asked for there, and built when such
# houses were. Their texts agree with that.

_CITY: Mapping[str, int] = text.TABLES["city"]
"""EUR for each m² by neighbourhood."""
_SHARE_WRONG = 0.05
"""Texts that are written of some other flat."""
_SHARE_SETTLED = 0.75
"""Of what is no flat, so much becomes one: the city is shown to people who look for flats."""
_BUILT = {"panel": 0.86, "epk": 0.92, "pk": 0.94, "prefab": 0.85, "beam": 0.93}
"""What a building makes of the price, beside brick."""
_NEW_FROM = 2015
_YEARLY_RENT = 0.05
_FARTHEST_WALK = 20
"""Minutes; of a longer walk no advert boasts."""
_BEDROOMS_FROM = 3
"""Rooms from which on a sentence counts bedrooms: nobody writes "1 bedrooms"."""
_DRAWS = 40
_SPREAD = 0.012
"""Degrees around the middle of a neighbourhood within which it lies."""


def settle_in_city(rng: Random, home: Property) -> Property:
    """The same home in the city."""
    if not home.kind.flat and chance(rng, _SHARE_SETTLED):
        home = make_home(rng, home.number, flat=True)
    hood = rng.choice([hood for hood in neighbourhoods() if hood.slug in _CITY])
    # As it is, unless no such house was built then.
    first, last = BUILT_BETWEEN.get(CONSTRUCTIONS.get(home.construction or "", ""), (0, 9999))
    age = home.age if first <= home.age.year <= last else Age("use", rng.randint(max(first, 1970), 1992))
    home = replace(home, place=in_sofia(hood, home.place.street), position=_point(rng, hood), age=age)
    return replace(home, price_eur=_asking_price(rng, home)) if home.kind.flat else home


def _point(rng: Random, hood: Neighbourhood) -> tuple[float, float]:
    """Somewhere in the neighbourhood; its middle, should none be met."""
    middle = Point(hood.lat or 0.0, hood.lon or 0.0)
    for _ in range(_DRAWS):
        point = Point(*(round(degrees + rng.uniform(-_SPREAD, _SPREAD), 5) for degrees in middle))
        if metres_outside(hood.id, point) == 0:
            return point.lat, point.lon
    return middle.lat, middle.lon


def _asking_price(rng: Random, home: Property) -> int:
    """What is asked for it: by its place, its building and its floor, and a little by its seller."""
    new = 1.1 if home.age.year >= _NEW_FROM else 1.0
    floor = 0.94 if home.floor is not None and home.floor in {0, 1, home.floors_total} else 1.0
    built = _BUILT.get(CONSTRUCTIONS.get(home.construction or "", ""), 1.0)
    price = home.area_sqm * _CITY[home.place.slug] * new * floor * built * rng.gauss(1.0, 0.07)
    step = 10 if home.deal == "rent" else rng.choice((100, 500, 1000))
    return round((price * _YEARLY_RENT / 12 if home.deal == "rent" else price) / step) * step


def _true_words(home: Property) -> dict[str, object]:
    """What fills the gaps of its sentences; None where a sentence with this gap would not be true."""
    rooms, unbuilt = home.kind.rooms, home.age.form == "will"
    walk = walk_from(Point(*home.position)).least if home.position else None
    per = round(home.price_eur / home.area_sqm / 10) * 10 if home.deal == "sale" else None
    return {
        "per": per and spaced(per),
        "per2": None,  # one flat has one price
        "n": rooms - 1 if rooms and rooms >= _BEDROOMS_FROM else None,
        "floors": home.floors_total,
        "walk": walk if walk is not None and 1 <= walk <= _FARTHEST_WALK else None,
        "year": None if unbuilt or home.age.year >= _NEW_FROM else max(home.age.year + 10, 2010),
        "year2": home.age.year if unbuilt else None,
    }


def make_seller(rng: Random, seed: int) -> Seller:
    """One of the world's firms, or a private person seen once."""
    kind = pick(rng, ("agency", "developer", "private"), (78, 10, 12))
    if kind == "private":
        return Seller(kind, None, None, _phones(rng), 2020, "", None, rng.randint(100_000, 4_999_999))
    same = Random(f"{seed}:{kind}:{rng.randrange(_FIRMS)}")
    name = text.firm(same, builder=kind == "developer")
    return Seller(
        kind=kind,
        name=name,
        handle=text.handle(name),
        since=same.randint(2004, 2025),
        address=f"гр. София, {same.choice(text.WORDS['streets'])} {same.randint(1, 150)}",
        user=same.randint(100_000, 4_999_999),
        phones=_phones(rng),
        broker=text.person(rng) if chance(rng, _SHARE_BROKER) else None,
    )


def _phones(rng: Random) -> tuple[str, ...]:
    return tuple({text.mobile(rng): None for _ in range(2 if chance(rng, 0.1) else 1)})


def describe(rng: Random, home: Property) -> Prose:
    """A description of a handful of sentences; a few adverts have a single one, some a long story.

    Of a home whose position is known it says nothing untrue, but in a small share, as sellers do.
    """
    area, age = home.area_sqm, home.age
    sentences = [rng.choice(text.WORDS["openings"])]
    for pool in (text.WORDS[name] for name in ("rooms", "house", "money", "places")):
        sentences += rng.sample(pool, rng.randrange(len(pool)))
    sentences.append(rng.choice(text.WORDS["endings"]))
    per = rng.randrange(1500, 4200, 10)
    words = {
        "hood": escape(home.place.neighbourhood),
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
    if home.position and not chance(rng, _SHARE_WRONG):
        truth = _true_words(home)
        untold = [f"{{{name}}}" for name, value in truth.items() if value is None]
        sentences = [sentence for sentence in sentences if not any(gap in sentence for gap in untold)]
        words |= truth
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
