"""What the pages say, in the language of the request: Bulgarian, or English."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from sale_sofia.settings.words import Language, Said, dictionary

_LANGUAGE: Final[ContextVar[Language]] = ContextVar("language", default="bg")


@contextmanager
def speaking(chosen: Language) -> Iterator[None]:
    """Everything said inside is in this language."""
    token = _LANGUAGE.set(chosen)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def language() -> Language:
    """The language of the request that is answered."""
    return _LANGUAGE.get()


def say(key: str, /, **values: object) -> str:
    """The text of a key, its gaps filled.

    Raises:
        KeyError: there is no such key.
    """
    text = dictionary()[key][language()]
    return text.format(**values) if values else text


def translate(sentence: object) -> str:
    """A sentence that is kept as a code, or the one of an exception; other words as they are."""
    return Said.of(sentence).in_words(language())


def mistakes(error: BaseException) -> str:
    """What is wrong with a file, without its place, which says nothing to a buyer."""
    sentence = Said.of(error)
    lines = sentence.values["lines"] if sentence.code == "wrong_file.lines" else [sentence]
    return " ".join(translate(line.values["why"] if line.code == "wrong_file.at" else line) for line in lines)


def word_for(kind: str, value: object) -> str:
    """A value of a vocabulary by its name ("тухла" of construction "brick"); a strange one as it is."""
    key = f"{kind}.{value}"
    return say(key) if key in dictionary() else str(value)


def pluralise(key: str, count: int, text: str) -> str:
    """`key.one` for one, `key.many` for all else, with the number as it is shown."""
    return say(f"{key}.{'one' if count == 1 else 'many'}", n=text)
