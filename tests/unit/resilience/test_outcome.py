import pytest

from sale_sofia.fetching.base import Verdict
from sale_sofia.resilience.errors import (
    AddressRefused,
    BodyTooLarge,
    CrawlError,
    FetchTimeout,
    RedirectLoop,
    TlsFailed,
)
from sale_sofia.resilience.outcome import Outcome

VERDICTS = [
    (Verdict("ok"), Outcome.ok()),
    (Verdict("not_modified"), Outcome.ok()),
    (Verdict("removed"), Outcome.ok()),
    (Verdict("redirected"), Outcome.ok()),
    (Verdict("rate_limited", retry_after_seconds=9.0), Outcome("rate_limited", 9.0, "rate_limit")),
    (Verdict("blocked", block_kind="captcha"), Outcome("blocked", None, "captcha")),
    (Verdict("proxy_fault"), Outcome.neutral()),
    (Verdict("server_error", retry_after_seconds=5.0), Outcome("failure", 5.0)),
    (Verdict("truncated"), Outcome.failure()),
    (Verdict("empty"), Outcome.failure()),
]
ERRORS = [
    (FetchTimeout(), Outcome.failure()),
    (TlsFailed(), Outcome.failure()),
    (AddressRefused(), Outcome.neutral()),
    (BodyTooLarge(), Outcome.neutral()),
    (RedirectLoop(), Outcome.neutral()),
]


@pytest.mark.parametrize(("verdict", "outcome"), VERDICTS, ids=lambda value: value.kind)
def test_a_verdict_tells_the_gate_what_it_means(verdict: Verdict, outcome: Outcome) -> None:
    assert Outcome.of(verdict) == outcome


@pytest.mark.parametrize(("error", "outcome"), ERRORS, ids=lambda value: type(value).__name__)
def test_only_errors_of_the_domain_count_against_it(error: CrawlError, outcome: Outcome) -> None:
    assert Outcome.of(error) == outcome
