"""`sale-sofia demo`: two portals that exist only here, crawled, stored and summarised."""

import socket
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from sale_sofia.commands.console import log
from sale_sofia.commands.crawl import finish
from sale_sofia.config.settings import DATABASE_FILE, Settings, load_settings
from sale_sofia.data.migrate import initialize_database
from sale_sofia.scraping.planning import JobPlan, plan_job
from sale_sofia.scraping.store import open_database
from sale_sofia.simulator.running import start_in_process
from sale_sofia.simulator.simulator_config import SITES, SimulatorConfig
from sale_sofia.websites.registry import get_scraper

_REQUESTS_PER_MINUTE = 900.0  # the simulated portals ask for no patience; slow enough to pull the plug


def demo(
    properties: Annotated[
        int, typer.Option(min=1, max=10_000, help="How many adverts each portal has.")
    ] = 60,
    seed: Annotated[int, typer.Option(help="Another seed, another city.")] = 1,
) -> None:
    """Crawl two simulated portals. Stop it or kill it in the middle and run it again: nothing is missing."""
    settings = _demo_settings(load_settings())
    database = open_database(settings)
    initialize_database(database)
    config = SimulatorConfig(properties=properties, seed=seed, port=_port(settings.data_dir))
    with start_in_process(config) as simulator:
        addresses = ", ".join(f"{site} at {address}" for site, address in simulator.urls.items())
        log.print(f"simulated portals: {addresses}", highlight=False, soft_wrap=True)
        plans = [
            JobPlan(get_scraper(site), tuple(simulator.start_urls(site)), None, fresh=False)
            for site in simulator.urls
        ]
        finish(settings, database, [plan_job(settings, database, plan) for plan in plans], as_json=False)


def _demo_settings(settings: Settings) -> Settings:
    folder = settings.data_dir / "demo"
    rates = {"default": _REQUESTS_PER_MINUTE, **dict.fromkeys(SITES, _REQUESTS_PER_MINUTE)}
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
