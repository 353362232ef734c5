"""Profiles as files: the shipped default, and the buyer's own in DATA_DIR/profiles."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sale_sofia.config.settings_types import note, wrong_value
from sale_sofia.config.site_config import load_yaml
from sale_sofia.config.whole_files import write_whole
from sale_sofia.insights.profile import Profile, section_of

DEFAULT: Final = "default"
FOLDER: Final = "profiles"
_NAME: Final = re.compile(r"[\w-]{1,40}")


class ProfileError(ValueError):
    """A profile cannot be used, or there is none; a sentence for each mistake."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The profiles that can be used, and what is wrong with the others."""

    profiles: dict[str, Profile]
    mistakes: dict[str, ProfileError]


def profile_names(data_dir: Path) -> list[str]:
    """The names of all profiles, in alphabetical order; the default is always among them."""
    return sorted({DEFAULT, *(path.stem for path in (data_dir / FOLDER).glob("*.yaml"))})


def profile_path(data_dir: Path, name: str) -> Path:
    """Where a profile is, or would be written.

    Raises:
        ProfileError: a profile cannot have this name.
    """
    if not _NAME.fullmatch(name):
        raise ProfileError(f"a profile cannot be called {name!r}; allowed: up to 40 letters, digits, - and _")
    return data_dir / FOLDER / f"{name}.yaml"


def load_profile(data_dir: Path, name: str) -> Profile:
    """The profile of this name, checked.

    Raises:
        ProfileError: there is none, or it cannot be used; a sentence for each mistake.
    """
    return check_profile(*read_profile(data_dir, name))


def load_profiles(data_dir: Path) -> Loaded:
    """All profiles; one that cannot be used keeps none of the others from it."""
    loaded = Loaded({}, {})
    for name in profile_names(data_dir):
        try:
            loaded.profiles[name] = load_profile(data_dir, name)
        except ProfileError as error:
            loaded.mistakes[name] = error
    return loaded


def read_profile(data_dir: Path, name: str) -> tuple[Path, dict[str, Any]]:
    """The file of a profile, and what stands in it, not checked."""
    path = profile_path(data_dir, name)
    if not path.exists():
        if name != DEFAULT:
            known = ", ".join(profile_names(data_dir))
            raise ProfileError(f"no profile {name!r}; there are {known}")
        path = Path(str(files("sale_sofia.config").joinpath(FOLDER, f"{DEFAULT}.yaml")))
    try:
        return path, load_yaml(path)
    except (ValueError, UnicodeDecodeError) as error:
        raise ProfileError(str(error)) from None


def check_profile(path: Path, values: Mapping[str, Any]) -> Profile:
    """The profile that these values are.

    Raises:
        ProfileError: a sentence for each mistake: the file, the key, what was given, what is allowed.
    """
    try:
        return Profile.model_validate(values)
    except ValidationError as error:
        raise ProfileError("\n".join(f"{path}: {_sentence(one)}" for one in error.errors())) from None


def new_profile(data_dir: Path, name: str, like: str = DEFAULT) -> Path:
    """A profile of this name, with what stands in another one.

    Raises:
        ProfileError: it is there already, or the other one is not.
    """
    path = profile_path(data_dir, name)
    if path.exists():
        raise ProfileError(f"{path} is there already; change it with `sale-sofia profiles edit {name}`")
    source, values = read_profile(data_dir, like)
    check_profile(source, values)
    write_whole(path, source.read_text("utf-8"))
    return path


def edit_profile(data_dir: Path, name: str, changes: Sequence[tuple[str, Any]]) -> tuple[Path, Profile]:
    """Change keys of a profile, such as `must.rooms_least`; nothing is written unless all of it is right."""
    path, (_, values) = profile_path(data_dir, name), read_profile(data_dir, name)
    for key, value in changes:
        _put(values, key.split("."), value)
    profile = check_profile(path, values)
    write_whole(path, yaml.safe_dump(values, allow_unicode=True, sort_keys=False, default_flow_style=None))
    return path, profile


def _put(values: dict[str, Any], keys: Sequence[str], value: object) -> None:
    *above, last = keys
    for key in above:
        below = values.setdefault(key, {})
        if not isinstance(below, dict):
            raise ProfileError(f"{'.'.join(keys)}: {key} holds a value and no keys")
        values = below
    values[last] = value


def _sentence(details: ErrorDetails) -> str:
    key = ".".join(str(part) for part in details["loc"]) or "the file"
    field = _field(details["loc"])
    if details["type"] == "missing":
        return f"{key}: is missing; {note(field, 'allowed')} ({note(field, 'unit')})."
    if details["type"] == "model_type":
        return f"{key}: must hold keys and their values"
    if field is None or details["type"] == "value_error":
        return f"{key}: {details['msg'].removeprefix('Value error, ')}"
    return f"{key}: {wrong_value(field, {**details, 'loc': ()})}"


def _field(loc: Iterable[int | str]) -> Any:  # noqa: ANN401 - a field, or None for a section
    """The field of a profile that a mistake is in; a place in a list belongs to the list."""
    model: type[BaseModel] = Profile
    for key in loc:
        section = section_of(model, str(key))
        if section is None:
            return model.model_fields.get(str(key))
        model = section
    return None
