"""What the dashboard says in the language of its session: Bulgarian, or English."""

from collections.abc import Mapping
from typing import Final

import streamlit as st

from sale_sofia.settings.words import Language, Said, dictionary

NAMES: Final[Mapping[Language, str]] = {"bg": "Български", "en": "English"}
PARAMETER: Final = "lang"
"""The key of the switch, in the session and in the address."""


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


def told(sentence: object) -> str:
    """A sentence that is kept as a code, or the one of an exception; other words as they are."""
    return Said.of(sentence).in_words(language())


def named(kind: str, value: object) -> str:
    """A value of a vocabulary by its name ("тухла" of construction "brick"); a strange one as it is."""
    key = f"{kind}.{value}"
    return say(key) if key in dictionary() else str(value)


def counted(key: str, count: int, shown: str) -> str:
    """`key.one` for one, `key.many` for all else, with the number as it is shown."""
    return say(f"{key}.{'one' if count == 1 else 'many'}", n=shown)
