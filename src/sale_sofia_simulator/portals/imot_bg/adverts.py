"""Makes the advert of a property on imot.bg, with the quirks its page will show."""

from datetime import datetime
from random import Random
from string import ascii_letters, digits

from sale_sofia_simulator.homes import chance, describe, pick
from sale_sofia_simulator.model import (
    DEAL_WORDS,
    KINDS,
    RUBRIC_DIGITS,
    ImotAdvert,
    Money,
    Property,
    Seller,
    later,
    long_ago,
)
from sale_sofia_simulator.text import slug

_HOSTS = ("cdn3", "imotstatic1", "imotstatic2", "imotstatic3", "imotstatic4")
_MOST_PHOTOS = 17


def make_imot(
    rng: Random, home: Property, seller: Seller, *, posted_today: datetime | None = None
) -> ImotAdvert:
    """The advert of this property on imot.bg; one posted today has not been corrected yet."""
    posted = posted_today or long_ago(rng)
    corrected = not posted_today and chance(rng, 0.6)
    kind = rng.choice(KINDS) if chance(rng, 0.05) else home.kind
    prefix = f"{RUBRIC_DIGITS[home.deal]}{kind.letter(home.deal)}"
    imot_id = f"{prefix}{int(posted.timestamp())}{rng.randrange(100_000):05d}"
    layout = pick(rng, ("both", "eur", "eur_word", "bgn", "ask"), (72, 14, 8, 2.5, 3.5))
    old_layout = chance(rng, 0.12)
    return ImotAdvert(
        site="imot.bg",
        external_id=imot_id,
        url=_url(home, imot_id),
        title=f"{DEAL_WORDS[home.deal]} {home.kind.label}",
        home=home,
        money=Money(layout, home.price_eur),
        prose=describe(rng, home),
        seller=seller,
        posted=posted,
        updated=later(rng, posted) if corrected else posted.replace(second=0),
        views=rng.randint(0, 9999),
        photos=_photos(rng, home, imot_id),
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
    words = f"{slug(DEAL_WORDS[home.deal])}-{home.kind.advert_slug}-{place.city_slug}-{place.slug}{street}"
    return f"https://www.imot.bg/obiava-{imot_id}-{words}"


def _photos(rng: Random, home: Property, imot_id: str) -> tuple[str, ...]:
    host, size = rng.choice(_HOSTS), rng.choice(("big", "big1", "big1"))
    folder = f"https://{host}.focus.bg/imot/photosimotbg/{RUBRIC_DIGITS[home.deal]}/{imot_id[-3:]}//{size}"
    codes = {
        f"{rng.choice(ascii_letters)}{rng.choice(ascii_letters + digits)}": None
        for _ in range(photo_count(rng))
    }
    return tuple(f"{folder}/{imot_id}_{code}.jpg" for code in codes)


def photo_count(rng: Random) -> int:
    """From none to seventeen."""
    return 0 if chance(rng, 0.04) else rng.randint(1, _MOST_PHOTOS)
