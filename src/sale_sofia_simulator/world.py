"""A seeded world: the same number and seed always give the same adverts, down to the byte."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from string import ascii_letters, digits
from typing import Any, Final, TypeVar

from sale_sofia_simulator.homes import chance, describe, make_home, make_seller, pick
from sale_sofia_simulator.model import (
    KINDS,
    NOW,
    SOFIA,
    BazarAdvert,
    ImotAdvert,
    Money,
    Property,
    Prose,
    Seller,
    Slot,
    World,
)
from sale_sofia_simulator.text import WORDS, slug
from sale_sofia_simulator.twins import position_near

# Moments before the evening of the first day.

_MORNING = 7


def _long_ago(rng: Random) -> datetime:
    """A moment from an hour to some years ago."""
    return _daytime(NOW - timedelta(seconds=int(rng.expovariate(1 / 9_000_000)) + 3600))


def _daytime(moment: datetime) -> datetime:
    """Away from the hours that the change of clocks repeats or skips."""
    local = moment.astimezone(SOFIA)
    return local if local.hour >= _MORNING else local.replace(hour=local.hour + _MORNING, fold=0)


def _later(rng: Random, posted: datetime) -> datetime:
    """A whole minute between `posted` and now."""
    room = (NOW - posted).total_seconds()
    return _daytime(posted + timedelta(seconds=int(room * rng.random()))).replace(second=0)


def _refreshed(rng: Random, posted: datetime) -> datetime:
    """When bazar.bg last renewed an advert: mostly today, never before it was posted."""
    back = timedelta(days=rng.choice((0, 0, 0, 1, 1, 5, 16, 29)), minutes=rng.randint(5, 600))
    moment = max(posted, _daytime(NOW - back))
    return moment.replace(second=rng.choice((0, rng.randrange(60))), microsecond=0)


# Makes the adverts of imot.bg.

_HOSTS = ("cdn3", "imotstatic1", "imotstatic2", "imotstatic3", "imotstatic4")
_MOST_PHOTOS = 17


def make_imot(
    rng: Random, home: Property, seller: Seller, *, posted_today: datetime | None = None
) -> ImotAdvert:
    """The advert of this property on imot.bg; one posted today has not been corrected yet."""
    posted = posted_today or _long_ago(rng)
    corrected = not posted_today and chance(rng, 0.6)
    kind = rng.choice(KINDS) if chance(rng, 0.05) else home.kind
    prefix = f"{'2' if home.deal == 'rent' else '1'}{kind.letter(home.deal)}"
    imot_id = f"{prefix}{int(posted.timestamp())}{rng.randrange(100_000):05d}"
    layout = pick(rng, ("both", "eur", "eur_word", "bgn", "ask"), (72, 14, 8, 2.5, 3.5))
    old_layout = chance(rng, 0.12)
    return ImotAdvert(
        site="imot.bg",
        external_id=imot_id,
        url=_url(home, imot_id),
        title=f"{home.deal_words} {home.kind.label}",
        home=home,
        money=Money(layout, home.price_eur),
        prose=describe(rng, home),
        seller=seller,
        posted=posted,
        updated=_later(rng, posted) if corrected else posted.replace(second=0),
        views=rng.randint(0, 9999),
        photos=_photos(rng, imot_id),
        tier=pick(rng, ("", "VIP", "TOP", "BEST"), (70, 14, 13, 3)),
        offer=not old_layout and layout != "ask",
        old_layout=old_layout,
        corrected=corrected,
        trend=pick(rng, ("", "UP", "DOWN"), (75, 13, 12)),
        private_only=chance(rng, 0.15),
    )


def _url(home: Property, imot_id: str) -> str:
    place = home.place
    street = f"-{slug(place.street)}" if place.street else ""
    words = f"{slug(home.deal_words)}-{home.kind.advert_slug}-{place.city_slug}-{place.slug}{street}"
    return f"https://www.imot.bg/obiava-{imot_id}-{words}"


def _photos(rng: Random, imot_id: str) -> tuple[str, ...]:
    host, size = rng.choice(_HOSTS), rng.choice(("big", "big1", "big1"))
    folder = f"https://{host}.focus.bg/imot/photosimotbg/{imot_id[0]}/{imot_id[-3:]}//{size}"
    codes = {
        f"{rng.choice(ascii_letters)}{rng.choice(ascii_letters + digits)}": None
        for _ in range(photo_count(rng))
    }
    return tuple(f"{folder}/{imot_id}_{code}.jpg" for code in codes)


def photo_count(rng: Random) -> int:
    """From none to seventeen."""
    return 0 if chance(rng, 0.04) else rng.randint(1, _MOST_PHOTOS)


# Makes the adverts of bazar.bg: imports of imot.bg, and its own.

_MOST_ON_BAZAR = 16
_SHARE_POSITION = 0.31
"""So many say where they are, or at least about where."""
_SHARE_EXACT = 0.8
"""The same of a home that is somewhere exactly."""


def import_to_bazar(rng: Random, number: int, source: ImotAdvert) -> BazarAdvert:
    """The same advert as bazar.bg re-publishes it: its photos carry the imot.bg id."""
    home, place, seller = source.home, source.home.place, source.seller
    title = f"{source.title}, гр. {place.city}, {place.neighbourhood}"
    photos = tuple(photo.replace("//big", "/big") for photo in source.photos[:_MOST_ON_BAZAR])
    money = _money(rng, home, asks=not source.money.shown)
    words = Prose("", title, title) if chance(rng, 0.03) else source.prose
    seller_name = seller.name
    if seller_name is None or chance(rng, 0.1):
        seller_name = f"Потребител {seller.user}"
    elif chance(rng, 0.04):
        seller_name = f"{seller_name} 02/8000100 {seller.phones[0]}"
    own = {"native": False, "imot_id": source.external_id if photos else None, "vat": home.vat}
    printed = {"title": title, "money": money, "prose": words, "photos": photos, "seller_name": seller_name}
    return _bazar(rng, number, home, seller=seller, posted=source.posted, **own, **printed)


def write_on_bazar(rng: Random, number: int, home: Property, seller: Seller) -> BazarAdvert:
    """An advert that exists on bazar.bg alone: free title, own photos, no VAT text."""
    person = rng.choice(WORDS["given"]) if chance(rng, 0.6) else f"Потребител {seller.user}"
    kind = home.kind.label.lower() if home.kind.rooms is None else f"{home.kind.rooms}-стаен"
    deal = "под наем" if home.deal == "rent" else "за продажба"
    tail = rng.choice((f" - {home.price_eur} евро", "", " от собственик", ", без посредник"))
    money = _money(rng, home, asks=chance(rng, 0.05), cents=chance(rng, 0.2))
    words = describe(rng, home)
    posted = NOW - timedelta(days=rng.randint(2, 90))
    photos = []
    for _ in range(min(photo_count(rng), _MOST_ON_BAZAR)):
        name = f"{rng.getrandbits(128):032x}"
        photos.append(f"https://cdn{rng.randint(5, 8)}.focus.bg/bazar/{name[:2]}/pics/{name}.webp")
    return _bazar(
        rng,
        number,
        home,
        seller=seller,
        title=f"{kind} {deal} в {home.place.neighbourhood}{tail}",
        money=money,
        prose=replace(words, html=f"<div><span><span>{words.html}</span></span></div>"),
        posted=posted,
        photos=tuple(photos),
        native=True,
        imot_id=None,
        vat=None,
        seller_name=person,
    )


def _bazar(rng: Random, number: int, home: Property, **fields: Any) -> BazarAdvert:  # noqa: ANN401 - its fields
    external_id = str(50_000_000 + number * 37 + rng.randrange(37))
    return BazarAdvert(
        site="bazar.bg",
        external_id=external_id,
        url=f"https://bazar.bg/obiava-{external_id}/{slug(fields['title'], bazar=True)}",
        home=home,
        updated=_refreshed(rng, fields["posted"]),
        views=rng.randint(1, 4000),
        tier=pick(rng, ("", "TOP"), (40, 60)),
        floor=None if home.floor is None or home.floor < 1 or chance(rng, 0.04) else home.floor,
        position=_position(rng, home),
        lag_minutes=rng.randint(0, 4),
        **fields | {"vat": fields["vat"] if fields["money"].shown else None},
    )


def _position(rng: Random, home: Property) -> tuple[float, float] | None:
    if home.position:
        return home.position if chance(rng, _SHARE_EXACT) else None
    return position_near(rng, home.place, share=_SHARE_POSITION, spread=0.006, digits=11)


def _money(rng: Random, home: Property, *, asks: bool, cents: bool = False) -> Money:
    if asks:
        return Money("ask", home.price_eur)
    amount = home.price_eur + (rng.randint(1, 99) / 100 if cents else 0)
    layout = pick(rng, ("both", "bgn_first", "eur", "bgn"), (68, 20, 9, 3))
    if layout != "both" or not chance(rng, 0.12):
        return Money(layout, amount)
    previous = round(amount * rng.choice((0.9, 0.94, 0.97, 1.03, 1.06, 1.12)))
    return Money(layout, amount, None if previous == amount else previous)


Settle = Callable[[Random, Property], Property]
"""Puts a property that was made somewhere else, or makes something else of it."""
_SHARE_WRITTEN_TWICE = 0.03


def as_made(_rng: Random, home: Property) -> Property:
    """Leaves it where it is."""
    return home


def make_world(properties: int, seed: int, settle: Settle = as_made) -> World:
    """Exactly `properties` adverts on each portal; a smaller world of one seed begins a larger one."""
    slots = [_make_slot(Random(f"{seed}:{number}"), number, seed, settle) for number in range(properties)]
    return _world_of(slots, seed, made=properties)


def _world_of(
    slots: list[Slot], seed: int, *, made: int, day: int = 0, away: Sequence[tuple[Slot, int]] = ()
) -> World:
    properties = []
    for imot, bazar in slots:
        properties.append(imot.home)
        if bazar.home.number != imot.home.number:
            properties.append(bazar.home)
    return World(
        seed=seed,
        now=NOW + timedelta(days=day),
        properties=tuple(properties),
        imot=tuple(slot.imot for slot in slots),
        bazar=tuple(slot.bazar for slot in slots),
        day=day,
        made=made,
        away=tuple(away),
    )


def _make_slot(
    rng: Random, number: int, seed: int, settle: Settle, posted_today: datetime | None = None
) -> Slot:
    """A flat is on both portals; bazar.bg fills the slot of anything else with a flat of its own."""
    home = settle(rng, make_home(rng, 2 * number))
    seller = make_seller(rng, seed)
    imot = make_imot(rng, home, seller, posted_today=posted_today)
    if not home.kind.flat:
        own = settle(rng, make_home(rng, 2 * number + 1, flat=True))
        return Slot(imot, write_on_bazar(rng, number, own, make_seller(rng, seed)))
    if chance(rng, _SHARE_WRITTEN_TWICE) and home.kind.rooms:
        return Slot(imot, write_on_bazar(rng, number, home, seller))
    return Slot(imot, import_to_bazar(rng, number, imot))


# Flats that bazar.bg shows otherwise than imot.bg does: at another price, or from another seller.

_SHARE_PRICED_APART: Final = 0.06
"""The seller keeps two prices: the advert on bazar.bg was forgotten, or brings other buyers."""
_SHARE_RIVALS: Final = 0.08
"""Another agency has the same flat and writes of it on bazar.bg in its own words, without the floor."""


def with_rivals(world: World) -> tuple[BazarAdvert, ...]:
    """What bazar.bg shows in a world with rivals; what becomes of an advert is its own fate, for all days."""
    pairs = zip(world.imot, world.bazar, strict=True)
    return tuple(_rival(world.seed, imot, bazar) for imot, bazar in pairs)


def _rival(seed: int, imot: ImotAdvert, bazar: BazarAdvert) -> BazarAdvert:
    if bazar.native or not bazar.money.shown:
        return bazar
    rng = Random(f"{seed}:rival:{imot.external_id}")
    draw, price = rng.random(), bazar.money.amount_eur
    if draw < _SHARE_PRICED_APART:
        step = rng.choice((0.93, 0.95, 0.97, 1.03, 1.06))
        return replace(bazar, money=Money(bazar.money.layout, round(price * step)))
    if draw >= _SHARE_PRICED_APART + _SHARE_RIVALS:
        return bazar
    # An advert of its own under the same id and moment: the flat is the same, measured and priced anew.
    home = replace(bazar.home, area_sqm=bazar.home.area_sqm + rng.choice((-1, 0, 1)))
    own = write_on_bazar(rng, 0, home, make_seller(rng, seed))
    identity = {name: getattr(bazar, name) for name in ("external_id", "url", "posted", "updated")}
    money = Money("both", round(price * rng.choice((0.98, 0.99, 1.01, 1.02))))
    return replace(own, **identity, floor=None, money=money)


_SHARE_ON_BAZAR: Final = 0.4


def on_bazar(adverts: Sequence[BazarAdvert], seed: int) -> tuple[BazarAdvert, ...]:
    """Those that a small bazar.bg has; an advert is there on all days or on none."""
    return tuple(
        advert for advert in adverts if chance(Random(f"{seed}:{advert.external_id}"), _SHARE_ON_BAZAR)
    )


_Dated = TypeVar("_Dated", ImotAdvert, BazarAdvert)


def moved(advert: _Dated, by: timedelta) -> _Dated:
    """The same advert so much later; the id of imot.bg, which tells when it was posted, moves along."""
    posted, was = advert.posted + by, str(int(advert.posted.timestamp()))

    def dated(text: str) -> str:
        return text.replace(was, str(int(posted.timestamp())))

    photos = tuple(map(dated, advert.photos))
    later_advert = replace(advert, posted=posted, updated=advert.updated + by, photos=photos)
    if isinstance(later_advert, ImotAdvert):
        return replace(later_advert, external_id=dated(later_advert.external_id), url=dated(later_advert.url))
    return replace(later_advert, imot_id=later_advert.imot_id and dated(later_advert.imot_id))


# The days of a world: what comes, what goes and what changes between one evening and the next.

SHARE_NEW = 0.015
SHARE_GONE = 0.016
SHARE_PRICE = 0.007
SHARE_VAT = 0.001
SHARE_REUSED = 0.001
SHARE_EDITED = 0.004
SHARE_BACK = 0.01
"""Of what went, so much comes back on each of the next days."""
DAYS_AWAY = 10
"""What has not come back by then never does."""


def world_on_day(properties: int, seed: int, day: int, settle: Settle = as_made) -> World:
    """The world of this seed `day` days after its first."""
    world = make_world(properties, seed, settle)
    for number in range(1, day + 1):
        world = advance(world, number, seed, settle)
    return world


def advance(world: World, day: int, seed: int, settle: Settle = as_made) -> World:
    """The world of the evening of `day` from the one before; what happens to an advert is its own fate.

    A slot goes or changes as a whole: an import on bazar.bg always follows its advert on imot.bg.
    """
    now = NOW + timedelta(days=day)
    old_slots = map(Slot, world.imot, world.bazar)
    fates = [(old, _fate(old, day, seed, now)) for old in old_slots]
    slots = [slot for _, slot in fates if slot]
    back = [
        slot
        for slot, _ in world.away
        if chance(Random(f"{seed}:{day}:back:{slot.imot.external_id}"), SHARE_BACK)
    ]
    slots += back
    whole, part = divmod(len(world.imot) * SHARE_NEW, 1)
    coming = int(whole) + chance(Random(f"{seed}:{day}"), part)
    slots += [_new(world.made + number, day, seed, now, settle) for number in range(coming)]
    away = [(slot, since) for slot, since in world.away if slot not in back and day - since < DAYS_AWAY]
    away += [(old, day) for old, slot in fates if slot is None]
    return _world_of(slots, world.seed, made=world.made + coming, day=day, away=away)


def _new(number: int, day: int, seed: int, now: datetime, settle: Settle) -> Slot:
    rng = Random(f"{seed}:{day}:new:{number}")
    posted = _moment(rng, now).replace(second=rng.randrange(60))
    imot, bazar = _make_slot(rng, number, seed, settle, posted)
    return Slot(imot, replace(bazar, posted=posted, updated=posted.replace(second=0)))


def _fate(slot: Slot, day: int, seed: int, now: datetime) -> Slot | None:
    """The slot as it is a day later, nothing when it is gone."""
    rng = Random(f"{seed}:{day}:{slot.imot.external_id}")
    draw = rng.random() - SHARE_GONE
    if draw < 0:
        return None
    changes = {_reprice: SHARE_PRICE, _change_vat: SHARE_VAT, _reuse: SHARE_REUSED, _edit: SHARE_EDITED}
    for change, share in changes.items():
        draw -= share
        if draw < 0:
            return change(rng, slot, _moment(rng, now))
    return slot


def _moment(rng: Random, now: datetime) -> datetime:
    """A minute of the day that ends with `now`, in waking hours."""
    return now - timedelta(minutes=rng.randint(5, 600))


def _reprice(rng: Random, slot: Slot, moment: datetime) -> Slot:
    """Another price on both portals; bazar.bg shows the old one too. Nothing where none is printed."""
    imot, bazar, step = slot.imot, slot.bazar, rng.choice((0.88, 0.92, 0.95, 0.97, 0.98, 1.02, 1.04, 1.07))
    if not imot.money.shown or not bazar.money.shown:
        return slot
    home = _repriced(imot.home, step)
    trend = "UP" if home.price_eur > imot.home.price_eur else "DOWN"
    imot = replace(imot, home=home, money=replace(imot.money, amount_eur=home.price_eur), trend=trend)
    own = home if bazar.home.number == home.number else _repriced(bazar.home, step)
    money = Money("both", own.price_eur, bazar.money.amount_eur)
    return _edited(imot, replace(bazar, home=own, money=money), moment)


def _repriced(home: Property, step: float) -> Property:
    price = round(home.price_eur * step)
    return replace(home, price_eur=price if price != home.price_eur else price + 1)


def _change_vat(rng: Random, slot: Slot, moment: datetime) -> Slot:
    """Another VAT text under the same price; an advert of bazar.bg's own has none."""
    imot, bazar = slot.imot, slot.bazar
    if not imot.money.shown or not bazar.money.shown:
        return slot
    vat = rng.choice([vat for vat in ("none", "included", "excluded") if vat != imot.home.vat])
    imot = replace(imot, home=replace(imot.home, vat=vat))
    if bazar.native:
        return Slot(replace(imot, corrected=True, updated=moment), bazar)
    return _edited(imot, replace(bazar, home=imot.home, vat=vat), moment)


