"""What a buyer looks for: one validated query for commands, alerts, saved searches and addresses."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from sale_sofia.advice.scoring.profile import find_named_place
from sale_sofia.buyer.evaluations import UNWANTED, Status
from sale_sofia.flats.flat import Code
from sale_sofia.flats.settings import MANY_ROOMS
from sale_sofia.geography.settings import NEAR_MOST_METRES
from sale_sofia.geography.surroundings import RoadClass, line_number
from sale_sofia.geography.zones import outline_text, point_text, read_outline, read_point
from sale_sofia.listings.model import (
    ActStatus,
    Condition,
    Construction,
    Deal,
    Furnishing,
    Heating,
    Orientation,
    PropertyType,
    SellerKind,
)
from sale_sofia.listings.places import (
    SOFIA,
    borders_of,
    district_key,
    districts,
    find_neighbourhood,
    neighbourhoods,
    place_key,
    spellings,
    town_name,
)
from sale_sofia.listings.text import LOOKALIKES, squeeze
from sale_sofia.settings.types import why_refused
from sale_sofia.settings.words import Said
from sale_sofia.websites.site_file import available_sites

SORTED_FLATS: Final = 20_000
"""So many fitting flats are read and sorted in one pass, in some 4 MB of the server's 200. Of more, the table
is gone through again for their count and for each list."""
RANKED_FLATS: Final = 2_000
"""Of more fitting flats than this, the best are read through the index of scores, without sorting all."""
STREAMED_FLATS: Final = 2_000
"""Rows of a summary that are fetched in one go."""
TRAVEL_MOST_MINUTES: Final = 240
"""Longer than a ride to any place in Sofia."""
SHOWN_FLATS: Final = 30
"""Flats that a search shows by default; how many there are is always said."""
SHOWN_UNKNOWN: Final = 10
"""Flats with unknown conditions that are shown beneath."""
SHOWN_VALUE: Final = 60
"""Characters of a refused value that a message repeats; of an area the first corners."""
SHOWN_NEAR: Final = 3
"""Neighbourhoods that a message suggests for a misspelt one."""


# What the conditions of a search may be. Each name is written as the data spells it.


def _neighbourhood(text: str) -> str:
    """The neighbourhood's name, from any known spelling."""
    found = find_neighbourhood(text)
    if found is not None:
        return found.name
    key = place_key(text)
    like = sorted(place.name for place in neighbourhoods() if key and key in place_key(place.name))
    if like:
        hint = Said("wrong_search.there_are", names=like)
    else:
        names = {place_key(way): place.name for place in neighbourhoods() for way in spellings(place.name)}
        near = [names[found] for found in get_close_matches(key, names, n=SHOWN_NEAR)]
        hint = (
            Said("wrong_search.meant", names=list(dict.fromkeys(near))) if near else Said("wrong_search.help")
        )
    raise ValueError(Said("wrong_search.neighbourhood", hint=hint))


def _bordered(text: str) -> str:
    """A neighbourhood whose own borders are known, or a district whose borders were imported."""
    if borders := borders_of(text):
        return borders[0]
    raise ValueError(Said("wrong_search.no_borders", name=_neighbourhood(text)))


def _polygon(text: str) -> str:
    """Normalised, so that equal areas are equal texts."""
    return outline_text(read_outline(text))


def _point(text: str) -> str:
    return point_text(read_point(text))


def _district(text: str) -> str:
    key = district_key(text)
    found = next((name for name in districts() if place_key(name) == key), None)
    if found is None:
        raise ValueError(Said("wrong_search.district", names=districts()))
    return found


def _travel(text: str) -> str:
    """Minutes and a place, such as `30:Сердика`."""
    minutes, _, place = squeeze(text).partition(":")
    if not minutes.isdecimal() or int(minutes) > TRAVEL_MOST_MINUTES or find_named_place(place) is None:
        raise ValueError(Said("wrong_search.travel"))
    return f"{int(minutes)}:{place.strip()}"


def _line(text: str) -> str:
    """The code of a line, from the code or from a number that only one kind of transport has."""
    from sale_sofia.geography.nearby import lines  # noqa: PLC0415 - numpy, which no crawl needs

    key = _line_key(text)
    same = [code for code in lines() if key in (_line_key(code), _line_key(line_number(code)))]
    exact = [code for code in same if _line_key(code) == key]
    if len(found := exact or same) != 1:
        hint = Said("wrong_search.there_are", names=found) if found else Said("wrong_search.help")
        raise ValueError(Said("wrong_search.line", hint=hint))
    return found[0]


