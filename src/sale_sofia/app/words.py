"""The texts of the pages, in the language of the request: Bulgarian or English."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from sale_sofia.settings.words import Language, Said, dictionary

_LANGUAGE: Final[ContextVar[Language]] = ContextVar("language", default="bg")


@contextmanager
def speaking(chosen: Language) -> Iterator[None]:
    """Texts inside are in this language."""
    token = _LANGUAGE.set(chosen)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def language() -> Language:
    """The language of the current request."""
    return _LANGUAGE.get()


def say(key: str, /, **values: object) -> str:
    """The text of a key, with its placeholders filled.

    Raises:
        KeyError: there is no such key.
    """
    text = dictionary()[key][language()]
    return text.format(**values) if values else text


def translate(sentence: object) -> str:
    """The text of a sentence stored as a code, or of an exception; other text unchanged."""
    return Said.of(sentence).in_words(language())


def mistakes(error: BaseException) -> str:
    """The mistakes in a file, without their positions, which mean nothing to a buyer."""
    sentence = Said.of(error)
    lines = sentence.values["lines"] if sentence.code == "wrong_file.lines" else [sentence]
    return " ".join(translate(line.values["why"] if line.code == "wrong_file.at" else line) for line in lines)


def word_for(kind: str, value: object) -> str:
    """The name of a vocabulary's value ("тухла" for construction "brick"); an unknown value unchanged."""
    key = f"{kind}.{value}"
    return say(key) if key in dictionary() else str(value)


def pluralise(key: str, count: int, text: str) -> str:
    """The text of `key.one` for one, of `key.many` otherwise, with the number as `text`."""
    return say(f"{key}.{'one' if count == 1 else 'many'}", n=text)
