"""How the parallel mode paces itself; no environment variable sets it, each says its unit and why."""

from collections.abc import Mapping
from typing import Final

APP_NAME: Final = "sale_sofia"
"""Of the Celery app and of its one queue."""
WORKER_CLIENT: Final = "sale-sofia-worker:"
"""How the names of workers' connections to Redis begin."""
TASK_VERSION: Final = 2
"""Of the messages between our processes; one of another version is refused, not guessed at."""
JOB_ID_CHARACTERS: Final = 120
"""Longest name of a job in a message; ours are a portal's name and thirty more."""
MESSAGE_MOST_URLS: Final = 10_000
"""Most start addresses in a message; they are a copy of what the job's row says."""

LANE_SECONDS: Final = 45.0
"""A lane begins no page after so long and makes room; long enough that a message costs nothing per page."""
LANE_IDLE_SECONDS: Final = 2.0
"""A lane with nothing to do for so long ends: waiting happens in the frontier, not in a worker's slot."""
LANE_LOOK_SECONDS: Final = 0.5
"""How often a lane without work looks whether another has found some: a search page lists work for all."""
LANE_TURN_SECONDS: Final = 5.0
"""A lane keeps its slot for so long even when messages wait for one: a turn has to be worth its start."""
LANE_ROOM_LOOK_SECONDS: Final = 1.0
"""How often a lane then looks whether messages wait; one that waits for two looks has found no free slot."""
LANE_ROOM_PAUSE_SECONDS: Final = 2.0
"""For so long after one lane made room no other does: one free slot is enough for all short tasks."""
LANE_PAGES_PER_MINUTE: Final = 600.0
"""What one lane is trusted to keep up with; a faster portal gets more lanes."""

RECONCILE_SECONDS: Final = 5.0
"""How often lost wake-ups are looked for: the broker loses about one message in four kills."""
DISPATCH_GRACE_SECONDS: Final = 10.0
"""A generation that has claimed nothing after so long was lost on its way."""
CONCLUSION_GRACE_SECONDS: Final = 60.0
"""A job whose end is worked out (matching, scores) for so long is ended all the same."""
LANE_RETRIES: Final = 2
"""How often Celery tries a lane again that broke outside of its pages, each time after a longer wait."""

MOST_DEATHS: Final = 5
"""A page whose worker died so often under it is given up: it may be what kills them."""
SUSPECT_DEATHS: Final = 2
"""A page whose worker died so often is read alone: else it takes those in hand beside it along each time."""
FAIR_TURN: Final = 10
"""Of so many claims of a process the first goes by age and not by rank: so no row waits for ever."""
RANKED_AT_ONCE: Final = 500
"""Rows that are ranked by one statement when what is looked for changes."""
FOLLOW_SECONDS: Final = 45.0
"""So often what a crawl has brought is read, matched and scored while it goes on: it is there in a minute."""
ESTIMATE_LEAST_ADVERTS: Final = 200
"""So many stored adverts tell what share of a portal may fit; fewer are a first page, not a portal."""
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
"""The same of a neighbourhood that somebody names: twice its part of all, as most people name large ones."""
LINKED_AT_ONCE: Final = 500
"""Adverts that wait for a relative to be opened, and are looked at together once one of them need not be."""
REMEMBERED_PROFILES: Final = 8
"""Sets of profiles that are kept read: one, and those of before."""
CLAIM_AGAIN_SECONDS: Final = 0.1
"""How soon a page that is due, and was not to be had, is asked for again."""

GENERAL_TIME_LIMIT: Final = 1800
GENERAL_SOFT_TIME_LIMIT: Final = 1740
"""Seconds any task may take that has no limits of its own: the last resort."""
RESULT_EXPIRES_SECONDS: Final = 3600
VISIBILITY_SECONDS: Final = 300
"""After so long an unacknowledged message is given to another worker; much longer than a lane."""
UNACKED_RESTORE_SECONDS: Final = 5
"""How often messages of dead workers are looked for; Celery's own pace is every 100 s."""
BROKER_SOCKET_SECONDS: Final = 10
BROKER_CONNECT_SECONDS: Final = 5
"""Without these a half-open connection holds a worker for minutes."""
SOFT_SHUTDOWN_SECONDS: Final = 15
"""A worker told to stop lets its lanes go on for so long."""
TASKS_PER_CHILD: Final = 500
"""A worker process is replaced after so many tasks: no leak of a library grows for ever."""
PROGRESS_TTL_SECONDS: Final = 86_400
"""Of every key about a job; longer than any job. The database remembers for ever."""
ROOM_KEY: Final = "scraping:room"
"""Held for a moment by the lane that makes room."""
EVENTS_CHANNEL: Final = "scraping:events"
"""Where the end of a job is announced."""
SHUTDOWN_LOOK_SECONDS: Final = 0.2
"""How often a lane looks whether its worker is going."""
LONGEST_CRAWL_SECONDS: Final = 7 * 86_400.0
"""A command waits so long for its jobs; the slowest whole portal takes two days."""


# Limits of a probe; no environment variable sets them, each says its unit and why.

REQUESTS: Final = 7
"""What a portal is asked at most, robots.txt and redirects included: robots.txt, two pages of results, three
adverts, and one more for an advert that is gone or a redirect."""
ADVERTS: Final = 3
"""Adverts that are opened: one may be odd, three alike are a rule."""
ENOUGH_SHARE: Final = 2 / 3
"""Of the adverts opened, how many must have a field that matters: one of three may lack it."""
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "price": ("price_eur",),
    "area": ("area_sqm",),
    "place": ("neighbourhood", "city"),
    "type": ("property_type",),
}
"""What matters, and the facts of which one is enough for it."""
NAME_ONLY: Final = frozenset({"title", "family_id", "posted_at", "deal"})
"""Facts that an id, a head or an address gives away: an advert with nothing else was not read."""
PERSONAL: Final = frozenset({"phones", "seller_name"})
"""Facts of a person: a sample shows only that they are there, and what is kept leaves them out."""
FREE_TEXTS: Final = frozenset({"title", "description", "street", "features"})
"""Facts in a seller's own words, in which a telephone number may stand."""
TURN_SECONDS: Final = 120.0
"""Longest wait for a portal's turn: more than any Crawl-delay that a first look is worth waiting for."""
SAMPLE_CHARACTERS: Final = 40
"""Of a sample value: the table fits a terminal of 80 columns."""
START_CHARACTERS: Final = 60
"""Of a description that is kept: enough to tell it from another, no whole advert."""


# How the interpreter is run; no environment variable sets it.

COLLECTOR_THRESHOLDS: Final = (20_000, 20, 50)
"""Objects before the young are looked through, and how many such looks before the older are.

Python's own 700 means several looks for every page; at 20 000 one for every few pages, at less than a
megabyte more of memory.
"""
