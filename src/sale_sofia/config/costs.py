"""What buying a flat in Sofia costs beside its price. Rates are shares; sums are EUR."""

from typing import Final

EUR_IN_BGN: Final = 1.95583
"""The notary tariff is written in leva."""
VAT: Final = 0.20
"""ЗДДС, art. 66: the standard rate; due on flats in new buildings, and on fees of notaries and agencies."""
TRANSFER_TAX: Final = 0.03
"""ЗМДТ, art. 47, and Sofia's ordinance on local taxes: 3 % of the price of a property that changes hands."""
REGISTRATION: Final = 0.001
"""The Registry Agency's tariff: 0.1 % for entering a deed."""
NOTARY_BGN: Final = (
    (0.0, 30.0, 0.0),
    (100.0, 30.0, 0.015),
    (1_000.0, 43.50, 0.013),
    (10_000.0, 160.50, 0.008),
    (50_000.0, 480.50, 0.005),
    (100_000.0, 730.50, 0.002),
    (500_000.0, 1_530.50, 0.001),
)
"""The tariff of the law on notaries, section I, item 8, without VAT.

Above so many leva: this sum, and this share of what is above.
"""
NOTARY_MOST_BGN: Final = 6_000.0
"""The most that the same tariff allows."""
COMMISSION_PERCENT: Final = 3.0
"""Usual for agencies in Sofia, paid by the buyer, without VAT. A profile may say another."""
NO_COMMISSION: Final = frozenset({"private", "developer"})
"""Sellers whom a buyer pays no commission."""
RENOVATION_EUR_SQM: Final = {"needs_renovation": 350.0, "bare": 450.0, "good": 60.0}
"""EUR for each m² by condition, work and materials of an ordinary standard; what is not here needs none.

A profile may say others. A condition that is not known may cost anything from nothing to the dearest.
"""
UNBUILT: Final = frozenset(
    {"planned", "before_act14", "act14", "before_act15", "act15", "before_act16", "act16"}
)
"""Acts that adverts of new buildings print, for which VAT may be due."""
NEW_CONDITIONS: Final = frozenset({"new", "turnkey", "bare"})
"""Conditions of flats that nobody has lived in, for which VAT may be due."""
