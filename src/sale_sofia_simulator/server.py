"""Serves simulated portals on loopback, one port a site, until the process is told to stop."""

import asyncio
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from email.utils import formatdate
from http import HTTPStatus
from io import FileIO
from typing import NamedTuple

from aiohttp import web

from sale_sofia.settings.programs import end_at_once
from sale_sofia_simulator import faults
from sale_sofia_simulator.faults import SCRIPT_PATH, Fault
from sale_sofia_simulator.portal import OK, Answer
from sale_sofia_simulator.simulation import ADMIN, Simulation, SimulatorConfig

_EPOCH = time.time() - time.monotonic()
"""What makes seconds since the epoch, never going backwards, of the monotonic clock."""
_RESET = struct.pack("ii", 1, 0)
_STATUSES = {"429": HTTPStatus.TOO_MANY_REQUESTS, "503": HTTPStatus.SERVICE_UNAVAILABLE}
_HTML = "text/html; charset=UTF-8"
_SHUTDOWN_SECONDS = 0.5
_STDIN = 0
Ready = Callable[[Simulation], None]


class _Sent(NamedTuple):
    """What a client got; status 0 is a connection that was cut before any answer."""

    response: web.StreamResponse
    status: int
    size: int


class HttpFront:
    """Answers the requests of one site: faults on purpose, the request log, the simulator's own endpoints."""

    def __init__(
        self, simulation: Simulation, site: str, config: SimulatorConfig, log: FileIO | None
    ) -> None:
        self._simulation = simulation
        self._site = site
        self._config = config
        self._faults = faults.FaultPlan(faults.parse_faults(config.faults), f"{config.seed}:{site}")
        self._log = log
        self._open = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Any request to the portal. Only the simulator's own endpoints are neither logged nor faulted."""
        if request.path.startswith(ADMIN):
            return self._admin(request)
        arrived, self._open = _EPOCH + time.monotonic(), self._open + 1
        opened, sent, fault = self._open, None, self._fault(request)
        try:
            sent = await self._send(request, fault)
        finally:
            self._open -= 1
            self._note(request, arrived, opened, fault, sent)
        return sent.response

    def _fault(self, request: web.BaseRequest) -> Fault | None:
        if request.path in {"/robots.txt", SCRIPT_PATH}:
            return None
        fault = self._faults.next(request.path_qs)
        return None if fault and fault.name == "challenge" and faults.has_passed(request.headers) else fault

    async def _send(self, request: web.BaseRequest, fault: Fault | None) -> _Sent:
        if request.method not in {"GET", "HEAD"}:
            return _plain(HTTPStatus.METHOD_NOT_ALLOWED)
        if fault and fault.name == "slow":
            await asyncio.sleep(self._config.slow_seconds)
        if request.path == SCRIPT_PATH:
            return _whole(Answer(OK, faults.CHALLENGE_SCRIPT, "text/javascript"))
        if fault is None or fault.name == "slow":
            answer = self._answer(request)
            tagged = self._config.etag and answer.status == OK
            return self._tagged(request, answer) if tagged else _whole(answer)
        return await self._fail(request, fault)

    def _answer(self, request: web.BaseRequest) -> Answer:
        return self._simulation.answer(self._site, request.path, request.query_string)

    def _tagged(self, request: web.BaseRequest, answer: Answer) -> _Sent:
        """The page with its tag, or, to whoever has it already, only the word that it is the same."""
        tag = f'"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
        if request.headers.get("If-None-Match") == tag:
            response = web.Response(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
            return _Sent(response, HTTPStatus.NOT_MODIFIED.value, 0)
        sent = _whole(answer)
        sent.response.headers["ETag"] = tag
        return sent

    async def _fail(self, request: web.BaseRequest, fault: Fault) -> _Sent:
        if fault.name in _STATUSES:
            seconds, as_date = self._config.retry_after_seconds, self._config.retry_after_as_date
            sent = _plain(_STATUSES[fault.name])
            if sent.status == HTTPStatus.TOO_MANY_REQUESTS:
                date = formatdate(time.time() + seconds, usegmt=True)
                sent.response.headers["Retry-After"] = date if as_date else str(seconds)
            return sent
        if fault.name == "reset":
            # The connection ends with a TCP reset and without a byte.
            transport = request.transport
            if transport is not None:
                transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                transport.abort()
            return _Sent(web.Response(), 0, 0)
        if fault.name == "captcha":
            return _whole(Answer(OK, faults.CAPTCHA_PAGES[fault.variant], _HTML))
        if fault.name == "challenge":
            return _whole(Answer(HTTPStatus.FORBIDDEN.value, faults.CHALLENGE_PAGE, _HTML))
        answer = self._answer(request)
        half = answer._replace(body=answer.body[: len(answer.body) // 2])
        return _whole(half) if fault.name == "cut" else await _truncated(request, half, len(answer.body))

    def _note(
        self, request: web.BaseRequest, arrived: float, opened: int, fault: Fault | None, sent: _Sent | None
    ) -> None:
        """Log the request; one that is cut off by the portal's own end is nobody's any more."""
        if self._log is None or self._log.closed:
            return
        fields = {
            "t": round(arrived, 6),
            "site": self._site,
            "path": request.path_qs,
            "status": sent.status if sent else 0,
            "fault": fault.name if fault else None,
            "bytes": sent.size if sent else 0,
            "open": opened,
            "host": request.headers.get("Host"),
            "user_agent": request.headers.get("User-Agent"),
            "cookie": request.headers.get("Cookie"),
        }
        self._log.write((json.dumps(fields, ensure_ascii=False) + "\n").encode())

    def _admin(self, request: web.BaseRequest) -> web.StreamResponse:
        command, portals = f"{request.method} {request.path.removeprefix(ADMIN)}", self._simulation.portals
        try:
            if command == "POST advance":
                self._simulation.advance()
                adverts = {site: len(portal.stock) for site, portal in portals.items()}
                return web.json_response({"day": self._simulation.day, "adverts": adverts})
            if command == "POST layouts":
                names = request.query.getall("name", [])
                self._simulation.wear(names)
                return web.json_response({"layouts": names})
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=HTTPStatus.CONFLICT)
        if command == "GET start-urls":
            split = request.query.get("split") == "1"
            urls = {site: portal.start_urls(split=split) for site, portal in portals.items()}
            return web.json_response(urls)
        return web.Response(status=HTTPStatus.NOT_FOUND)


def _whole(answer: Answer) -> _Sent:
    headers = {"Content-Type": answer.content_type}
    if answer.location:
        headers["Location"] = answer.location
    response = web.Response(status=answer.status, body=answer.body, headers=headers)
    return _Sent(response, answer.status, len(answer.body))


def _plain(status: HTTPStatus) -> _Sent:
    """A bare status page."""
    return _whole(Answer(status.value, status.phrase.encode(), "text/plain; charset=utf-8"))


async def _truncated(request: web.BaseRequest, half: Answer, whole_size: int) -> _Sent:
    """The length of the whole is promised, half of it comes, the connection closes."""
    response = web.StreamResponse(status=half.status, headers={"Content-Type": half.content_type})
    response.content_length = whole_size
    await response.prepare(request)
    await response.write(half.body)
    if request.transport is not None:
        request.transport.close()
    return _Sent(response, half.status, len(half.body))


async def run_servers(config: SimulatorConfig, ready: Ready, *, watch_stdin: bool = False) -> None:
    """Serve until SIGINT or SIGTERM, with `watch_stdin` also until the end of standard input.

    `ready` gets the simulation once all its portals answer.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

    def stop_at_end() -> None:
        if not os.read(_STDIN, 1024):
            loop.remove_reader(_STDIN)
            stop.set()

    if watch_stdin:
        loop.add_reader(_STDIN, stop_at_end)
    async with _serving(config) as simulation:
        ready(simulation)
        await stop.wait()


@asynccontextmanager
async def _serving(config: SimulatorConfig) -> AsyncIterator[Simulation]:
    async with AsyncExitStack() as stack:
        sockets = {
            site: stack.enter_context(closing(_bind(config, place)))
            for place, site in enumerate(config.sites)
        }
        addresses = {
            site: f"http://{config.host}:{bound.getsockname()[1]}" for site, bound in sockets.items()
        }
        simulation = Simulation(config, addresses)
        log = None
        if config.log:
            config.log.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: a line is in the file before its answer is sent, and two writers' lines do not mix.
            log = stack.enter_context(config.log.open("ab", buffering=0))
        for site, bound in sockets.items():
            front = HttpFront(simulation, site, config, log)
            server = web.Server(front.handle, access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.SockSite(runner, bound, backlog=1024).start()
        yield simulation


def _bind(config: SimulatorConfig, place: int) -> socket.socket:
    port = config.port + place if config.port else 0
    try:
        return socket.create_server((config.host, port), backlog=1024)
    except OSError as error:
        raise OSError(f"the simulator cannot listen on {config.host}:{port}: {error.strerror}") from error


def announce(simulation: Simulation) -> None:
    """Prints the address of each portal, as one line of JSON."""
    addresses = {site: portal.origin.base_url for site, portal in simulation.portals.items()}
    sys.stdout.write(json.dumps(addresses) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    end_at_once()
    asyncio.run(run_servers(SimulatorConfig.from_json(sys.argv[1]), announce, watch_stdin=True))
