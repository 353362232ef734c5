"""`sale-sofia demo`: two portals that exist only here, crawled for two weeks, and shown."""

import asyncio
import json
import os
import shlex
import socket
import sys
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Self

import typer
from pydantic import SecretStr
from sqlalchemy import Connection, select

from sale_sofia.cli.console import log, out
from sale_sofia.cli.crawl import run_jobs
from sale_sofia.cli.progress import conclude
from sale_sofia.crawl.frontier.jobs import SiteReport
from sale_sofia.crawl.frontier.planning import JobPlan, plan_job
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import JobState
from sale_sofia.installation import open_ready
from sale_sofia.operations.services.dashboard import checked_host, free_port, start_dashboard
from sale_sofia.operations.services.signals import Interrupted, StopSignals
from sale_sofia.operations.settings import (
    DASHBOARD_HOST,
    DASHBOARD_PORT,
    DEMO_DAYS,
    DEMO_DAYS_MISSED,
    DEMO_REQUESTS_PER_MINUTE,
    DEMO_SEED,
)
from sale_sofia.settings.model import DATABASE_FILE, Settings, environment_of, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.logs import log_to_file
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import SITES, SimulatorConfig

# The days of the demo: each is crawled as if it were that day, so that there is a history to look at.

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class DemoDays:
    """Counts days from the one on which the demo's world began: 0, 1, 2 … until today."""

    began: float
    """The moment of day 0, in the past."""
    today: int

    @classmethod
    def remembered(cls, file: Path, days: int, now: float) -> Self:
        """Those of the demo that is there already; a new one began so many days ago."""
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(json.dumps(now - days * DAY_SECONDS), "ascii")
        began = float(json.loads(file.read_text("ascii")))
        return cls(began, int((now - began) // DAY_SECONDS))

    def moment(self, day: int) -> float:
        """The same time of that day as it was when the demo began."""
        return self.began + day * DAY_SECONDS

    def to_crawl(self, database: Database, sites: list[str]) -> range:
        """The days that no crawl has seen yet; today always, also when it was seen."""
        done = database.run_read(partial(self._done, sites=sites))
        return range(max(done + 1, self.today - DEMO_DAYS_MISSED, 0), self.today + 1)

    def _done(self, connection: Connection, sites: list[str]) -> int:
        """The last day before today on which all portals were read to their end; -1 for none."""
        found = select(jobs.c.site, jobs.c.created_at).where(jobs.c.state == JobState.COMPLETE.value)
        seen = {(row.site, self._day(row.created_at)) for row in connection.execute(found)}
        whole = [day for day in range(self.today) if all((site, day) in seen for site in sites)]
        return max(whole, default=-1)

    def _day(self, at: float) -> int:
        return int((at - self.began) // DAY_SECONDS)


class _ShownTime:
    """A clock that can be set. Whoever keeps hold of it while it is set has the right time afterwards too."""

    def __init__(self) -> None:
        self.real = time.time
        self.ahead = 0.0

    def __call__(self) -> float:
        return self.real() + self.ahead


_shown: Final = _ShownTime()


@contextmanager
def as_if_it_were(moment: float) -> Iterator[None]:
    """Inside, the clock of this process shows another time; it goes on from there."""
    real, time.time = time.time, _shown
    _shown.ahead = moment - _shown.real()
    try:
        yield
    finally:
        time.time = real
        _shown.ahead = 0.0


# `sale-sofia dashboard`: the buyer's screen in the browser, until Ctrl-C.


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


_GO_ON = "stopped; go on with: sale-sofia demo"


def demo(
    properties: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many adverts each portal has.")
    ] = 300,
    seed: Annotated[int, typer.Option(help="Another seed, another city.")] = DEMO_SEED,
    days: Annotated[
        int, typer.Option(min=0, max=60, help="How many days have passed when it is first shown.")
    ] = DEMO_DAYS,
) -> None:
    """Crawl two simulated portals, day after day, and show them. Stopped or killed, it goes on from there."""
    settings = _demo_settings(load_settings())
    log_to_file(settings, "demo")
    database = open_ready(settings)
    passed = DemoDays.remembered(settings.data_dir / "began", days, time.time())
    config = SimulatorConfig(properties=properties, seed=seed, port=_port(settings.data_dir), rivals=True)
    _crawl_days(settings, database, config, passed)
    _show(settings)


def _crawl_days(settings: Settings, database: Database, config: SimulatorConfig, passed: DemoDays) -> None:
    to_crawl = passed.to_crawl(database, list(config.sites))
    with start_in_process(config) as simulator:
        addresses = ", ".join(f"{site} at {address}" for site, address in simulator.urls.items())
        log.print(f"simulated portals: {addresses}", highlight=False, soft_wrap=True)
        for _ in range(to_crawl[0]):
            simulator.advance()
        for day in to_crawl[:-1]:
            with as_if_it_were(passed.moment(day)):
                _crawl_past_day(settings, database, simulator, f"day {day} of {passed.today}")
            simulator.advance()
        reports, stopped = asyncio.run(run_jobs(settings, database, _jobs(settings, database, simulator)))
    conclude(database, reports, stopped=stopped, as_json=False, advice=_GO_ON)


def _crawl_past_day(settings: Settings, database: Database, simulator: RunningSimulator, name: str) -> None:
    """A line for a day that went well; one that did not ends the demo as today's would."""
    reports, stopped = asyncio.run(run_jobs(settings, database, _jobs(settings, database, simulator)))
    if stopped or any(one.state != JobState.COMPLETE.value for one in reports):
        conclude(database, reports, stopped=stopped, as_json=False, advice=_GO_ON)
    log.print(f"{name}: {_told(reports)}", highlight=False)


def _jobs(settings: Settings, database: Database, simulator: RunningSimulator) -> list[str]:
    plans = [
        JobPlan(get_scraper(site), tuple(simulator.start_urls(site)), None, fresh=False)
        for site in simulator.urls
    ]
    return [plan_job(settings, database, plan) for plan in plans]


def _told(reports: Sequence[SiteReport]) -> str:
    return "; ".join(f"{one.site} {one.new} new, {one.changed} changed" for one in reports)


def _show(settings: Settings) -> None:
    """On the demo's data; without a terminal nobody would stop it, so it is only told how."""
    if has_terminal():
        serve_dashboard(settings)
        return
    command = f"DATA_DIR={shlex.quote(str(settings.data_dir))} sale-sofia dashboard"
    address = f"http://{DASHBOARD_HOST}:{DASHBOARD_PORT}"
    out.print(f"dashboard: {address} once it is started: {command}", highlight=False, soft_wrap=True)


def _demo_settings(settings: Settings) -> Settings:
    folder = settings.data_dir / "demo"
    rates = {"default": DEMO_REQUESTS_PER_MINUTE, **dict.fromkeys(SITES, DEMO_REQUESTS_PER_MINUTE)}
    return settings.model_copy(
        update={
            "data_dir": folder,
            "database_url": SecretStr(f"sqlite:///{folder / DATABASE_FILE}"),
            "domain_rate_limits": rates,
        }
    )


def _port(folder: Path) -> int:
    """The last demo's ports when they are free: a crawl that was cut short finds its portals again."""
    remembered = folder / "port"
    folder.mkdir(parents=True, exist_ok=True)
    if not (remembered.exists() and _are_free(int(remembered.read_text("ascii")))):
        remembered.write_text(str(_free_port()), "ascii")
    return int(remembered.read_text("ascii"))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = int(bound.getsockname()[1])
    return port if _are_free(port) else _free_port()


def _are_free(first: int) -> bool:
    try:
        for port in range(first, first + len(SITES)):
            socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
