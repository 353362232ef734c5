"""Our own judge: a small server of the operator's that says how a request looked when it arrived.

A proxy is asked for two things. Over plain HTTP, where it could add headers or change the page: the judge
notes how the request came in, under its nonce. Over TLS, where it can do neither without a false certificate:
the judge says from which address that request came and what it noted under the nonce. So nothing a proxy
answers by itself is ever believed.
"""

import ssl
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from sale_sofia.proxies.checker import PLAIN_PATH, SEEN_PATH, plain_page
from sale_sofia.proxies.settings import JUDGE_NONCE_CHARACTERS, JUDGE_SEEN_MOST, JUDGE_STOP_SECONDS


class JudgeServer:
    """Answers on two ports; it remembers the newest plain requests, and nothing else."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._runners: list[web.AppRunner] = []

    async def start(
        self, host: str, port: int, http_port: int, certificate: ssl.SSLContext
    ) -> tuple[int, int]:
        """Listen; the ports taken, which matters where 0 was asked for."""
        secure = await self._listen(web.get(SEEN_PATH, self._tell), host, port, certificate)
        return secure, await self._listen(web.get(PLAIN_PATH, self._note), host, http_port, None)

    async def stop(self) -> None:
        """Listen no more."""
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

    async def _note(self, request: web.Request) -> web.Response:
        nonce = _nonce(request)
        headers = [[name.lower(), value] for name, value in request.headers.items()]
        self._seen[nonce] = {"peer": request.remote, "headers": headers}
        while len(self._seen) > JUDGE_SEEN_MOST:
            self._seen.popitem(last=False)
        return web.Response(body=plain_page(nonce), content_type="text/html")

    async def _tell(self, request: web.Request) -> web.Response:
        nonce = _nonce(request)
        seen = self._seen.pop(nonce, None)
        return web.json_response({"nonce": nonce, "peer": request.remote, "plain": seen})


def _nonce(request: web.Request) -> str:
    nonce = request.query.get("nonce", "")
    if not nonce or len(nonce) > JUDGE_NONCE_CHARACTERS:
        raise web.HTTPBadRequest(text=f"nonce: one of 1 to {JUDGE_NONCE_CHARACTERS} characters is wanted")
    return nonce
