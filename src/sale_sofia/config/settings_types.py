"""The kinds of value a setting may have; each field carries the text of what is allowed in it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import NoDecode

DEFAULT_DOMAIN: Final = "default"
DEFAULT_RATE: Final = 10.0
MAX_RATE: Final = 60_000
RATES_ALLOWED: Final = f"a JSON object of lower-case domain: number above 0, up to {MAX_RATE}"
FOLDER_ALLOWED: Final = "a folder's path, without '?'"
FILE_ALLOWED: Final = "the path of a file that can be read, with the password alone in it"
_SHOWN_CHARACTERS: Final = 80


def whole(default: int, least: int, most: int, unit: str, sentence: str) -> int:
    """A whole number from least to most, both included."""
    extra = notes(f"a whole number from {least} to {most}", unit)
    return Field(default, ge=least, le=most, description=sentence, json_schema_extra=extra)


def decimal(default: float, least: float, most: float, unit: str, sentence: str) -> float:
    """A number from least to most, both included; so neither infinite nor NaN."""
    extra = notes(f"a number from {least} to {most}", unit)
    return Field(default, ge=least, le=most, description=sentence, json_schema_extra=extra)


def switch(*, default: bool, sentence: str) -> bool:
    """True or false."""
    return Field(default, description=sentence, json_schema_extra=notes("true or false", "switch"))


def mode_switch(sentence: str) -> bool | None:
    """True or false; None, when unset, stands for "as the mode says"."""
    return Field(default=None, description=sentence, json_schema_extra=notes("true or false", "switch"))


def password_file(setting: str) -> Path | None:
    """A file with the password of another setting, so that it stands in no environment."""
    sentence = f"File with the password of {setting}; unset: it stands there, or none is needed."
    return Field(default=None, description=sentence, json_schema_extra=notes(FILE_ALLOWED, "file"))


def notes(allowed: str, unit: str) -> JsonDict:
    """What a field says of itself beyond its type; `note` reads it back."""
    return {"allowed": allowed, "unit": unit}


def note(field: FieldInfo, key: Literal["allowed", "unit"]) -> str:
    """The text of what the field allows, or its unit."""
    extra = field.json_schema_extra
    return str(extra[key]) if isinstance(extra, dict) else ""


def wrong_value(field: FieldInfo, details: ErrorDetails) -> str:
    """What was given and what is allowed, in one sentence that never holds a secret."""
    reason = details.get("ctx", {}).get("error", note(field, "allowed"))
    return f"{_given(field, details)} is not allowed; {reason} ({note(field, 'unit')})."


def _given(field: FieldInfo, details: ErrorDetails) -> str:
    if SecretStr in {field.annotation, *get_args(field.annotation)}:
        return "the given value"
    shown = repr(str(details["input"])[:_SHOWN_CHARACTERS])
    match details["loc"]:
        case (_, key):
            return f"{shown} for {key!r}"
        case _:
            return shown


def _read_json(raw: object) -> object:
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError(RATES_ALLOWED) from None


def _with_default(rates: Mapping[str, float]) -> Mapping[str, float]:
    return {DEFAULT_DOMAIN: DEFAULT_RATE, **rates}


def _check_folder(path: Path) -> Path:
    # In a database URL everything after a "?" would be taken for options, and the file would be another one.
    if "?" in str(path) or not str(path).strip():
        raise ValueError(FOLDER_ALLOWED)
    try:
        return path.expanduser()
    except RuntimeError as error:  # `~name` of a user that this machine does not have
        raise ValueError(FOLDER_ALLOWED) from error


Domain = Annotated[str, Field(pattern=r"^[a-z0-9_][a-z0-9_.-]*(:[0-9]+)?$")]
Rate = Annotated[float, Field(strict=True, gt=0, le=MAX_RATE)]
DomainRates = Annotated[
    Mapping[Domain, Rate], NoDecode, BeforeValidator(_read_json), AfterValidator(_with_default)
]
Folder = Annotated[Path, AfterValidator(_check_folder)]
