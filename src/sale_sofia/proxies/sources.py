"""Sources of candidates: single proxies, files, and lists on the web; each read within limits."""

import asyncio
import codecs
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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

# Bounded, so that no text makes them quadratic.
_TAGS: Final = re.compile(r"<[^<>]*>")
_IN_HTML: Final = re.compile(
    r"(?:(?:https?|socks5h?)://)?(?:[\w.%-]{1,64}:[^\s@<>:/]{1,64}@)?\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\s*:\s*[0-9]{2,5}\b"
)
_TABLE_ROW: Final = re.compile(r"\b((?:[0-9]{1,3}\.){3}[0-9]{1,3})\b\s+([0-9]{2,5})\b")
_HOSTS, _PORTS, _SCHEMES = ("ip", "host", "address", "addr"), ("port",), ("protocol", "scheme", "type")


@dataclass(slots=True)
class Count:
    """What a source gave."""

    taken: int = 0
    duplicates: int = 0
    malformed: int = 0
    left: int = 0
    """Beyond the limit of one source."""
    examples: list[str] = field(default_factory=list)
    """The first malformed lines, without anything that could be a password."""

    def note_malformed(self, line: str, why: str) -> None:
        """Count it, and keep the first few as examples."""
        self.malformed += 1
        if len(self.examples) < fixed.SHOWN_MALFORMED:
            self.examples.append(f"{masked_line(line)!r}: {why}")


def candidates(
    texts: Iterable[str], parse: Callable[[str], ProxyAddress], count: Count
) -> Iterator[ProxyAddress]:
    """Yield each proxy once, in the order of the source; only hashes are kept in memory."""
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
    """Yield texts that may be proxies: lines, or addresses found in HTML or JSON."""
    start = head.lstrip()[:1]
    is_ipv6_line = re.match(r"\s*\[[0-9a-fA-F:.]+\]:[0-9]", head)
    if start == "<":
        # Addresses with their ports, written together or in neighbouring cells
        plain = _TAGS.sub(" ", "".join([head, *rest]))
        for address in _IN_HTML.findall(plain):
            yield re.sub(r"\s+", "", address)
        for host, port in _TABLE_ROW.findall(plain):
            yield f"{host}:{port}"
    elif start in {"{", "["} and not is_ipv6_line:
        yield from _json("".join([head, *rest]))
    else:
        left = ""
        for piece in chain((head,), rest):
            *whole, left = (left + piece).split("\n")
            yield from filter(_has_content, whole)
        yield from filter(_has_content, [left])


def masked_line(line: str) -> str:
    """Make a line safe to show, and short."""
    return masked_text(line)[: fixed.SHOWN_CHARACTERS]


def masked_text(line: str) -> str:
    """Mask what could be a password: what stands before an @, or in four parts with a port."""
    text = line.strip()
    if "@" in text:
        text = f"{MASK}@{text.rpartition('@')[2]}"
    parts = re.split(r"[:\s,;|]", text)
    has_four = len(parts) > 3  # noqa: PLR2004 - host:port:user:password, in whatever order
    if has_four and (text.count(":") >= 3 or any(part.isdigit() for part in parts)):  # noqa: PLR2004
        text = f"{parts[0]}:{MASK}"
    return text


