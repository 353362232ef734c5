"""Facts that the buyer puts right: "it is floor 4". What adverts print stays as they print it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from sqlalchemy import Connection, insert

from sale_sofia.buyer.evaluations import By, WrongEvaluation, checked_word, hold
from sale_sofia.buyer.settings import MOST_PRICE_EUR
from sale_sofia.descriptions.fields import check_value
from sale_sofia.flats.merging import COLUMN_OF
from sale_sofia.flats.rows import read_corrections
from sale_sofia.flats.tables import corrections
from sale_sofia.history.revisions import touch
from sale_sofia.listings.model import SellerKind

_FIELD_OF: Final = {column: field for field, column in COLUMN_OF.items()}
"""The field of a description by the fact that it tells: both may have the same values."""


def _told(fact: str, given: str) -> Any:  # noqa: ANN401 - each fact has values of its own kind
    return _checked(fact, given, given.strip())


def _listed(fact: str, given: str) -> list[str]:
    """All values of a fact that has several: what the buyer says replaces the whole list."""
    words: list[str] = _checked(fact, given, given.replace(",", " ").split())
    return words


def _checked(fact: str, given: str, told: str | list[str]) -> Any:  # noqa: ANN401 - as above
    try:
        value = check_value(_FIELD_OF[fact], told)
    except ValueError as error:
        raise WrongEvaluation(f"{fact}: {str(error).partition(': ')[2]}") from None
    if value is None:
        raise WrongEvaluation(f"{fact}: {given!r} says nothing; `--undo` takes back what you said")
    return value


def _area(fact: str, given: str) -> float:
    return float(_told(fact, given))


def _euros(fact: str, given: str) -> float:
    try:
        price = float(given.replace(" ", "").replace(",", "."))
    except ValueError:
        price = 0.0
    if not 0 < price <= MOST_PRICE_EUR:
        raise WrongEvaluation(f"{fact}: {given!r} is no price in euros")
    return price


def _seller(fact: str, given: str) -> str:
    return checked_word(given.strip(), get_args(SellerKind), f"{fact}: no {given!r}")


_CHECKS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    **dict.fromkeys(
        (
            "deal", "rooms", "bedrooms", "bathrooms", "floor", "floors_total", "elevator", "construction",
            "year_built", "act_status", "condition", "furnishing",
        ),
        _told,
    ),
    **dict.fromkeys(("heating", "orientation", "parking", "storage"), _listed),
    **dict.fromkeys(("area_sqm", "area_net_sqm"), _area),
    "price_eur": _euros,
    "seller_kind": _seller,
}  # fmt: skip
CORRECTABLE: Final = tuple(_CHECKS)
"""Facts that can be put right."""


def correct(connection: Connection, property_id: int, fact: str, given: str | None, by: By) -> Any:  # noqa: ANN401
    """The buyer says what a fact of a property is, or takes it back (None); the value as it is kept.

    It wins over every advert until it is taken back, and goes with the property's oldest advert.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such fact or value, or nothing to take back.
    """
    checked_word(fact, CORRECTABLE, f"no fact {fact!r} can be put right")
    value = None if given is None else _CHECKS[fact](fact, given)
    held = hold(connection, property_id)
    if value is None and fact not in read_corrections(connection).get(held, {}):
        raise WrongEvaluation(f"you said nothing of the {fact} of property {held}")
    row = {"property_id": held, "fact": fact, "value": value, "said_by": by.who, "said_at": by.at}
    connection.execute(insert(corrections).values(row))
    touch(connection, [held])
    return value
