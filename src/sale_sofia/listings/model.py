"""The model of an advert, the same for every portal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

Deal = Literal["sale", "rent"]
Vat = Literal["none", "included", "excluded"]
SellerKind = Literal["private", "agency", "developer"]
PropertyType = Literal[
    "apartment", "maisonette", "studio", "house", "house_floor", "villa", "plot", "land",
    "office", "shop", "garage", "parking", "industrial", "hotel", "other",
]  # fmt: skip
Construction = Literal["brick", "panel", "epk", "pk", "beam", "prefab", "concrete", "monolith"]
Heating = Literal[
    "district", "gas", "electric", "air_conditioner", "local", "floor", "solid_fuel", "none"
]  # fmt: skip
Furnishing = Literal["furnished", "partially", "unfurnished", "optional"]
Condition = Literal["new", "turnkey", "renovated", "good", "needs_renovation", "bare"]
ActStatus = Literal[
    "before_act14", "act14", "before_act15", "act15", "before_act16", "act16", "commissioned", "planned"
]  # fmt: skip
Orientation = Literal["N", "NE", "E", "SE", "S", "SW", "W", "NW"]
Parking = Literal["garage", "underground_garage", "underground_space", "outdoor_space", "yard", "street"]

Positive = Annotated[float, Field(gt=0)]


def compared(fact: str, value: object) -> object:
    """Return a value for comparison: a commissioned building is one with act 16."""
    return "act16" if fact == "act_status" and value == "commissioned" else value


class Listing(BaseModel):
    """One advert, normalised. Every unit is in the name; `None` means the page does not say it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    site: str
    kind: Literal["listing"] = "listing"
    url: str
    external_id: str
    family_id: str | None = None
    deal: Deal | None = None
    property_type: PropertyType | None = None
    rooms: Annotated[int, Field(ge=1)] | None = None
    title: str | None = None
    description: str | None = None
    price_eur: Positive | None = None
    price_bgn: Positive | None = None
    previous_price_eur: Positive | None = None
    vat: Vat | None = None
    area_sqm: Positive | None = None
    area_net_sqm: Positive | None = None
    yard_sqm: Positive | None = None
    floor: int | None = None
    floors_total: Annotated[int, Field(ge=1)] | None = None
    construction: Construction | None = None
    year_built: int | None = None
    under_construction: bool | None = None
    act_status: ActStatus | None = None
    heating: tuple[Heating, ...] = ()
    elevator: bool | None = None
    furnishing: Furnishing | None = None
    condition: Condition | None = None
    orientation: tuple[Orientation, ...] = ()
    parking: tuple[Parking, ...] = ()
    city: str | None = None
    district: str | None = None
    neighbourhood: str | None = None
    street: str | None = None
    lat: Annotated[float, Field(ge=-90, le=90)] | None = None
    lon: Annotated[float, Field(ge=-180, le=180)] | None = None
    metro_station: str | None = None
    metro_distance_m: Annotated[int, Field(ge=0)] | None = None
    seller_kind: SellerKind | None = None
    seller_name: str | None = None
    phones: tuple[str, ...] = ()
    posted_at: datetime | None = None
    updated_at: datetime | None = None
    views: Annotated[int, Field(ge=0)] | None = None
    photo_urls: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """Names of doubts about its values: `price_conflict`, `place_conflict` …"""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values alone, as each page's listing goes between processes."""
        return _unpickle, (tuple(vars(self).values()),)


def _unpickle(values: tuple[Any, ...]) -> Listing:
    listing = Listing.__new__(Listing)
    fields = dict(zip(Listing.model_fields, values, strict=True))
    listing.__setstate__(
        {
            "__dict__": fields,
            "__pydantic_fields_set__": set(fields),
            "__pydantic_extra__": None,
            "__pydantic_private__": None,
        }
    )
    return listing


FACTS = tuple(sorted(Listing.model_fields.keys() - {"site", "kind", "url", "external_id", "flags"}))
"""Names of the facts that a page may state of an advert."""


# The texts of a page, before they are parsed.


class RawField(NamedTuple):
    """The texts of one field as seen, and which link of its selector chain found them."""

    texts: tuple[str, ...]
    link: int
    parser: str
    arguments: Mapping[str, Any]
    confirmations: tuple[tuple[str, ...], ...] = ()
    """The same fact from other places of the page: if one disagrees, the value is dropped."""


class FieldSeen(NamedTuple):
    """How a field was found: by which link of its chain, and whether its parser got a value."""

    link: int
    read: bool


@dataclass(frozen=True, slots=True)
class RawListing:
    """One advert as its page prints it."""

    site: str
    url: str
    external_id: str
    fields: Mapping[str, RawField] = field(default_factory=dict)
