"""Where candidates come from: proxies of one's own, files, and lists on the web; each read within limits."""

import asyncio
import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from sale_sofia.crawl.fetch.addresses import is_inside
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.model import MASK, NotAProxy, Proxy, ProxyAddress, Scheme, Tier, parse_proxy
from sale_sofia.settings.files import write_whole
from sale_sofia.websites.site_file import load_yaml

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
        if len(self.shown) < fixed.SHOWN_MALFORMED:
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
        elif count.taken >= fixed.SOURCE_MAX_CANDIDATES:
            count.left += 1
        else:
            seen.add(name)
            count.taken += 1
            yield address


def texts_of(head: str, rest: Iterable[str]) -> Iterator[str]:
    """What may be proxies: lines; where the source begins like HTML or JSON, what stands in it."""
    start = head.lstrip()[:1]
    is_ipv6_line = re.match(r"\s*\[[0-9a-fA-F:.]+\]:[0-9]", head)
    if start == "<":
        # Addresses with their ports, written together or in neighbouring cells
        plain = _TAGS.sub(" ", "".join([head, *rest]))
        for found in _IN_HTML.findall(plain):
            yield re.sub(r"\s+", "", found)
        for host, port in _TABLE_ROW.findall(plain):
            yield f"{host}:{port}"
    elif start in {"{", "["} and not is_ipv6_line:
        yield from _json("".join([head, *rest]))
    else:
        left = ""
        for piece in chain((head,), rest):
            *whole, left = (left + piece).split("\n")
            yield from filter(_says_something, whole)
        yield from filter(_says_something, [left])


def masked_line(line: str) -> str:
    """A line that is safe to show: what stands before an @, or behind a port, could be a password."""
    text = line.strip()
    if "@" in text:
        text = f"{MASK}@{text.rpartition('@')[2]}"
    parts = text.split(":")
    if len(parts) > 3 and "[" not in text:  # noqa: PLR2004 - host:port:user:password
        text = ":".join([*parts[:2], MASK])
    return text[: fixed.SHOWN_CHARACTERS]


