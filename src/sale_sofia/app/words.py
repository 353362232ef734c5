"""What the dashboard says, in Bulgarian first and in English; the words are in `words.yaml`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

import streamlit as st

from sale_sofia.settings.files import read_yaml

Language = Literal["bg", "en"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
NAMES: Final[Mapping[str, str]] = {"bg": "Български", "en": "English"}
PARAMETER: Final = "lang"
"""The key of the switch, in the session and in the address."""
_FILE: Final = Path(__file__).with_name("words.yaml")


@cache
def dictionary() -> Mapping[str, Mapping[Language, str]]:
    """Every key with its two texts."""
    found: Mapping[str, Mapping[Language, str]] = read_yaml(_FILE.read_text("utf-8"))
    return found


def language() -> Language:
    """The language of this session; Bulgarian unless switched, here or in the address."""
    switched = st.session_state.get(PARAMETER)
    chosen = st.query_params.get(PARAMETER) == NAMES["en"] if switched is None else switched == "en"
    return "en" if chosen else "bg"


def say(key: str, /, **values: object) -> str:
    """The text of a key in the session's language, its gaps filled.

    Raises:
        KeyError: there is no such key.
    """
    text = dictionary()[key][language()]
    return text.format(**values) if values else text


def named(kind: str, value: object) -> str:
    """A value of a vocabulary by its name ("тухла" of construction "brick"); a strange one as it is."""
    key = f"{kind}.{value}"
    return say(key) if key in dictionary() else str(value)


def counted(key: str, count: int, shown: str) -> str:
    """`key.one` for one, `key.many` for all else, with the number as it is shown."""
    return say(f"{key}.{'one' if count == 1 else 'many'}", n=shown)
