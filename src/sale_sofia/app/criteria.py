"""A profile as fields to change: what each is, what stands in it, and what was changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from sale_sofia.advice.scoring.profile import (
    BREAKERS,
    Profile,
    ProfileError,
    Tier,
    TrapName,
    check_profile,
    profile_path,
    read_profile,
)
from sale_sofia.advice.scoring.scoring import Passing, Scorer, count_passing
from sale_sofia.advice.scoring.settings import WEIGHTS
from sale_sofia.app import formatting as shown
from sale_sofia.app import snapshot, state
from sale_sofia.app.formatting import refusal
from sale_sofia.app.words import say
from sale_sofia.listings.model import Orientation, PropertyType
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.settings.words import Said

Kind = Literal["number", "least", "switch", "several", "choice"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a profile; `key` is its way there, such as `must.rooms_least`."""

    key: str
    kind: Kind
    options: tuple[str, ...] = ()
    vocabulary: str = ""
    """The kind of words by which its options are named; none: they name themselves."""
    most: float | None = None
    step: float = 1


_SIDES: Final = get_args(Orientation)
_PLACES: Final = tuple(sorted(one.name for one in neighbourhoods()))
SECTIONS: Final[Mapping[str, tuple[Field, ...]]] = {
    "money": (
        Field("budget_eur", "number", most=100_000_000, step=5000),
        Field("renovation_eur", "number", most=100_000_000, step=1000),
        Field("commission_percent", "number", most=20, step=0.5),
        Field("property_types", "several", get_args(PropertyType), "property_type"),
    ),
    "must": (
        Field("must.rooms_least", "least", most=10),
        Field("must.area_least_sqm", "least", most=1000, step=5),
        Field("must.area_net_least_sqm", "least", most=1000, step=5),
        Field("must.bathrooms_least", "least", most=5),
        Field("must.elevator_above_floor", "least", most=30),
        Field("must.metro_most_minutes", "least", most=120),
        Field("must.not_ground_floor", "switch"),
        Field("must.not_last_floor", "switch"),
        Field("must.not_panel", "switch"),
        Field("must.act15_or_later", "switch"),
        Field("must.balcony_or_garden", "switch"),
        Field("must.orientation", "several", _SIDES, "orientation"),
        Field("must.no_traps", "several", get_args(TrapName), "trap"),
        Field("unknown_ok", "several", BREAKERS, "breaker"),
    ),
    "wishes": (
        Field("wishes.rooms", "number", most=10),
        Field("wishes.bathrooms", "number", most=5),
        Field("wishes.area_net_sqm", "number", most=1000, step=5),
        Field("wishes.orientation", "several", _SIDES, "orientation"),
    ),
    "places": (
        *(Field(f"neighbourhoods.{tier}", "several", _PLACES) for tier in get_args(Tier)),
        Field("neighbourhoods.others", "choice", get_args(Tier), "tier"),
    ),
    "weights": tuple(Field(f"weights.{name}", "number", most=1000, step=5) for name in WEIGHTS),
}
"""What is changed beside each other."""


def all_fields() -> Iterator[Field]:
    """Every field that can be changed."""
    for fields in SECTIONS.values():
        yield from fields


def value_of(profile: Profile, key: str) -> Any:  # noqa: ANN401 - of whatever type the field is
    """What stands in a field; a list as a list."""
    found: Any = profile
    for name in key.split("."):
        found = getattr(found, name)
    return list(found) if isinstance(found, tuple) else found


def changes_of(profile: Profile, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The fields that were given another value than stands in the profile."""
    return [(key, _as_written(value)) for key, value in given.items() if value != value_of(profile, key)]


def draft_of(name: str, changes: list[tuple[str, Any]]) -> Profile:
    """The profile as it would be with these changes; nothing is written.

    Raises:
        ProfileError: it could not be used; a sentence for each mistake.
    """
    folder = state.settings().data_dir
    _, values = read_profile(folder, name)
    for key, value in changes:
        *above, last = key.split(".")
        below = values
        for part in above:
            below = below.setdefault(part, {})
        below[last] = value
    return check_profile(profile_path(folder, name), values)


def mistakes(error: ProfileError) -> str:
    """What is wrong, without the file's place, which says nothing to a buyer."""
    wrong = Said.of(error)
    return "\n\n".join(refusal(one.values.get("why", one)) for one in wrong.values.get("lines", [wrong]))


def preview(profile: Profile) -> Passing:
    """How many of the flats on offer pass a profile that is kept."""
    now, ranked = snapshot.keeper().ranked(profile)
    offered = (score for number, score in ranked.scores.items() if now.flats[number].offered)
    return count_passing(offered)


def preview_draft(profile: Profile) -> Passing:
    """How many would pass one that is not kept yet: its scores are forgotten at once."""
    scorer = Scorer(profile)
    offered = (seen for seen in snapshot.current().looks.values() if seen.flat.offered)
    return count_passing(scorer.score(seen) for seen in offered if scorer.is_candidate(seen.flat))


def preview_line(passing: Passing) -> str:
    """`37 → 12 минават; 9 отпадат само заради метрото`."""
    line = say(
        "criteria.preview", all=shown.number(passing.candidates), passing=shown.number(passing.passing)
    )
    told = [line]
    if passing.unknown:
        told.append(say("criteria.unknown", n=shown.number(passing.unknown)))
    told += [
        say("criteria.only", n=shown.number(count), breaker=say(f"breaker.{name}"))
        for name, count in passing.only.items()
    ]
    return "; ".join(told)


def _as_written(value: object) -> object:
    """Whole numbers without a point, as a person would write them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
