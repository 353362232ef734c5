"""The settings as environment variables, for the programs we start: they see what we see, from any folder."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from sale_sofia.config.settings import Settings
from sale_sofia.config.settings_urls import from_any_folder


def environment_of(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with every setting in it as it is in `settings`; it holds the secrets too."""
    names = {name.upper() for name in Settings.model_fields}
    others = {name: value for name, value in environ.items() if name.upper() not in names}
    ours = {name.upper(): _as_text(value) for name, value in settings if value is not None}
    return others | ours | {"DATABASE_URL": from_any_folder(ours["DATABASE_URL"])}


def _as_text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case SecretStr():
            return value.get_secret_value()
        case Mapping():
            return json.dumps(dict(value))
        case tuple():
            return ",".join(map(str, value))
        case Path():
            return str(value.absolute())
        case _:
            return str(value)
