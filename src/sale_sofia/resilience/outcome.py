"""What became of a request, in the words that the breaker, the limiter and the retries understand."""

from dataclasses import dataclass
from typing import Literal, Protocol, Self

from sale_sofia.resilience.errors import CrawlError

OutcomeKind = Literal["ok", "failure", "rate_limited", "blocked", "neutral"]


class Judged(Protocol):
    """An answer with a verdict on it, as `fetching` gives one."""

    @property
    def kind(self) -> str:
        """One word, such as ok, rate_limited or blocked."""

    @property
    def retry_after_seconds(self) -> float | None:
        """What the portal asked for."""

    @property
    def block_kind(self) -> str | None:
        """With `blocked`: who or what blocks."""

    @property
    def counts_against_domain(self) -> bool:
        """Whether the domain's circuit breaker hears of it."""

    @property
    def retry(self) -> bool:
        """Whether the same page may be had later."""


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
    def of(cls, result: Judged | CrawlError) -> Self:
        """The outcome of a fetch, from its verdict or its error."""
        if isinstance(result, CrawlError):
            return cls.failure() if result.counts_against_domain else cls.neutral()
        return cls._of_verdict(result)

    @classmethod
    def _of_verdict(cls, verdict: Judged) -> Self:
        match verdict.kind:
            case "rate_limited":
                return cls.rate_limited(verdict.retry_after_seconds)
            case "blocked":
                return cls.blocked(verdict.block_kind, verdict.retry_after_seconds)
            case "proxy_fault":
                return cls.neutral()
        return cls.failure(verdict.retry_after_seconds) if verdict.counts_against_domain else cls.ok()
