"""Candidates in what a source holds: lines of text, an HTML page, or JSON. What is no proxy is counted."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from sale_sofia.config.proxies import (
    JSON_DEEPEST,
    SHOWN_CHARACTERS,
    SHOWN_MALFORMED,
    SOURCE_MAX_CANDIDATES,
)
from sale_sofia.proxies.address import MASK, NotAProxy, ProxyAddress

# Bounded, so that no text makes them look at its rest again and again.
_TAGS: Final = re.compile(r"<[^<>]*>")
_IN_HTML: Final = re.compile(
    r"(?:(?:https?|socks5h?)://)?(?:[\w.%-]{1,64}:[^\s@<>:/]{1,64}@)?\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\s*:\s*[0-9]{2,5}\b"
)
_TABLE_ROW: Final = re.compile(r"\b((?:[0-9]{1,3}\.){3}[0-9]{1,3})\b\s+([0-9]{2,5})\b")
_HOSTS, _PORTS, _SCHEMES = ("ip", "host", "address", "addr"), ("port",), ("protocol", "scheme", "type")


@dataclass(slots=True)
class Count:
    """What was made of a source."""

    taken: int = 0
    duplicates: int = 0
    malformed: int = 0
    left: int = 0
    """Beyond what one source may bring."""
    shown: list[str] = field(default_factory=list)
    """The first malformed ones, without anything that could be a password."""

    def note_malformed(self, line: str, why: str) -> None:
        """Count it, and show the first few."""
        self.malformed += 1
        if len(self.shown) < SHOWN_MALFORMED:
            self.shown.append(f"{masked_line(line)!r}: {why}")


def candidates(
    texts: Iterable[str], parse: Callable[[str], ProxyAddress], count: Count
) -> Iterator[ProxyAddress]:
    """Each proxy once, in the order of the source; nothing is kept but what tells them apart."""
    seen: set[int] = set()
    for text in texts:
        try:
            address = parse(text)
        except NotAProxy as error:
            count.note_malformed(text, str(error))
            continue
        name = hash((address.scheme, address.user, address.host, address.port))
        if name in seen:
            count.duplicates += 1
        elif count.taken >= SOURCE_MAX_CANDIDATES:
            count.left += 1
        else:
            seen.add(name)
            count.taken += 1
            yield address


def texts_of(head: str, rest: Iterable[str]) -> Iterator[str]:
    """What may be proxies: lines; where the source begins like HTML or JSON, what stands in it."""
    start = head.lstrip()[:1]
    if start == "<":
        yield from _html("".join([head, *rest]))
    elif start in {"{", "["} and not _is_ipv6_line(head):
        yield from _json("".join([head, *rest]))
    else:
        yield from _lines(head, rest)


def masked_line(line: str) -> str:
    """A line that is safe to show: what stands before an @, or behind a port, could be a password."""
    text = line.strip()
    if "@" in text:
        text = f"{MASK}@{text.rpartition('@')[2]}"
    parts = text.split(":")
    if len(parts) > 3 and "[" not in text:  # noqa: PLR2004 - host:port:user:password
        text = ":".join([*parts[:2], MASK])
    return text[:SHOWN_CHARACTERS]


def _is_ipv6_line(head: str) -> bool:
    return bool(re.match(r"\s*\[[0-9a-fA-F:.]+\]:[0-9]", head))


def _lines(head: str, rest: Iterable[str]) -> Iterator[str]:
    left = ""
    for piece in chain((head,), rest):
        *whole, left = (left + piece).split("\n")
        yield from (line for line in whole if _says_something(line))
    if _says_something(left):
        yield left


def _says_something(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#")


def _html(text: str) -> Iterator[str]:
    """Addresses with their ports, written together or in neighbouring cells."""
    plain = _TAGS.sub(" ", text)
    for found in _IN_HTML.findall(plain):
        yield re.sub(r"\s+", "", found)
    for host, port in _TABLE_ROW.findall(plain):
        yield f"{host}:{port}"


def _json(text: str) -> Iterator[str]:
    try:
        yield from _walk(json.loads(text), 0)
    except (ValueError, RecursionError):
        lines = text.splitlines()
        yield from (line for one in lines if _says_something(one) for line in _json_line(one))


def _json_line(line: str) -> Iterator[str]:
    """One line of JSON lines; what is none is shown as it is."""
    try:
        yield from _walk(json.loads(line), 0)
    except (ValueError, RecursionError):
        yield line


def _walk(value: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    if depth > JSON_DEEPEST:
        return
    match value:
        case str():
            if ":" in value:
                yield value
        case list():
            for one in value:
                yield from _walk(one, depth + 1)
        case dict():
            yield from _object(value, depth)


def _object(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    host, port, scheme = (_first(value, names) for names in (_HOSTS, _PORTS, _SCHEMES))
    if host and port:
        known = scheme.lower() if scheme.lower() in {"http", "https", "socks5"} else ""
        yield f"{known}://{host}:{port}" if known else f"{host}:{port}"
        return
    for one in value.values():
        yield from _walk(one, depth + 1)


def _first(value: Mapping[str, Any], names: Iterable[str]) -> str:
    found = next((value[name] for name in names if isinstance(value.get(name), str | int)), "")
    return str(found)
