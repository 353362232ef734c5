"""`sale-sofia dashboard`: the buyer's screen in the browser, until Ctrl-C."""

import os
import sys
import webbrowser
from typing import Annotated

import typer

from sale_sofia.commands.console import log, out
from sale_sofia.config.dashboard_server import DASHBOARD_HOST, DASHBOARD_PORT
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.config.settings_environment import environment_of
from sale_sofia.scraping.store import open_ready
from sale_sofia.services.dashboard_server import checked_host, free_port, start_dashboard
from sale_sofia.services.stop_signals import Interrupted, StopSignals


def dashboard(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; another than this machine's own needs DASHBOARD_PASSWORD."),
    ] = DASHBOARD_HOST,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            help=f"Port to listen on; 0: any that is free. Without it {DASHBOARD_PORT}, or a free one.",
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """Show the flats, the market and the crawls in the browser, until Ctrl-C."""
    serve_dashboard(load_settings(), host, port, may_open=not no_open)


def serve_dashboard(
    settings: Settings, host: str = DASHBOARD_HOST, port: int | None = None, *, may_open: bool = True
) -> None:
    """Serve until somebody asks for an end; says the address once it answers, and opens it on a screen."""
    address = checked_host(host, settings)
    free = free_port(address, port)
    open_ready(settings)
    environ = environment_of(settings, os.environ)
    with StopSignals() as signals, start_dashboard(settings, address, free, environ) as server:
        try:
            server.wait_ready(signals)
        except Interrupted:
            return
        out.print(f"dashboard: {server.url}", highlight=False, soft_wrap=True)
        out.file.flush()
        log.print("stop it with Ctrl-C", highlight=False)
        if may_open and has_terminal() and _has_screen():
            webbrowser.open(server.url)
        server.wait(signals)


def has_terminal() -> bool:
    """Whether a person sits in front of this command."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _has_screen() -> bool:
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
