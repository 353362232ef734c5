"""The programs about proxies that run until they are stopped: the judge and the rotator."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from sale_sofia.commands.console import log
from sale_sofia.commands.proxy_arguments import open_pool
from sale_sofia.config.proxies import JUDGE_HOST, JUDGE_HTTP_PORT, JUDGE_PORT, ROTATOR_HOST
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.proxies.judge import JudgeServer
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.rotator_program import serve
from sale_sofia.proxies.rotator_service import RotatorService
from sale_sofia.services.running_redis import known_redis_url


def judge(
    certificate: Annotated[Path, typer.Option(help="Its certificate chain, in PEM form.")],
    key: Annotated[Path, typer.Option(help="The key of the certificate, in PEM form.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on: the one of this machine that proxies can reach.")
    ] = JUDGE_HOST,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port with TLS.")] = JUDGE_PORT,
    http_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port without.")] = JUDGE_HTTP_PORT,
) -> None:
    """Be the judge that proxies are checked with, on a machine that they can reach, until Ctrl-C."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError):
        raise typer.BadParameter(f"{certificate} and {key} are no certificate with its key") from None
    with suppress(KeyboardInterrupt):
        asyncio.run(_judge(host, port, http_port, context))


async def _judge(host: str, port: int, http_port: int, context: ssl.SSLContext) -> None:
    server = JudgeServer()
    secure, plain = await server.start(host, port, http_port, context)
    log.print(f"judging on {host}:{secure} with TLS and on {host}:{plain} without", highlight=False)
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()


def rotator() -> None:
    """Be the rotator on 127.0.0.1, one address for tools that can use only one proxy, until Ctrl-C."""
    settings = load_settings()
    url = known_redis_url(settings)
    if settings.mubeng_path is None:
        log.print(f"http://{ROTATOR_HOST}:{settings.rotator_port}, CONNECT only", highlight=False)
        asyncio.run(serve(settings, url))
        return
    service = RotatorService(settings)
    log.print(f"{service.start(url, asyncio.run(_known(settings)))} by mubeng", highlight=False)
    try:
        with suppress(KeyboardInterrupt):
            service.wait()
    finally:
        service.stop()


async def _known(settings: Settings) -> list[Proxy]:
    async with open_pool(settings) as pool:
        return await pool.known()
