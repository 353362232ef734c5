from sale_sofia.crawl.resilience.errors import (
    AddressRefused,
    BodyTooLarge,
    CrawlError,
    DatabaseLocked,
    HttpBlocked,
    HttpClient,
    HttpRateLimit,
    HttpServer,
    NetworkTimeout,
    NetworkTls,
    ParseSelector,
    RedirectLoop,
    ServiceProxy,
)
from sale_sofia.crawl.resilience.gate import Outcome
from tables import each_row


def asked_to_wait(error: CrawlError, seconds: float) -> CrawlError:
    error.retry_after_seconds = seconds
    return error


def blocked(kind: str) -> HttpBlocked:
    error = HttpBlocked()
    error.block_kind = kind
    return error


ERRORS = [
    (NetworkTimeout(), Outcome.failure()),
    (NetworkTls(), Outcome.failure()),
    (asked_to_wait(HttpServer(), 5.0), Outcome("failure", 5.0)),
    (asked_to_wait(HttpRateLimit(), 9.0), Outcome("rate_limited", 9.0, "rate_limit")),
    (asked_to_wait(blocked("captcha"), 7.0), Outcome("blocked", 7.0, "captcha")),
    (HttpClient(), Outcome.ok()),
    (ParseSelector(), Outcome.ok()),
    (ServiceProxy(), Outcome.neutral()),
    (DatabaseLocked(), Outcome.neutral()),
    (AddressRefused(), Outcome.neutral()),
    (BodyTooLarge(), Outcome.neutral()),
    (RedirectLoop(), Outcome.neutral()),
]


@each_row(("error", "outcome"), ERRORS)
def test_an_error_tells_the_gate_what_it_means_for_the_domain(error: CrawlError, outcome: Outcome) -> None:
    assert Outcome.of(error) == outcome
