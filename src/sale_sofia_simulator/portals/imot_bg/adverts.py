"""Makes the advert of a property on imot.bg, with the quirks its page will show."""

from collections.abc import Iterator
from datetime import datetime
from random import Random
from string import ascii_letters
from string import digits
from sale_sofia_simulator import homes
from sale_sofia_simulator.model import later
from sale_sofia_simulator.model import long_ago
from sale_sofia_simulator.homes import chance
from sale_sofia_simulator.homes import pick
from sale_sofia_simulator.model import DEAL_WORDS
from sale_sofia_simulator.model import KINDS
from sale_sofia_simulator.model import RUBRIC_DIGITS
from sale_sofia_simulator.model import ImotAdvert
from sale_sofia_simulator.model import Money
from sale_sofia_simulator.model import Property
from sale_sofia_simulator.model import Seller
from sale_sofia_simulator.text import slug


_TIERS = ("", "VIP", "TOP", "BEST")
_HOSTS = ("cdn3", "imotstatic1", "imotstatic2", "imotstatic3", "imotstatic4")
_MOST_PHOTOS = 17


def make_imot(
    rng: Random, home: Property, seller: Seller, *, posted_today: datetime | None = None
) -> ImotAdvert:
    """The advert of this property on imot.bg; one posted today has not been corrected yet."""
    posted = posted_today or long_ago(rng)
    corrected = not posted_today and chance(rng, 0.6)
    imot_id = _imot_id(rng, home, posted)
    layout = pick(rng, ("both", "eur", "eur_word", "bgn", "ask"), (72, 14, 8, 2.5, 3.5))
    old_layout = chance(rng, 0.12)
    return ImotAdvert(
        site="imot.bg",
        external_id=imot_id,
        url=_imot_url(home, imot_id),
        title=f"{DEAL_WORDS[home.deal]} {home.kind.label}",
        home=home,
        money=Money(layout, home.price_eur),
        prose=homes.describe(rng, home.place, home.area_sqm, home.age),
        seller=seller,
        posted=posted,
        updated=later(rng, posted) if corrected else posted.replace(second=0),
        views=rng.randint(0, 9999),
        photos=tuple(_imot_photos(rng, home, imot_id)),
        tier=pick(rng, _TIERS, (70, 14, 13, 3)),
        offer=not old_layout and layout != "ask",
        old_layout=old_layout,
        corrected=corrected,
        trend=pick(rng, ("", "UP", "DOWN"), (75, 13, 12)),
        private_only=chance(rng, 0.15),
    )


def _imot_id(rng: Random, home: Property, posted: datetime) -> str:
    kind = rng.choice(KINDS) if chance(rng, 0.05) else home.kind
    created = int(posted.timestamp())
    return f"{RUBRIC_DIGITS[home.deal]}{kind.letter(home.deal)}{created}{rng.randrange(100_000):05d}"


def _imot_url(home: Property, imot_id: str) -> str:
    place = home.place
    street = f"-{slug(place.street)}" if place.street else ""
    words = f"{slug(DEAL_WORDS[home.deal])}-{home.kind.advert_slug}-{place.city_slug}-{place.slug}{street}"
    return f"https://www.imot.bg/obiava-{imot_id}-{words}"


def _imot_photos(rng: Random, home: Property, imot_id: str) -> Iterator[str]:
    folder = (
        f"https://{rng.choice(_HOSTS)}.focus.bg/imot/photosimotbg/{RUBRIC_DIGITS[home.deal]}/{imot_id[-3:]}"
    )
    size = rng.choice(("big", "big1", "big1"))
    codes = {
        f"{rng.choice(ascii_letters)}{rng.choice(ascii_letters + digits)}": None
        for _ in range(photo_count(rng))
    }
    return (f"{folder}//{size}/{imot_id}_{code}.jpg" for code in codes)


def photo_count(rng: Random) -> int:
    """From none to seventeen."""
    return 0 if chance(rng, 0.04) else rng.randint(1, _MOST_PHOTOS)


