"""Settings of the proxies, and constants that no environment variable sets; each states its unit."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, Field

from sale_sofia.settings.types import decimal, described, notes, switch, whole

FOLDER: Final = "proxies"
"""Folder in DATA_DIR for sources and the last findings; readable by its owner alone."""
SOURCES_FILE: Final = "sources.json"
PUBLIC_LISTS_FILE: Final = "public_lists.yaml"
"""Public lists by address, beside this module."""
KNOWN_FILE: Final = "known.json"
LAST_REFRESH_FILE: Final = "refresh.json"
"""The end of the last refresh, for when Redis is gone or has forgotten it."""
STATS_FILE: Final = "stats.json"
"""How proxies did, for `proxies stats` without Redis."""
STATS_SECONDS: Final = 1.0
"""How often a crawl without Redis saves how its proxies do."""

KEEP_SHARE: Final = 0.05
"""Share of reports that renew the expiry of the pool in Redis, which is a week."""

SESSIONS_MOST: Final = 10_000
"""With so many sessions, ended ones are forgotten."""
READY_WITHIN_SECONDS: Final = 60.0
"""A proxy usable so soon counts as ready; also how often a portal's supply is checked."""

CHECK_CONNECT_SECONDS: Final = 5.0
CHECK_SECONDS: Final = 10.0
"""Patience of the checker with one proxy: for the connection, and for each request as a whole."""
JUDGE_SECONDS: Final = 10.0
"""Patience with the judge when it is asked directly; nothing is checked without it."""
CHECK_TURN_SECONDS: Final = 120.0
"""Without a judge a check waits so long for a free slot of the portal; with one, not at all."""
CHECK_TURN_LOOK_SECONDS: Final = 0.1
"""Shortest pause between two looks for such a slot."""
JUDGE_BODY_BYTES: Final = 65_536
"""Larger than any answer of a judge."""
JUDGE_NONCE_CHARACTERS: Final = 64
"""Length of the longest nonce that a judge accepts."""
JUDGE_STOP_SECONDS: Final = 0.1
"""How long a stopping judge waits for open requests."""
JUDGE_SEEN_MOST: Final = 100_000
"""Plain requests that a judge remembers until they are fetched over TLS."""
JUDGE_HOST: Final = "127.0.0.1"
"""Default address; an operator names one that proxies can reach."""
JUDGE_PORT: Final = 8443
JUDGE_HTTP_PORT: Final = 8480
"""Default ports of `sale-sofia proxies judge`."""
OWN_NETWORK_BITS: Final = 24
OWN_NETWORK_BITS_IPV6: Final = 64
"""An exit in the same network as our own address counts as our own."""

SOURCE_MAX_BYTES: Final = 64_000_000
"""More than two million lines: a source that goes on for ever is cut here."""
SOURCE_SECONDS: Final = 60.0
"""Patience with a source as a whole, however slowly it goes on sending."""
SOURCE_MAX_CANDIDATES: Final = 1_000_000
"""Candidates taken from one source; the rest is counted and left alone."""
LINE_MAX_CHARACTERS: Final = 500
"""A longer line is no proxy."""
SHOWN_CHARACTERS: Final = 60
"""Characters of a malformed line that are shown."""
JSON_DEEPEST: Final = 20
"""Levels of a JSON list that are looked into."""
SHOWN_MALFORMED: Final = 5
"""Malformed lines of a source that are shown; all are counted."""

REFRESH_MOST_CANDIDATES: Final = 100_000
"""Of one refresh on the workers, the pool's own first: more cannot be checked in its time."""
REFRESH_OWN_CHUNK: Final = 5000
"""Candidates of one part where a command checks them all itself."""
REFRESH_SECONDS: Final = 1500.0
"""Longest time of one refresh; below the limit of any task."""
REFRESH_LOCK_SECONDS: Final = 60.0
"""A refresh that has not renewed its lock for so long is dead."""
REFRESH_SHOW_SECONDS: Final = 1.0
"""How often a refresh shows its numbers and renews its lock."""
START_WAIT_SECONDS: Final = 300.0
"""How long a crawl on workers waits for its proxies; then it begins, and its pages wait."""
REFRESH_POLL_SECONDS: Final = 1.0
"""How often waiting processes look, without an event."""
REFRESH_HOURS: Final = 6
REFRESH_FACTOR: Final = 2
"""Below so many times the minimum of ready proxies a refresh is triggered."""
REFRESH_PAUSE_SECONDS: Final = 300.0
"""After a refresh none is triggered on demand for so long: it would find the same."""
PROGRESS_TTL_SECONDS: Final = 86_400
EVENTS_CHANNEL: Final = "proxies:events"
"""Announces each proxy that became available, and the end of a refresh."""

