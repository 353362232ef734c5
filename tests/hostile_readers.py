"""Every reader of the project against what is made to be slow to read: trials for `measure_trials`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import yaml
from protego import Protego

from fuzzing import parse_any
from own_patterns import Used, own_patterns
from sale_sofia.crawl.fetch.robots import without_others
from sale_sofia.crawl.runners.dispatching import WrongMessage, check_job
from sale_sofia.descriptions.asking import judge_text
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.flats.matching.fingerprint import addresses, references, unit
from sale_sofia.listings.parsers import PARSERS
from sale_sofia.operations.hostile import (
    END,
    HEAD,
    HTML,
    JSONS,
    TEXTS,
    ReadTrial,
    Shape,
    nested,
    repeated,
    site_trials,
)
from sale_sofia.proxies.model import parse_proxy
from sale_sofia.proxies.sources import Count, candidates, texts_of
from sale_sofia.settings.files import read_yaml
from sale_sofia.telemetry.error_log import _masked
from sale_sofia.telemetry.logs import _PATTERNS
from sale_sofia.websites.patterns import pieces_for, text_of
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.site_file import SiteConfigError, parse_yaml

YAMLS: Mapping[str, Shape] = {
    "brackets": repeated("["),
    "closed brackets": nested("[", "]"),
    "braces": repeated("{a: "),
    "lists in lists": repeated("- "),
    "keys of keys": repeated("? "),
    "both": repeated("- ? "),
    "indents": lambda size: "\n".join(" " * depth + "a:" for depth in range(int((2 * size) ** 0.5))),
    "a long key": repeated("a", "", ": 1"),
    "a long line": repeated("a ", 'a: "', '"'),
    "keys": repeated("k#: 1\n"),
    "items": repeated("- 1\n"),
    "flow items": repeated("a,", "[", "]"),
    "anchors": repeated("- &a# x\n"),
    "aliases": repeated("- *a\n", "- &a [1, 2, 3]\n"),
    "aliases of aliases": lambda size: (
        "- &a0 [1, 1]\n" + "".join(f"- &a{n + 1} [*a{n}, *a{n}]\n" for n in range(size // 20))
    ),
    "an alias of itself": repeated("*a,", "- &a [", "]"),
    "merged keys": repeated("  <<: *a\n", "a: &a {b: 1}\nc:\n"),
    "base sixty": repeated(":1", "a: 1"),
    "a long number": repeated("1", "a: "),
    "a date": repeated(" ", "a: 2001-01-01 ", "x"),
    "sets": repeated("a#,", "a: !!set {", "}"),
    "ordered": repeated("{a#: 1},", "a: !!omap [", "]"),
    "tags": repeated("%TAG !a#! b\n", "", "--- 1"),
    "lines of text": repeated("  x\n", "a: |\n"),
    "comments": lambda size: "#" * size,
    "empty lines": repeated("\n", "a:", " b"),
    "documents": repeated("--- 1\n"),
}
HIDDEN: Mapping[str, Shape] = {
    "attributes around tags": repeated(
        'v#="<b>" ' + "".join(f"a{one}x# " for one in range(200)), "<div ", "></div>"
    ),
    "formatting closed elsewhere": repeated("<p><b a=#><object></b></object>"),
}
"""Bad shapes that look harmless to who does not parse: only who can end the parser is safe from them."""
ROBOTS: Mapping[str, Shape] = {
    "rules": repeated("Disallow: /#\n", "User-agent: *\n"),
    "stars": repeated("*", "User-agent: *\nDisallow: /"),
    "names": repeated("User-agent: a#\n", "", "Disallow: /\n"),
    "names and rules": repeated("User-agent: a#\nDisallow: /#\n"),
    "spaces": repeated(" ", "User-agent", ": *\n"),
    "remarks": lambda size: "#" * size,
}
PROXIES: Mapping[str, Shape] = {
    "addresses": repeated("10.0.0.1:8080\n"),
    "one line": repeated("10.0.0.1:8080 "),
    "dots": repeated("1."),
    "digits": repeated("1"),
    "cells": repeated("<td>10.0.0.1</td><td>80</td>", "<table>"),
    "open tags": repeated("<"),
    "spaces": repeated(" ", "<p>10.0.0.1", "x"),
    "logins": repeated("a:b@"),
    "objects": repeated('{"ip":"10.0.0.1","port":"80"},', "[", "{}]"),
}


def page(name: str, size: int) -> bytes:
    """A page of this shape with about so many bytes; it ends as a whole page does."""
    shape = HTML.get(name) or HIDDEN[name]
    return f"{HEAD}{shape(max(0, size - len(HEAD) - len(END)))}{END}".encode()


def reader_trials() -> Iterator[ReadTrial]:
    """All but the portals' own: parsers, rules, loaders, lists, messages."""
    for name in PARSERS:
        yield from _trials(f"the parser {name}", TEXTS, partial(_parse, name))
    yield from _trials("a description", TEXTS, read_description)
    yield from _trials("a reference", TEXTS, lambda text: references({"site": "x"}, "x", text))
    yield from _trials("a street", TEXTS, lambda text: addresses({"street": text}, ""))
    yield from _trials("an address", TEXTS, lambda text: addresses({"neighbourhood": "x"}, text))
    yield from _trials("a flat's number", TEXTS, unit)
    yield from _trials("an answer of a model", {**JSONS, **TEXTS}, _answer)
    yield from _trials("YAML", {**YAMLS, **TEXTS}, _yaml)
    yield from _trials("robots.txt", {**ROBOTS, **TEXTS}, _robots)
    yield from _trials("a list of proxies", {**PROXIES, **JSONS, **TEXTS, **HTML}, _proxies)
    yield from _trials("a message", TEXTS, _message)
    yield from _trials("a line of a log", TEXTS, _log)


