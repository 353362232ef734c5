from datetime import UTC, datetime
from pathlib import Path

import pytest

from sale_sofia.fetching.base import Response, Verdict
from sale_sofia.fetching.classify import classify
from shared import SHARED, needs_real_pages
from unit.fetching.challenges import ASKED, CHALLENGES, GOOD, Case, answer, html

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
PAGES = sorted((SHARED / "pages").glob("*/*.html"))


def verdict(status: int, body: str = html("advert"), url: str = ASKED, **headers: str) -> Verdict:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return classify(answer(Case("", status, body, names), url), ASKED, NOW)


@needs_real_pages
@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_real_pages_are_good(path: Path) -> None:
    body = path.read_bytes()
    closed = b"</html" in body.lower()
    found = classify(Response(ASKED, 200, {"content-type": "text/html"}, body, 0.1), ASKED, NOW)
    assert found.kind == ("ok" if closed else "truncated")


@needs_real_pages
def test_most_real_pages_are_closed() -> None:
    assert sum(b"</html" in path.read_bytes().lower() for path in PAGES) >= 40


@pytest.mark.parametrize("case", CHALLENGES, ids=lambda case: case.name)
def test_challenges_are_blocks(case: Case) -> None:
    found = classify(answer(case), ASKED)
    assert (found.kind, found.block_kind) == ("blocked", case.kind)
    assert found.detail == f"HTTP {case.status} by {case.vendor}"
    assert found.counts_against_domain
    assert found.retry


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_what_good_pages_may_hold_is_no_block(case: Case) -> None:
    assert classify(answer(case), ASKED) == Verdict("ok")


@pytest.mark.parametrize("place", ["/captcha", "/sorry/index", "/challenge?from=1", "/blocked.html"])
def test_being_sent_to_a_challenge_is_a_block(place: str) -> None:
    found = verdict(200, url=f"https://www.imot.bg{place}")
    assert (found.kind, found.block_kind) == ("blocked", "captcha")


def test_an_advert_may_be_called_what_it_likes() -> None:
    url = "https://www.imot.bg/blocked"
    assert classify(answer(Case("", 200, html("advert")), url), url).kind == "ok"
    assert verdict(200, url="https://www.imot.bg/challenger").kind == "redirected"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, "ok"), (304, "not_modified"), (404, "removed"), (410, "removed"), (407, "proxy_fault"),
        (429, "rate_limited"), (500, "server_error"), (502, "server_error"), (503, "server_error"),
        (522, "server_error"), (400, "server_error"), (408, "server_error"), (206, "truncated"),
        (302, "redirected"),
    ],
)  # fmt: skip
def test_the_status_decides(status: int, kind: str) -> None:
    assert verdict(status).kind == kind


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sun, 15 Nov 2026 12:01:30 GMT", 90.0),
        ("Sun, 15 Nov 2026 14:01:30 +0200", 90.0),
        ("Sun, 15 Nov 2026 11:59:59 GMT", None),
        ("-5", None),
        ("1e3", None),
        ("soon", None),
        ("", None),
        ("9" * 400, None),
        ("٣", None),
    ],
)
def test_a_server_says_how_long_to_wait(status: int, header: str, seconds: float | None) -> None:
    assert (found := verdict(status, retry_after=header)).kind == "rate_limited"
    assert found.retry_after_seconds == seconds


def test_a_date_means_nothing_without_the_time_of_day() -> None:
    case = Case("", 429, "", {"retry-after": "Sun, 15 Nov 2026 12:01:30 GMT"})
    assert classify(answer(case), ASKED).retry_after_seconds is None


def test_a_rate_limit_of_cloudflare_is_named() -> None:
    found = verdict(429, html("Error 1015 You are being rate limited"))
    assert (found.kind, found.detail) == ("rate_limited", "HTTP 429 by Cloudflare")


def test_a_block_may_say_how_long_it_lasts() -> None:
    found = verdict(403, retry_after="60", cf_mitigated="challenge")
    assert (found.kind, found.retry_after_seconds) == ("blocked", 60.0)


@pytest.mark.parametrize(
    "body", ["", " \r\n\t", "<html><head></head><body>\n</body></html>", "\n<HTML></HTML>"]
)
def test_nothing_is_nothing(body: str) -> None:
    assert verdict(200, body).kind == "empty"


def test_a_byte_order_mark_is_nothing_too() -> None:
    assert classify(Response(ASKED, 200, {}, b"\xef\xbb\xbf\n", 0.1), ASKED).kind == "empty"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (html("advert")[:-7], "truncated"),
        (html("advert").upper(), "ok"),
        (html("advert") + "<!-- 0.2 s -->\n", "ok"),
        (html("advert") + "<p>more</p>" * 200, "truncated"),
    ],
)
def test_a_page_ends_where_it_closes(body: str, kind: str) -> None:
    assert verdict(200, body).kind == kind


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("application/json", '{"offers": []}', "ok"),
        ("text/plain", "<html>cut", "ok"),
        ("", "\n<!doctype HTML><p>cut", "truncated"),
        ("", '{"offers": []}', "ok"),
        ("application/xhtml+xml", "<html>cut", "truncated"),
    ],
)
def test_only_html_must_close(content_type: str, body: str, kind: str) -> None:
    assert verdict(200, body, content_type=content_type).kind == kind


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        (ASKED + "/", "ok"),
        (ASKED + "?utm=1#x", "ok"),
        (ASKED.replace("https://www.", "http://"), "ok"),
        (ASKED.replace("obiava", "%6fbiava"), "ok"),
        (ASKED + "/prodava", "redirected"),
        ("https://www.imot.bg/", "redirected"),
    ],
)
def test_another_path_is_another_page(url: str, kind: str) -> None:
    found = verdict(200, url=url)
    assert (found.kind, found.detail) == (kind, f"to {url}" if kind == "redirected" else "")


def test_a_hostile_page_takes_no_time() -> None:
    for body in ("<title" * 10_000, "<title>" + " " * 60_000, " " * 4990 + "x", "<html " * 800):
        assert verdict(200, body).kind == "truncated"
