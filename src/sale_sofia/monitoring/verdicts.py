"""What came of a request, in a few fixed words: they are counted, so there must be an end to them."""

from typing import Final, Literal

from sale_sofia.fetching.base import VerdictKind
from sale_sofia.resilience import errors as tree
from sale_sofia.resilience.errors import CrawlError

RequestVerdict = VerdictKind | Literal["client_error", "unreadable", "no_answer", "refused"]
"""Beyond the classifier's words: a 4xx, a page we cannot read, no whole answer, an answer we did not want."""

# The first class that fits is taken, so the particular stand before the general.
_VERDICTS: Final[tuple[tuple[type[CrawlError], RequestVerdict], ...]] = (
    (tree.HttpRateLimit, "rate_limited"),
    (tree.HttpBlocked, "blocked"),
    (tree.HttpServer, "server_error"),
    (tree.HttpError, "client_error"),
    (tree.ParseError, "unreadable"),
    (tree.ServiceProxy, "proxy_fault"),
    (tree.NetworkBroken, "truncated"),
    (tree.NetworkError, "no_answer"),
)


def verdict_of(error: CrawlError) -> RequestVerdict:
    """The word for a request that failed; `refused` is what we ourselves would not have, such as a bomb."""
    return next((word for kind, word in _VERDICTS if isinstance(error, kind)), "refused")
