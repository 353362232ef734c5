"""What a flat costs the buyer in all: from the least it may be to the most, where something is not known."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.settings import (
    EUR_IN_BGN,
    NEW_CONDITIONS,
    NO_COMMISSION,
    NOTARY_BGN,
    NOTARY_MOST_BGN,
    REGISTRATION,
    RENOVATION_EUR_SQM,
    TRANSFER_TAX,
    UNBUILT,
    VAT,
)
from sale_sofia.flats.flat import Flat

_STEPS: Final = [above for above, _, _ in NOTARY_BGN]


class Band(NamedTuple):
    """EUR from `least` to `most`; no `most` where there is no telling."""

    least: float
    most: float | None

    @property
    def exact(self) -> bool:
        """Whether it is one sum."""
        return self.least == self.most


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


def vat_due(flat: Flat) -> bool | None:
    """Whether VAT comes on top of the printed price; None for a new building whose advert does not say."""
    if flat.vat == "excluded" or (flat.vat is None and "price_without_vat" in flat.traps):
        return True
    return None if flat.vat is None and _is_new(flat) else False


def _is_new(flat: Flat) -> bool:
    if flat.adverts and flat.adverts[0].seller_kind == "private":
        return False
    return (
        flat.under_construction is True
        or flat.act_status in UNBUILT
        or flat.condition in NEW_CONDITIONS
        or any(advert.seller_kind == "developer" for advert in flat.adverts)
    )


def price_band(flat: Flat) -> Band | None:
    """The price with VAT; None without a price. "From" that much, it has no most."""
    price = flat.price_eur
    if price is None:
        return None
    due = vat_due(flat)
    most = price if due is False else price * (1 + VAT)
    return Band(most if due else price, None if "price_from" in flat.traps else most)


def purchase(flat: Flat) -> Purchase | None:
    """What this flat costs whoever buys it; None without a price."""
    price = price_band(flat)
    if price is None:
        return None
    agency = not flat.adverts or flat.adverts[0].seller_kind not in NO_COMMISSION
    return Purchase(price, _of_both(state_fees, price), agency)


def total(bought: Purchase, commission: float, renovation: Band) -> Band:
    """Everything together; `commission` is the share of the price that an agency takes, with VAT."""
    price, state = bought.price, bought.state
    share = 1 + (commission if bought.agency else 0.0)
    least = price.least * share + state.least + renovation.least
    if price.most is None or state.most is None or renovation.most is None:
        return Band(least, None)
    return Band(least, price.most * share + state.most + renovation.most)


def all_costs(flat: Flat, profile: Profile) -> Costs | None:
    """What the flat costs this buyer, item by item; None without a price."""
    bought = purchase(flat)
    if bought is None:
        return None
    share = commission_share(profile)
    renovation = renovation_band(profile, flat.condition, flat.area_sqm)
    paid = _of_both(lambda price: price * share if bought.agency else 0.0, bought.price)
    return Costs(bought.price, bought.state, paid, renovation, total(bought, share, renovation))


def commission_share(profile: Profile) -> float:
    """The agency's share of the price, with VAT."""
    return profile.commission_percent / 100 * (1 + VAT)


def state_fees(price: float) -> float:
    """Transfer tax, notary and entry of the deed on this price."""
    return price * (TRANSFER_TAX + REGISTRATION) + notary(price)


def notary(price: float) -> float:
    """The notary's fee with VAT, in EUR."""
    leva = price * EUR_IN_BGN
    above, base, share = NOTARY_BGN[bisect_right(_STEPS, leva) - 1]
    return min(base + (leva - above) * share, NOTARY_MOST_BGN) * (1 + VAT) / EUR_IN_BGN


def renovation_band(profile: Profile, condition: str | None, area: float | None) -> Band:
    """What renovation costs: in an unknown condition anything up to the dearest; no most without an area."""
    rates = profile.renovation_eur_sqm
    if condition is None:
        return Band(0.0, None if area is None else area * rates.dearest())
    rate = getattr(rates, condition) if condition in RENOVATION_EUR_SQM else 0.0
    if rate == 0:
        return Band(0.0, 0.0)
    return Band(0.0, None) if area is None else Band(area * rate, area * rate)


def _of_both(cost: Callable[[float], float], price: Band) -> Band:
    least = cost(price.least)
    return Band(least, least if price.exact else None if price.most is None else cost(price.most))


# What a loan costs each month and in all, with equal payments.

_MONTHS_PER_YEAR = 12


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
    months = years * _MONTHS_PER_YEAR
    rate = percent / 100 / _MONTHS_PER_YEAR
    monthly = borrowed / months if rate == 0 else borrowed * rate / (1 - (1 + rate) ** -months)
    return Loan(borrowed, monthly, monthly * months)
