"""The strips of other adverts that bazar.bg prints before the price of its own advert."""

from random import Random

from sale_sofia.simulator.bazar_cards import stranger_card
from sale_sofia.simulator.model import BazarAdvert

_OTHERS = """
                            <div class="clearfix"></div>
                <div class="adMoreAdsTitle">
                    Другите търсят също
                </div>
                <div style="margin-top:5px;" class="relatedObiavi">
{cards}
                </div>
"""
_SELLER = """
							<div class="adMoreAdsTitle">
					Обяви на потребителя {seller}
					<a href="{link}">Виж всички <strong>{count} обяви</strong></a>
				</div>
				<div style="margin-top:5px;" class="userObiavi">
{cards}
				</div>
"""
_RECOMMENDED = """
							<div class="clearfix"></div>
				<div class="adMoreAdsTitle rec" style="line-height: 24px;">
					Препоръчани за теб
										<div class="nextPrev">
						<a href="javascript:;" class="nextList"></a>
						<a href="javascript:;" class="prevList"></a>
					</div>
					<div class="clearfix"></div>
									</div>
				<div style="margin-top:15px;" class="relatedObiavi inline rec">
					<div class='inner-container'>
{cards}
					</div>
				</div>
"""


def related(advert: BazarAdvert) -> str:
    """Three strips of strangers, each with prices that are not the advert's."""
    rng = Random(f"related {advert.external_id}")
    seller = _SELLER.format(
        seller=advert.seller_name, link=seller_link(advert), count=rng.randint(2, 200), cards=_cards(rng, 4)
    )
    return _OTHERS.format(cards=_cards(rng, 4)) + seller + _RECOMMENDED.format(cards=_cards(rng, 12))


def seller_link(advert: BazarAdvert) -> str:
    """A firm has a subdomain, anybody else a number."""
    if advert.seller.handle and advert.seller.name and advert.seller_name.startswith(advert.seller.name):
        return f"//{advert.seller.handle}.bazar.bg/"
    return f"/ads/user/{advert.seller.user}"


def _cards(rng: Random, count: int) -> str:
    return "".join(stranger_card(rng) for _ in range(count))
