"""What a description may say: the fields, and one field's answer with the words it came from."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from sale_sofia.llm.candidates import Status

Method = Literal["rules", "model"]
LIST_FIELDS: Final = frozenset({"heating", "orientation", "parking_type", "storage"})
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
