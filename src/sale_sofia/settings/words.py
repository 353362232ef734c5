"""The catalogue of words, Bulgarian and English, and messages stored as a code with values.

It is in the lowest slice, so that every slice can use it: commands, alerts, the dashboard.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Final, Literal, Self, get_args

from sale_sofia.settings.files import read_shipped

Language = Literal["bg", "en"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
Texts = Mapping[Language, str]
FILES: Final = tuple(Path(__file__).with_name(f"{name}.yaml") for name in ("words", "sentences", "alerts"))
_SENTENCES: Final = FILES[1]
_OTHER: Final = "other"
_FIELDS: Final = ("field_name", "filter", "criteria", "alerts", "incident", "field", "fact")
"""Prefixes of the catalogue under which fields have names."""


@cache
def dictionary() -> Mapping[str, Texts]:
    """Return every key with its two texts."""
    return {key: texts for file in FILES for key, texts in _texts(file).items()}


@cache
def _texts(file: Path) -> Mapping[str, Texts]:
    texts: Mapping[str, Texts] = read_shipped("sale_sofia.settings", file.name)
    return texts


def _sentence(code: str) -> Texts | None:
    """Return its two texts; the file of sentences is tried first, as the others are slow to load."""
    return _texts(_SENTENCES).get(code) or dictionary().get(code)


class Said(str):
    """A message with its code, a key of the catalogue, and the values of its placeholders.

    As a str it is English. A value may be such a message again, or a list of them; None is an empty text.
    """

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, Any]

    def __new__(cls, code: str, /, **values: Any) -> Self:  # noqa: ANN401 - whatever JSON holds
        """Raises KeyError if the catalogue has no such code; a placeholder without a value is "?"."""
        self = super().__new__(cls, _fill(code, values, "en"))
        self.code, self.values = code, values
        return self

    @classmethod
    def of(cls, source: object) -> "Said":
        """Restore a message from its stored form or an exception; any other text is kept as it is."""
        match source:
            case Said():
                return source
            case BaseException(args=(Said() as sentence,)):
                return sentence
            case {"code": str(code), "values": dict(values)} if _sentence(code):
                return cls(code, **{name: _read(value) for name, value in values.items()})
            case _:
                return cls(_OTHER, words=str(source))

    def stored(self) -> dict[str, Any]:
        """Return it as JSON; `of` restores it."""
        return {"code": self.code, "values": {name: _stored(value) for name, value in self.values.items()}}

    def in_words(self, language: Language) -> str:
        """Return the message in a language."""
        return _fill(self.code, self.values, language)

    def __reduce__(self) -> tuple[Any, ...]:
        return Said.of, (self.stored(),)


def _read(value: Any) -> Any:  # noqa: ANN401 - of any shape
    if isinstance(value, list):
        return [_read(item) for item in value]
    return Said.of(value) if isinstance(value, dict) else value


def _stored(value: Any) -> Any:  # noqa: ANN401 - of any shape
    if isinstance(value, list | tuple):
        return [_stored(item) for item in value]
    return value.stored() if isinstance(value, Said) else value


def _fill(code: str, values: Mapping[str, Any], language: Language) -> str:
    if (texts := _sentence(code)) is None:
        raise KeyError(code)
    return _Placeholders(language).vformat(texts[language], (), values)


class _Placeholders(Formatter):
    """Fills placeholders; `{n:_}` separates thousands by a space, `{key:field}` names a field."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401, ARG002 - as its base has it
        return kwargs.get(str(key), "?")

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - whatever a gap may hold
        match value:
            case None:
                return ""
            case Said():
                return value.in_words(self._language)
            case list() | tuple():
                return (format_spec or ", ").join(self.format_field(item, "") for item in value)
            case str():  # as it is; only a field has a name in each language
                return self._field(value) if format_spec == "field" else value
            case float() if not format_spec and value.is_integer():
                return str(int(value))
            case _:
                return format(value, format_spec).replace("_", " ")

    def _field(self, key: str) -> str:
        """Return its name on the pages, without list indexes. English uses the key, as commands do."""
        if self._language == "en":
            return key
        parts = [part for part in key.split(".") if not part.isdigit()]
        keys = (f"{kind}.{name}" for kind in _FIELDS for name in (".".join(parts), *parts[-1:]))
        return next((dictionary()[name][self._language] for name in keys if name in dictionary()), key)
