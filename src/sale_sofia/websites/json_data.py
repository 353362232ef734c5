"""JSON in a page: the part that is asked for, and the texts a path finds in it."""

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from sale_sofia.config.reading import JSON_MOST_CHARACTERS, JSON_MOST_ELEMENTS, JSON_MOST_STRINGS
from sale_sofia.config.site_links import JsonTable, Link
from sale_sofia.config.site_patterns import compiled
from sale_sofia.listings.page_errors import HostilePage, PageTooLarge, TruncatedPage, UndecodablePage
from sale_sofia.listings.text import squeeze

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r]*")
_LOST = re.compile("[\0\ud800-\udfff\ufffd]")
EVERY = "*"

Keys = tuple[str, ...]
Elements = dict[Keys, list[Any]]
"""What was found in a JSON at the keys that end with `*`."""


def read_json(text: str, table: JsonTable) -> Any:  # noqa: ANN401 - whatever the page holds
    """The part of the JSON that the table names; None where the page has no such thing.

    Raises:
        TruncatedPage: the body is no whole JSON.
        HostilePage, PageTooLarge: reading it would cost too much.
    """
    if len(text) > JSON_MOST_CHARACTERS:
        raise PageTooLarge(f"the JSON has {len(text)} characters; at most {JSON_MOST_CHARACTERS} are read")
    try:
        return _read_body(text, table) if table.body else _read_after(text, table)
    except RecursionError:
        raise HostilePage("the JSON is nested too deep") from None


def read_whole(text: str, path: str = "") -> Any:  # noqa: ANN401 - whatever the page holds
    """The part of a text that is nothing but JSON; None where it is none, or does not have the part."""
    try:
        text, place = _opened(text, _past_space(text, 0))
        return next(find(_DECODER.decode(text[place:]), keys_of(path)), None)
    except (ValueError, RecursionError, TypeError):
        return None


def joined(text: str, pieces: str) -> str:
    """The strings right after every place a pattern finds, as one text; it ends where one is broken."""
    return "".join(_strings(text, compiled(pieces)))


def _strings(text: str, pieces: re.Pattern[str]) -> Iterator[str]:
    for found in pieces.finditer(text):
        try:
            piece = _DECODER.raw_decode(text, _past_space(text, found.end()))[0]
        except (ValueError, RecursionError):
            return
        if isinstance(piece, str):
            yield piece


def _read_body(text: str, table: JsonTable) -> Any:  # noqa: ANN401 - whatever the page holds
    try:
        whole = _DECODER.decode(text)
    except ValueError:
        raise TruncatedPage("the JSON breaks off or is damaged") from None
    return next(find(whole, keys_of(table.path)), None)


def _read_after(text: str, table: JsonTable) -> Any:  # noqa: ANN401 - whatever the page holds
    found = compiled(table.after or "").search(text)
    try:
        return _part(text, found.end(), keys_of(table.path)) if found else None
    except ValueError:
        return None


def _part(text: str, start: int, keys: Keys) -> Any:  # noqa: ANN401 - whatever the page holds
    """The value at these keys of the JSON that begins here; what stands behind it is not read."""
    text, place = _opened(text, _past_space(text, start))
    for key in keys:
        place = _member(text, place, key)
    return _DECODER.raw_decode(text, place)[0]


def _opened(text: str, place: int) -> tuple[str, int]:
    """The JSON itself where it stands inside strings."""
    for _ in range(JSON_MOST_STRINGS):
        if not text.startswith('"', place):
            break
        text = _DECODER.raw_decode(text, place)[0]
        place = _past_space(text, 0)
    return text, place


def _member(text: str, place: int, key: str) -> int:
    """Where the value of this key begins in the object that begins here; values before it are passed over."""
    sign = "{"
    for _ in range(JSON_MOST_ELEMENTS):
        if not text.startswith(sign, place):
            raise ValueError(f"there is no {key}")
        name, place = _DECODER.raw_decode(text, _past_space(text, place + 1))
        place = _past_space(text, _past_space(text, place) + 1)
        if name == key:
            return place
        place = _past_space(text, _DECODER.raw_decode(text, place)[1])
        sign = ","
    raise HostilePage(f"the JSON has more than {JSON_MOST_ELEMENTS} members before {key}")


