"""Settings of monitoring and logs, and constants that no environment variable sets; each states its unit."""

from typing import Final, Literal

from pydantic import BaseModel, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.settings.types import decimal, notes, switch, whole

LOG_FOLDER: Final = "logs"
"""Folders of the services' records and logs, in DATA_DIR."""

SKETCH_RELATIVE_ERROR: Final = 0.01
"""Largest share by which a quantile of response times may be wrong."""
SKETCH_LEAST_SECONDS: Final = 0.001
"""Response times below this are not distinguished; no portal answers in a millisecond."""
SKETCH_MOST_SECONDS: Final = 3600.0
"""Response times above this are not distinguished; with the least it bounds a sketch to 757 buckets."""
OPEN_SPANS_MAX: Final = 200
"""Openings of one domain's circuit that a run keeps; beyond it the nearest two become one."""

METRICS_FLUSH_SECONDS: Final = 5.0
"""Time between two flushes of a process's counters: what a kill may lose of them."""
METRICS_WRITERS_MAX: Final = 256
"""Processes whose last flush a run remembers; one is repeated within seconds, not after so many others."""

DRIFT_CERTAINTY: Final = 3.29
"""Standard deviations by which a share counted on few pages may be off: sure in 1999 of 2000 cases."""
DRIFT_FEWEST_PAGES: Final = 3
"""On fewer pages drift is not declared over."""
FLOOR_CRITICAL_SHARE: Final = 0.5
"""A run with less than this share of what `at_least` requires is critical, else degraded."""
DRIFT_SAMPLE_SHARE: Final = 0.02
"""Largest share of a crawl's adverts opened only to check their pages for drift."""
DRIFT_NAMED: Final = 3
"""Findings that an incident's message names; its details have all."""
REPAIR_PAGES: Final = 40
"""Archived pages, of adverts whose values are known, on which a new selector is tried."""

REPORTS_FOLDER: Final = "reports"
"""Folder of the runs' reports, in DATA_DIR."""
TOP_ERRORS: Final = 10
"""Classes of errors that a report names."""
EXAMPLE_TEXT_MAX: Final = 500
"""Characters of an example's message in a report."""
PAGE_TEXT_MAX: Final = 600
"""Characters of any one text on a report's page: more than an example has, less than a wall of words."""
COMPARED_RUNS: Final = 7
"""Earlier runs a run is compared with: a week of nightly crawls."""
LONG_COMPARED_RUNS: Final = 14
"""Earlier runs of the longer comparison, which a bad week does not move: two weeks of nightly crawls."""
COMPARED_JOBS: Final = 100
"""Earlier jobs of a portal that are looked through for them; the others were of another search."""
STREAMED_ROWS: Final = 500
"""Rows read at once where a run may have very many."""
PROGRESS_SECONDS: Final = 0.5
"""How often the bars of a local crawl are drawn."""
PROGRESS_LINE_SECONDS: Final = 10.0
"""How often a crawl says how far it is where there is no terminal."""
SHOWN_JOBS: Final = 20
"""Jobs that are listed, the newest."""
SHOWN_ERRORS: Final = 20
"""Failed requests that `errors` shows by default, the newest."""
STATUS_WATCH_SECONDS: Final = 2.0
"""How often `status --watch` looks again."""

SECONDS_OF_AN_HOUR: Final = 3600.0
DATA_LATE_SECONDS: Final = 26 * SECONDS_OF_AN_HOUR
"""A portal whose newest advert was seen longer ago is late: a day, and two hours for a slow crawl."""
QUIET_RUNS: Final = 3
"""So many runs in a row without anything new or changed are no coincidence."""
LIVELY_CHANGES: Final = 5
"""New and changed adverts of a usual run from which on such a silence means something."""
HEALTH_RUNS: Final = 14
"""Ended runs of a portal that are looked at: two weeks of nightly crawls."""
FAILED_PAGES_SHOWN: Final = 100
"""Pages that could not be read that are listed, the newest."""
ARCHIVED_TEXT_MAX: Final = 200_000
"""Characters of an archived page that are shown; the largest honest ones have 150 000."""
INCIDENTS_SHOWN: Final = 50
"""Incidents that are listed, the open ones first."""
GROWTH_MOST: Final = 2.5
"""How many times as long twice as much of the same may take: in proportion is 2, the rest is noise."""
GROWTH_FLOOR_SECONDS: Final = 0.05
"""CPU time below which growth is not judged: a clock's and a cache's noise is larger."""
GROWTH_MEGABYTE_SECONDS: Final = 2.0
"""CPU time for a megabyte of anything."""
GROWTH_LIMIT_SECONDS: Final = 60.0
"""After this the measurements of one shape are killed and reported as endless."""
GROWTH_TRIES: Final = 5
"""How often a reading that looks slow is measured before it is called so: the quickest counts."""
GROWTH_KEPT_BYTES: Final = 2**30
"""Of free memory, that is kept from one reading to the next: more than any of them needs."""
GROWTH_SIZES: Final = (62_500, 125_000, 250_000, 500_000, 1_000_000, 2_000_000)
"""Bytes of what is read, each twice as many as before."""


