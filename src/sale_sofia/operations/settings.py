"""Constants of operations, each with its unit and its reason, and the settings of dashboard and backups."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, SecretStr, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.settings.types import (
    FOLDER_ALLOWED,
    NETWORKS_ALLOWED,
    SERVER_ALLOWED,
    Folder,
    Networks,
    ServerUrl,
    notes,
    password_file,
    password_in,
    whole,
)

CLOCK_OFFSET_SECONDS: Final = 2.0
"""Largest difference from a server's clock: NTP keeps within hundredths, and leases of 5 s still hold."""
CLOCK_FAULT_SECONDS: Final = 60.0
"""A stored moment further ahead is a fault of a clock: the machines of a fleet are nearer to each other."""
REDIS_SLOW_SECONDS: Final = 0.05
"""Every request waits for Redis once: a slower answer costs more than it should, even between continents."""
REDIS_PINGS: Final = 5
"""Questions of which the quickest answer counts: the first ones also pay for the connection."""
REDIS_MEMORY_SHARE: Final = 0.9
"""Of what Redis may have, the share from which on it will soon refuse writes."""
WRITE_TEST_BYTES: Final = 65_536
"""What is written, flushed and read again: more than a disk's block, less than anybody notices."""
DATABASE_SECONDS: Final = 300.0
"""Longest look at the contents of the database; `sale-sofia db check` takes the time that it needs."""
SHOWN_FAULTS: Final = 10
"""Faults of the database that are told; `sale-sofia db check` tells all."""
PROGRAM_SECONDS: Final = 10.0
"""Longest wait for a program to tell its version."""
ROBOTS_WAIT_SECONDS: Final = 60.0
"""Longest wait for a portal's turn before its robots.txt is asked for."""


# Limits of the metrics that Prometheus reads; each says its unit and why.

METRICS_HOST: Final = "127.0.0.1"
"""Where they are served unless told otherwise: this machine alone."""
METRICS_SERVER_PORT: Final = 9877
"""The port of `sale-sofia metrics`; none of the well-known exporters has it."""
RESPONSE_BOUNDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds that part the response times: from a quick answer to the longest that is waited for."""
SETTLED_SECONDS: Final = 3600.0
"""A run that ended so long ago counts nothing more: lanes end a quarter of an hour after their job."""
LIVE_SECONDS: Final = 10.0
"""How long an answer of Redis and the workers is good for: a scrape comes every 15 seconds or later."""
STORED_SECONDS: Final = 60.0
"""How long the counts of all adverts and the size of the archive are: each looks at every one of them."""
STOP_POLL_SECONDS: Final = 0.2
"""Time between two looks at whether the server is to stop."""


# Limits of the services the system starts and asks; no environment variable sets them.

REDIS_FOLDER: Final = "redis"
"""Folder of our own Redis server, in DATA_DIR."""
REDIS_CONNECT_SECONDS: Final = 3.0
"""Longest wait for a connection to Redis; more than a lost packet sent again, less than anyone's patience."""
REDIS_ANSWER_SECONDS: Final = 5.0
"""Longest wait for one answer of Redis; it answers in a millisecond when all is well."""
REDIS_START_SECONDS: Final = 60.0
"""Longest wait for our own server; it reads all its data first, some 100 MB in a second."""
REDIS_STOP_SECONDS: Final = 10.0
"""Time our own server has to write its data and leave before it is killed."""
REDIS_KILL_SECONDS: Final = 10.0
"""Longest wait for a killed process to be gone; only a hanging disk holds one back."""
REDIS_FOLDER_SECONDS: Final = 5.0
"""Longest wait for the last process of a dead server to let go of its folder."""
REDIS_DOOR_SECONDS: Final = 120.0
"""Longest wait for others who are starting or stopping our server: more than a slow start and stop."""
REDIS_POLL_SECONDS: Final = 0.02
"""Time between two looks at what is being waited for; a start takes about 0.06 s."""
REDIS_PORT_TRIES: Final = 5
"""Ports tried for our own server when another program was faster to take the one chosen."""

