"""Fixed numbers of crawls, each with its unit and reason; not set by the environment."""

from collections.abc import Mapping
from typing import Final

APP_NAME: Final = "sale_sofia"
"""The name of the Celery app and of the queue of all tasks but those that ask a model."""
WORKER_CLIENT: Final = "sale-sofia-worker:"
"""Prefix of the names of workers' connections to Redis."""
TASK_VERSION: Final = 2
"""Version of the messages between our processes; any other is rejected."""
JOB_ID_CHARACTERS: Final = 40
"""Longest job id: PostgreSQL has no room for more."""
MESSAGE_MOST_URLS: Final = 10_000
"""Most start addresses in a message; they are a copy of the job's row."""

LANE_SECONDS: Final = 45.0
"""A lane begins no page after this time and ends; long enough that its message costs nothing per page."""
LANE_IDLE_SECONDS: Final = 2.0
"""A lane that is idle for this time ends: rows wait in the frontier, not in a worker's slot."""
LANE_LOOK_SECONDS: Final = 0.5
"""How often an idle lane checks whether another has added rows: a search page lists work for all."""
LANE_TURN_SECONDS: Final = 5.0
"""A lane keeps its slot for this time even when messages wait for one: a turn must be worth its start."""
LANE_ROOM_LOOK_SECONDS: Final = 1.0
"""How often a lane then checks whether messages wait; one that waits for two checks found no free slot."""
LANE_ROOM_PAUSE_SECONDS: Final = 2.0
"""Pause after one lane made room before another does: one free slot is enough for all short tasks."""
LANE_PAGES_PER_MINUTE: Final = 600.0
"""What one lane can keep up with; a faster portal gets more lanes."""

RECONCILE_SECONDS: Final = 5.0
"""How often lost wake-ups are looked for: the broker loses about one message in four kills."""
DISPATCH_GRACE_SECONDS: Final = 10.0
"""A generation that has claimed nothing after this time was lost."""
CONCLUSION_GRACE_SECONDS: Final = 60.0
"""A job that is being concluded (matching, scores) for this time is ended anyway."""
LANE_RETRIES: Final = 2
"""How often Celery retries a lane that failed outside of its pages, each time after a longer wait."""

MOST_DEATHS: Final = 5
"""A page whose worker died this often is given up: it may be what kills them."""
SUSPECT_DEATHS: Final = 2
"""A page whose worker died this often is read alone: otherwise it would take others down with it."""
FAIR_TURN: Final = 10
"""Every this many claims of a process, one goes by age and not by rank, so no row waits forever."""
RANKED_AT_ONCE: Final = 500
"""Rows that are ranked in one batch when the wishes change."""
FOLLOW_SECONDS: Final = 45.0
"""How often new adverts are read, matched and scored during a crawl: they are visible within a minute."""
ESTIMATE_LEAST_ADVERTS: Final = 200
"""Stored adverts needed to estimate what share of a portal may fit; fewer are not representative."""
ASSUMED_KINDS: Final[Mapping[tuple[str, int | None], float]] = {
    ("apartment", 1): 0.08,
    ("apartment", 2): 0.34,
    ("apartment", 3): 0.40,
    ("apartment", 4): 0.10,
    ("apartment", 5): 0.05,
    ("maisonette", None): 0.03,
}
"""Before anything is stored: the shares of homes for sale by rooms, roughly."""
ASSUMED_PLACE_SHARE: Final = 0.01
"""The same for a wanted neighbourhood: twice the average, as most people choose large ones."""
LINKED_AT_ONCE: Final = 500
"""Adverts waiting for a relative that are checked together once one of them was linked."""
REMEMBERED_PROFILES: Final = 8
"""Parsed sets of profiles kept in memory: the current one and earlier ones."""
CLAIM_AGAIN_SECONDS: Final = 0.1
"""Pause before claiming again when a row is due but could not be claimed."""

GENERAL_TIME_LIMIT: Final = 1800
GENERAL_SOFT_TIME_LIMIT: Final = 1740
"""Seconds that a task without limits of its own may take: the last resort."""
RESULT_EXPIRES_SECONDS: Final = 3600
VISIBILITY_SECONDS: Final = 300
"""After this time an unacknowledged message goes to another worker; much longer than a lane."""
UNACKED_RESTORE_SECONDS: Final = 5
"""How often messages of dead workers are looked for; Celery's default is 100 s."""
BROKER_SOCKET_SECONDS: Final = 10
BROKER_CONNECT_SECONDS: Final = 5
"""Without these a half-open connection would block a worker for minutes."""
SOFT_SHUTDOWN_SECONDS: Final = 15
"""How long a stopping worker lets its lanes go on."""
TASKS_PER_CHILD: Final = 500
"""A worker process is replaced after this many tasks, so that no leak of a library grows forever."""
PROGRESS_TTL_SECONDS: Final = 86_400
"""Time to live of every key about a job; longer than any job. The database keeps everything."""
ROOM_KEY: Final = "scraping:room"
"""Held for a moment by the lane that makes room."""
EVENTS_CHANNEL: Final = "scraping:events"
"""Where the end of a job is announced."""
SHUTDOWN_LOOK_SECONDS: Final = 0.2
"""How often a lane checks whether its worker is shutting down."""
LONGEST_CRAWL_SECONDS: Final = 7 * 86_400.0
"""How long a command waits for its jobs; the slowest whole portal takes two days."""


# Limits of a probe.

REQUESTS: Final = 7
"""Most requests to a portal, redirects included: robots.txt, two pages of results, three adverts, and one
more for an advert that is gone or a redirect."""
ADVERTS: Final = 3
"""Adverts that are opened: one may be an exception, three show the rule."""
ENOUGH_SHARE: Final = 2 / 3
"""Of the adverts opened, how many must have a field that matters: one of three may lack it."""
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "price": ("price_eur",),
    "area": ("area_sqm",),
    "place": ("neighbourhood", "city"),
    "type": ("property_type",),
}
"""The fields that matter, and the facts of which each needs one."""
NAME_ONLY: Final = frozenset({"title", "family_id", "posted_at", "deal"})
"""Facts that come from an id, the head or the address: an advert with nothing else was not read."""
PERSONAL: Final = frozenset({"phones", "seller_name"})
"""Personal data: a sample shows only that it is there, and saved values leave it out."""
FREE_TEXTS: Final = frozenset({"title", "description", "street", "features"})
"""Facts in a seller's own words, which may contain a phone number."""
TURN_SECONDS: Final = 120.0
"""Longest wait for a portal's turn: more than any Crawl-delay worth waiting for in a probe."""
SAMPLE_CHARACTERS: Final = 40
"""Length of a sample value: the table fits a terminal of 80 columns."""
START_CHARACTERS: Final = 60
"""Length of a saved description: enough to tell it from another, not the whole advert."""


# The garbage collector.

COLLECTOR_THRESHOLDS: Final = (20_000, 20, 50)
"""Thresholds of the three generations.

Python's own 700 means several collections for every page; 20 000 means one every few pages, for less than a
megabyte more memory.
"""
