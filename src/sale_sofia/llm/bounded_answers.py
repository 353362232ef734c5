"""Answers of a server that is not trusted: read up to a size, as they come, and never unpacked."""

from collections.abc import AsyncIterator
from typing import Any

import httpx


class BoundedTransport(httpx.AsyncBaseTransport):
    """Asks for answers as they are, and gives up on one that is packed or longer than this."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One answer.

        Raises:
            httpx.DecodingError: it is packed, though nobody asked for that.
        """
        request.headers["accept-encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            await answer.aclose()
            raise httpx.DecodingError("the answer is packed")
        answer.stream = _Bounded(answer.stream, self._most)
        return answer

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: Any, most: int) -> None:  # noqa: ANN401 - of two kinds by its type alone
        self._stream, self._left = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._left -= len(part)
            if self._left < 0:
                raise httpx.ReadError("the answer does not end")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
