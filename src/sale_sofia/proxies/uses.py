"""What an answer, or its absence, says of the proxy it came through."""

from collections.abc import Mapping
from typing import Final

from sale_sofia.fetching.base import Verdict, VerdictKind
from sale_sofia.proxies.model import Use, UseKind
from sale_sofia.resilience.errors import CrawlError, NetworkError, ServiceProxy

_VERDICTS: Final[Mapping[VerdictKind, UseKind]] = {
    "ok": "ok",
    "not_modified": "ok",
    "redirected": "ok",
    "removed": "target",
    "server_error": "target",
    "rate_limited": "rate_limited",
    "blocked": "blocked",
    "proxy_fault": "transport",
    "truncated": "transport",
    "empty": "neutral",
}


def use_of_verdict(verdict: Verdict, seconds: float) -> Use:
    """A block is held against the proxy on that portal; the portal's own 404 and 5xx against nobody."""
    kind = _VERDICTS[verdict.kind]
    pause = verdict.retry_after_seconds or 0.0
    return Use(kind, seconds if kind == "ok" else None, pause, verdict.block_kind or verdict.detail)


def use_of_error(error: CrawlError) -> Use:
    """Without an answer it is the proxy's fault; what we refused ourselves is nobody's."""
    if isinstance(error, NetworkError | ServiceProxy):
        return Use("transport", why=type(error).__name__)
    return Use("neutral", why=type(error).__name__)
