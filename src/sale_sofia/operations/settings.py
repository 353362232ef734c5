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
REDIS_SLOW_SECONDS: Final = 0.05
"""Every request waits for Redis once: a slower answer costs more than it should, even between continents."""
REDIS_PINGS: Final = 5
"""Pings of which the quickest counts: the first ones also pay for the connection."""
REDIS_MEMORY_SHARE: Final = 0.9
"""Share of its memory limit above which Redis will soon refuse writes."""
WRITE_TEST_BYTES: Final = 65_536
"""Bytes written, flushed and read back: more than a disk's block, too few to notice."""
DATABASE_SECONDS: Final = 300.0
"""Longest check of the database's contents; `sale-sofia db check` has no limit."""
SHOWN_FAULTS: Final = 10
"""Faults of the database that are shown; `sale-sofia db check` shows all."""
PROGRAM_SECONDS: Final = 10.0
"""Longest wait for a program to print its version."""
ROBOTS_WAIT_SECONDS: Final = 60.0
"""Longest wait for a portal's rate limit before its robots.txt is requested."""


# Limits of the metrics that Prometheus reads; each says its unit and why.

METRICS_HOST: Final = "127.0.0.1"
"""Their default address: this machine alone."""
METRICS_SERVER_PORT: Final = 9877
"""The port of `sale-sofia metrics`; none of the well-known exporters has it."""
RESPONSE_BOUNDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Bounds of the histogram of response times, in seconds, up to the longest timeout."""
SETTLED_SECONDS: Final = 3600.0
"""Seconds after its end from which a run's counters are final: lanes end within a quarter of an hour."""
LIVE_SECONDS: Final = 10.0
"""How long an answer of Redis and the workers is cached: scrapes come every 15 seconds or later."""
STORED_SECONDS: Final = 60.0
"""How long the counts of adverts and the size of the archive are cached: each scans everything."""
STOP_POLL_SECONDS: Final = 0.2
"""Time between two checks whether to stop."""


# Limits of the services that we start or use; no environment variable sets them.

REDIS_FOLDER: Final = "redis"
"""Folder of our own Redis server, in DATA_DIR."""
REDIS_CONNECT_SECONDS: Final = 3.0
"""Longest wait for a connection to Redis: time for a lost packet to be sent again."""
REDIS_ANSWER_SECONDS: Final = 5.0
"""Longest wait for one answer of Redis; it answers in a millisecond when all is well."""
REDIS_START_SECONDS: Final = 60.0
"""Longest wait for our own server; it reads all its data first, some 100 MB a second."""
REDIS_STOP_SECONDS: Final = 10.0
"""Time our own server has to write its data and end before it is killed."""
REDIS_KILL_SECONDS: Final = 10.0
"""Longest wait for a killed process to be gone; only a hanging disk delays that."""
REDIS_FOLDER_SECONDS: Final = 5.0
"""Longest wait for the last process of a dead server to release its folder."""
REDIS_DOOR_SECONDS: Final = 120.0
"""Longest wait for other processes that start or stop our server: more than a slow start and stop."""
REDIS_POLL_SECONDS: Final = 0.02
"""Poll interval of such waits; a start takes about 0.06 s."""
REDIS_PORT_TRIES: Final = 5
"""Ports tried for our own server if another program takes the chosen one first."""

RUN_FOLDER: Final = "run"
SERVICE_START_SECONDS: Final = 120.0
"""Longest wait for a Celery worker or beat to be ready; it takes 2 s, much more on a machine that swaps."""
SERVICE_JOIN_SECONDS: Final = 180.0
"""Longest wait for services that another command is starting."""
WORKER_STOP_SECONDS: Final = 30.0
"""Time a worker has to hand back its pages and end before it gets SIGQUIT."""
WORKER_QUIT_SECONDS: Final = 20.0
"""Time it then has, its own soft shutdown included, before it is killed."""
BEAT_STOP_SECONDS: Final = 10.0
"""Time beat has to end before it is killed: it has nothing to finish."""
SERVICE_KILL_SECONDS: Final = 10.0
"""Longest wait for killed processes to be gone."""
SERVICE_DOWN_SECONDS: Final = 90.0
"""Longest wait of `down` for `up` to stop everything; a second signal then forces it."""
SERVICE_POLL_SECONDS: Final = 0.05
"""Poll interval for a service that starts or stops."""
SUPERVISE_SECONDS: Final = 1.0
"""How often services and jobs are checked while no event comes."""
SERVICE_SILENT_SECONDS: Final = 60.0
"""A service gives a sign of life every few seconds; silent for so long while Redis answers, it hangs."""
MOST_RESTARTS: Final = 20
RESTARTS_WITHIN_SECONDS: Final = 600.0
"""A service that died more often than this within this time is not restarted: a person must look."""
MOST_START_DEATHS: Final = 3
"""A service that died more often than this before all were first ready cannot start at all."""
SERVICE_TELL_SECONDS: Final = 15.0
"""How often a start says what it still waits for."""
DISK_LEAST_BYTES: Final = 1_000_000
"""With less room than this a disk counts as full: our programs write about as much when they start."""
DISK_FULL_TELL_SECONDS: Final = 60.0
"""How often a full disk is reported."""
FLOWER_HOST: Final = "127.0.0.1"
"""Flower's default address, this machine alone: whoever sees it can stop tasks."""
FLOWER_ANSWER_SECONDS: Final = 2.0
"""Longest wait for Flower's health check; it answers in milliseconds."""
FLOWER_LOOK_SECONDS: Final = 20.0
"""How often Flower's health is checked once it answers."""
FLOWER_USER: Final = "sale-sofia"
"""The name that goes with FLOWER_PASSWORD."""


