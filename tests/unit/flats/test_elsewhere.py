"""The same flat on several portals: the saving, and when there is none."""

from typing import Any

import pytest

from sale_sofia.flats.flat import Advert, Flat, Trap
from sale_sofia.flats.prices import cheaper_elsewhere
from tables import each_row


def advert(site: str, price: float | None, vat: str | None = "included", *, offered: bool = True) -> Advert:
    return Advert(1, site, "x", "", None, price, vat, None, None, 0.0, 0.0, offered)


def flat(*adverts: Advert, number: int = 1, **fields: Any) -> Flat:  # noqa: ANN401 - any field
    given = {"offered": True, "price_eur": None, "vat": None, "deal": "sale"} | fields
    return Flat(property_id=number, adverts=adverts, first_seen_at=0.0, last_seen_at=0.0, **given)


@each_row(
    ("adverts", "saving"),
    [
        ((advert("imot.bg", 200_000), advert("bazar.bg", 190_000)), 10_000),
        ((advert("imot.bg", 200_000), advert("bazar.bg", 200_000)), None),
        ((advert("imot.bg", 200_000), advert("imot.bg", 190_000)), None),
        ((advert("imot.bg", 200_000),), None),
        ((advert("imot.bg", 200_000), advert("bazar.bg", None)), None),
        ((advert("imot.bg", 200_000), advert("bazar.bg", 150_000, offered=False)), None),
        ((advert("imot.bg", 200_000, "excluded"), advert("bazar.bg", 220_000)), 20_000),
        ((advert("imot.bg", 200_000, "excluded"), advert("bazar.bg", 240_000)), None),
        ((advert("imot.bg", 200_000), advert("imot.bg", 180_000), advert("alo.bg", 190_000)), 10_000),
        # Nobody says whether VAT is in the second price; the first shows that this flat carries VAT.
        ((advert("imot.bg", 200_000, "excluded"), advert("bazar.bg", 200_000, None)), None),
        ((advert("imot.bg", 200_000, "excluded"), advert("bazar.bg", 190_000, None)), 12_000),
        # No advert speaks of VAT, and nothing says that the building is new: prices as they are printed.
        ((advert("imot.bg", 200_000, None), advert("bazar.bg", 190_000, None)), 10_000),
    ],
)
def test_the_saving(adverts: tuple[Advert, ...], saving: float | None) -> None:
    found = [one.saving_eur for one in cheaper_elsewhere([flat(*adverts)])]
    assert found == ([] if saving is None else [pytest.approx(saving)])


@each_row(
    ("traps", "condition", "saving"),
    [
        (("price_without_vat",), None, 50_000),  # the silent price is without VAT as well: 240 000
        ((), "new", 10_000),  # a new building's price may hold VAT or not: at least 200 000
        (("price_from",), None, None),
    ],
)
def test_what_texts_and_the_building_say_of_a_silent_price(
    traps: tuple[str, ...], condition: str | None, saving: float | None
) -> None:
    both = advert("imot.bg", 200_000, None), advert("bazar.bg", 190_000)
    of = flat(*both, traps={name: Trap(value=True, quote="") for name in traps}, condition=condition)
    found = [pair.saving_eur for pair in cheaper_elsewhere([of])]
    assert found == ([] if saving is None else [pytest.approx(saving)])


def test_the_largest_comes_first_and_what_is_gone_or_let_not_at_all() -> None:
    two = advert("imot.bg", 200_000), advert("bazar.bg", 190_000)
    more = advert("imot.bg", 200_000), advert("bazar.bg", 150_000)
    flats = [
        flat(*two, number=1), flat(*more, number=2), flat(*more, number=3, offered=False),
        flat(*more, number=4, deal="rent"),
    ]  # fmt: skip
    found = cheaper_elsewhere(flats)
    assert [one.flat.property_id for one in found] == [2, 1]
    assert (found[0].cheapest.site, found[0].dearest.site, found[0].share) == ("bazar.bg", "imot.bg", 0.25)
