"""The fields of a description, and the value of one field with the words it came from."""

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
    """The value of a field. For None, the status says why: negated, or only possible."""

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


# Which values a field may have: as a JSON schema for the model, and as a check of its answer.

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
    """The shape of the answer, flat: no references, alternatives or ranges; "unknown" for no value.

    Servers silently drop the parts of a schema they do not support, so it uses only what all of them support;
    every answer is checked again.
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


def check_value(field: str, value: object) -> Any:  # noqa: ANN401 - each field has values of its own kind
    """The value as it is stored; None for "unknown".

    Raises:
        ValueError: the field cannot have this value; the message says what is allowed.
    """
    if value in (UNKNOWN, "", [], None):
        return None
    if field in LIST_FIELDS:
        if not isinstance(value, list):
            raise ValueError(f"{field}: a list is needed")
        return [_check_word(field, word) for word in dict.fromkeys(map(str, value))]
    if field in WORDS:
        return _check_word(field, value)
    if field in SWITCHES:
        # As text, because a list or an object is not hashable.
        switch = value if isinstance(value, bool) else _YES_NO.get(str(value))
        if switch is None:
            raise ValueError(f"{field}: {value!r} is none of yes, no")
        return switch
    return _check_span(value) if field == "year_range" else _check_number(field, value)


def _check_word(field: str, word: object) -> str:
    if word not in WORDS[field]:
        raise ValueError(f"{field}: {word!r} is none of {', '.join(WORDS[field])}")
    return str(word)


def _check_span(span: object) -> str:
    first, _, last = str(span).partition("-")
    if not (
        first.isdecimal()
        and last.isdecimal()
        and fixed.YEAR_FIRST <= int(first) <= int(last) <= fixed.YEAR_LAST
    ):
        raise ValueError(f"year_range: {span!r} is no span such as 1970-1979")
    return f"{int(first)}-{int(last)}"


def _check_number(field: str, value: object) -> float | int:
    least, most = RANGES[field]
    try:
        number = float(str(value).replace(",", "."))
    except ValueError:
        raise ValueError(f"{field}: {value!r} is no number") from None
    if isinstance(value, bool) or not least <= number <= most:
        raise ValueError(f"{field}: {value!r} is not from {least} to {most}")
    if field in {"area", "area_built"}:
        return int(number) if number.is_integer() else number
    if not number.is_integer():
        raise ValueError(f"{field}: {value!r} is no whole number")
    return int(number)
