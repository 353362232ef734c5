"""Reads the package's templates and makes the dead weight that real pages carry."""

import json
from collections.abc import Callable, Hashable
from functools import cache, partial
from html import escape
from random import Random
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from sale_sofia_simulator.model import Advert
from sale_sofia_simulator.text import grouped, handle, imot_moment, leva, ordinal, spaced, thumbnail

TEMPLATES: Final = Environment(
    loader=PackageLoader(__package__),
    autoescape=False,  # noqa: S701 - what is printed is our own, and the portals escape as they like
    auto_reload=False,
    keep_trailing_newline=True,
    undefined=StrictUndefined,
    finalize=lambda value: "" if value is None else value,
)


TEMPLATES.filters |= {
    "attribute": escape,
    "grouped": grouped,
    "handle": handle,
    "imot_moment": imot_moment,
    "json": partial(json.dumps, ensure_ascii=False),
    "leva": leva,
    "ordinal": ordinal,
    "spaced": lambda amount: spaced(round(amount)),
    "thumbnail": thumbnail,
}


def fill(name: str, /, **values: object) -> str:
    """The template of this name with every placeholder filled; None is printed as nothing.

    With an advert come its home, place, money and seller.
    """
    advert = values.get("advert")
    if isinstance(advert, Advert):
        home = advert.home
        values = {"home": home, "place": home.place, "money": advert.money, "seller": advert.seller} | values
    return TEMPLATES.get_template(name if "." in name else f"{name}.html").render(values)


def fill_json(name: str, /, **values: object) -> dict[str, Any]:
    """The template of this name, which is JSON, as what it says."""
    return dict(json.loads(fill(f"{name}.json", **values)))


@cache
def ballast(kilobytes: int, salt: str) -> str:
    """About so many kilobytes of script that does nothing, the same for the same salt."""
    rng = Random(salt)
    functions: list[str] = []
    size = 0
    while size < kilobytes * 1024:
        functions.append(_function(rng))
        size += len(functions[-1]) + 1
    return "\n".join(functions)


TEMPLATES.globals["ballast"] = ballast


def _function(rng: Random) -> str:
    name, a, b = (f"{rng.choice('abcdefgkmn')}{rng.randrange(1000)}" for _ in range(3))
    key = rng.choice(("price", "currency", "span8", "adPrice", "item", "title"))
    return (
        f'var {name}=function({a},{b}){{var c="{key}";if("undefined"==typeof {a}||null==={a})return!1;'
        f"for(var d=0;d<{rng.randrange(2, 99)};d++){{{b}[c]=({a}.length||0)+d*{rng.randrange(10_000)};}}"
        f"return {b}&&{b}[c]?{b}[c]:{rng.randrange(1_000_000)}}};"
    )


def script_json(value: object, *, readable: bool = False) -> str:
    """JSON for a script element; bazar.bg escapes slashes and letters, imot.bg prints them."""
    spelled = json.dumps(value, ensure_ascii=not readable)
    return spelled.replace("</", "<\\/") if readable else spelled.replace("/", "\\/")


class PageCache:
    """Keeps rendered pages: those used least recently go first, and all never exceed `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._bodies: dict[Hashable, bytes] = {}

    def get(self, key: Hashable, render: Callable[[], bytes]) -> bytes:
        """The kept body, or a new one."""
        body = self._bodies.pop(key, None)
        if body is None:
            body = render()
            self._size += len(body)
        self._bodies[key] = body
        while self._size > self._capacity:
            self._size -= len(self._bodies.pop(next(iter(self._bodies))))
        return body

    def clear(self) -> None:
        """Forgets everything: the pages have changed."""
        self._bodies.clear()
        self._size = 0