# Limits of the dashboard's server and of the demo it shows; each says its unit and why.

DASHBOARD_HOST: Final = "127.0.0.1"
"""Its default address: this machine alone."""
DASHBOARD_PORT: Final = 8501
"""Its usual port; if that is taken, any free one."""
LAST_PORT: Final = 65_535
DASHBOARD_START_SECONDS: Final = 120.0
"""Longest wait for the server's first answer; it imports for some seconds, more on a busy machine."""
DASHBOARD_ASK_SECONDS: Final = 5.0
"""Longest wait for each answer while it starts."""
DASHBOARD_POLL_SECONDS: Final = 0.1
"""Poll interval for a server that starts or runs."""
DASHBOARD_STOP_SECONDS: Final = 10.0
"""Time it has to end before it is killed: it has nothing to finish, pages write in transactions."""
DASHBOARD_ENVIRONMENT: Final[Mapping[str, str]] = {
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Variables for its libraries. Their defaults reserve address space that no page needs (64 MB for each
thread, 1 GB for the first table); under a limit none would be left for the flats."""
DEMO_BEGAN: Final = "began"
"""The file with the moment when a demo's world began; no other DATA_DIR has one."""
DEMO_CITY: Final = "city"
"""The file with the size and the seed of a demo's city."""
DEMO_REQUESTS_PER_MINUTE: Final = 3000.0
"""Simulated portals need no politeness; slow enough that a person can interrupt the crawl."""
LEAST_BUDGET_EUR: Final = 1_000
"""A smaller number means thousands, or a price per square metre: no flat costs so little."""
MOST_BUDGET_EUR: Final = 100_000_000
LONGEST_METRO_MINUTES: Final = 120
"""The most that a profile accepts."""
DEMO_ADVERTS: Final = 600
"""Adverts on the larger of the demo's portals: over 600 flats, enough for a fair price of most."""
DEMO_DAYS: Final = 21
"""Days of the demo's world before it is first shown: enough for prices to change."""
DEMO_DAYS_APART: Final = 7
"""Interval, in days, of the crawled days before the last ones, so that the demo starts quickly."""
DEMO_LAST_DAYS: Final = 3
"""The last days, up to today, that are all crawled: people look at what is recent."""
DEMO_SEED: Final = 20
"""The demo's city: after these days flats of the shipped profile have come, gone and changed their prices."""
DEMO_PORTS: Final = range(20_000, 30_000)
"""Where the demo's portals listen: below the ports of outgoing connections, which could take theirs."""
DEMO_DAYS_MISSED: Final = 21
"""Most days that an old demo catches up on; earlier ones are skipped."""
DASHBOARD_LOGIN_SECONDS: Final = 12 * 3600.0
"""How long a login is valid: a day of use; closing the browser ends it too."""
DASHBOARD_LOGIN_MOST_BYTES: Final = 4_096
"""Largest form with a password; nothing longer is read."""
DASHBOARD_TRY_SECONDS: Final = 1.0
"""Wait after a wrong password before the next try; doubled by each further one."""
DASHBOARD_TRY_MOST_SECONDS: Final = 300.0
"""Longest such wait: some 300 tries a day, too few to guess 8 characters."""
DASHBOARD_TRY_TOGETHER_SECONDS: Final = 10.0
"""Longest wait because of others' wrong tries: an attacker with very many addresses has some 9 000 tries a
day, and the owner, in a new browser, never waits longer than this."""
DASHBOARD_KNOWN_SECONDS: Final = 90 * 86_400.0
"""How long a browser that once gave the password is recognised, and waits only for its own wrong tries."""
DASHBOARD_TRIES_FORGOTTEN_SECONDS: Final = 3600.0
"""Pause after which earlier wrong tries no longer count."""
DASHBOARD_TRIES_KNOWN: Final = 10_000
"""Most senders of wrong passwords that are remembered, so that they cannot fill the memory."""


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
