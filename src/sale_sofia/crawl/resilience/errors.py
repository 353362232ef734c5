"""What can go wrong between an address and a stored advert, and what the system does next.

"tries" counts one page's attempts that ended in this class; "all" is RETRY_MAX_ATTEMPTS, the limit for each
class and for all together. Refusals of our own gate and retries put off by the retry budget do not count; a
refusal in the middle of a redirect counts only for LeftAlone. "!": counts against the domain's circuit.

CrawlError               what next      tries  then
├── NetworkError !       backoff        all    skip           no whole answer came
│   ├── NetworkTimeout   backoff        3      skip           the deadline passed
│   ├── NetworkConnection backoff       all    skip           refused, or nothing is there
│   │   └── NetworkReset retry_now      all    skip           broken off before any answer
│   ├── NetworkDns       backoff        all    skip           the name is unknown
│   ├── NetworkTls       backoff        all    manual_review  the certificate is not valid
│   └── NetworkBroken    retry_now      all    skip           cut short, empty, or damaged on its way
├── HttpError            skip           0      skip           an answer that is not the page
│   ├── HttpClient       skip           0      skip           4xx: the portal does not want this request
│   ├── HttpServer !     backoff        all    skip           5xx: the portal cannot
│   ├── HttpRateLimit !  backoff        5      skip           too many requests: slows the whole domain
│   └── HttpBlocked !    backoff        3      escalate       a page that keeps us out
├── ParseError           skip           0      manual_review  an answer we cannot read: its bytes are kept
│   ├── ParseJson        manual_review  0      manual_review  no JSON where JSON was promised
│   ├── ParseHtml        backoff        all    manual_review  the text was lost, or cannot be trusted
│   ├── ParseHostile     skip           0      manual_review  reading it costs more than a page may
│   ├── ParseSelector    backoff        3      manual_review  the layout is not the one we know
│   └── ParseOtherPage   skip           0      skip           another advert, or another website
├── ServiceError         open_circuit   all    skip           something of ours that the crawl leans on
│   ├── ServiceProxy     other_proxy    all    skip           a way out that does not work
│   ├── ServiceRedis     open_circuit   all    skip           the shared state
│   ├── ServiceOllama    open_circuit   all    skip           the language model
│   └── ServiceBrowser   open_circuit   all    skip           the browser
├── DatabaseFailure      skip           0      skip           what was read could not be stored
│   ├── DatabaseLocked   backoff        all    skip           another process is writing
│   └── DatabaseCorrupt  manual_review  0      manual_review  a person must restore a copy
├── AddressRefused       skip           0      skip           an address we may not ask
│   ├── ForeignAddress   skip           0      skip           not the portal's own host (also by redirect)
│   ├── PrivateAddress   skip           0      skip           a private address that no start URL named
│   └── RobotsDisallowed skip           0      skip           robots.txt asks us to stay away
├── LeftAlone            backoff        all    skip           our own gate gave a further request no turn
├── BodyTooLarge         skip           0      skip           more than any page has, also unpacked
└── RedirectLoop         skip           0      skip           redirected too often
"""

import sys
from enum import StrEnum
from typing import ClassVar, TypedDict, Unpack


class Action(StrEnum):
    """What the system does next. These words are in the error log and in failed rows."""

    RETRY_NOW = "retry_now"
    """Once more within the same visit; if that is not possible, as `BACKOFF`."""
    BACKOFF = "backoff"
    """Again later, after a wait that grows."""
    OTHER_PROXY = "other_proxy"
    """Again later, through another proxy."""
    ESCALATE = "escalate"
    """Not again with this strategy: it needs a stronger one, such as a browser."""
    SKIP = "skip"
    """Never again in this job; the others go on."""
    OPEN_CIRCUIT = "open_circuit"
    """Leave the service alone for a while and go on without it."""
    MANUAL_REVIEW = "manual_review"
    """A person must look."""


class _Rules(TypedDict, total=False):
    action: Action
    attempts: int | None
    at_last: Action
    counts_against_domain: bool


class CrawlError(Exception):
    """A page could not be fetched or stored. Its class decides what happens next."""

    action: ClassVar[Action] = Action.SKIP
    """While it has tries left."""
    attempts: ClassVar[int | None] = 0
    """Tries of one page, the first included; None stands for RETRY_MAX_ATTEMPTS."""
    at_last: ClassVar[Action] = Action.SKIP
    """When no try is left."""
    counts_against_domain: ClassVar[bool] = False

    status: int | None = None
    """Of the HTTP answer, where there was one."""
    retry_after_seconds: float | None = None
    """The portal's Retry-After."""
    page_digest: str | None = None
    """Digest of the archived page that shows it."""
    page_code: str | None = None
    """What is wrong with the page, as a code of the parser."""
    strategy: str = "direct"
    """How it was fetched: direct, proxy or browser."""
    proxy: str | None = None
    """The proxy used, without its login."""

    @property
    def unreadable(self) -> str | None:
        """Why a page that came could not be read; None for every other error."""
        return None

    def __init_subclass__(cls, **rules: Unpack[_Rules]) -> None:
        """Set the class's rules; subclasses inherit what they do not set."""
        super().__init_subclass__()
        for name, value in rules.items():
            setattr(cls, name, value)