def _has_content(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#")


def _json(text: str) -> Iterator[str]:
    try:
        yield from _walk(json.loads(text), 0)
    except (ValueError, RecursionError):
        for line in filter(_has_content, text.splitlines()):
            try:
                yield from _walk(json.loads(line), 0)
            except (ValueError, RecursionError):
                yield line  # not JSON: counted as malformed


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
                is_supported = scheme.lower() in {"http", "https", "socks5"}
                yield f"{scheme.lower()}://{host}:{port}" if is_supported else f"{host}:{port}"
                return
            for item in value.values():
                yield from _walk(item, depth + 1)


def _first(value: Mapping[str, Any], names: Iterable[str]) -> str:
    return str(next((value[name] for name in names if isinstance(value.get(name), str | int)), ""))


_PIECE: Final = 1 << 16


class SourceUnreadable(ValueError):
    """A source that gave nothing; the message says which and why, without a password."""


@dataclass(frozen=True, slots=True)
class ProxySource:
    """A proxy's address, a file, or the URL of a list on the web."""

    place: str
    tier: Tier = "free"
    scheme: Scheme = "http"
    """Of proxies that do not state theirs."""

    @property
    def name(self) -> str:
        """The place for people: without a password or the query of a URL, which may hold a key."""
        if self.is_proxy:
            return parse_proxy(self.place, self.scheme).masked
        if not self.is_url:
            return self.place
        parts = urlsplit(self.place)
        url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"{url}?{MASK}" if parts.query else url

    @property
    def is_proxy(self) -> bool:
        """Whether it is a single proxy; a URL without a port, or with a path, is a list."""
        try:
            parse_proxy(self.place, self.scheme)
        except NotAProxy:
            return False
        return not Path(self.place).exists()

    @property
    def proxy_id(self) -> str | None:
        """The id of a single proxy, whatever its password; None for a list."""
        return parse_proxy(self.place, self.scheme).id if self.is_proxy else None

    @property
    def is_url(self) -> bool:
        """Whether it is a list on the web."""
        return self.place.startswith(("http://", "https://")) and not self.is_proxy


@cache
def public_lists() -> Mapping[str, ProxySource]:
    """The lists that come with sale-sofia, by name; each is off until somebody adds it to their sources."""
    lists = load_yaml(Path(str(files("sale_sofia.proxies"))) / fixed.PUBLIC_LISTS_FILE)
    return {name: ProxySource(row["address"], "free", row["scheme"]) for name, row in lists.items()}


async def read_source(source: ProxySource, count: Count) -> Iterator[Proxy]:
    """Yield its candidates lazily, counting them in `count`; or raise `SourceUnreadable`."""
    # A list from the internet must not name addresses inside our network.
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


def _pieces(source: ProxySource) -> Iterator[str]:
    """Read the file in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    try:
        path = Path(source.place).expanduser()
        if path.stat().st_size > fixed.SOURCE_MAX_BYTES:
            raise SourceUnreadable(f"{source.name}: larger than {fixed.SOURCE_MAX_BYTES} bytes")
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield decoder.decode(piece)
    except OSError as error:
        # Perhaps it was meant to be a proxy.
        raise SourceUnreadable(f"{masked_text(source.place)}: cannot be read: {error.strerror}") from None


async def _download(source: ProxySource) -> str:
    """Return what came in time; no redirect is followed, which may lead inside, and nothing is unpacked."""
    import aiohttp  # noqa: PLC0415 - every crawl imports this module, few read a list on the web

    body = bytearray()
    try:
        async with (
            asyncio.timeout(fixed.SOURCE_SECONDS),
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(
                source.place, allow_redirects=False, headers={"Accept-Encoding": "identity"}
            ) as response,
        ):
            if response.status != HTTPStatus.OK:
                raise SourceUnreadable(f"{source.name}: HTTP {response.status}")
            async for piece in response.content.iter_chunked(_PIECE):
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
    """The file of sources was edited by hand and cannot be parsed."""


class SourceList:
    """Sources of one data folder, and the proxies last found usable; only their owner can read the files."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / fixed.FOLDER

    def sources(self) -> list[ProxySource]:
        """Load all sources, in the order in which they were added."""
        return self._read(fixed.SOURCES_FILE, lambda record: ProxySource(**record))

    def add(self, source: ProxySource) -> bool:
        """Save a source; False where it was there already: it has this tier and password from now on."""
        before, same = self.sources(), source.proxy_id
        others = [
            other
            for other in before
            if other.place != source.place and (same is None or other.proxy_id != same)
        ]
        self.write(fixed.SOURCES_FILE, [asdict(saved) for saved in [*others, source]])
        return len(others) == len(before)

    def drop(self, source: ProxySource) -> bool:
        """Delete a source; False where there is none. Its proxies stay in the pool."""
        before = self.sources()
        others = [other for other in before if other.place != source.place]
        if len(others) == len(before):
            return False
        self.write(fixed.SOURCES_FILE, [asdict(other) for other in others])
        return True

    def load_usable(self) -> list[Proxy]:
        """Load what the last check found usable."""
        return self._read(fixed.KNOWN_FILE, Proxy.from_record)

    def remember(self, proxies: list[Proxy]) -> None:
        """Save what a check found usable."""
        self.write(fixed.KNOWN_FILE, [proxy.as_record() for proxy in proxies])

    def remember_sweep(
        self, usable: list[Proxy], *, whole: bool, unsure: Collection[str] = frozenset()
    ) -> None:
        """Save what a refresh found; one that found nothing, or was not `whole`, removes nothing.

        The proxies with the ids `unsure` stay if they were known.
        """
        if usable:
            found = {proxy.id for proxy in usable}
            before = [proxy for proxy in self.load_usable() if proxy.id not in found]
            self.remember([*usable, *(proxy for proxy in before if not whole or proxy.id in unsure)])

    def read(self, name: str) -> Any:  # noqa: ANN401 - whatever was written
        """Load the JSON written under this name; None where there is none."""
        try:
            return json.loads((self.folder / name).read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, name: str, value: object) -> None:
        """Write JSON under this name, atomically and readable by its owner alone."""
        write_whole(self.folder / name, json.dumps(value, ensure_ascii=False, indent=1))

    def _read(self, name: str, parse: Callable[[dict[str, Any]], T]) -> list[T]:
        path = self.folder / name
        if not path.exists():
            return []
        try:
            return [parse(dict(record)) for record in json.loads(path.read_text("utf-8"))]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise SourceListBroken(
                f"{path}: not the JSON that `sale-sofia proxies` writes; remove it"
            ) from None