def _past_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def find(thing: Any, keys: Keys) -> Iterator[Any]:  # noqa: ANN401 - whatever the page holds
    """Everything at these keys, in the page's order; `*` stands for every element."""
    if not keys:
        yield thing
    elif keys[0] == EVERY:
        children = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list) else ()
        for child in children:
            if len(keys) == 1:
                yield child
            elif isinstance(child, dict | list):
                yield from find(child, keys[1:])
    elif isinstance(thing, dict):
        if keys[0] in thing:
            yield from find(thing[keys[0]], keys[1:])
    elif isinstance(thing, list) and keys[0].isdecimal() and int(keys[0]) < len(thing):
        yield from find(thing[int(keys[0])], keys[1:])


def find_first(thing: Any, keys: Keys) -> Any:  # noqa: ANN401 - whatever the page holds
    """The first thing at these keys, or None."""
    for place, key in enumerate(keys):
        if key == EVERY or not isinstance(thing, dict):
            return next(find(thing, keys[place:]), None)
        thing = thing.get(key)
        if thing is None:
            return None
    return thing


def find_at(thing: Any, path: str) -> Iterator[Any]:  # noqa: ANN401 - whatever the page holds
    """`find` by a dotted path."""
    return find(thing, keys_of(path))


def json_texts(thing: Any, link: Link, known: Elements | None = None) -> list[str]:  # noqa: ANN401
    """The texts of a link's paths, joined for each element; one that lacks a value gives none.

    The elements are those `known` of the same thing to other links, or become so.

    Raises:
        HostilePage: there are more elements than any page has.
    """
    shared, own = _plan(link.path)
    if not shared and len(own) == 1 and link.form is None:  # nearly every link
        text = scalar_text(find_first(thing, own[0]))
        return [text] if text else []
    texts = []
    for element in _elements(thing, shared, {} if known is None else known):
        values = [scalar_text(find_first(element, keys)) for keys in own]
        if all(values):
            texts.append(link.form.format(*values) if link.form else " ".join(values))
            if not link.all:
                break
    return texts


def _elements(thing: Any, keys: Keys, known: Elements) -> list[Any]:  # noqa: ANN401 - whatever the page holds
    if keys not in known:
        known[keys] = list(islice(find(thing, keys), JSON_MOST_ELEMENTS + 1))
    if len(known[keys]) > JSON_MOST_ELEMENTS:
        raise HostilePage(f"the JSON has more than {JSON_MOST_ELEMENTS} elements at {'.'.join(keys)}")
    return known[keys]


def opened_texts(values: list[str], link: Link) -> list[str]:
    """The texts of a link's paths in values that are JSON themselves."""
    things = (read_whole(value) for value in values)
    return [text for thing in things if thing is not None for text in json_texts(thing, link)]


@cache
def _plan(paths: Keys) -> tuple[Keys, tuple[Keys, ...]]:
    """The way to the elements that all paths share (up to their last `*`), and each path from there."""
    split = [keys_of(path) for path in paths]
    heads = {keys[: len(keys) - keys[::-1].index(EVERY)] if EVERY in keys else () for keys in split}
    shared = heads.pop() if len(heads) == 1 else ()
    return shared, tuple(keys[len(shared) :] for keys in split)


def scalar_text(value: Any) -> str:  # noqa: ANN401 - whatever the page holds
    """A text or a number as text, trimmed; true and false as such; nothing for anything else."""
    if isinstance(value, str):
        if _LOST.search(value):
            raise UndecodablePage("the JSON holds letters that were lost before it was sent")
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


@cache
def keys_of(path: str) -> Keys:
    """The keys of a dotted path."""
    return tuple(path.split(".")) if path else ()


def squeezed_lines(text: str) -> str:
    """The text with white space squeezed in each line, no line empty."""
    if "\n" not in text:
        return squeeze(text)
    return "\n".join(squeezed for line in text.split("\n") if (squeezed := squeeze(line)))
