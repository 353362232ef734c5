"""`demo` and `simulate`: portals that exist only here, crawled or served; `dashboard`: what was crawled."""

import asyncio
import json
import os
import shlex
import socket
import sys
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Self

import typer
from pydantic import SecretStr
from rich.progress import Progress
from sqlalchemy import Connection, select

from sale_sofia.advice.valuation.flats import TooFewFlats
from sale_sofia.advice.valuation.valuation import current_model
from sale_sofia.cli.console import log, out, tell
from sale_sofia.cli.crawl import run_jobs
from sale_sofia.cli.progress import conclude
from sale_sofia.crawl.frontier.jobs import SiteReport
from sale_sofia.crawl.frontier.planning import JobPlan, plan_job
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import JobState
from sale_sofia.installation import open_ready
from sale_sofia.listings.dates import SOFIA
from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.dashboard import DashboardServer, checked_host, free_port, start_dashboard
from sale_sofia.operations.services.processes import Interrupted, StopSignals
from sale_sofia.settings.model import DATABASE_FILE, Settings, environment_of, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.logs import log_to_file
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import CONFIG_FOLDER
from sale_sofia_simulator.faults import LAYOUTS
from sale_sofia_simulator.model import NOW
from sale_sofia_simulator.render import write_world
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import SITES, SimulatorConfig

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class DemoDays:
    """Counts days from the one on which the demo's world began: 0, 1, 2 … until today.

    Each is crawled as if it were that day, so that there is a history to look at.
    """

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

    def to_crawl(self, database: Database, sites: list[str]) -> list[int]:
        """Of the days that no crawl has seen yet the first, the last ones, and some of those between.

        Today is always among them, also when it was seen.
        """
        done = database.run_read(partial(self._last_done, sites=sites))
        first = max(done + 1, self.today - fixed.DEMO_DAYS_MISSED, 0)
        ago = {self.today - day: day for day in range(first, self.today + 1)}
        return [
            day
            for left, day in ago.items()
            if day == first or left < fixed.DEMO_LAST_DAYS or not left % fixed.DEMO_DAYS_APART
        ]

    def _last_done(self, connection: Connection, sites: list[str]) -> int:
        """The last day before today on which all portals were read to their end; -1 for none."""
        ended = select(jobs.c.site, jobs.c.created_at).where(jobs.c.state == JobState.COMPLETE.value)
        seen = {
            (row.site, int((row.created_at - self.began) // DAY_SECONDS)) for row in connection.execute(ended)
        }
        whole = [day for day in range(self.today) if all((site, day) in seen for site in sites)]
        return max(whole, default=-1)


def dashboard(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; another than this machine's own needs DASHBOARD_PASSWORD."),
    ] = fixed.DASHBOARD_HOST,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            help=f"Port to listen on; 0: any that is free. Without it {fixed.DASHBOARD_PORT}, or a free one.",
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """Show the flats, the market and the crawls in the browser, until Ctrl-C."""
    serve_dashboard(load_settings(), host, port, may_open=not no_open)


def serve_dashboard(
    settings: Settings, host: str = fixed.DASHBOARD_HOST, port: int | None = None, *, may_open: bool = True
) -> None:
    """Serve until somebody asks for an end; says the address once it answers, and opens it on a screen."""
    with StopSignals() as signals, running_dashboard(settings, signals, host, port) as server:
        if server is None:
            return
        out.print(f"dashboard: {server.url}", soft_wrap=True)
        out.file.flush()
        log.print("stop it with Ctrl-C")
        if may_open:
            show_in_browser(server.url)
        server.wait(signals)


@contextmanager
def running_dashboard(
    settings: Settings, signals: StopSignals, host: str = fixed.DASHBOARD_HOST, port: int | None = None
) -> Iterator[DashboardServer | None]:
    """Inside, it answers; None where somebody asked for an end before it did."""
    address = checked_host(host, settings)
    free = free_port(address, port)
    open_ready(settings)
    environ = environment_of(settings, os.environ)
    with start_dashboard(settings, address, free, environ) as server:
        try:
            server.wait_ready(signals)
        except Interrupted:
            yield None
        else:
            yield server


def show_in_browser(url: str) -> None:
    """Open it where somebody sits in front of a screen."""
    screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if _has_terminal() and screen:
        webbrowser.open(url)


def _has_terminal() -> bool:
    """Whether a person sits in front of this command."""
    return sys.stdin.isatty() and sys.stdout.isatty()


_GO_ON = "stopped; go on with: sale-sofia demo"


def demo(
    properties: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many adverts the larger portal has.")
    ] = fixed.DEMO_ADVERTS,
    seed: Annotated[int, typer.Option(help="Another seed, another city.")] = fixed.DEMO_SEED,
    days: Annotated[
        int, typer.Option(min=0, max=60, help="How many days have passed when it is first shown.")
    ] = fixed.DEMO_DAYS,
) -> None:
    """Crawl two simulated portals, day after day, and show them. Stopped or killed, it goes on from there."""
    settings = _demo_settings(load_settings())
    log_to_file(settings, "demo")
    database = open_ready(settings)
    passed = DemoDays.remembered(settings.data_dir / fixed.DEMO_BEGAN, days, time.time())
    config = SimulatorConfig(
        properties=properties,
        seed=seed,
        port=_port(settings.data_dir),
        lifelike=True,
        days_later=(datetime.fromtimestamp(passed.began, SOFIA).date() - NOW.date()).days,
    )
    _crawl_days(settings, database, config, passed)
    with suppress(TooFewFlats):  # a small demo shows no fair prices, and says why
        current_model(database, settings)
    if _has_terminal():
        serve_dashboard(settings)
        return
    # Without a terminal nobody would stop it, so it is only told how.
    command = f"DATA_DIR={shlex.quote(str(settings.data_dir))} sale-sofia dashboard"
    address = f"http://{fixed.DASHBOARD_HOST}:{fixed.DASHBOARD_PORT}"
    out.print(f"dashboard: {address} once it is started: {command}", soft_wrap=True)


def _crawl_days(settings: Settings, database: Database, config: SimulatorConfig, passed: DemoDays) -> None:
    to_crawl = passed.to_crawl(database, list(config.sites))
    with start_in_process(config) as simulator:
        addresses = ", ".join(f"{site} at {address}" for site, address in simulator.urls.items())
        tell(f"simulated portals: {addresses}")
        shown = 0
        for day in to_crawl:
            for _ in range(day - shown):
                shown = simulator.advance()
            if day == passed.today:
                break
            # The same time of that day as it was when the demo began.
            behind = time.time() - (passed.began + day * DAY_SECONDS)
            reports, stopped = _crawl_day(settings, database, simulator, behind)
            if stopped or any(one.state != JobState.COMPLETE.value for one in reports):
                conclude(database, reports, stopped=stopped, as_json=False, advice=_GO_ON)
            counts = "; ".join(f"{one.site} {one.new} new, {one.changed} changed" for one in reports)
            log.print(f"day {day} of {passed.today}: {counts}")
        reports, stopped = _crawl_day(settings, database, simulator)
    conclude(database, reports, stopped=stopped, as_json=False, advice=_GO_ON)


def _crawl_day(
    settings: Settings, database: Database, simulator: RunningSimulator, behind: float = 0.0
) -> tuple[list[SiteReport], bool]:
    """Crawl both portals as if it were so many seconds earlier."""

    def clock() -> float:
        return time.time() - behind

    plans = [
        JobPlan(get_scraper(site), tuple(simulator.start_urls(site)), None, fresh=False)
        for site in simulator.urls
    ]
    job_ids = [plan_job(settings, database, plan, clock()) for plan in plans]
    return asyncio.run(run_jobs(settings, database, job_ids, clock))


def _demo_settings(settings: Settings) -> Settings:
    folder = settings.data_dir / "demo"
    rates = {
        "default": fixed.DEMO_REQUESTS_PER_MINUTE,
        **dict.fromkeys(SITES, fixed.DEMO_REQUESTS_PER_MINUTE),
    }
    return settings.model_copy(
        update={
            "data_dir": folder,
            "database_url": SecretStr(f"sqlite:///{folder / DATABASE_FILE}"),
            "domain_rate_limits": rates,
            "archive_enabled": False,  # its portals show their pages again at any time
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


# Commands about portals that exist only here: serve them, or write their pages to a folder.

# Site files for simulated portals, so that every command crawls these and not the real ones.

_MARK: Final = "# Written by `sale-sofia simulate`: laid over the installed file.\n"


def check_folder(folder: Path) -> None:
    """Refuses a folder with site files of somebody's own; those of an earlier simulation may be replaced."""
    for path in sorted(folder.glob("*.yaml")):
        if path.exists() and not path.read_text("utf-8").startswith(_MARK):
            raise typer.BadParameter(f"{path} is a site file of your own; name another folder")


def write_simulated_sites(folder: Path, start_urls: Mapping[str, Sequence[str]]) -> None:
    """Each portal begins at these addresses; every other is switched off."""
    folder.mkdir(parents=True, exist_ok=True)
    for site in (path.stem for path in (CONFIG_FOLDER / "sites").glob("*.yaml")):
        begins = "".join(f"  - {url}\n" for url in start_urls.get(site, ()))
        text = f"start_urls:\n{begins}" if begins else "enabled: false\n"
        (folder / f"{site}.yaml").write_text(_MARK + text, "utf-8")


if TYPE_CHECKING:
    from sale_sofia_simulator.simulation import Simulation

app = typer.Typer()
Properties = Annotated[int, typer.Option(min=1, max=1_000_000, help="How many adverts each portal has.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same portals.")]


@app.callback(invoke_without_command=True)
def simulate(
    context: typer.Context,
    port: Annotated[
        int,
        typer.Option(min=0, max=65_535, help="Of the first portal; the others follow. 0: any free ports."),
    ] = 8701,
    sites: Annotated[str, typer.Option(help="Which portals, with commas between.")] = ",".join(SITES),
    properties: Properties = 100,
    seed: Seed = 1,
    faults: Annotated[
        str, typer.Option(help='How often what goes wrong, e.g. "429:0.02,503:0.01,slow:0.05,reset:0.01".')
    ] = "",
    layouts: Annotated[
        str, typer.Option(help=f"Changed layouts, with commas between: {', '.join(LAYOUTS)}.")
    ] = "",
    log_file: Annotated[
        Path | None, typer.Option("--log", help="Write each request as a line of JSON.")
    ] = None,
    truth: Annotated[Path | None, typer.Option(help="Write what every advert really is, as JSON.")] = None,
    day: Annotated[int, typer.Option(min=0, help="Begin on this day of the world's life.")] = 0,
    sites_dir: Annotated[
        Path | None,
        typer.Option(
            help="Write site files here; with SITES_DIR set to it, commands crawl these portals alone.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Serve simulated portals on loopback until Ctrl-C, and name the search at which to crawl each."""
    if context.invoked_subcommand is not None:
        return
    config = SimulatorConfig(
        sites=tuple(sites.split(",")),
        properties=properties,
        seed=seed,
        day=day,
        port=port,
        faults=faults,
        layouts=tuple(filter(None, layouts.split(","))),
        log=log_file,
        truth=truth,
    )
    if sites_dir:
        check_folder(sites_dir)
    from sale_sofia_simulator.server import serve  # noqa: PLC0415 - a web server no other command needs

    serve(config, lambda simulation: _announce(simulation, sites_dir))


def _announce(simulation: "Simulation", sites_dir: Path | None) -> None:
    start_urls = {site: portal.start_urls() for site, portal in simulation.portals.items()}
    if sites_dir:
        write_simulated_sites(sites_dir, start_urls)
    for site, urls in start_urls.items():
        out.print(f"{site}: {urls[0]}", soft_wrap=True)
    if sites_dir:
        told = shlex.quote(str(sites_dir.resolve()))
        tell(f"crawl them, in another terminal: export SITES_DIR={told}")
    log.print("stop it with Ctrl-C")


@app.command()
def render(
    folder: Annotated[Path, typer.Argument(help="Where to write the pages; an empty or new folder.")],
    properties: Annotated[
        int, typer.Option(min=1, max=100_000, help="How many adverts each portal has.")
    ] = 100,
    seed: Seed = 1,
) -> None:
    """Write portal pages with their truth (truth.json) and a manifest for `parse --manifest`."""
    with Progress(console=log, transient=True) as progress:
        task = progress.add_task("rendering")
        written = write_world(
            folder, properties, seed, lambda done, total: progress.update(task, completed=done, total=total)
        )
    log.print(
        f"{written} pages in {folder}; read them: sale-sofia parse --manifest {folder / 'manifest.jsonl'}"
    )
