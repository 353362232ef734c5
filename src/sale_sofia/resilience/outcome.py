"""What became of a request, in the words that the breaker and the limiter understand."""

from dataclasses import dataclass
from typing import Literal, Self

from sale_sofia.resilience.errors import CrawlError, HttpBlocked, HttpClient, HttpRateLimit, ParseError

OutcomeKind = Literal["ok", "failure", "rate_limited", "blocked", "neutral"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One result for the domain's gate. `neutral` says nothing about the domain."""

    kind: OutcomeKind
    retry_after_seconds: float | None = None
    block_kind: str | None = None

    @classmethod
    def ok(cls) -> Self:
        """The portal answered as it should; a removed advert is an answer too."""
        return cls("ok")

    @classmethod
    def failure(cls, retry_after: float | None = None) -> Self:
        """No answer, or an error of the portal's, perhaps with a Retry-After."""
        return cls("failure", retry_after)

    @classmethod
    def rate_limited(cls, retry_after: float | None = None) -> Self:
        """Too many requests."""
        return cls("rate_limited", retry_after, "rate_limit")

    @classmethod
    def blocked(cls, kind: str | None, retry_after: float | None = None) -> Self:
        """A page that keeps us out."""
        return cls("blocked", retry_after, kind)

    @classmethod
    def neutral(cls) -> Self:
        """Nothing was learned of the domain: cancelled, a proxy's fault, an address never asked."""
        return cls("neutral")

    @classmethod
    def of(cls, error: CrawlError) -> Self:
        """What an error says of the domain. That we cannot read an answer is no fault of the portal's."""
        match error:
            case HttpRateLimit():
                return cls.rate_limited(error.retry_after_seconds)
            case HttpBlocked():
                return cls.blocked(error.block_kind, error.retry_after_seconds)
            case HttpClient() | ParseError():
                return cls.ok()
        return cls.failure(error.retry_after_seconds) if error.counts_against_domain else cls.neutral()
