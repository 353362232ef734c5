"""Sentences that other parts of the program say in English, in the language of the session."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from sale_sofia.app import safe
from sale_sofia.app.words import dictionary, language, say
from sale_sofia.config.screens import LONGEST_CELL
from sale_sofia.config.yaml_text import read_yaml

_FILE: Final = Path(__file__).with_name("sentences.yaml")
_GAP: Final = re.compile(r"\{(\w+)\}")
_BETWEEN: Final = "; "
_KINDS: Final = {
    "why": r".+",
    "name": r"[\w.]+",
    "n": r"none|[\d.,%]+(?: \d{3})*(?: €)?",
    "url": r"\S+",
    "called": r"[^:;]+",
    "given": r"[^;]+",
}
"""The beginning of a gap's name → what may stand in it."""
_ANYTHING: Final = r".+?"
_FIELDS: Final = ("field_name", "filter", "criteria", "alerts", "incident", "field", "fact")
"""Where in `words.yaml` the names of fields stand."""


class _Sentence(NamedTuple):
    english: re.Pattern[str]
    bulgarian: str


def translated(text: object) -> str:
    """The text as the session's language says it, line by line; what nobody translated stays as it is."""
    said = str(text)
    try:
        return said if language() == "en" else "\n".join(map(_line, said.splitlines()))
    except RecursionError:  # of hundreds of parts: something that was typed in, and no sentence of ours
        return said


def refusal(error: object) -> str:
    """Why something was refused, as Markdown in which no mark means anything."""
    return safe.markdown(translated(error), LONGEST_CELL)


def _line(text: str) -> str:
    for one in _sentences():
        if found := one.english.fullmatch(text):
            return one.bulgarian.format(**{name: _told(name, gap) for name, gap in found.groupdict().items()})
    first, semicolon, rest = text.partition(_BETWEEN)
    return f"{_line(first)}{_BETWEEN}{_line(rest)}" if semicolon else text


def _told(gap: str, text: str) -> str:
    match gap.partition("_")[0]:
        case "why":
            return _line(text)
        case "name":
            return next(_field_names(text), text)
        case _:
            return text


def _field_names(key: str) -> Iterator[str]:
    """What the pages call this field; a place in a list belongs to the list."""
    parts = [part for part in key.split(".") if not part.isdigit()]
    keys = (f"{kind}.{name}" for kind in _FIELDS for name in (".".join(parts), *parts[-1:]))
    return (say(one) for one in keys if one in dictionary())


@cache
def _sentences() -> list[_Sentence]:
    """Those with the most words of their own first: the others fit nearly everything."""
    lines: list[Mapping[str, str]] = read_yaml(_FILE.read_text("utf-8"))
    ordered = sorted(lines, key=lambda line: -len(_GAP.sub("", line["en"])))
    return [_Sentence(_pattern(line["en"]), line["bg"]) for line in ordered]


def _pattern(english: str) -> re.Pattern[str]:
    pieces = _GAP.split(english)
    gaps = [f"(?P<{name}>{_KINDS.get(name.partition('_')[0], _ANYTHING)})" for name in pieces[1::2]]
    texts = [re.escape(piece) for piece in pieces[::2]]
    return re.compile("".join(map("".join, zip(texts, [*gaps, ""], strict=True))))
