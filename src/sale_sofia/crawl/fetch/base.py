"""The types of a fetch: a request with its limits, the raw answer, and the verdict before parsing."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sale_sofia.crawl.resilience.gate import Turn

VerdictKind = Literal[
    "ok", "not_modified", "removed", "redirected", "rate_limited", "blocked", "proxy_fault", "server_error",
    "truncated", "empty",
]  # fmt: skip
BlockKind = Literal[
    "cloudflare", "captcha", "challenge", "rate_limit", "ip_ban", "forbidden", "login", "legal", "redirect",
]  # fmt: skip
"""How we are kept out. cloudflare: its own page; captcha: for a person; challenge: for a browser;
rate_limit: too many requests; ip_ban: our address or agent; forbidden: a bare 403; login: a 401, or sent to a
login; legal: a 451; redirect: sent to the home page."""


@dataclass(frozen=True, slots=True)
class Route:
    """A proxy used as one visitor: its cookies, its profile and the proxy belong together."""

    proxy: str
    """`scheme://host:port`; never empty, as curl would take that for no proxy at all."""
    session: str
    """Name of the cookie jar."""
    profile: str | None = None
    """The browser it impersonates; None: the default."""
    user: str = ""
    password: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if "://" not in self.proxy:
            raise ValueError("a route needs a proxy")


@dataclass(frozen=True, slots=True)
class RequestTimeouts:
    """How long one request may take to connect, and altogether."""

    connect_seconds: float
    seconds: float


class Escort(Protocol):
    """Accompanies an admitted request: every HTTP request it leads to is sent in a turn of its own."""

    waited: float
    """Seconds spent waiting for turns; not counted as the portal's latency."""

    @property
    def fresh(self) -> Turn | None:
        """The unused turn; None where another has to be waited for."""

    async def turn(self) -> Turn:
        """The next turn, waited for unless there is a fresh one. Raises `LeftAlone`: none comes in time."""

    async def allows(self, url: str) -> bool:
        """Whether robots.txt allows this address. Raises `LeftAlone`: the file cannot be fetched in time."""

    async def may_ask(self, url: str) -> bool:
        """Wait for the next turn, and use it; False where robots.txt forbids it or no turn comes in time."""

    def holds(self) -> bool:
        """Whether the request's place is surely its own; if not, nothing more may be sent."""

    def seconds_left(self) -> float:
        """Seconds left for the page as a whole."""


@dataclass(frozen=True, slots=True)
class Request:
    """One page to fetch. Only `hosts` are ever contacted, redirects included."""

    url: str
    hosts: frozenset[str]
    """`host` or `host:port` as in the address; a private address is requested only if it is listed here."""
    connect_timeout_seconds: float
    timeout_seconds: float
    max_bytes: int
    headers: Mapping[str, str] = field(default_factory=dict)
    follow_redirects: bool = True
    """If not, the answer is the redirect itself: for callers that count each request."""
    obeys_robots: bool = True
    """Whether robots.txt is asked of each redirect; not for robots.txt itself, which is not known yet."""
    route: Route | None = None
    """None: directly."""
    profile: str | None = None
    """The browser a direct request impersonates; None: the default."""
    escort: Escort | None = field(default=None, compare=False, repr=False)
    """None: the caller has arranged its turn."""
    browser_allowed: bool = False
    """Whether it may be opened in a browser; only with an escort."""


async def _nobody(_why: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, whole: its body is decompressed and within the limit."""

    url: str
    """Where the answer came from, after redirects."""
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    seconds: float
    strategy: str = "direct"
    """How it was fetched: direct, proxy or browser."""
    proxy: str | None = None
    """The proxy used, without its login."""
    disprove: Callable[[str], Awaitable[None]] = field(default=_nobody, compare=False, repr=False)
    """Called with the reason when what looked like a page is a block after all: counts against its proxy."""


class Fetcher(Protocol):
    """Gets pages. Raises a `CrawlError` where no whole answer could be had; never returns half of one."""

    async def fetch(self, request: Request) -> Response:
        """The answer to one request."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is, decided before parsing. Only `ok` may be parsed, stored or archived."""

    kind: VerdictKind
    detail: str = ""
    """For people: what decided it."""
    retry_after_seconds: float | None = None
    block_kind: BlockKind | None = None
    """With `blocked`: how we are kept out."""
    vendor: str | None = None
    """With `blocked`: whose page it is, or the address we were sent to."""
