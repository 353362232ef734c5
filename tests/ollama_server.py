"""An Ollama of our own on loopback, which answers as it is told: rightly, wrongly, late, or broken."""

import asyncio
import json
import threading
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

MODEL = "gemma3:4b"
Answer = dict[str, dict[str, Any]]


@dataclass(slots=True)
class LoopbackOllama:
    """The server, in a thread of its own. `truth` is what it knows; `manner` is how it answers."""

    truth: Mapping[str, Mapping[str, Any]]
    manner: str = "right"
    digest: str = "a" * 64
    seconds: float = 5.0
    """How long a slow answer takes."""
    questions: list[dict[str, Any]] = field(default_factory=list)
    health_checks: int = 0
    complaint: bytes = b""
    """What it says in place of its models."""
    others: int = 0
    """Models beside ours."""
    port: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _ready: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        assert self._thread is not None
        self._thread.join(20)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        app = web.Application()
        app.add_routes([web.get("/api/tags", self._tags), web.post("/api/chat", self._chat)])
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stopping.wait()
        await runner.cleanup()

    async def _tags(self, _: web.Request) -> web.Response:
        self.health_checks += 1
        if self.complaint:
            return web.Response(body=self.complaint, status=500, content_type="application/json")
        names = [*(f"model-{number}" for number in range(self.others)), MODEL]
        return web.json_response({"models": [{"model": one, "digest": self.digest} for one in names]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        question = await request.json()
        self.questions.append(question)
        return await _MANNERS[self.manner](self, request, question)

    def known(self, question: Mapping[str, Any]) -> Answer:
        """The true answer to the fields asked."""
        nothing = {"value": "unknown", "quote": ""}
        return {name: dict(self.truth.get(name, nothing)) for name in question["format"]["required"]}


def says(content: str) -> web.Response:
    message = {"role": "assistant", "content": content}
    return web.json_response(
        {"model": MODEL, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True}
    )


Question = dict[str, Any]
Manner = Callable[[LoopbackOllama, web.Request, Question], Awaitable[web.StreamResponse]]


async def _right(server: LoopbackOllama, _: web.Request, question: Question) -> web.StreamResponse:
    return says(json.dumps(server.known(question), ensure_ascii=False))


async def _wrong_enum(server: LoopbackOllama, _: web.Request, question: Question) -> web.StreamResponse:
    answer = {name: {**one, "value": "splendid"} for name, one in server.known(question).items()}
    return says(json.dumps(answer, ensure_ascii=False))


async def _invented(server: LoopbackOllama, _: web.Request, question: Question) -> web.StreamResponse:
    answer = {name: {**one, "quote": "никъде не е писано"} for name, one in server.known(question).items()}
    return says(json.dumps(answer, ensure_ascii=False))


async def _misquoted(server: LoopbackOllama, _: web.Request, question: Question) -> web.StreamResponse:
    """The quote is in the text, and says nothing of the kind."""
    answer = {name: {**one, "quote": "Светло жилище"} for name, one in server.known(question).items()}
    return says(json.dumps(answer, ensure_ascii=False))


async def _broken_json(server: LoopbackOllama, _: web.Request, question: Question) -> web.StreamResponse:
    return says(json.dumps(server.known(question), ensure_ascii=False)[:-5])


async def _repaired(server: LoopbackOllama, request: web.Request, question: Question) -> web.StreamResponse:
    """Wrong at first, right when told so."""
    manner = _right if len(question["messages"]) > 2 else _wrong_enum
    return await manner(server, request, question)


async def _slow(server: LoopbackOllama, request: web.Request, question: Question) -> web.StreamResponse:
    await asyncio.sleep(server.seconds)
    return await _right(server, request, question)


async def _fails(_: LoopbackOllama, _request: web.Request, _question: Question) -> web.StreamResponse:
    return web.json_response({"error": "out of memory"}, status=500)


async def _truncated(server: LoopbackOllama, request: web.Request, question: Question) -> web.StreamResponse:
    whole = says(json.dumps(server.known(question), ensure_ascii=False)).body
    assert isinstance(whole, bytes)
    response = web.StreamResponse(
        headers={"Content-Type": "application/json", "Content-Length": str(len(whole))}
    )
    await response.prepare(request)
    await response.write(whole[: len(whole) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def _format_ignored(
    _: LoopbackOllama, _request: web.Request, _question: Question
) -> web.StreamResponse:
    return says("Жилището е чудесно! Ето какво мисля за него: **условията** са добри.")


async def _endless(_: LoopbackOllama, request: web.Request, _question: Question) -> web.StreamResponse:
    """An answer of a gigabyte."""
    return await _poured(request, b'{"message": {"content": "', b" " * 1_000_000, times=1000)


async def _dripping(server: LoopbackOllama, request: web.Request, _question: Question) -> web.StreamResponse:
    return await _poured(request, b"{", b" ", times=10_000, pause=server.seconds / 100)


def _packed() -> bytes:
    """Two hundred megabytes in two hundred kilobytes."""
    packer = zlib.compressobj(wbits=31)
    return b"".join([*(packer.compress(b" " * 1_000_000) for _ in range(200)), packer.flush()])


async def _bomb(_: LoopbackOllama, _request: web.Request, _question: Question) -> web.StreamResponse:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    return web.Response(body=_packed(), headers=headers)


async def _poured(
    request: web.Request, first: bytes, then: bytes, *, times: int, pause: float = 0.0
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    try:
        await response.write(first)
        for _ in range(times):
            await response.write(then)
            await asyncio.sleep(pause)
    except ConnectionError:
        pass
    return response


def _sends(body: bytes, status: int = 200, **headers: str) -> Manner:
    """The same to every question."""

    async def manner(_: LoopbackOllama, _request: web.Request, _question: Question) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers={"Content-Type": "application/json", **headers})

    return manner


HOSTILE: Mapping[str, Manner] = {
    "endless": _endless,
    "dripping": _dripping,
    "bomb": _bomb,
    "nested": _sends(b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a list": _sends(b"[1, 2]"),
    "nothing": _sends(b"null"),
    "other types": _sends(b'{"message": {"role": 7, "content": {"a": []}}}'),
    "no message": _sends(b'{"done": true}'),
    "not JSON": _sends(b"\x1b]0;owned\x07<html>"),
    "elsewhere": _sends(b"", 302, Location="http://127.0.0.1:9/"),
    "escape codes": _sends(b'{"error": "\\u001b[31m\\u202e' + b"x" * 100_000 + b'"}', 500),
    "nested words": _sends(
        b'{"message": {"role": "assistant", "content": "' + b"[" * 200_000 + b'"}, "done": true}'
    ),
    "long quote": _sends(
        b'{"message": {"role": "assistant", "content": "{\\"condition\\": {\\"value\\": \\"renovated\\",'
        b' \\"quote\\": \\"' + b"a " * 400_000 + b'\\"}}"}, "done": true}'
    ),
}
"""Answers that mean harm."""
_MANNERS: Mapping[str, Manner] = {
    **HOSTILE,
    "right": _right,
    "wrong_enum": _wrong_enum,
    "invented": _invented,
    "misquoted": _misquoted,
    "broken_json": _broken_json,
    "repaired": _repaired,
    "slow": _slow,
    "500": _fails,
    "truncated": _truncated,
    "format_ignored": _format_ignored,
}
