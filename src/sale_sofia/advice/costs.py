"""What a flat costs the buyer in all: from the least it may be to the most, where something is not known."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from sale_sofia.advice import settings as fixed
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import Band, price_band
from sale_sofia.history.settings import VAT_RATE


class Purchase(NamedTuple):
    """What a flat costs whoever buys it."""

    price: Band
    """With VAT."""
    state: Band
    """Transfer tax, notary, entry of the deed."""
    agency: bool
    """Whether there may be a commission to pay."""


class Costs(NamedTuple):
    """All that a flat costs one buyer."""

    price: Band
    state: Band
    commission: Band
    renovation: Band
    total: Band


def purchase(flat: Flat) -> Purchase | None:
    """What this flat costs whoever buys it; None without a price."""
    price = price_band(flat)
    if price is None:
        return None
    agency = not flat.adverts or flat.adverts[0].seller_kind not in fixed.NO_COMMISSION
    return Purchase(price, _of_both(_state_fees, price), agency)


def total(bought: Purchase, commission: float, renovation: Band) -> Band:
    """Everything together; `commission` is the share of the price that an agency takes, with VAT."""
    price, state = bought.price, bought.state
    share = 1 + (commission if bought.agency else 0.0)
    least = price.least * share + state.least + renovation.least
    if price.most is None or state.most is None or renovation.most is None:
        return Band(least, None)
    return Band(least, price.most * share + state.most + renovation.most)


def all_costs(flat: Flat, profile: Profile) -> Costs | None:
    """What the flat costs this buyer, item by item; None without a price, and for a rent."""
    bought = purchase(flat)
    if bought is None or flat.deal == "rent":
        return None
    share = commission_share(profile)
    renovation = renovation_band(profile, flat.condition, flat.area_sqm)
    paid = _of_both(lambda price: price * share if bought.agency else 0.0, bought.price)
    return Costs(bought.price, bought.state, paid, renovation, total(bought, share, renovation))


def commission_share(profile: Profile) -> float:
    """The agency's share of the price, with VAT."""
    return profile.commission_percent / 100 * (1 + VAT_RATE)


def _state_fees(price: float) -> float:
    """Transfer tax, notary and entry of the deed on this price."""
    return price * (fixed.TRANSFER_TAX + fixed.REGISTRATION) + notary(price)


def notary(price: float) -> float:
    """The notary's fee with VAT, in EUR."""
    leva = price * fixed.EUR_IN_BGN
    above, base, share = fixed.NOTARY_BGN[bisect_right(fixed.NOTARY_BGN, leva, key=itemgetter(0)) - 1]
    return min(base + (leva - above) * share, fixed.NOTARY_MOST_BGN) * (1 + VAT_RATE) / fixed.EUR_IN_BGN


def renovation_band(profile: Profile, condition: str | None, area: float | None) -> Band:
    """What renovation costs: in an unknown condition anything up to the dearest; no most without an area."""
    rates = profile.renovation_eur_sqm
    if condition is None:
        return Band(0.0, None if area is None else area * rates.dearest())
    rate = getattr(rates, condition) if condition in fixed.RENOVATION_EUR_SQM else 0.0
    if rate == 0:
        return Band(0.0, 0.0)
    return Band(0.0, None) if area is None else Band(area * rate, area * rate)


def _of_both(cost: Callable[[float], float], price: Band) -> Band:
    least = cost(price.least)
    return Band(least, least if price.exact else None if price.most is None else cost(price.most))


@dataclass(frozen=True, slots=True)
class Loan:
    """A loan in EUR. The payments are equal, as Bulgarian banks offer them first."""

    borrowed: float
    monthly: float
    paid: float
    """All payments together."""

    @property
    def interest(self) -> float:
        """What is paid beyond what was borrowed."""
        return self.paid - self.borrowed


def loan(borrowed: float, percent: float, years: int) -> Loan:
    """A loan at this yearly interest; without interest it is only divided."""
    months = years * 12
    rate = percent / 100 / 12
    monthly = borrowed / months if rate == 0 else borrowed * rate / (1 - (1 + rate) ** -months)
    return Loan(borrowed, monthly, monthly * months)
