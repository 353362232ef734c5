"""The Celery programs: how each is called, and what it finds in its environment."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from pydantic import SecretStr

from sale_sofia.config.llm import LLM_QUEUE
from sale_sofia.config.parallel import APP_NAME
from sale_sofia.config.services import BEAT_STOP_SECONDS, WORKER_QUIT_SECONDS, WORKER_STOP_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.config.settings_environment import environment_of
from sale_sofia.services.processes import QUIT, TERMINATE

_CELERY: Final = (sys.executable, "-m", "celery", "-A", "sale_sofia.celery_app")
_LOG_LEVEL: Final = ("--loglevel", "info")
WORKER_STEPS: Final = ((TERMINATE, WORKER_STOP_SECONDS), (QUIT, WORKER_QUIT_SECONDS))
BEAT_STEPS: Final = ((TERMINATE, BEAT_STOP_SECONDS),)


def worker_command() -> list[str]:
    """A worker; it talks to no other worker, which would only cost time, and has a name of its own."""
    name = ("--hostname", f"{APP_NAME}-{os.getpid()}@%h")
    return [*_CELERY, "worker", "-Q", APP_NAME, "--without-gossip", "--without-mingle", *name, *_LOG_LEVEL]


def enricher_command() -> list[str]:
    """A worker of one process that reads descriptions and does nothing else."""
    name = ("--hostname", f"{LLM_QUEUE}-{os.getpid()}@%h", "--concurrency", "1")
    return [*_CELERY, "worker", "-Q", LLM_QUEUE, "--without-gossip", "--without-mingle", *name, *_LOG_LEVEL]


def beat_command(memory: Path) -> list[str]:
    """The clock; it remembers in this file when it struck last, so no two may have the same."""
    return [*_CELERY, "beat", "--schedule", str(memory.absolute()), *_LOG_LEVEL]


def flower_command(address: str, port: int) -> list[str]:
    """The viewer of tasks."""
    return [*_CELERY, "flower", f"--address={address}", f"--port={port}"]


def program_environment(settings: Settings, url: str) -> dict[str, str]:
    """Our environment with these settings in it, in parallel mode, on this Redis."""
    update = {"redis_url": SecretStr(url), "parallel_scraping": True}
    return environment_of(settings.model_copy(update=update), os.environ)


def become(command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Go on as this program, with our number and our terminal."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], list(command), dict(environ))  # noqa: S606 - our own programs