def _line_key(text: str) -> str:
    """Case and look-alikes do not count: М2 and X9 are typed in either alphabet."""
    return squeeze(text).upper().translate(LOOKALIKES)


def _city(text: str) -> str:
    """The name as adverts have it, from any spelling."""
    plain = squeeze(text)
    if not plain:
        raise ValueError(Said("wrong_search.town"))
    return town_name(plain)


def _portal(text: str) -> str:
    if text not in available_sites():
        raise ValueError(Said("wrong_search.portal", names=available_sites()))
    return text


def _iso(value: object) -> object:
    """Accepts only ISO text with an offset: a bare number would be taken for seconds."""
    if not isinstance(value, str):
        return value
    try:
        written = datetime.fromisoformat(value)
    except ValueError:
        written = None
    if written is None or written.tzinfo is None:
        raise ValueError(Said("wrong_search.moment"))
    return written


def _utc(moment: datetime) -> datetime:
    """In UTC, where no hour comes twice and equal moments are equal."""
    return moment.astimezone(UTC)


Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Days = Annotated[float, Field(ge=0, le=36_500.0, allow_inf_nan=False)]  # a hundred years is for ever
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Floor = Annotated[int, Field(ge=-5, le=100)]  # where nobody lives, and where nothing is built
Year = Annotated[int, Field(ge=1800, le=2100)]  # of what is sold, and of what is announced
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
Quarter = Annotated[str, AfterValidator(_neighbourhood)]
District = Annotated[str, AfterValidator(_district)]
Bordered = Annotated[str, AfterValidator(_bordered)]
Polygon = Annotated[str, AfterValidator(_polygon)]
Spot = Annotated[str, AfterValidator(_point)]
Radius = Annotated[float, Field(gt=0, le=NEAR_MOST_METRES, allow_inf_nan=False)]
City = Annotated[str, AfterValidator(_city)]
Travel = Annotated[str, AfterValidator(_travel)]
Line = Annotated[str, AfterValidator(_line)]
Rank = Annotated[int, Field(ge=1, le=10_000)]
Portal = Annotated[str, AfterValidator(_portal)]
Rooms = Annotated[int, Field(ge=1, le=MANY_ROOMS)]
Bathrooms = Annotated[int, Field(ge=1, le=10)]
Moment = Annotated[AwareDatetime, BeforeValidator(_iso), AfterValidator(_utc)]
Unknown = Literal["apart", "ok", "no"]
Contradictions = Literal["only", "none"]
Sort = Literal["newest", "price", "eur_sqm", "days", "score"]
Params = Mapping[str, str | Sequence[str]]
ANY: Final = "any"
"""In an address or on the command line: turns a default condition off."""
FLATS: Final[tuple[PropertyType, ...]] = ("apartment", "maisonette", "studio")
WANTED: Final[tuple[Status, ...]] = tuple(status for status in get_args(Status) if status not in UNWANTED)


class WrongSearch(ValueError):
    """The query is invalid; one sentence says what is wrong and what is allowed."""


