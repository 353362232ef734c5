"""Where candidates come from: proxies of one's own, files, and lists on the web; each read within limits."""

import asyncio
import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.config.proxies import SOURCE_MAX_BYTES, SOURCE_SECONDS
from sale_sofia.fetching.addresses import is_inside
from sale_sofia.proxies.address import MASK, NotAProxy, ProxyAddress, Scheme, parse_proxy
from sale_sofia.proxies.model import Proxy, Tier
from sale_sofia.proxies.reading import Count, candidates, texts_of

_PIECE: Final = 1 << 16
_UNPACKED: Final = {"Accept-Encoding": "identity"}


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


async def read_source(source: Source, count: Count) -> Iterator[Proxy]:
    """Its candidates, read as they are asked for; `count` is filled meanwhile.

    Raises:
        SourceUnreadable: it cannot be had, or is empty.
    """
    addresses = candidates(await _texts(source), _parser(source), count)
    name = source.name
    return (Proxy(address, source.tier, name) for address in addresses)


def _parser(source: Source) -> Callable[[str], ProxyAddress]:
    """Reads one proxy; of a list on the web, none inside our network, unless the list is there too."""
    from_outside = source.is_url and not is_inside(urlsplit(source.place).hostname or "")
    return partial(_parse_public if from_outside else parse_proxy, default=source.scheme)


def _parse_public(text: str, default: Scheme) -> ProxyAddress:
    address = parse_proxy(text, default)
    if is_inside(address.host):
        raise NotAProxy("a private address, in a list from outside")
    return address


async def _texts(source: Source) -> Iterable[str]:
    if source.is_proxy:
        return [source.place]
    if source.is_url:
        return texts_of(await _download(source), [])
    pieces = _pieces(source)
    return texts_of(next(pieces, ""), pieces)


def _pieces(source: Source) -> Iterator[str]:
    """The file in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    try:
        path = Path(source.place).expanduser()
        if path.stat().st_size > SOURCE_MAX_BYTES:
            raise SourceUnreadable(f"{source.name}: larger than {SOURCE_MAX_BYTES} bytes")
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield decoder.decode(piece)
    except OSError as error:
        raise SourceUnreadable(f"{source.name}: cannot be read: {error.strerror}") from None


async def _download(source: Source) -> str:
    """What the list holds; of one that goes on for ever, what came in time.

    It is not followed elsewhere, which could be inside our own network, and nothing is unpacked.
    """
    import aiohttp  # noqa: PLC0415 - every crawl imports this module, few read a list on the web

    body = bytearray()
    try:
        async with (
            asyncio.timeout(SOURCE_SECONDS),
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(source.place, allow_redirects=False, headers=_UNPACKED) as answer,
        ):
            if answer.status != HTTPStatus.OK:
                raise SourceUnreadable(f"{source.name}: HTTP {answer.status}")
            async for piece in answer.content.iter_chunked(_PIECE):
                body += piece
                if len(body) > SOURCE_MAX_BYTES:
                    break
    except TimeoutError:
        pass
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if isinstance(error, SourceUnreadable):
            raise
        raise SourceUnreadable(f"{source.name}: cannot be had ({type(error).__name__})") from None
    if not body.strip():
        raise SourceUnreadable(f"{source.name}: gave nothing in {SOURCE_SECONDS:g} s")
    return body.decode("utf-8-sig", errors="replace")
