"""The portal's own fields beside the description: the portal wins, and where they differ it is noted."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sale_sofia.config.llm import AREA_TOLERANCE
from sale_sofia.data.descriptions import Disagreement
from sale_sofia.llm.attributes import Attributes

COLUMNS: Final[Mapping[str, str]] = {
    "deal": "deal",
    "rooms": "rooms",
    "floor": "floor",
    "total_floors": "floors_total",
    "area": "area_sqm",
    "area_built": "area_net_sqm",
    "condition": "condition",
    "furnishing": "furnishing",
    "heating": "heating",
    "orientation": "orientation",
    "elevator": "elevator",
    "parking_type": "parking",
    "act": "act_status",
    "year": "year_built",
    "construction": "construction",
    "metro_distance_m": "metro_distance_m",
}
"""Field of a description → column of an advert."""


def find_disagreements(listing: Mapping[Any, Any], attributes: Attributes) -> Iterator[Disagreement]:
    """The fields of which both say something, and not the same."""
    for field, column in COLUMNS.items():
        said = attributes.get(field)
        if said is None or said.value is None or said.status == "conflict":
            continue
        portal = listing[column]
        if portal not in (None, []) and not _agree(portal, said.value):
            yield Disagreement(column, portal, said.value, said.quote)


def _agree(portal: Any, text: Any) -> bool:  # noqa: ANN401 - values of any field
    if isinstance(portal, list) and isinstance(text, list):
        return not set(portal).isdisjoint(text)
    if _is_number(portal) and _is_number(text):
        return bool(abs(portal - text) <= (AREA_TOLERANCE if isinstance(portal, float) else 0))
    return bool(portal == text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
