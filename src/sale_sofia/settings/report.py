"""The effective settings, for people: each value, its source, what is allowed. Holds no secret."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from sale_sofia.settings.model import DOCUMENTED_NAMES, MODE_SWITCHES, Settings
from sale_sofia.settings.terminal import NOT_SHOWN
from sale_sofia.settings.types import MASK, masked_url, note


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as text, safe to print and to log."""

    name: str
    value: str
    source: str
    """"environment", "default" or "follows the mode"; other variables for the same setting are named."""
    unit: str
    allowed: str
    sentence: str


def effective_settings(settings: Settings, environ: Mapping[str, str]) -> list[SettingRow]:
    """Return every setting once, in the order of the settings object, as read from `environ`."""
    variables = {name.upper() for name, value in environ.items() if value}
    return [
        SettingRow(
            name=name.upper(),
            value=_as_text(settings.resolved(name), field),
            source=_source(name, variables),
            unit=note(field, "unit"),
            allowed=note(field, "allowed"),
            sentence=field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]


def _source(name: str, variables: Collection[str]) -> str:
    documented = DOCUMENTED_NAMES.get(name, ())
    also = ""
    if documented and documented[0] in variables:
        also = ", ".join(variable for variable in documented if variable in variables)
    if name.upper() in variables:
        return f"environment ({name.upper()} wins over {also})" if also else "environment"
    if also:
        return f"environment ({also})"
    return "follows the mode" if name in MODE_SWITCHES else "default"


def settings_as_json(rows: Iterable[SettingRow]) -> str:
    """Format the rows as a JSON list of objects."""
    return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2)


def settings_text(rows: Iterable[SettingRow]) -> str:
    """Format the rows for a person, a few lines each: a table would double the time."""
    return "\n".join(
        f"{row.name} = {row.value}\n"
        f"    {row.sentence}\n"
        f"    Allowed: {row.allowed} ({row.unit}). Source: {row.source}.\n"
        for row in rows
    ).translate(NOT_SHOWN)


def _as_text(value: object, field: FieldInfo) -> str:
    match value:
        case None:
            return "unset"
        case bool():
            return str(value).lower()
        case SecretStr():  # a password may look like a URL
            return masked_url(value.get_secret_value()) if note(field, "unit") == "URL" else MASK
        case Mapping():
            return json.dumps(dict(value), ensure_ascii=False)
        case tuple():
            return ",".join(map(str, value))
        case _:
            return str(value)
