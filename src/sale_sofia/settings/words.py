"""The one catalogue of words, Bulgarian and English, and sentences that are kept as a code with its values.

It lies in the lowest slice, so that all may say something: commands, alerts, the dashboard.
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
"""Where in the catalogue the names of fields stand."""


@cache
def dictionary() -> Mapping[str, Texts]:
    """Every key with its two texts."""
    return {key: texts for file in FILES for key, texts in _texts(file).items()}


@cache
def _texts(file: Path) -> Mapping[str, Texts]:
    texts: Mapping[str, Texts] = read_shipped("sale_sofia.settings", file.name)
    return texts


def _sentence(code: str) -> Texts | None:
    """Its two texts: a crawl says some sentences, and the words of pages take much longer to read."""
    return _texts(_SENTENCES).get(code) or dictionary().get(code)


class Said(str):
    """A sentence that knows its code, which is a key of the catalogue, and the values of its gaps.

    As a text it is English. A value may be such a sentence again, or a list of them; None is an empty gap.
    """

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, Any]

    def __new__(cls, code: str, /, **values: Any) -> Self:  # noqa: ANN401 - whatever JSON holds
        """Raises KeyError if the catalogue has no such code; a gap without a value is "?"."""
        self = super().__new__(cls, _filled(code, values, "en"))
        self.code, self.values = code, values
        return self

    @classmethod
    def of(cls, what: object) -> "Said":
        """What was stored as this, or what an exception was raised with; other words as they are."""
        match what:
            case Said():
                return what
            case BaseException(args=(Said() as sentence,)):
                return sentence
            case {"code": str(code), "values": dict(values)} if _sentence(code):
                return cls(code, **{name: _read(value) for name, value in values.items()})
            case _:
                return cls(_OTHER, words=str(what))

    def stored(self) -> dict[str, Any]:
        """What is kept of it, as JSON; `of` is the way back."""
        return {"code": self.code, "values": {name: _stored(one) for name, one in self.values.items()}}

    def in_words(self, language: Language) -> str:
        """The sentence in a language."""
        return _filled(self.code, self.values, language)

    def __reduce__(self) -> tuple[Any, ...]:
        return Said.of, (self.stored(),)


def _read(value: Any) -> Any:  # noqa: ANN401 - of any shape
    if isinstance(value, list):
        return [_read(one) for one in value]
    return Said.of(value) if isinstance(value, dict) else value


def _stored(value: Any) -> Any:  # noqa: ANN401 - of any shape
    if isinstance(value, list | tuple):
        return [_stored(one) for one in value]
    return value.stored() if isinstance(value, Said) else value


def _filled(code: str, values: Mapping[str, Any], language: Language) -> str:
    if (texts := _sentence(code)) is None:
        raise KeyError(code)
    return _Gaps(language).vformat(texts[language], (), values)


class _Gaps(Formatter):
    """Fills the gaps of a text; `{n:_}` parts thousands by a space, `{key:field}` names a field."""

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
                return (format_spec or ", ").join(self.format_field(one, "") for one in value)
            case str():  # as it was written; only a field has a name in each language
                return self._field(value) if format_spec == "field" else value
            case float() if not format_spec and value.is_integer():
                return str(int(value))
            case _:
                return format(value, format_spec).replace("_", " ")

    def _field(self, key: str) -> str:
        """What the pages call it; a place in a list belongs to the list. English names it as commands do."""
        if self._language == "en":
            return key
        parts = [part for part in key.split(".") if not part.isdigit()]
        keys = (f"{kind}.{name}" for kind in _FIELDS for name in (".".join(parts), *parts[-1:]))
        return next((dictionary()[one][self._language] for one in keys if one in dictionary()), key)
