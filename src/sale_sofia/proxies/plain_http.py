"""One small GET over given streams: for the judge, whose answers are small and known."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from sale_sofia.config.proxies import JUDGE_BODY_BYTES
from sale_sofia.proxies.tunnel import Streams, TunnelFailed

_HEX = 16


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers by lower-case name, and the whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def get(streams: Streams, target: str, host: str, more: str = "") -> Answer:
    """Ask for `target` (a path, or a whole address for a proxy); the connection is used up.

    Raises:
        TunnelFailed: no sound answer of a reasonable size came.
    """
    reader, writer = streams
    writer.write(
        f"GET {target} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n{more}Connection: close\r\n\r\n".encode(
            "latin-1"
        )
    )
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, headers = _read_head(head)
        return Answer(status, headers, await _body(reader, headers))
    except (asyncio.LimitOverrunError, ValueError, IndexError):
        raise TunnelFailed("protocol", "no sound HTTP answer") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        raise TunnelFailed("reset", "it hung up") from None


def _read_head(head: str) -> tuple[int, Mapping[str, str]]:
    first, *lines = head.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split(" ")[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _chunks(reader)
    if "content-length" in headers:
        length = int(headers["content-length"])
        return await reader.readexactly(_small(length))
    body = bytearray()
    while piece := await reader.read(JUDGE_BODY_BYTES):
        body += piece
        _small(len(body))
    return bytes(body)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while length := int((await reader.readuntil(b"\r\n")).partition(b";")[0], _HEX):
        _small(len(body) + length)
        body += (await reader.readexactly(length + 2))[:-2]
    return bytes(body)


def _small(length: int) -> int:
    if not 0 <= length <= JUDGE_BODY_BYTES:
        raise TunnelFailed("protocol", "an answer larger than any of the judge's")
    return length