RUN_FOLDER: Final = "run"
LOG_FOLDER: Final = "logs"
"""Folders of the running services' records and of what they say, in DATA_DIR."""
SERVICE_START_SECONDS: Final = 120.0
"""Longest wait for a Celery worker or beat to be at work; it takes 2 s, on a machine that swaps much more."""
SERVICE_JOIN_SECONDS: Final = 180.0
"""Longest wait for services that another command is just starting."""
WORKER_STOP_SECONDS: Final = 30.0
"""Time a worker has to hand back its pages and leave before it is told to drop everything."""
WORKER_QUIT_SECONDS: Final = 20.0
"""Time it then has, its own last patience included, before it is killed."""
BEAT_STOP_SECONDS: Final = 10.0
"""Time beat has to leave before it is killed: it has nothing to finish."""
SERVICE_KILL_SECONDS: Final = 10.0
"""Longest wait for killed processes to be gone."""
SERVICE_DOWN_SECONDS: Final = 90.0
"""Longest wait of `down` for `up` to stop everything; then it is told a second time, which forces it."""
SERVICE_POLL_SECONDS: Final = 0.05
"""Time between two looks at a service that starts or stops."""
SUPERVISE_SECONDS: Final = 1.0
"""How often services and jobs are looked at while nothing is announced."""
SERVICE_SILENT_SECONDS: Final = 60.0
"""A service gives a sign of life every few seconds; one silent for so long, with Redis there, hangs."""
MOST_RESTARTS: Final = 20
RESTARTS_WITHIN_SECONDS: Final = 600.0
"""A service that died more often than this within this time is not started again: somebody must look."""
MOST_START_DEATHS: Final = 3
"""One that died more often than this before all were at work for the first time cannot start at all."""
SERVICE_TELL_SECONDS: Final = 15.0
"""How often it is told for whom a start still waits."""
DISK_LEAST_BYTES: Final = 1_000_000
"""With less room than this a disk counts as full: our programs write about as much when they start."""
DISK_FULL_TELL_SECONDS: Final = 60.0
"""How often it is told that a disk is still full."""
FLOWER_HOST: Final = "127.0.0.1"
"""Where Flower listens unless it is told otherwise: whoever sees it can stop tasks."""
FLOWER_ANSWER_SECONDS: Final = 2.0
"""Longest wait for Flower to say that it is well; it answers in milliseconds."""
FLOWER_LOOK_SECONDS: Final = 20.0
"""How often Flower is asked whether it is well, once it is."""
FLOWER_USER: Final = "sale-sofia"
"""The name that goes with FLOWER_PASSWORD."""


# Limits of the dashboard's server and of the demo it shows; each says its unit and why.

