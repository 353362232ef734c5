"""Facts that the buyer corrects: "it is floor 4". What adverts print stays as it is."""

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
from sale_sofia.listings.numbers import parse_money

_FIELD_OF: Final = {column: field for field, column in COLUMN_OF.items()}
"""The field of a description by the fact that it states; both allow the same values."""


def _single(fact: str, text: str) -> Any:  # noqa: ANN401 - each fact has values of its own kind
    return _checked(fact, text, text.strip())


def _listed(fact: str, text: str) -> list[str]:
    """All values of a fact that has several: the correction replaces the whole list."""
    words: list[str] = _checked(fact, text, text.replace(",", " ").split())
    return words


def _checked(fact: str, text: str, words: str | list[str]) -> Any:  # noqa: ANN401 - as above
    try:
        value = check_value(_FIELD_OF[fact], words)
    except ValueError as error:
        raise WrongEvaluation(f"{fact}: {str(error).partition(': ')[2]}") from None
    if value is None:
        raise WrongEvaluation(f"{fact}: {text!r} says nothing; `--undo` takes back what you said")
    return value


def _area(fact: str, text: str) -> float:
    return float(_single(fact, text))


def _euros(fact: str, text: str) -> float:
    """As portals print it: "120,000" is a hundred and twenty thousand, and "120.000" may be either."""
    money = parse_money(f"{text.strip(' €')} €")
    if money is None or money.eur > MOST_PRICE_EUR:
        raise WrongEvaluation(f"{fact}: {text!r} is no price in euros; write it like 120000 or 120 000")
    return money.eur


def _seller(fact: str, text: str) -> str:
    return checked_word(text.strip(), get_args(SellerKind), f"{fact}: no {text!r}")


_CHECKS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    **dict.fromkeys(
        (
            "deal", "rooms", "bedrooms", "bathrooms", "floor", "floors_total", "elevator", "construction",
            "year_built", "act_status", "condition", "furnishing",
        ),
        _single,
    ),
    **dict.fromkeys(("heating", "orientation", "parking", "storage"), _listed),
    **dict.fromkeys(("area_sqm", "area_net_sqm"), _area),
    "price_eur": _euros,
    "seller_kind": _seller,
}  # fmt: skip
CORRECTABLE: Final = tuple(_CHECKS)
"""Facts that can be corrected."""


def correct(connection: Connection, property_id: int, fact: str, text: str | None, by: By) -> Any:  # noqa: ANN401
    """Correct a fact of a property, or take the correction back (None); the value as it is stored.

    It wins over every advert until it is taken back, and goes with the property's oldest advert.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such fact or value, or nothing to take back.
    """
    fact = checked_word(fact, CORRECTABLE, f"no fact {fact!r} can be put right")
    value = None if text is None else _CHECKS[fact](fact, text)
    held = hold(connection, property_id)
    if value is None and fact not in read_corrections(connection).get(held, {}):
        raise WrongEvaluation(f"you said nothing of the {fact} of property {held}")
    row = {"property_id": held, "fact": fact, "value": value, "said_by": by.who, "said_at": by.at}
    connection.execute(insert(corrections).values(row))
    touch(connection, [held])
    return value
