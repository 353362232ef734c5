"""`sale-sofia metrics`: what Prometheus reads, served on this machine or printed once."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from sale_sofia.commands.console import log, out
from sale_sofia.config.metrics import METRICS_HOST, METRICS_SERVER_PORT, STOP_POLL_SECONDS
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.scraping.exporting import Exporter
from sale_sofia.scraping.store import open_ready
from sale_sofia.services.logs import log_to_file
from sale_sofia.services.metrics_server import serve_metrics
from sale_sofia.services.stop_signals import StopSignals


def metrics(
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than the default shows them to the network.")
    ] = METRICS_HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any that is free.")
    ] = METRICS_SERVER_PORT,
    once: Annotated[bool, typer.Option("--once", help="Print them on standard output instead.")] = False,
) -> None:
    """Serve metrics for Prometheus, until Ctrl-C."""
    settings = load_settings()
    if once:
        sys.stdout.write(_exporter(settings).text())
        return
    with StopSignals() as signals, metrics_served(settings, host, port) as url:
        log_to_file(settings, "metrics")
        out.print(f"metrics: {url}", highlight=False, soft_wrap=True)
        out.file.flush()
        log.print("stop it with Ctrl-C", highlight=False)
        while not signals.asked:
            time.sleep(STOP_POLL_SECONDS)


@contextmanager
def metrics_served(settings: Settings, host: str, port: int | None) -> Iterator[str | None]:
    """Serve them until the block ends; gives the URL, or None without a port: then nothing is served.

    Raises:
        ServiceError: nobody can listen there.
    """
    if port is None:
        yield None
        return
    with serve_metrics(_exporter(settings).registry(), host, port) as url:
        yield url


def _exporter(settings: Settings) -> Exporter:
    return Exporter(settings, open_ready(settings))