DASHBOARD_HOST: Final = "127.0.0.1"
"""Where it listens unless told otherwise: this machine alone."""
DASHBOARD_PORT: Final = 8501
"""Its usual port; another free one is taken where somebody listens there already."""
DASHBOARD_START_SECONDS: Final = 120.0
"""Longest wait for the server's first answer; it imports for some seconds, more on a busy machine."""
DASHBOARD_ASK_SECONDS: Final = 5.0
"""Longest wait for one answer while it starts."""
DASHBOARD_POLL_SECONDS: Final = 0.1
"""Time between two looks at a server that starts, and at whether it still runs."""
DASHBOARD_STOP_SECONDS: Final = 10.0
"""Time it has to leave before it is killed: it has nothing to finish, pages write in transactions."""
DASHBOARD_ENVIRONMENT: Final[Mapping[str, str]] = {
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OPENBLAS_NUM_THREADS": "1",
}
"""What its libraries read when they are loaded. Left to themselves they take address space for what no page
needs (64 MB for each thread, 1 GB for the first table); under a limit on it none is left for the flats."""
DEMO_BEGAN: Final = "began"
"""The file beside a demo's database that tells when its world began; no other DATA_DIR has one."""
DEMO_REQUESTS_PER_MINUTE: Final = 3000.0
"""The simulated portals ask for no patience; slow enough to pull the plug."""
LEAST_BUDGET_EUR: Final = 1_000
"""Less than this is thousands, or leva by the square metre; nobody sells a flat for it."""
MOST_BUDGET_EUR: Final = 100_000_000
LONGEST_METRO_MINUTES: Final = 120
"""As much as a profile takes."""
DEMO_ADVERTS: Final = 600
"""Adverts on the larger of the demo's portals: over 600 flats, enough for a fair price of most."""
DEMO_DAYS: Final = 21
"""Days of the demo's world that have passed when it is first shown: enough for prices to move."""
DEMO_DAYS_APART: Final = 7
"""Of the demo's days before the last ones only so manieth are crawled, so that it is soon up."""
DEMO_LAST_DAYS: Final = 3
"""So many days up to today are all crawled: what came and went lately is what one looks at."""
DEMO_SEED: Final = 20
"""The demo's city: after these days flats of the shipped profile have come, gone and changed their prices."""
DEMO_DAYS_MISSED: Final = 21
"""Days at most that a demo of long ago is crawled for; those before passed unseen."""
DASHBOARD_LOGIN_SECONDS: Final = 12 * 3600.0
"""How long a login holds: a day of looking; the browser forgets it when it is closed."""
DASHBOARD_LOGIN_MOST_BYTES: Final = 4_096
"""Largest form with a password; nothing longer is read."""
DASHBOARD_TRY_SECONDS: Final = 1.0
"""How long whoever gave a wrong password waits for the next try; doubled by each further one."""
DASHBOARD_TRY_MOST_SECONDS: Final = 300.0
"""Longest such wait: some 300 tries a day, too few to guess 8 characters."""
DASHBOARD_TRY_TOGETHER_SECONDS: Final = 10.0
"""Longest wait for what others gave wrong: whoever has very many addresses has some 9 000 tries a day, and
the owner, in a new browser, waits no longer than this for a turn."""
DASHBOARD_KNOWN_SECONDS: Final = 90 * 86_400.0
"""How long a browser that once gave the password is known by it, and waits for its own wrong tries alone."""
DASHBOARD_TRIES_FORGOTTEN_SECONDS: Final = 3600.0
"""Wrong tries before a pause as long as this count no more."""
DASHBOARD_TRIES_KNOWN: Final = 10_000
"""Senders of wrong passwords that are remembered at once; so that they cannot fill the memory."""


# Settings of the dashboard: who may open it.


class DashboardSettings(BaseModel, defer_build=True):
    """Settings of the dashboard: who may open it."""

    dashboard_password_file: Path | None = password_file("DASHBOARD_PASSWORD")
    dashboard_password: SecretStr | None = Field(
        default=None,
        validate_default=True,
        min_length=8,
        description="Password that the dashboard asks for; without one it is shown to this machine only.",
        json_schema_extra=notes("8 characters or more", "password"),
    )
    dashboard_trusted_proxies: Networks | None = Field(
        default=None,
        description="Proxies before the dashboard whose X-Forwarded-For and X-Forwarded-Proto are believed; "
        "unset: nobody's.",
        json_schema_extra=notes(NETWORKS_ALLOWED, "addresses"),
    )

    dashboard_url: ServerUrl | None = Field(
        default=None,
        description="Where your phones reach the dashboard: messages then have links to keep and to reject.",
        json_schema_extra=notes(SERVER_ALLOWED, "URL"),
    )

    @field_validator("dashboard_password", mode="before")
    @classmethod
    def _dashboard_password_from_file(cls, value: object, info: ValidationInfo) -> object:
        path: Path | None = info.data.get("dashboard_password_file")
        return value if path is None else password_in(path)


# Settings of backups: where they go, and how many stay.


class BackupSettings(BaseModel, defer_build=True):
    """Settings of backups: where they go, and how many stay."""

    backup_dir: Folder | None = Field(
        default=None,
        description="Folder of the backups, best on another disk; unset: `backups` in DATA_DIR.",
        json_schema_extra=notes(FOLDER_ALLOWED, "folder"),
    )
    backup_keep: int = whole(7, 1, 10_000, "backups", "Backups that stay when a new one was made.")