class NetworkError(CrawlError, action=Action.BACKOFF, attempts=None, counts_against_domain=True):
    """No whole answer came: try again later."""


class NetworkTimeout(NetworkError, attempts=3):
    """The deadline passed before the whole answer was here; each try costs a whole deadline."""


class NetworkConnection(NetworkError):
    """The connection was refused, or nothing is there."""


class NetworkReset(NetworkConnection, action=Action.RETRY_NOW):
    """The connection broke off before any answer."""


class NetworkDns(NetworkError):
    """The name is unknown, or no name server answered."""


class NetworkTls(NetworkError, at_last=Action.MANUAL_REVIEW):
    """The certificate is not valid. Verification is never switched off."""


class NetworkBroken(NetworkError, action=Action.RETRY_NOW):
    """The answer broke off before its end, was empty, or its compression is damaged."""


class HttpError(CrawlError):
    """An answer that is not the requested page."""


class HttpClient(HttpError):
    """The portal does not want this request, and would not want it later."""


class HttpServer(HttpError, action=Action.BACKOFF, attempts=None, counts_against_domain=True):
    """The portal cannot answer now."""


class HttpRateLimit(HttpError, action=Action.BACKOFF, attempts=5, counts_against_domain=True):
    """Too many requests."""


class HttpBlocked(
    HttpError, action=Action.BACKOFF, attempts=3, at_last=Action.ESCALATE, counts_against_domain=True
):
    """A page that keeps us out; after its tries only another way of asking helps."""

    block_kind: str | None = None
    """Who or what blocks: cloudflare, captcha, ip_ban …"""


class ParseError(CrawlError, at_last=Action.MANUAL_REVIEW):
    """An answer that cannot be read."""

    @property
    def unreadable(self) -> str | None:
        """The parser's code, or the name of the error class."""
        return self.page_code or type(self).__name__


class ParseJson(ParseError, action=Action.MANUAL_REVIEW):
    """No JSON where JSON was promised."""


class ParseHtml(ParseError, action=Action.BACKOFF, attempts=None):
    """The bytes of the page cannot be trusted."""


class ParseHostile(ParseError):
    """Parsing the page would cost more than any page may, now and on every retry."""


class ParseSelector(ParseError, action=Action.BACKOFF, attempts=3):
    """The page is not laid out as we know it: a block in disguise goes away, a new layout does not."""


class ParseOtherPage(ParseError, at_last=Action.SKIP):
    """A sound page, but not the requested one."""


class ServiceError(CrawlError, action=Action.OPEN_CIRCUIT, attempts=None):
    """A service of ours that the crawl needs does not answer: left alone for a while."""


class ServiceProxy(ServiceError, action=Action.OTHER_PROXY):
    """A proxy that does not work: says nothing about the portal."""

    strategy = "proxy"


class ServiceRedis(ServiceError):
    """The shared state cannot be reached."""


class ServiceOllama(ServiceError):
    """The language model cannot be reached."""


class ServiceBrowser(ServiceError):
    """The browser cannot be reached."""


class DatabaseFailure(CrawlError):
    """The parsed page could not be stored."""


class DatabaseLocked(DatabaseFailure, action=Action.BACKOFF, attempts=None):
    """Another process holds the lock; nothing was written."""


class DatabaseCorrupt(DatabaseFailure, action=Action.MANUAL_REVIEW, at_last=Action.MANUAL_REVIEW):
    """The file is no database, or a damaged one."""


class AddressRefused(CrawlError):
    """An address we may not request: skip it."""


class ForeignAddress(AddressRefused):
    """A host that is not one of the portal's own."""


class PrivateAddress(AddressRefused):
    """A private or link-local address that no start URL named."""


class RobotsDisallowed(AddressRefused):
    """robots.txt asks us to stay away."""

    is_known = False
    """Whether the file was read; False when it could not be fetched."""


class LeftAlone(CrawlError, action=Action.BACKOFF, attempts=None):
    """Our own gate gave no turn: the request that needed one was not sent."""

    why: str | None = None
    """The gate's reason."""


class BodyTooLarge(CrawlError):
    """More bytes than any page of a portal has, before or after decompression."""


class RedirectLoop(CrawlError):
    """Redirected more often than any portal does."""


def class_names() -> list[str]:
    """The names of all classes in the tree above."""
    return sorted(
        name for name, kind in globals().items() if isinstance(kind, type) and issubclass(kind, CrawlError)
    )


def redis_errors() -> tuple[type[Exception], ...]:
    """The base error of the Redis client, if it is loaded: it is large, and few crawls need it."""
    loaded = sys.modules.get("redis.exceptions")
    return (loaded.RedisError,) if loaded else ()