# Settings of health and incidents: from when on a run is not as it should be.


class MonitoringSettings(BaseModel, defer_build=True):
    """Settings of health and incidents; what is critical is never less than what is degraded."""

    health_failure_degraded: float = decimal(
        0.05, 0, 1, "share", "A run is degraded from this share of failed pages on."
    )
    health_failure_critical: float = decimal(
        0.3,
        0,
        1,
        "share",
        "A run is critical from this share of failed pages on; from this share of unread adverts on, its job "
        "is partial and its sweep not complete.",
    )
    health_block_degraded: float = decimal(
        0.02, 0, 1, "share", "A run is degraded from this share of blocked or rate-limited requests on."
    )
    health_block_critical: float = decimal(
        0.2, 0, 1, "share", "A run is critical from this share of blocked or rate-limited requests on."
    )
    health_circuit_degraded: float = decimal(
        0.05, 0, 1, "share", "A run is degraded when its circuit was open for this share of its time."
    )
    health_circuit_critical: float = decimal(
        0.5, 0, 1, "share", "A run is critical when its circuit was open for this share of its time."
    )
    health_collapse_share: float = decimal(
        0.5, 0, 1, "share", "Fewer adverts than this share of the median of the last runs are an incident."
    )
    incident_circuit_seconds: float = decimal(
        900, 1, 604_800, "seconds", "A circuit open for so long during one run is an incident."
    )
    incident_stuck_seconds: float = decimal(
        3600, 60, 604_800, "seconds", "An unfinished job in which nothing moves for so long is an incident."
    )

    report_retention_days: int = whole(
        30,
        1,
        3650,
        "days",
        "How long the reports of runs are kept, and each of their pages; `prune` forgets older ones.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65_535,
        description="Port on which `sale-sofia up` serves metrics to this machine; unset: it serves none.",
        json_schema_extra=notes("a whole number from 1 to 65535", "port"),
    )

    @field_validator("health_failure_critical", "health_block_critical", "health_circuit_critical")
    @classmethod
    def _not_below_degraded(cls, critical: float, info: ValidationInfo) -> float:
        name = (info.field_name or "").replace("critical", "degraded")
        if critical < (degraded := info.data.get(name, 0.0)):
            raise ValueError(f"not less than {name.upper()}, which is {degraded}")
        return critical


# Limits of what is logged; no environment variable sets them, each says its unit and why.

LOG_MOST_BYTES: Final = 10_000_000
"""A log larger than this is rotated."""
ROTATED_LOGS: Final = 4
"""Rotated logs that are kept, beside the current one: 50 MB for each program."""
LEAST_SECRET: Final = 4
"""Shortest secret that is masked anywhere; shorter ones occur in ordinary words."""
QUIET_LIBRARIES: Final = ("alembic", "httpx", "httpcore", "urllib3", "watchdog", "PIL")
"""Libraries of which only warnings are logged."""


# Settings of what is logged, and how.

LogLevel = Literal["debug", "info", "warning", "error"]


class LogSettings(BaseModel, defer_build=True):
    """Settings of what is logged, and how."""

    log_level: LogLevel = Field(
        default="info",
        description="The least important lines that are logged.",
        json_schema_extra=notes("debug, info, warning or error", "level"),
    )
    log_json: bool = switch(default=False, sentence="Log one JSON object a line instead of text.")
