"""Reads the package's templates and makes the dead weight that real pages carry."""

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from random import Random
from string import Template


class Piece:
    """A `string.Template` cut up once: filling it is joining, not searching."""

    def __init__(self, text: str) -> None:
        found = list(Template.pattern.finditer(text))
        starts = [0, *(match.end() for match in found)]
        ends = [*(match.start() for match in found), len(text)]
        self._texts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
        self._names = [match["named"] or match["braced"] for match in found]

    def substitute(self, values: Mapping[str, object]) -> str:
        """The text with every placeholder filled; `$$` is a dollar sign, a missing value a `KeyError`."""
        parts = [""] * (2 * len(self._names) + 1)
        parts[::2] = self._texts
        parts[1::2] = [str(values[name]) if name else "$" for name in self._names]
        return "".join(parts)


@cache
def template(name: str) -> Piece:
    """The template of this name, read once."""
    return Piece(files(__package__).joinpath("templates", f"{name}.html").read_text(encoding="utf-8"))


def fill(name: str, /, **values: object) -> str:
    """The template with every placeholder filled; a missing one is a `KeyError`."""
    return template(name).substitute(values)


@cache
def ballast(kilobytes: int, salt: str) -> str:
    """About so many kilobytes of script that does nothing, the same for the same salt."""
    rng = Random(salt)
    lines: list[str] = []
    size = 0
    while size < kilobytes * 1024:
        lines.append(_function(rng))
        size += len(lines[-1]) + 1
    return "\n".join(lines)


def _function(rng: Random) -> str:
    name, a, b = (f"{rng.choice('abcdefgkmn')}{rng.randrange(1000)}" for _ in range(3))
    key = rng.choice(("price", "currency", "span8", "adPrice", "item", "title"))
    return (
        f'var {name}=function({a},{b}){{var c="{key}";if("undefined"==typeof {a}||null==={a})return!1;'
        f"for(var d=0;d<{rng.randrange(2, 99)};d++){{{b}[c]=({a}.length||0)+d*{rng.randrange(10_000)};}}"
        f"return {b}&&{b}[c]?{b}[c]:{rng.randrange(1_000_000)}}};"
    )


def attribute(text: str) -> str:
    """The text safe inside an attribute."""
    return escape(text, quote=True)


def script_json(value: object, *, readable: bool = False) -> str:
    """JSON for a script element; bazar.bg escapes slashes and letters, imot.bg prints them."""
    spelled = json.dumps(value, ensure_ascii=not readable)
    return spelled.replace("</", "<\\/") if readable else spelled.replace("/", "\\/")


def lines(parts: list[str]) -> str:
    """The parts on lines of their own."""
    return "\n".join(parts)


# Keeps rendered pages, as many as fit in the memory that was given.


class PageCache:
    """Least recently used bodies go first; together they never hold more than `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, key: Hashable, render: Callable[[], bytes]) -> bytes:
        """The kept body, or a new one."""
        body = self._bodies.get(key)
        if body is None:
            return self._keep(key, render())
        self._bodies.move_to_end(key)
        return body

    def clear(self) -> None:
        """Forgets everything: the pages have changed."""
        self._bodies.clear()
        self._size = 0

    def _keep(self, key: Hashable, body: bytes) -> bytes:
        self._bodies[key] = body
        self._size += len(body)
        while self._size > self._capacity:
            self._size -= len(self._bodies.popitem(last=False)[1])
        return body