def _reuse(rng: Random, slot: Slot, moment: datetime) -> Slot:
    """Another flat under the same id: area, floor, price and text. Only where both portals would show it."""
    imot, bazar = slot.imot, slot.bazar
    if bazar.native or imot.home.floor is None or imot.home.floors_total is None:
        return slot
    home = _other_flat(rng, imot.home, imot.home.floor, imot.home.floors_total)
    words = describe(rng, home)
    imot = replace(
        imot, home=home, prose=words, trend="", money=replace(imot.money, amount_eur=home.price_eur)
    )
    bazar = replace(
        bazar,
        home=home,
        floor=home.floor,
        prose=words if bazar.prose.html else bazar.prose,
        money=Money(bazar.money.layout, home.price_eur),
    )
    return _edited(imot, bazar, moment)


def _edit(rng: Random, slot: Slot, moment: datetime) -> Slot:
    """Another text, which no card shows; an advert of bazar.bg's own keeps its text."""
    imot, bazar = slot.imot, slot.bazar
    words = describe(rng, imot.home)
    imot = replace(imot, prose=words)
    if bazar.native or not bazar.prose.html:
        return Slot(replace(imot, corrected=True, updated=moment), bazar)
    return _edited(imot, replace(bazar, prose=words), moment)


def _other_flat(rng: Random, home: Property, floor: int, floors_total: int) -> Property:
    """The same kind at the same place with another area and another floor, the first or above."""
    area = home.area_sqm + rng.choice((-7, -3, 4, 9, 16))
    total = max(floors_total, 2)
    price = max(1, round(home.price_eur * area / home.area_sqm))
    above = rng.choice([level for level in range(1, total + 1) if level != floor])
    return replace(home, area_sqm=area, floor=above, floors_total=total, price_eur=price)


def _edited(imot: ImotAdvert, bazar: BazarAdvert, moment: datetime) -> Slot:
    """Both adverts say that they were changed at this moment."""
    return Slot(replace(imot, corrected=True, updated=moment), replace(bazar, updated=moment))
