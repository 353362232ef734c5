"""What the conditions of a search may be."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StringConstraints

from sale_sofia.config.searching import (
    FIRST_YEAR,
    HIGHEST_FLOOR,
    LAST_YEAR,
    LONGEST_PROFILE,
    LONGEST_WORD,
    LOWEST_FLOOR,
    MANY_ROOMS,
    MOST_BATHROOMS,
    MOST_DAYS,
)
from sale_sofia.insights.searching_places import known_city, known_district, known_neighbourhood, known_portal


def _iso(value: object) -> object:
    """Only what is written as a moment: a bare number would be taken for seconds."""
    if not isinstance(value, str):
        return value
    try:
        written = datetime.fromisoformat(value)
    except ValueError:
        written = None
    if written is None or written.tzinfo is None:
        raise ValueError("write a moment with its offset, like 2026-11-14T08:30+02:00")
    return written


def _utc(moment: datetime) -> datetime:
    """In UTC, where no hour comes twice and equal moments are equal."""
    return moment.astimezone(UTC)


Euros = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Metres = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Minutes = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Days = Annotated[float, Field(ge=0, le=MOST_DAYS, allow_inf_nan=False)]
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Floor = Annotated[int, Field(ge=LOWEST_FLOOR, le=HIGHEST_FLOOR)]
Year = Annotated[int, Field(ge=FIRST_YEAR, le=LAST_YEAR)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_WORD)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_PROFILE)]
Quarter = Annotated[str, AfterValidator(known_neighbourhood)]
District = Annotated[str, AfterValidator(known_district)]
City = Annotated[str, AfterValidator(known_city)]
Portal = Annotated[str, AfterValidator(known_portal)]
Rooms = Annotated[int, Field(ge=1, le=MANY_ROOMS)]
Bathrooms = Annotated[int, Field(ge=1, le=MOST_BATHROOMS)]
Moment = Annotated[AwareDatetime, BeforeValidator(_iso), AfterValidator(_utc)]
