import pytest

from sale_sofia.crawl.fetch.base import Verdict, VerdictKind
from sale_sofia.crawl.resilience import errors as tree
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.visit.judging import classify_error, error_of, service_error
from sale_sofia.listings.page import (
    EmptyPage,
    ForeignPage,
    HostilePage,
    LayoutChanged,
    PageError,
    PageTooLarge,
    UndecodablePage,
    WrongListing,
)
from tables import each_row


@each_row(
    ("kind", "status", "expected"),
    [
        ("rate_limited", 429, tree.HttpRateLimit),
        ("rate_limited", 503, tree.HttpRateLimit),
        ("blocked", 403, tree.HttpBlocked),
        ("blocked", 200, tree.HttpBlocked),
        ("server_error", 500, tree.HttpServer),
        ("server_error", 599, tree.HttpServer),
        ("server_error", 499, tree.HttpClient),
        ("server_error", 400, tree.HttpClient),
        ("server_error", 408, tree.HttpServer),
        ("server_error", 425, tree.HttpServer),
        ("truncated", 200, tree.NetworkBroken),
        ("empty", 200, tree.NetworkBroken),
        ("proxy_fault", 407, tree.ServiceProxy),
        ("removed", 404, tree.HttpClient),
        ("not_modified", 304, tree.HttpClient),
    ],
)
def test_a_verdict_is_an_error(kind: VerdictKind, status: int, expected: type[CrawlError]) -> None:
    error = error_of(Verdict(kind, "why", retry_after_seconds=7.0), status)
    assert type(error) is expected
    assert (str(error), error.status, error.retry_after_seconds) == (f"{kind}: why", status, 7.0)


def test_a_block_says_of_what_kind_it_is() -> None:
    error = error_of(Verdict("blocked", "HTTP 200", block_kind="captcha"), 200)
    assert isinstance(error, tree.HttpBlocked)
    assert error.block_kind == "captcha"


@pytest.mark.parametrize("kind", ["ok", "redirected"])
def test_a_page_that_may_be_read_is_no_error(kind: VerdictKind) -> None:
    with pytest.raises(KeyError):
        error_of(Verdict(kind), 200)


@each_row(
    ("problem", "expected"),
    [
        (LayoutChanged, tree.ParseSelector),
        (EmptyPage, tree.ParseHtml),
        (HostilePage, tree.ParseHostile),
        (PageTooLarge, tree.ParseHostile),
        (UndecodablePage, tree.ParseHtml),
        (WrongListing, tree.ParseOtherPage),
        (ForeignPage, tree.ParseOtherPage),
    ],
)
def test_a_page_error_keeps_its_name(problem: type[PageError], expected: type[CrawlError]) -> None:
    error = classify_error(problem("why"))
    assert type(error) is expected
    assert str(error) == f"{problem().code}: why"


def test_an_error_of_the_tree_stays_what_it_is() -> None:
    error = tree.NetworkDns("x")
    assert classify_error(error) is error


def test_what_nobody_foresaw_is_named() -> None:
    error = classify_error(ZeroDivisionError("division by zero"))
    assert (type(error), str(error)) == (CrawlError, "ZeroDivisionError: division by zero")


def test_a_service_that_says_nothing_is_named_by_its_silence() -> None:
    assert str(service_error("ollama", TimeoutError())) == "ollama: TimeoutError"
