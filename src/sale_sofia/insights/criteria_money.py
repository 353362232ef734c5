"""The criteria that look at the market: price per m² among its neighbours, and what the flat would earn."""

from functools import cache

from sale_sofia.config.scoring import BEST, YIELD_BEST, YIELD_WORST
from sale_sofia.insights.costs import Band
from sale_sofia.insights.criteria import between
from sale_sofia.insights.judging import Criterion, Told, known, unknown, weigh
from sale_sofia.insights.yardsticks import Prices, Rents

_MONTHS = 12
_PERCENT = 100


def price(paid: Band | None, area_sqm: float | None, prices: Prices | None) -> Criterion:
    """The place of the price per m² among the neighbourhood's; the dearest that the flat may be counts."""
    if paid is None or paid.most is None:
        return _unknown("price", "place", "price_unknown" if paid is None else "price_from")
    if not area_sqm:
        return _unknown("price", "place", "area_unknown")
    if prices is None:
        return _unknown("price", "place", "too_few")
    eur_sqm = paid.most / area_sqm
    cheaper = prices.place(eur_sqm)
    told = {"eur_sqm": eur_sqm, "cheaper": cheaper, "flats": prices.flats}
    return _known("price", "place", BEST * (1 - cheaper), f"place_{prices.scope}", told)


def rental(paid: Band | None, area_sqm: float | None, rents: Rents | None) -> Criterion:
    """The gross yield: a year's rent at what flats alike are let for, of the price."""
    if paid is None or paid.most is None or not area_sqm:
        return _unknown("rental", "yield", "price_unknown")
    if rents is None:
        return _unknown("rental", "yield", "too_few")
    rent = rents.eur_sqm * area_sqm
    percent = rent * _MONTHS / paid.most * _PERCENT
    told = {"percent": percent, "rent": rent, "flats": rents.flats}
    return _known("rental", "yield", between(percent, YIELD_WORST, YIELD_BEST), "yield", told)


def _known(criterion: str, part: str, value: float, say: str, told: Told) -> Criterion:
    return weigh(criterion, (known(criterion, part, value, say, **told),))


@cache
def _unknown(criterion: str, part: str, say: str) -> Criterion:
    return weigh(criterion, (unknown(criterion, part, say),))