def own_pattern_trials() -> Iterator[ReadTrial]:
    """Every pattern of the package on the texts made for it."""
    for used in own_patterns():
        yield from _pattern_trials(used)


def _trials(reader: str, shapes: Mapping[str, Shape], read: Callable[[str], object]) -> Iterator[ReadTrial]:
    return (ReadTrial(f"{reader}: {name}", shape, read) for name, shape in shapes.items())


def all_site_trials() -> Iterator[ReadTrial]:
    """Every shipped site file."""
    for site in AVAILABLE_SITES:
        for trial in site_trials(get_scraper(site)):
            yield ReadTrial(f"{site}: {trial.name}", trial.make, trial.read)


def _pattern_trials(used: Used) -> Iterator[ReadTrial]:
    for piece in pieces_for(used.pattern.pattern, used.pattern.flags):
        name = f"{used.where}: on {piece[0]!r} with {piece[1]!r} repeated"
        yield ReadTrial(name, partial(_as_given, used, piece), partial(_use, used))


def _as_given(used: Used, piece: tuple[str, str], size: int) -> str | bytes:
    text = text_of(piece, size)
    return text if isinstance(used.pattern.pattern, str) else text.encode("latin-1", "replace")


def _use(used: Used, text: Any) -> None:  # noqa: ANN401 - text or bytes, as the pattern is
    if used.how == "search":
        for _ in used.pattern.finditer(text):
            pass
    else:
        getattr(used.pattern, used.how)(text)


def _parse(name: str, text: str) -> None:
    parse_any(name, (text,))


def _answer(text: str) -> None:
    judge_text(text, ("heating",), text)


def _yaml(text: str) -> None:
    with suppress(yaml.YAMLError):
        read_yaml(text)
    with suppress(SiteConfigError):
        parse_yaml(__file__, text)  # type: ignore[arg-type]  # only named


def _robots(text: str) -> None:
    rules = Protego.parse(without_others(text, "sale-sofia"))
    rules.can_fetch("https://x.bg/obiava/1", "sale-sofia")


def _proxies(text: str) -> None:
    list(candidates(texts_of(text, ()), parse_proxy, Count()))


def _message(text: str) -> None:
    with suppress(WrongMessage, ValueError):
        check_job("imot.bg", [text], text)


def _log(text: str) -> None:
    _masked(text)
    for pattern, instead in _PATTERNS:
        pattern.sub(instead, text)
