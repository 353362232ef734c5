"""What a description may say: the fields, and one field's answer with the words it came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from sale_sofia.descriptions import settings as fixed
from sale_sofia.descriptions.rulebook import LIST_FIELDS, Status
from sale_sofia.listings.model import (
    ActStatus,
    Condition,
    Construction,
    Deal,
    Furnishing,
    Heating,
    Orientation,
    Parking,
)

Method = Literal["rules", "model"]
ATTRIBUTE_FIELDS: Final = (
    "deal", "rooms", "bedrooms", "bathrooms", "wc_separate", "floor", "total_floors", "area", "area_built",
    "condition", "furnishing", "heating", "orientation", "elevator", "parking_type", "parking_status",
    "balconies", "has_balcony", "storage", "act", "year", "year_range", "construction", "metro_near",
    "metro_minutes", "metro_distance_m",
)  # fmt: skip
TRAP_FIELDS: Final = (
    "share_of_ownership", "compensation_swap", "studio_status", "tenants", "mortgage", "right_to_build",
    "price_without_vat", "price_from",
)  # fmt: skip
FIELDS: Final = (*ATTRIBUTE_FIELDS, *TRAP_FIELDS)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One field. A value of None with a status says why there is none: negated, or only possible."""

    value: Any
    status: Status
    quote: str
    method: Method = "rules"
    """Who found it."""

    def as_json(self) -> dict[str, Any]:
        """The attribute as it is printed."""
        return {"value": self.value, "status": self.status, "quote": self.quote}

    def as_stored(self) -> dict[str, Any]:
        """The attribute as it is stored."""
        return {**self.as_json(), "method": self.method}


Attributes = dict[str, Attribute]


# Which values a field may have, as a JSON schema that a model can follow and as a check that it did.

UNKNOWN: Final = "unknown"
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "deal": get_args(Deal),
    "condition": get_args(Condition),
    "furnishing": get_args(Furnishing),
    "heating": get_args(Heating),
    "orientation": get_args(Orientation),
    "parking_type": get_args(Parking),
    "parking_status": ("included", "optional_purchase", "optional_rent", "free"),
    "storage": ("basement", "attic", "closet"),
    "act": get_args(ActStatus),
    "construction": get_args(Construction),
}
SWITCHES: Final = frozenset({"elevator", "has_balcony", "metro_near"})
RANGES: Final[Mapping[str, tuple[float, float]]] = {
    **dict.fromkeys(("rooms", "bedrooms", "bathrooms", "wc_separate", "balconies"), (1, fixed.COUNT_MOST)),
    "floor": (-1, fixed.FLOOR_MOST),
    "total_floors": (1, fixed.FLOOR_MOST),
    "area": (fixed.AREA_LEAST, fixed.AREA_MOST),
    "area_built": (fixed.AREA_LEAST, fixed.AREA_MOST),
    "year": (fixed.YEAR_FIRST, fixed.YEAR_LAST),
    "metro_minutes": (1, fixed.METRO_MINUTES_MOST),
    "metro_distance_m": (1, fixed.METRO_METRES_MOST),
}
_YES_NO: Final[Mapping[str, bool]] = {"yes": True, "no": False}


def json_schema(fields: Sequence[str]) -> dict[str, Any]:
    """The answer's shape, flat: no references, no alternatives, no ranges, "unknown" where there is nothing.

    What a server does not understand of a schema it drops without a word, so that nothing is in it that
    one of them is known to drop; whatever comes is checked again.
    """
    properties = {
        field: {
            "type": "object",
            "properties": {"value": _value_schema(field), "quote": {"type": "string"}},
            "required": ["value", "quote"],
        }
        for field in fields
    }
    return {"type": "object", "properties": properties, "required": list(fields)}


def _value_schema(field: str) -> dict[str, Any]:
    if field in LIST_FIELDS:
        return {"type": "array", "items": {"type": "string", "enum": list(WORDS[field])}}
    if field in WORDS:
        return {"type": "string", "enum": [*WORDS[field], UNKNOWN]}
    if field in SWITCHES:
        return {"type": "string", "enum": [*_YES_NO, UNKNOWN]}
    return {"type": "string"}  # a number in digits, or "unknown"


def check_value(field: str, given: object) -> Any:  # noqa: ANN401 - each field has values of its own kind
    """The value as it is stored; None for "unknown".

    Raises:
        ValueError: the field cannot have it; the sentence says what is allowed.
    """
    if given in (UNKNOWN, "", [], None):
        return None
    if field in LIST_FIELDS:
        if not isinstance(given, list):
            raise ValueError(f"{field}: a list is needed")
        return [_check_word(field, word) for word in dict.fromkeys(map(str, given))]
    if field in WORDS:
        return _check_word(field, given)
    if field in SWITCHES:
        # A list or an object could not even be looked up.
        switch = given if isinstance(given, bool) else _YES_NO.get(str(given))
        if switch is None:
            raise ValueError(f"{field}: {given!r} is none of yes, no")
        return switch
    return _check_span(given) if field == "year_range" else _check_number(field, given)


def _check_word(field: str, given: object) -> str:
    if given not in WORDS[field]:
        raise ValueError(f"{field}: {given!r} is none of {', '.join(WORDS[field])}")
    return str(given)


def _check_span(given: object) -> str:
    first, _, last = str(given).partition("-")
    if not (
        first.isdecimal()
        and last.isdecimal()
        and fixed.YEAR_FIRST <= int(first) <= int(last) <= fixed.YEAR_LAST
    ):
        raise ValueError(f"year_range: {given!r} is no span such as 1970-1979")
    return f"{int(first)}-{int(last)}"


def _check_number(field: str, given: object) -> float | int:
    least, most = RANGES[field]
    try:
        number = float(str(given).replace(",", "."))
    except ValueError:
        raise ValueError(f"{field}: {given!r} is no number") from None
    if isinstance(given, bool) or not least <= number <= most:
        raise ValueError(f"{field}: {given!r} is not from {least} to {most}")
    if field in {"area", "area_built"}:
        return int(number) if number.is_integer() else number
    if not number.is_integer():
        raise ValueError(f"{field}: {given!r} is no whole number")
    return int(number)
