"""Serves simulated portals on loopback, one port a site, until the process is told to stop."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing

from aiohttp import web

from sale_sofia.config.programs import end_at_once
from sale_sofia.simulator.faults import FaultPlan, RetryAfter, parse_faults
from sale_sofia.simulator.http_front import HttpFront
from sale_sofia.simulator.request_log import RequestLog
from sale_sofia.simulator.simulation import Simulation
from sale_sofia.simulator.simulator_config import SimulatorConfig

Ready = Callable[[Simulation], None]
_SHUTDOWN_SECONDS = 0.5
_STDIN = 0


def serve(config: SimulatorConfig, ready: Ready) -> None:
    """Serves until SIGINT or SIGTERM; `ready` gets the simulation once all its portals answer."""
    asyncio.run(run_servers(config, ready))


async def run_servers(config: SimulatorConfig, ready: Ready, *, watch_stdin: bool = False) -> None:
    """As `serve`, inside a running loop; with `watch_stdin` the end of standard input stops it too."""
    stop = _stop_event(watch_stdin=watch_stdin)
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
        log = stack.enter_context(RequestLog(config.log))
        for site, bound in sockets.items():
            await stack.enter_async_context(_listening(_front(config, simulation, site, log), bound))
        yield simulation


def _bind(config: SimulatorConfig, place: int) -> socket.socket:
    port = config.port + place if config.port else 0
    try:
        return socket.create_server((config.host, port), backlog=1024)
    except OSError as error:
        raise OSError(f"the simulator cannot listen on {config.host}:{port}: {error.strerror}") from error


def _front(config: SimulatorConfig, simulation: Simulation, site: str, log: RequestLog) -> HttpFront:
    retry_after = RetryAfter(config.retry_after_seconds, config.retry_after_as_date)
    faults = FaultPlan(parse_faults(config.faults), f"{config.seed}:{site}", retry_after)
    return HttpFront(
        simulation, site, faults=faults, slow_seconds=config.slow_seconds, log=log, etag=config.etag
    )


@asynccontextmanager
async def _listening(front: HttpFront, bound: socket.socket) -> AsyncIterator[None]:
    runner = web.ServerRunner(web.Server(front.handle, access_log=None), shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    try:
        await web.SockSite(runner, bound, backlog=1024).start()
        yield
    finally:
        await runner.cleanup()


def _stop_event(*, watch_stdin: bool) -> asyncio.Event:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if watch_stdin:
        loop.add_reader(_STDIN, _stop_at_end, loop, stop)
    return stop


def _stop_at_end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    if not os.read(_STDIN, 1024):
        loop.remove_reader(_STDIN)
        stop.set()


def announce(simulation: Simulation) -> None:
    """Prints the address of each portal, as one line of JSON."""
    addresses = {site: portal.origin.base_url for site, portal in simulation.portals.items()}
    sys.stdout.write(json.dumps(addresses) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    end_at_once()
    asyncio.run(run_servers(SimulatorConfig.from_json(sys.argv[1]), announce, watch_stdin=True))