ROTATOR_HOST: Final = "127.0.0.1"
LOOPBACK_MOST_CONNECTIONS: Final = 400
"""Connections at once to the rotator or to a browser's door; each holds two of the usual 1024 open files."""
ROTATOR_HEAD_BYTES: Final = 16_384
"""A CONNECT request with more header than this is refused."""
ROTATOR_HEAD_SECONDS: Final = 10.0
ROTATOR_TRIES: Final = 3
"""Proxies tried for one tunnel."""
ROTATOR_PIECE_BYTES: Final = 65_536
ROTATOR_IDLE_SECONDS: Final = 300.0
"""A tunnel through which nothing goes for so long is closed."""

NEW_SESSION_BUDGET: Final = 3
"""New sessions tried for a portal before the rotator is restarted."""
DIRECT_BUDGET: Final = 3
"""Requests from our own address, where a portal's file allows them, before its circuit opens."""
LANE_MEMORY_SECONDS: Final = 86_400.0
"""A dearer tier that helped is kept so long before the cheaper ones are tried again."""
TUNNEL_HEAD_BYTES: Final = 16_384
"""A proxy's answer to CONNECT with more header than this is refused."""
WAIT_FOR_PROXY_SHARE: Final = 0.5
"""Share of a request's time that may pass before it has a proxy."""
WAIT_FOR_PROXY_SECONDS: Final = 10.0
"""A request waits so long for a proxy to be ready; beyond it the page is put back."""

_ORIGIN: Final = "{}://host[:port]"
_PAGE: Final = "https://host[:port]/path"


def _origin(scheme: str, url: str | None) -> str | None:
    if url is None:
        return None
    place = url.removeprefix(f"{scheme}://").rstrip("/")
    if not url.startswith(f"{scheme}://") or not place or any(mark in place for mark in "/?#@ "):
        raise ValueError(_ORIGIN.format(scheme))
    return f"{scheme}://{place}"


def _page(url: str | None) -> str | None:
    if url is None:
        return None
    place, _, path = url.removeprefix("https://").partition("/")
    if not url.startswith("https://") or not place or any(mark in url for mark in "?#@ "):
        raise ValueError(_PAGE)
    return f"https://{place}/{path}"


Choice = Literal["sampled", "scored"]
"""sampled: by a draw from what is believed of each (Thompson); scored: by the familiar score, times 1.1 for a
success and 0.5 for a failure."""


