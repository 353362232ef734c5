"""What a buyer wants: budget, neighbourhoods, wishes, conditions, weights. One profile is one YAML file."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_args, get_origin

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from sale_sofia.advice.scoring.settings import (
    PLACE_NAME_MOST,
    PLACES_MOST,
    PROFILE_FILE_SECONDS,
    PROFILES_FOLDER,
    WEIGHTS,
)
from sale_sofia.advice.settings import COMMISSION_PERCENT, RENOVATION_EUR_SQM
from sale_sofia.flats.walks import find_place
from sale_sofia.geography.imported import until_changed, used_folder
from sale_sofia.geography.settings import ARRIVE_BETWEEN, ARRIVE_BY
from sale_sofia.geography.shapes import Destination
from sale_sofia.geography.surroundings import RoadClass
from sale_sofia.listings.model import Orientation, PropertyType
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.operations.services.ownership import ALONE, StillLocked, lock_file, take
from sale_sofia.settings.files import compose_yaml, end_of, line_end, read_yaml, write_whole
from sale_sofia.settings.types import at_key, decimal, note, shown_input, why_refused
from sale_sofia.settings.words import Said
from sale_sofia.websites.site_file import Table, load_yaml

Tier = Literal["best", "good", "fair", "poor"]
TrapName = Literal[
    "share_of_ownership", "compensation_swap", "studio_status", "tenants", "mortgage", "right_to_build"
]
BreakerName = Literal[
    "offer", "place", "neighbourhood", "budget", "rooms", "area", "area_net", "bathrooms", "ground_floor",
    "last_floor", "elevator", "panel", "act15", "metro", "stop", "shop", "school", "road", "orientation",
    "outdoors", "traps",
]  # fmt: skip
BREAKERS: Final[tuple[BreakerName, ...]] = get_args(BreakerName)
_MOST_EUR: Final = 100_000_000


def _canonical(name: str) -> str:
    found = find_neighbourhood(name)
    if found is None:
        raise ValueError(Said("wrong_profile.place", place=name))
    return found.name


Place = Annotated[str, AfterValidator(_canonical)]


class _Section(Table):
    model_config = ConfigDict(frozen=True, strict=True)


def _least(most: int, unit: str, description: str) -> int | None:
    return Field(default=None, ge=1, le=most, description=description, json_schema_extra={"unit": unit})


def _several(description: str) -> Any:  # noqa: ANN401 - lists of several kinds
    return Field(default=(), strict=False, description=description, json_schema_extra={"unit": "list"})


def _choice(*, description: str) -> bool:
    return Field(default=False, description=description, json_schema_extra={"unit": "switch"})


class Neighbourhoods(_Section):
    """The buyer's tiers; a neighbourhood is in one of them, or among the others."""

    best: tuple[Place, ...] = _several("Where I want to live.")
    good: tuple[Place, ...] = _several("Where I would live gladly.")
    fair: tuple[Place, ...] = _several("Where I could live.")
    poor: tuple[Place, ...] = _several("Where I do not want to live.")
    others: Tier = Field(
        default="fair", description="All that is not named.", json_schema_extra={"unit": "tier"}
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        names = [name for tier in get_args(Tier) for name in getattr(self, tier)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(Said("wrong_profile.two_tiers", names=twice))
        return self

    def tier(self, neighbourhood: str) -> Tier:
        """The tier of a neighbourhood."""
        return self._tier_of.get(neighbourhood, self.others)

    @cached_property
    def _tier_of(self) -> dict[str, Tier]:
        return {name: tier for tier in get_args(Tier) for name in getattr(self, tier)}


def _place(text: str) -> str:
    if find_place(text) is None:
        raise ValueError(Said("wrong_profile.own_place", place=text))
    return text.strip()


def _clock(value: object) -> object:
    """An hour as it is written; YAML reads 9:00 as the minutes of the day."""
    minutes = value if type(value) is int else _minutes(value) if isinstance(value, str) else None
    if minutes is None or not ARRIVE_BETWEEN[0] <= minutes <= ARRIVE_BETWEEN[1]:
        least, most = (f"{limit // 60:02}:{limit % 60:02}" for limit in ARRIVE_BETWEEN)
        raise ValueError(Said("wrong_profile.arrive_by", given=str(value), least=least, most=most))
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _minutes(clock: str) -> int | None:
    """Minutes of the day of `09:00`."""
    hours, _, minutes = clock.partition(":")
    right = hours.isdecimal() and minutes.isdecimal() and int(minutes) < 60  # noqa: PLR2004 - of an hour
    return int(hours) * 60 + int(minutes) if right else None


def _place_name(text: str) -> str:
    """In a search a comma begins another place."""
    name = text.strip()
    if not 0 < len(name) <= PLACE_NAME_MOST or "," in name:
        raise ValueError(Said("wrong_profile.place_name", most=PLACE_NAME_MOST))
    return name


class OwnPlace(_Section):
    """Where the buyer goes on a weekday morning."""

    name: Annotated[str, AfterValidator(_place_name)]
    at: Annotated[str, AfterValidator(_place)]
    """A stop, a neighbourhood, or `latitude/longitude`."""
    arrive_by: Annotated[str, BeforeValidator(_clock)] = "09:00"

    @cached_property
    def place(self) -> Destination:
        """Where it is, and when one has to be there."""
        found = find_place(self.at)
        if found is None:
            raise ValueError(Said("wrong_profile.own_place", place=self.at))
        return found._replace(arrive_by=_minutes(self.arrive_by) or ARRIVE_BY)


class Wishes(_Section):
    """What would be best. Less is worth less, but no flat fails for it."""

    rooms: int = Field(default=3, ge=1, le=10, json_schema_extra={"unit": "rooms"})
    bathrooms: int = Field(default=1, ge=1, le=5, json_schema_extra={"unit": "bathrooms"})
    area_net_sqm: float = decimal(80, 10, 1000, "m²", "Net area.")
    orientation: tuple[Orientation, ...] = _several("Sides that count as good.")


class Must(_Section):
    """Deal breakers: a flat that fails one is out; one that is unknown in one is neither in nor out."""

    rooms_least: int | None = _least(10, "rooms", "Rooms, the living room counted.")
    wanted_neighbourhood: bool = _choice(description="In none of the neighbourhoods that are poor.")
    area_least_sqm: int | None = _least(1000, "m²", "Total area.")
    area_net_least_sqm: int | None = _least(1000, "m²", "Net area.")
    bathrooms_least: int | None = _least(5, "bathrooms", "Bathrooms.")
    not_ground_floor: bool = _choice(description="Not on the ground floor.")
    not_last_floor: bool = _choice(description="Not under the roof.")
    elevator_above_floor: int | None = _least(30, "floor", "Above this floor an elevator is needed.")
    not_panel: bool = _choice(description="No panel building.")
    act15_or_later: bool = _choice(description="The building has its act 15 or more.")
    metro_most_minutes: int | None = _least(120, "minutes", "Walk to the metro.")
    stop_most_minutes: int | None = _least(120, "minutes", "Walk to a stop of public transport.")
    shop_most_minutes: int | None = _least(120, "minutes", "Walk to a supermarket.")
    school_most_minutes: int | None = _least(120, "minutes", "Walk to a school; schools are imported.")
    road: tuple[RoadClass, ...] = _several("A big road is so far: beside (to 50 m), near, close or far.")
    orientation: tuple[Orientation, ...] = _several("At least one of these sides.")
    balcony_or_garden: bool = _choice(description="A balcony or a garden.")
    no_traps: tuple[TrapName, ...] = _several("None of these in the description.")


class CriterionWeights(_Section):
    """How much each criterion counts. They need not sum to 100."""

    location: float = decimal(WEIGHTS["location"], 0, 1000, "weight", "Neighbourhood and metro.")
    price: float = decimal(WEIGHTS["price"], 0, 1000, "weight", "Price per m² among its neighbours.")
    condition: float = decimal(WEIGHTS["condition"], 0, 1000, "weight", "Condition and renovation.")
    layout: float = decimal(WEIGHTS["layout"], 0, 1000, "weight", "Rooms, baths, sides, net area.")
    building: float = decimal(WEIGHTS["building"], 0, 1000, "weight", "Construction, year, act, floor.")
    rental: float = decimal(WEIGHTS["rental"], 0, 1000, "weight", "Gross yield.")
    extras: float = decimal(WEIGHTS["extras"], 0, 1000, "weight", "Parking, storage, balcony, view.")
    travel: float = decimal(WEIGHTS["travel"], 0, 1000, "weight", "Minutes to the buyer's own places.")
    nearby: float = decimal(WEIGHTS["nearby"], 0, 1000, "weight", "Stop, supermarket, school, big road.")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.total() <= 0:
            raise ValueError(Said("wrong_profile.weights"))
        return self

    def total(self) -> float:
        """Their sum."""
        return float(sum(getattr(self, name) for name in WEIGHTS))


class RenovationCosts(_Section):
    """EUR for each m² by condition."""

    needs_renovation: float = decimal(RENOVATION_EUR_SQM["needs_renovation"], 0, 10_000, "EUR/m²", "")
    bare: float = decimal(RENOVATION_EUR_SQM["bare"], 0, 10_000, "EUR/m²", "")
    good: float = decimal(RENOVATION_EUR_SQM["good"], 0, 10_000, "EUR/m²", "")

    def dearest(self) -> float:
        """What an unknown condition may cost."""
        return max(self.needs_renovation, self.bare, self.good)


class Profile(_Section):
    """All that a buyer wants, checked. The name is the file's."""

    title: str = Field(default="", max_length=200, json_schema_extra={"unit": "text"})
    property_types: tuple[PropertyType, ...] = Field(
        default=("apartment",), min_length=1, strict=False, json_schema_extra={"unit": "list"}
    )
    budget_eur: float = Field(gt=0, le=_MOST_EUR, json_schema_extra={"unit": "EUR"})
    renovation_eur: float = decimal(0, 0, _MOST_EUR, "EUR", "What may go into renovation.")
    commission_percent: float = decimal(COMMISSION_PERCENT, 0, 20, "per cent", "An agency's, without VAT.")
    renovation_eur_sqm: RenovationCosts = RenovationCosts()
    neighbourhoods: Neighbourhoods = Neighbourhoods()
    places: tuple[OwnPlace, ...] = Field(
        default=(), strict=False, max_length=PLACES_MOST, json_schema_extra={"unit": "list"}
    )
    wishes: Wishes = Wishes()
    must: Must = Must()
    unknown_ok: tuple[BreakerName, ...] = _several("Conditions that may be unknown.")
    weights: CriterionWeights = CriterionWeights()

    def shares(self) -> dict[str, float]:
        """The weights as shares of one."""
        return {name: getattr(self.weights, name) / self.weights.total() for name in WEIGHTS}

    def remark(self) -> str | None:
        """A sentence, when the weights do not sum to 100 and are normalised."""
        total = self.weights.total()
        if math.isclose(total, 100):
            return None
        shares = ", ".join(f"{name} {share:.1%}" for name, share in self.shares().items() if share)
        return f"the weights sum to {total:g}, not 100; they count as {shares}"


# Profiles as files: the shipped default, and the buyer's own in DATA_DIR/profiles.

DEFAULT: Final = "default"
_NAME: Final = re.compile(r"[\w-]{1,40}")
_HEAD: Final = re.compile(r"\A(?:#.*\n)+")
"""The comment at the head of a file, which says what that profile is."""
_LOCK: Final = "profiles.lock"
"""Beside their folder; held while a profile is changed."""


class ProfileError(ValueError):
    """A profile cannot be used, or there is none; a sentence for each mistake."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The profiles that can be used, and what is wrong with the others."""

    profiles: dict[str, Profile]
    mistakes: dict[str, ProfileError]


def profile_names(data_dir: Path) -> list[str]:
    """The names of all profiles, in alphabetical order; the default is always among them."""
    return sorted({DEFAULT, *(path.stem for path in (data_dir / PROFILES_FOLDER).glob("*.yaml"))})


def usual_profile(names: Iterable[str]) -> str:
    """The profile that is meant where none is named: the first of the buyer's own, else the shipped one."""
    return min(names, key=lambda name: (name == DEFAULT, name))


def profile_path(data_dir: Path, name: str) -> Path:
    """Where a profile is, or would be written. Raises ProfileError if a profile cannot have this name."""
    if not _NAME.fullmatch(name):
        raise ProfileError(Said("wrong_profile.name", name=name, most=40))
    return data_dir / PROFILES_FOLDER / f"{name}.yaml"


def load_profile(data_dir: Path, name: str) -> Profile:
    """The profile of this name, checked.

    Raises:
        ProfileError: there is none, or it cannot be used; a sentence for each mistake.
    """
    return check_profile(*read_profile(data_dir, name))


def load_profiles(data_dir: Path) -> Loaded:
    """All profiles; one that cannot be used does not affect the others."""
    loaded = Loaded({}, {})
    for name in profile_names(data_dir):
        try:
            loaded.profiles[name] = load_profile(data_dir, name)
        except ProfileError as error:
            loaded.mistakes[name] = error
    return loaded


# Places by the names that buyers give them.

Stamp = tuple[tuple[str, int, int], ...]


def places_stamp() -> Stamp:
    """Changes whenever a profile in the process's DATA_DIR changes."""
    folder = used_folder()
    found = []
    for path in sorted((folder / PROFILES_FOLDER).glob("*.yaml")) if folder else ():
        with suppress(FileNotFoundError):  # removed meanwhile
            stat = path.stat()
            found.append((path.name, stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def find_named_place(text: str) -> Destination | None:
    """A place by the name that a profile gives it, else as `find_place` finds it; None: neither.

    Raises:
        ValueError: profiles mean different places by this name.
    """
    folder = used_folder()
    places = _named_places(folder, places_stamp()) if folder else {}
    found = places.get(text.strip().casefold(), set())
    if len(found) > 1:
        raise ValueError(Said("wrong_search.two_places", name=text.strip()))
    return next(iter(found)) if found else find_place(text)


@until_changed
@lru_cache(maxsize=4)
def _named_places(folder: Path, _stamp: Stamp) -> Mapping[str, set[Destination]]:
    found: dict[str, set[Destination]] = {}
    for profile in load_profiles(folder).profiles.values():
        for own_place in profile.places:
            found.setdefault(own_place.name.casefold(), set()).add(own_place.place)
    return found


def read_profile(data_dir: Path, name: str) -> tuple[Path, dict[str, Any]]:
    """The file of a profile and its contents, not checked."""
    path = profile_path(data_dir, name)
    if not path.exists():
        if name != DEFAULT:
            raise ProfileError(Said("wrong_profile.unknown", name=name, names=profile_names(data_dir)))
        path = Path(str(files("sale_sofia.advice.scoring").joinpath(PROFILES_FOLDER, f"{DEFAULT}.yaml")))
    try:
        return path, load_yaml(path)
    except (ValueError, UnicodeDecodeError) as error:
        raise ProfileError(Said.of(error)) from None


def check_profile(path: Path, values: Mapping[str, Any]) -> Profile:
    """The profile that these values are.

    Raises:
        ProfileError: a sentence for each mistake: the file, the key, what was given, what is allowed.
    """
    try:
        return Profile.model_validate(values)
    except ValidationError as error:
        lines = [Said("wrong_file.at", path=str(path), why=_sentence(details)) for details in error.errors()]
        raise ProfileError(Said("wrong_file.lines", lines=lines)) from None


def new_profile(data_dir: Path, name: str, like: str = DEFAULT, how: str = "") -> Path:
    """Make a profile of this name with the contents of another one; its path.

    The comment at its head says whose it is and how it was made, not what the other one is.

    Raises:
        ProfileError: it is there already, or the other one is not.
    """
    path = profile_path(data_dir, name)
    if path.exists():
        raise ProfileError(Said("wrong_profile.there", path=str(path), name=name))
    source, values = read_profile(data_dir, like)
    check_profile(source, values)
    made = how or f"made from the profile {like}"
    write_whole(path, f"# The profile {name}, {made}.\n{_HEAD.sub('', source.read_text('utf-8'))}")
    return path


def edit_profile(data_dir: Path, name: str, changes: Sequence[tuple[str, Any]]) -> tuple[Path, Profile]:
    """Change keys of a profile, such as `must.rooms_least`; nothing is written unless the result is valid.

    Concurrent edits run one after the other; comments of the file stay where its lines can be edited.
    """
    path = profile_path(data_dir, name)
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_file(data_dir / _LOCK) as lock:
        try:
            take(lock, ALONE, PROFILE_FILE_SECONDS)
        except StillLocked:
            raise ProfileError(Said("wrong_profile.busy")) from None
        source, values = read_profile(data_dir, name)
        for keys, value in changes:
            *above, last = keys.split(".")
            section = values
            for key in above:
                section = section.setdefault(key, {})
                if not isinstance(section, dict):
                    raise ProfileError(f"{keys}: {key} holds a value and no keys")
            section[last] = value
        profile = check_profile(path, values)
        write_whole(path, _edited(source.read_text("utf-8"), changes, values))
    return path, profile


def _edited(text: str, changes: Sequence[tuple[str, Any]], values: Mapping[str, Any]) -> str:
    """The text with these changes, its other lines as they were; rewritten without comments if need be."""
    new = text
    try:
        for keys, value in changes:
            new = _with_value(new, keys.split("."), value)
        if read_yaml(new) == values:
            return new
    except yaml.YAMLError:
        pass
    return yaml.safe_dump(values, allow_unicode=True, sort_keys=False, default_flow_style=None)


def _with_value(text: str, keys: Sequence[str], value: object) -> str:
    """The text with this value at these keys, in one line; an unusable text where that cannot be done."""
    node = compose_yaml(text)
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode) or not node.value:
            return ""
        child = next((child for name, child in node.value if name.value == key), None)
        if child is None:
            for missing in reversed(keys[depth + 1 :]):
                value = {missing: value}
            place = line_end(text, end_of(node))
            indent = " " * node.value[0][0].start_mark.column
            return f"{text[:place]}\n{indent}{key}: {_one_line(value)}{text[place:]}"
        node = child
    return (
        text if node is None else f"{text[: node.start_mark.index]}{_one_line(value)}{text[end_of(node) :]}"
    )


def _one_line(value: object) -> str:
    dumped = yaml.safe_dump(
        value, allow_unicode=True, default_flow_style=True, sort_keys=False, width=100_000
    )
    return dumped.strip().removesuffix("...").strip()


def _sentence(details: ErrorDetails) -> Said:
    field = _field(details["loc"])
    if details["type"] == "model_type":
        why = Said("wrong_profile.section")
    elif field is None or details["type"] == "value_error":
        why = why_refused(details, Profile)
    else:
        code = "wrong_profile.missing" if details["type"] == "missing" else "wrong_profile.value"
        why = Said(code, given=shown_input(details), allowed=_allowed(field), unit=note(field, "unit"))
    return at_key(details["loc"], why)


def _allowed(field: FieldInfo) -> Said:
    """What a field may hold, by its own type and limits."""
    limits = {
        name: getattr(constraint, name)
        for constraint in field.metadata
        for name in ("gt", "ge", "le", "max_length")
        if hasattr(constraint, name)
    }
    kind, inner = field.annotation, get_args(field.annotation)
    if get_origin(kind) is tuple:
        is_choice = get_origin(inner[0]) is Literal
        others = ["name, at, arrive_by"] if inner[0] is OwnPlace else ["neighbourhoods"]
        return Said("allowed.list", names=list(get_args(inner[0])) if is_choice else others)
    if get_origin(kind) is Literal:
        return Said("allowed.words", names=list(inner))
    names: dict[object, str] = {int: "whole", float: "number", bool: "switch", str: "text"}
    code = "above" if "gt" in limits else names.get(kind, "whole_or_null")
    return Said(f"allowed.{code}", **limits)


def _field(loc: Iterable[int | str]) -> FieldInfo | None:
    """The field of a profile that a mistake is in, None for a section; a place in a list is the list's."""
    model: type[BaseModel] = Profile
    for key in loc:
        field = model.model_fields.get(str(key))
        kind = field.annotation if field else None
        if not isinstance(kind, type) or not issubclass(kind, BaseModel):
            return field
        model = kind
    return None
