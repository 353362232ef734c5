"""The services of the parallel mode: up and down, and each Celery program by itself."""

import time
from typing import Annotated

import typer

from sale_sofia.commands.console import log
from sale_sofia.commands.parallel import say
from sale_sofia.config.services import FLOWER_PORT, FLOWER_USER, RUN_FOLDER, SUPERVISE_SECONDS
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.migrate import initialize_database
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.scraping.store import open_database
from sale_sofia.services.celery_programs import (
    beat_command,
    become,
    flower_command,
    program_environment,
    worker_command,
)
from sale_sofia.services.errors import ServiceError
from sale_sofia.services.running_redis import known_redis_url, stop_unused_redis
from sale_sofia.services.stop_signals import Interrupted
from sale_sofia.services.taking_down import take_down

_LOOPBACK = "127.0.0.1"


def up() -> None:
    """Start Redis, a Celery worker and beat, and keep them running until Ctrl-C or `sale-sofia down`."""
    settings = load_settings()
    with Orchestrator(settings, shared=True, say=say) as services:
        try:
            services.start_celery()
            _print_running(services)
            while True:
                services.supervise()
                time.sleep(SUPERVISE_SECONDS)
        except Interrupted:
            say("stopping beat, worker and Redis; a second signal stops them at once")
    say("stopped")


def _print_running(services: Orchestrator) -> None:
    fleet = services.fleet
    say(f"running: Redis, worker (log: {fleet.worker.log}), beat (log: {fleet.beat.log})")
    say("crawl with `sale-sofia crawl --parallel`; stop with Ctrl-C, or with `sale-sofia down` elsewhere")


def down() -> None:
    """Stop the services that `sale-sofia up` runs on this DATA_DIR, and what a killed one left behind."""
    settings = load_settings()
    if take_down(settings):
        say("stopped")
        return
    with Orchestrator(settings, shared=True, say=say):
        stop_unused_redis(settings)
    say("nothing of `sale-sofia up` is left running")


def worker() -> None:
    """Be a Celery worker, on the Redis of REDIS_URL or of `sale-sofia up`, until Ctrl-C."""
    become(worker_command(), _environment(load_settings()))


def beat() -> None:
    """Be the Celery beat, which wakes waiting jobs and begins scheduled crawls, until Ctrl-C."""
    settings = load_settings()
    become(beat_command(settings.data_dir / RUN_FOLDER / "beat-schedule-by-hand"), _environment(settings))


def _environment(settings: Settings) -> dict[str, str]:
    url = known_redis_url(settings)
    initialize_database(open_database(settings))
    (settings.data_dir / RUN_FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    return program_environment(settings, url)


def flower(
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on.")] = FLOWER_PORT,
    address: Annotated[
        str, typer.Option(help="Address to listen on; another than the default shows it to the network.")
    ] = _LOOPBACK,
) -> None:
    """Be Flower, a page that shows the tasks of the workers; it needs FLOWER_PASSWORD."""
    settings = load_settings()
    if settings.flower_password is None:
        raise ServiceError(
            "FLOWER_PASSWORD: not set; Flower can stop tasks, so it does not start without a password"
        )
    environ = _environment(settings)
    # In the environment, not in the arguments, which every user of the machine can read.
    environ["FLOWER_BASIC_AUTH"] = f"{FLOWER_USER}:{settings.flower_password.get_secret_value()}"
    log.print(f"http://{address}:{port}, user {FLOWER_USER}", highlight=False)
    become(flower_command(address, port), environ)