class SearchQuery(BaseModel):
    """Conditions on a flat. A missing condition does not apply; a list means "one of these"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    neighbourhood: tuple[Quarter, ...] = Field((), description="In this neighbourhood, in any spelling.")
    not_neighbourhood: tuple[Quarter, ...] = Field((), description="Not in this neighbourhood.")
    district: tuple[District, ...] = Field((), description="In this district of Sofia (one of 24).")
    within: tuple[Bordered, ...] = Field(
        (),
        description="Within the borders of this neighbourhood, or of an imported district (“район Лозенец”), "
        "whatever the advert calls the place.",
    )
    polygon: tuple[Polygon, ...] = Field(
        (),
        description="Within the area with these corners: “42.69,23.31;42.70,23.33;42.68,23.34”. A flat of "
        "which only the neighbourhood is known is in it where all of that is.",
    )
    near: Spot | None = Field(None, description="Around this point, like “42.6977,23.3219”; needs near_m.")
    near_m: Radius | None = Field(None, description="At most this many metres from that point.")
    city: City | None = Field(SOFIA, description="In this town; any: all.")
    deal: Deal | None = Field("sale", description="For sale, or for rent; any: both.")
    property_type: tuple[PropertyType, ...] = Field(FLATS, description="Of this type; any: all of them.")
    price_min: Amount | None = Field(
        None, description="Price from, in euros, with VAT where it comes on top."
    )
    price_max: Amount | None = Field(
        None, description="Price up to, in euros, with VAT where it comes on top."
    )
    eur_sqm_min: Amount | None = Field(None, description="Price per m² from, in euros, with VAT.")
    eur_sqm_max: Amount | None = Field(None, description="Price per m² up to, in euros, with VAT.")
    area_min: Amount | None = Field(None, description="Area from, in m², as advertised (gross).")
    area_max: Amount | None = Field(None, description="Area up to, in m², as advertised (gross).")
    net_area_min: Amount | None = Field(None, description="Net area from, in m².")
    net_area_max: Amount | None = Field(None, description="Net area up to, in m².")
    rooms: tuple[Rooms, ...] = Field(
        (), description="This many rooms, including the living room; 5: five or more."
    )
    bathrooms_min: Bathrooms | None = Field(None, description="Bathrooms, at least.")
    floor_min: Floor | None = Field(None, description="Floor from; 0 is the ground floor.")
    floor_max: Floor | None = Field(None, description="Floor up to.")
    not_ground: bool = Field(default=False, description="Above the ground floor.")
    not_last: bool = Field(default=False, description="Not on the last floor.")
    construction: tuple[Construction, ...] = Field((), description="Type of construction.")
    no_panel: bool = Field(default=False, description="Not built of panels.")
    year_min: Year | None = Field(None, description="Built in this year or later.")
    year_max: Year | None = Field(None, description="Built in this year or before.")
    act: ActStatus | None = Field(None, description="The building has this act, or a later one.")
    condition: tuple[Condition, ...] = Field((), description="In this condition.")
    furnishing: tuple[Furnishing, ...] = Field((), description="How it is furnished.")
    heating: tuple[Heating, ...] = Field((), description="How it is heated.")
    orientation: tuple[Orientation, ...] = Field((), description="Facing this way: S is not SE.")
    metro_m: Amount | None = Field(None, description="At most this many metres from the metro.")
    metro_minutes: Amount | None = Field(
        None, description="At most this many minutes on foot from the metro."
    )
    travel: tuple[Travel, ...] = Field(
        (),
        description="At most so many minutes by public transport to a place, on a weekday morning: "
        "30:Сердика. A place is one of a profile by its name, a stop, a neighbourhood or "
        "latitude/longitude; all of several.",
    )
    school_minutes: Amount | None = Field(
        None, description="At most this many minutes on foot from a school; import schools first."
    )
    school_rank: Rank | None = Field(
        None, description="The nearest school is among this many best of the city by its exam."
    )
    shop_minutes: Amount | None = Field(
        None, description="At most this many minutes on foot from a supermarket."
    )
    stop_minutes: Amount | None = Field(
        None, description="At most this many minutes on foot from a stop of public transport."
    )
    line: tuple[Line, ...] = Field(
        (), description="A stop of this line is within 400 m: 94, or b94, t5, tb2, M2; all of several."
    )
    road: tuple[RoadClass, ...] = Field(
        (), description="A big road is so far: beside (to 50 m), near (150), close (300) or far."
    )
    balcony: bool = Field(default=False, description="With a balcony.")
    parking: bool = Field(default=False, description="With a garage or a parking place, not on the street.")
    elevator: bool = Field(default=False, description="With an elevator.")
    seller: tuple[SellerKind, ...] = Field((), description="Offered by this kind of seller.")
    portal: tuple[Portal, ...] = Field((), description="Offered on this portal.")
    days_min: Days | None = Field(None, description="On the market for at least this many days.")
    days_max: Days | None = Field(None, description="On the market for at most this many days.")
    new_since: Moment | None = Field(None, description="First seen since this moment.")
    cut_days: Days | None = Field(None, description="Cheaper than this many days ago.")
    cut_percent: Percent | None = Field(None, description="With cut_days: by at least this many per cent.")
    status: tuple[Status, ...] = Field(
        WANTED, description="With this status; by default all but rejected and hidden; any: all of them."
    )
    all_like: bool = Field(default=False, description="Everybody of the household likes it (★).")
    waits_for_you: bool = Field(
        default=False,
        description="Somebody else likes it and you have not said what you think; for a command or an alert, "
        "which are nobody of the household: anybody has not.",
    )
    word: tuple[Word, ...] = Field(
        (), description="An advert has this word; all of several. “терас*”: any ending."
    )
    not_word: tuple[Word, ...] = Field((), description="No advert has this word.")
    profile: Name | None = Field(None, description="Scored for this profile.")
    passing: bool = Field(default=False, description="Passes all deal breakers of the profile.")
    gone: bool = Field(default=False, description="Also what is no longer offered.")
    place_conflict: bool = Field(
        default=False, description="Also adverts whose words place them elsewhere than the portal does."
    )
    flag: tuple[Code, ...] = Field((), description="With this contradiction between its facts.")
    contradictions: Contradictions | None = Field(
        None, description="Only flats whose facts contradict each other, or none of them."
    )
    unknown: Unknown = Field(
        "apart", description="What to do where something asked is not known: list apart, count as ok, or no."
    )
    sort: Sort = Field("newest", description="What comes first.")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        for field in type(self).model_fields:
            low, high = getattr(self, field), getattr(self, field.removesuffix("_min") + "_max", None)
            if field.endswith("_min") and low is not None and high is not None and low > high:
                above = field.removesuffix("_min") + "_max"
                raise ValueError(Said("wrong_search.above", field=field, low=low, above=above, high=high))
        if self.cut_percent is not None and self.cut_days is None:
            raise ValueError(Said("wrong_search.cut_days"))
        if (self.near is None) != (self.near_m is None):
            raise ValueError(Said("wrong_search.near"))
        if self.profile is None and (self.sort == "score" or self.passing):
            raise ValueError(
                Said("wrong_search.profile", what="passing" if self.passing else "sort by score")
            )
        return self

    @classmethod
    def of(cls, conditions: Mapping[str, Any]) -> Self:
        """The query with these conditions.

        Raises:
            WrongSearch: one of them is invalid.
        """
        try:
            return cls.model_validate(dict(conditions))
        except ValidationError as error:
            raise WrongSearch(_sentence(error.errors()[0])) from None

    @classmethod
    def from_params(cls, params: Params) -> Self:
        """The query of an address; the inverse of `to_params`.

        Raises:
            WrongSearch: a name or value is invalid.
        """
        lists = {name: [value] if isinstance(value, str) else list(value) for name, value in params.items()}
        return cls.of({name: _value(name, values) for name, values in lists.items()})

    def to_params(self) -> dict[str, list[str]]:
        """All values that differ from the defaults, as texts for an address."""
        fields = type(self).model_fields
        own = {name: getattr(self, name) for name in fields if getattr(self, name) != fields[name].default}
        return {
            name: list(map(_text, value if isinstance(value, tuple) and value else [value]))
            for name, value in own.items()
        }


def is_list(field: str) -> bool:
    """Whether a condition takes several values."""
    info = SearchQuery.model_fields.get(field)
    return info is not None and get_origin(info.annotation) is tuple


def _text(value: object) -> str:
    if value in (None, ()):
        return ANY
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _value(name: str, values: Sequence[str]) -> object:
    info = SearchQuery.model_fields.get(name)
    if info is not None and info.default not in (None, ()) and list(values) == [ANY]:
        return () if is_list(name) else None
    if is_list(name):
        return tuple(values)
    if len(values) != 1:
        raise WrongSearch(Said("wrong_search.times", name=name, times=len(values)))
    return values[0]


def _sentence(error: ErrorDetails) -> Said:
    name = str(error["loc"][0]) if error["loc"] else ""
    if error["type"] == "extra_forbidden":
        return Said("wrong_search.condition", name=name, names=list(SearchQuery.model_fields))
    why = _how_written(name) if error["type"] in {"int_parsing", "float_parsing"} else None
    why = why or why_refused(error, SearchQuery)
    value = repr(error["input"])
    value = value if len(value) <= SHOWN_VALUE else f"{value[:SHOWN_VALUE]}…"
    return Said("wrong_search.value", name=name, given=value, why=why) if name else why


def _how_written(name: str) -> Said | None:
    """How to write a number that buyers are known to write otherwise."""
    match name:
        case "rooms":
            return Said("wrong_search.rooms")
        case "price_min" | "price_max":
            return Said("wrong_search.price")
    return None
