"""The judge: a small server of the operator's that reports how a request looked when it arrived.

A check sends two requests through the proxy. Over plain HTTP, where the proxy could add headers or change the
page: the judge records the request under its nonce. Over TLS, where the proxy can do neither without a false
certificate: the judge returns the address that request came from and what it recorded under the nonce. So
nothing that a proxy answers by itself is ever believed.
"""

import ssl
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from sale_sofia.proxies.checker import PLAIN_PATH, SEEN_PATH, plain_page
from sale_sofia.proxies.settings import JUDGE_NONCE_CHARACTERS, JUDGE_SEEN_MOST, JUDGE_STOP_SECONDS


class JudgeServer:
    """Answers on two ports; remembers only the newest plain requests."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._runners: list[web.AppRunner] = []

    async def start(
        self, host: str, port: int, http_port: int, certificate: ssl.SSLContext
    ) -> tuple[int, int]:
        """Listen, and return the ports, which 0 leaves to the system."""
        secure = await self._listen(web.get(SEEN_PATH, self._report), host, port, certificate)
        return secure, await self._listen(web.get(PLAIN_PATH, self._record), host, http_port, None)

    async def stop(self) -> None:
        """Stop listening."""
        for runner in self._runners:
            await runner.cleanup()

    async def _listen(self, route: web.RouteDef, host: str, port: int, secure: ssl.SSLContext | None) -> int:
        app = web.Application()
        app.add_routes([route])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=JUDGE_STOP_SECONDS)
        await runner.setup()
        self._runners.append(runner)
        await web.TCPSite(runner, host, port, ssl_context=secure).start()
        return int(runner.addresses[0][1])

    async def _record(self, request: web.Request) -> web.Response:
        nonce = _nonce(request)
        headers = [[name.lower(), value] for name, value in request.headers.items()]
        self._seen[nonce] = {"peer": request.remote, "headers": headers}
        while len(self._seen) > JUDGE_SEEN_MOST:
            self._seen.popitem(last=False)
        return web.Response(body=plain_page(nonce), content_type="text/html")

    async def _report(self, request: web.Request) -> web.Response:
        nonce = _nonce(request)
        seen = self._seen.pop(nonce, None)
        return web.json_response({"nonce": nonce, "peer": request.remote, "plain": seen})


def _nonce(request: web.Request) -> str:
    nonce = request.query.get("nonce", "")
    if not nonce or len(nonce) > JUDGE_NONCE_CHARACTERS:
        raise web.HTTPBadRequest(text=f"nonce: one of 1 to {JUDGE_NONCE_CHARACTERS} characters is wanted")
    return nonce