def _says_something(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#")


def _json(text: str) -> Iterator[str]:
    try:
        yield from _walk(json.loads(text), 0)
    except (ValueError, RecursionError):
        for line in filter(_says_something, text.splitlines()):
            try:
                yield from _walk(json.loads(line), 0)
            except (ValueError, RecursionError):
                yield line  # no line of JSON lines: shown as it is


def _walk(value: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    if depth > fixed.JSON_DEEPEST:
        return
    match value:
        case str():
            if ":" in value:
                yield value
        case list():
            for item in value:
                yield from _walk(item, depth + 1)
        case dict():
            host, port, scheme = (_first(value, names) for names in (_HOSTS, _PORTS, _SCHEMES))
            if host and port:
                known = scheme.lower() in {"http", "https", "socks5"}
                yield f"{scheme.lower()}://{host}:{port}" if known else f"{host}:{port}"
                return
            for item in value.values():
                yield from _walk(item, depth + 1)


def _first(value: Mapping[str, Any], names: Iterable[str]) -> str:
    found = next((value[name] for name in names if isinstance(value.get(name), str | int)), "")
    return str(found)


_PIECE: Final = 1 << 16


class SourceUnreadable(ValueError):
    """A source that gave nothing; the sentence says which and why, and holds no password."""


@dataclass(frozen=True, slots=True)
class Source:
    """One place: a proxy's own address, a file, or a list's address on the web."""

    place: str
    tier: Tier = "free"
    scheme: Scheme = "http"
    """Of proxies that do not say theirs."""

    @property
    def name(self) -> str:
        """For people: without a password, and without what is asked of a list, which may be a key."""
        if self.is_proxy:
            return parse_proxy(self.place, self.scheme).masked
        if not self.is_url:
            return self.place
        parts = urlsplit(self.place)
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"{shown}?{MASK}" if parts.query else shown

    @property
    def is_proxy(self) -> bool:
        """Whether it is one proxy; an address without a port, or with a path, is a list's."""
        try:
            parse_proxy(self.place, self.scheme)
        except NotAProxy:
            return False
        return not Path(self.place).exists()

    @property
    def is_url(self) -> bool:
        """Whether it is a list on the web."""
        return self.place.startswith(("http://", "https://")) and not self.is_proxy


@cache
def public_lists() -> Mapping[str, Source]:
    """The lists that come with sale-sofia, by name; each is off until somebody adds it to their sources."""
    listed = load_yaml(Path(str(files("sale_sofia.proxies"))) / fixed.PUBLIC_LISTS_FILE)
    return {name: Source(one["address"], "free", one["scheme"]) for name, one in listed.items()}


async def read_source(source: Source, count: Count) -> Iterator[Proxy]:
    """Its candidates, read as they are asked for; `count` is filled meanwhile. Raises `SourceUnreadable`."""
    # Of a list on the web, none inside our network is taken, unless the list is there too.
    from_outside = source.is_url and not is_inside(urlsplit(source.place).hostname or "")

    def parse(text: str) -> ProxyAddress:
        address = parse_proxy(text, source.scheme)
        if from_outside and is_inside(address.host):
            raise NotAProxy("a private address, in a list from outside")
        return address

    texts: Iterable[str]
    if source.is_proxy:
        texts = [source.place]
    elif source.is_url:
        texts = texts_of(await _download(source), [])
    else:
        pieces = _pieces(source)
        texts = texts_of(next(pieces, ""), pieces)
    name = source.name
    return (Proxy(address, source.tier, name) for address in candidates(texts, parse, count))


def _pieces(source: Source) -> Iterator[str]:
    """The file in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    try:
        path = Path(source.place).expanduser()
        if path.stat().st_size > fixed.SOURCE_MAX_BYTES:
            raise SourceUnreadable(f"{source.name}: larger than {fixed.SOURCE_MAX_BYTES} bytes")
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield decoder.decode(piece)
    except OSError as error:
        raise SourceUnreadable(f"{source.name}: cannot be read: {error.strerror}") from None


async def _download(source: Source) -> str:
    """What the list holds, or came in time; nothing is followed, which may lead inside, or unpacked."""
    import aiohttp  # noqa: PLC0415 - every crawl imports this module, few read a list on the web

    body = bytearray()
    try:
        async with (
            asyncio.timeout(fixed.SOURCE_SECONDS),
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(
                source.place, allow_redirects=False, headers={"Accept-Encoding": "identity"}
            ) as answer,
        ):
            if answer.status != HTTPStatus.OK:
                raise SourceUnreadable(f"{source.name}: HTTP {answer.status}")
            async for piece in answer.content.iter_chunked(_PIECE):
                body += piece
                if len(body) > fixed.SOURCE_MAX_BYTES:
                    break
    except TimeoutError:
        pass
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if isinstance(error, SourceUnreadable):
            raise
        raise SourceUnreadable(f"{source.name}: cannot be had ({type(error).__name__})") from None
    if not body.strip():
        raise SourceUnreadable(f"{source.name}: gave nothing in {fixed.SOURCE_SECONDS:g} s")
    return body.decode("utf-8-sig", errors="replace")


T = TypeVar("T")


class SourceListBroken(ValueError):
    """The file of sources was changed by hand and cannot be read."""


class SourceList:
    """Sources of one data folder, and the proxies last found usable; only their owner can read the files."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / fixed.FOLDER

    def sources(self) -> list[Source]:
        """All sources, in the order in which they were added."""
        return self._read(fixed.SOURCES_FILE, lambda one: Source(**one))

    def add(self, source: Source) -> bool:
        """Remember a source; False where it was known: it has this tier from now on."""
        others = [one for one in self.sources() if one.place != source.place]
        new = len(others) == len(self.sources())
        self.write(fixed.SOURCES_FILE, [asdict(one) for one in [*others, source]])
        return new

    def drop(self, source: Source) -> bool:
        """Forget a source; False where it was not known. What it gave stays in the pool."""
        others = [one for one in self.sources() if one.place != source.place]
        known = len(others) < len(self.sources())
        if known:
            self.write(fixed.SOURCES_FILE, [asdict(one) for one in others])
        return known

    def known(self) -> list[Proxy]:
        """What the last check found usable."""
        return self._read(fixed.KNOWN_FILE, Proxy.from_record)

    def remember(self, proxies: list[Proxy]) -> None:
        """Keep what a check found usable."""
        self.write(fixed.KNOWN_FILE, [proxy.as_record() for proxy in proxies])

    def remember_sweep(self, usable: list[Proxy], *, whole: bool) -> None:
        """Keep what a refresh found; one that found nothing, or did not end, takes nothing away."""
        if usable:
            found = {one.id for one in usable}
            before = [] if whole else [one for one in self.known() if one.id not in found]
            self.remember([*usable, *before])

    def read(self, name: str) -> Any:  # noqa: ANN401 - whatever was written
        """What was written under this name; None where nothing was, or what stands there is no JSON."""
        try:
            return json.loads((self.folder / name).read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, name: str, told: object) -> None:
        """Write it under this name, whole and for its owner alone."""
        write_whole(self.folder / name, json.dumps(told, ensure_ascii=False, indent=1))

    def _read(self, name: str, made: Callable[[dict[str, Any]], T]) -> list[T]:
        path = self.folder / name
        if not path.exists():
            return []
        try:
            return [made(dict(one)) for one in json.loads(path.read_text("utf-8"))]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise SourceListBroken(
                f"{path}: not the JSON that `sale-sofia proxies` writes; remove it"
            ) from None
