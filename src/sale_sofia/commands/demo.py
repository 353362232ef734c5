"""`sale-sofia demo`: two portals that exist only here, crawled for two weeks, and shown."""

import asyncio
import shlex
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from sale_sofia.commands.conclusion import conclude
from sale_sofia.commands.console import log, out
from sale_sofia.commands.crawl import run_jobs
from sale_sofia.commands.dashboard import has_terminal, serve_dashboard
from sale_sofia.commands.demo_days import DemoDays, as_if_it_were
from sale_sofia.config.dashboard_server import (
    DASHBOARD_HOST,
    DASHBOARD_PORT,
    DEMO_DAYS,
    DEMO_REQUESTS_PER_MINUTE,
    DEMO_SEED,
)
from sale_sofia.config.settings import DATABASE_FILE, Settings, load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.job_model import JobState
from sale_sofia.scraping.jobs import SiteReport
from sale_sofia.scraping.planning import JobPlan, plan_job
from sale_sofia.scraping.store import open_ready
from sale_sofia.services.logs import log_to_file
from sale_sofia.simulator.running import RunningSimulator, start_in_process
from sale_sofia.simulator.simulator_config import SITES, SimulatorConfig
from sale_sofia.websites.registry import get_scraper

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