class ProxySettings(BaseModel, defer_build=True):
    """How many proxies are needed, and what judges them; none is used unless a portal's file asks."""

    min_proxies_to_start: int = whole(10, 0, 10_000, "proxies", "Live proxies to wait for before a crawl.")
    min_proxies_for_scraping: int = whole(
        10, 0, 10_000, "proxies", "Live proxies below which the pool is refreshed."
    )
    max_proxy_retries: int = whole(3, 0, 100, "retries", "Further proxies tried for one request.")
    proxy_timeout: float = decimal(15.0, 0.1, 300, "seconds", "Longest wait for an answer through a proxy.")
    proxy_spacing: float = decimal(
        5.0, 0, 3600, "seconds", "Rest of a proxy between two requests to the same portal."
    )
    proxy_check_concurrency: int = whole(256, 1, 4096, "proxies", "Proxies that are checked at once.")
    proxy_check_chunk: int = whole(250, 1, 5000, "proxies", "Proxies that one task of a worker checks.")
    proxy_choice: Choice = described(
        "sampled",
        "sampled or scored",
        "choice",
        "How the pool chooses: by a draw from what is believed of each, or by the score (x1.1, x0.5).",
    )
    proxy_rotate_budget: int = whole(
        6, 0, 1000, "tries", "Other proxies tried for a portal before more is done."
    )
    proxy_restart_budget: int = whole(
        3, 0, 1000, "tries", "Restarts of the way out before the pool is refreshed."
    )
    proxy_refresh_budget: int = whole(
        3, 0, 1000, "tries", "Refreshes of the pool before the next tier is used."
    )
    proxy_judge_url: Annotated[str | None, AfterValidator(partial(_origin, "https"))] = Field(
        default=None,
        description="The judge that proxies are checked with; unset: exit address and leaks stay unknown.",
        json_schema_extra=notes(_ORIGIN.format("https"), "URL"),
    )
    proxy_check_url: Annotated[str | None, AfterValidator(_page)] = Field(
        default=None,
        description="Without a judge: a page that a proxy must lead to; unset: a portal's robots.txt.",
        json_schema_extra=notes(_PAGE, "URL"),
    )
    proxy_judge_http_url: Annotated[str | None, AfterValidator(partial(_origin, "http"))] = Field(
        default=None,
        description="The same judge without TLS, where a proxy can add headers; unset: leaks stay unknown.",
        json_schema_extra=notes(_ORIGIN.format("http"), "URL"),
    )
    proxy_judge_ca: Path | None = Field(
        default=None,
        description="Certificate authority of judge and check URL; unset: the ones everybody trusts.",
        json_schema_extra=notes("a file in PEM form", "file"),
    )
    rotator_port: int = whole(8089, 1, 65_535, "port", "Where the rotator listens, on 127.0.0.1 alone.")
    mubeng_path: Path | None = Field(
        default=None,
        description="A mubeng binary of yours to use as the rotator instead of our own; see docs/proxies.md.",
        json_schema_extra=notes("a program's path", "file"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRules:
    """How proxies are estimated, rested and leased, in both pools."""

    spacing_seconds: float
    lease_seconds: float
    choice: Choice = "sampled"
    decay: float = 0.97
    """Factor of earlier counts at every further use: what a proxy did yesterday counts little."""
    failure_decay: float = 0.5
    """Factor of earlier successes after a failure: a proxy that died soon counts as dead."""
    elsewhere: float = 0.3
    """How much a proxy's successes and failures on all portals count on one of them."""
    latency_half_seconds: float = 10.0
    """A proxy that takes so long to answer is worth half of one that answers at once."""
    latency_weight: float = 0.3
    """Share of the newest time in the running mean of a proxy's answer times."""
    candidates: int = 16
    """Proven proxies that one pick looks at: the longest rested ones."""
    explored: int = 2
    """Others that it looks at too: with many more, one of them would nearly always be drawn."""
    doubt_patience_seconds: float = 5.0
    """How long a proven proxy is waited for rather than using one that failed last."""
    transport_seconds: float = 30.0
    """Rest after a transport error; doubles with every further one in a row."""
    transport_max_seconds: float = 1800.0
    block_seconds: float = 120.0
    """Rest on the portal that blocked; doubles with every further block in a row."""
    block_max_seconds: float = 3600.0
    jitter: float = 0.2
    """Largest share that chance adds to a rest, so that proxies do not come back together."""
    retry_after_max_seconds: float = 3600.0
    """A longer Retry-After concerns the rate limiter, not one proxy."""
    sticky_seconds: float = 1200.0
    """A session idle for so long may get another proxy."""
    session_patience_seconds: float = 30.0
    """A session waits for its own proxy so long before it takes another: longer than a usual spacing."""
    score_up: float = 1.1
    score_down: float = 0.5
    score_least: float = 0.01
    score_most: float = 10.0
    """The familiar score: times 1.1 for a success, 0.5 for a failure, within these bounds."""
    ready_within_seconds: float = READY_WITHIN_SECONDS
    ready_above: float = 0.3
    """A proxy counts as ready for a portal when it is expected to succeed so often."""
    missed_sweeps: int = 3
    """A proxy found dead by so many checks in a row is forgotten; failed requests never forget one."""

    @classmethod
    def from_settings(cls, settings: ProxySettings) -> Self:
        """Take what can be set from the settings; the rest has the defaults above."""
        # A lease outlasts the slowest answer through a proxy.
        return cls(
            spacing_seconds=settings.proxy_spacing,
            lease_seconds=settings.proxy_timeout + 15.0,
            choice=settings.proxy_choice,
        )


# Constants of the browser lane, which no environment variable sets.

BROWSER_FOLDER: Final = "lanes"
"""Folder in DATA_DIR for the memory of lanes without Redis; readable by its owner alone."""
BUDGET_SECONDS: Final = 3600.0
"""The period of BROWSER_PAGES_PER_HOUR."""
LADDER_BUDGET: Final = 3
"""Challenges taken to the browser before the ladder goes on."""
MOST_DOCUMENTS: Final = 6
"""Most pages in one visit: a chain of challenges is given up."""
DOOR_CONNECT_SECONDS: Final = 10.0
"""Connection timeout of the browser's door."""
CLOSE_SECONDS: Final = 10.0
"""How long a browser may take to close; its driver then kills it."""
COOKIE_SESSIONS_MOST: Final = 1000
"""Sessions remembered as having their cookies; with more, cookies are given again."""


class BrowserSettings(BaseModel, defer_build=True):
    """Whether a browser may be used, where a portal's file allows it too, which, and how often."""

    browser_enabled: bool = switch(
        default=False,
        sentence="Take JavaScript challenges to a browser, where the portal's file allows it.",
    )
    browser_path: Path | None = Field(
        default=None,
        description="The Chromium to use; unset: the one in PATH.",
        json_schema_extra=notes("a program's path", "file"),
    )
    browser_pages_per_hour: int = whole(
        30, 0, 10_000, "pages", "Most pages of one portal that are taken to the browser in an hour."
    )
