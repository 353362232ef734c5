"""The strip of other adverts under an imot.bg advert: other prices, other areas, other ids."""

from functools import cache
from random import Random

from sale_sofia.simulator.homes import make_home
from sale_sofia.simulator.imot_words import price_html
from sale_sofia.simulator.kinds import DEAL_WORDS
from sale_sofia.simulator.model import ImotAdvert, Money, Property
from sale_sofia.simulator.pieces import fill

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
