from datetime import UTC, datetime

import pytest

from sale_sofia.crawl.fetch.base import Response, Verdict
from sale_sofia.crawl.fetch.classify import classify
from tables import each_row
from unit.crawl.fetch.challenges import ASKED, Case, answer, html

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def verdict(status: int, body: str = html("advert"), url: str = ASKED, **headers: str) -> Verdict:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return classify(answer(Case("", status, body, names), url), ASKED, NOW)


@each_row(
    ("status", "kind"),
    [
        (200, "ok"), (304, "not_modified"), (404, "removed"), (410, "removed"), (407, "proxy_fault"),
        (429, "rate_limited"), (500, "server_error"), (502, "server_error"), (503, "server_error"),
        (522, "server_error"), (400, "server_error"), (408, "server_error"), (206, "truncated"),
        (302, "redirected"), (444, "server_error"), (504, "server_error"),
    ],
)  # fmt: skip
def test_the_status_decides(status: int, kind: str) -> None:
    assert verdict(status).kind == kind


@each_row("status", [429, 503])
@each_row(
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
        ("Sun, 15 Nov 99999999999999999999 12:00:00 GMT", None),
        ("Sun, 15 Nov 2026 12:01:30 +999999999999999", None),
        ("٣", None),
    ],
)
def test_a_server_says_how_long_to_wait(status: int, header: str, seconds: float | None) -> None:
    assert (found := verdict(status, retry_after=header)).kind == "rate_limited"
    assert found.retry_after_seconds == seconds


def test_a_date_means_nothing_without_the_time_of_day() -> None:
    case = Case("", 429, "", {"retry-after": "Sun, 15 Nov 2026 12:01:30 GMT"})
    assert classify(answer(case), ASKED).retry_after_seconds is None


@pytest.mark.parametrize("hour", ["11", "12", "13"])
def test_a_date_is_read_by_the_clock_of_the_server_that_wrote_it(hour: str) -> None:
    until, date = (f"Sun, 15 Nov 2026 {hour}:{minute} GMT" for minute in ("01:30", "00:00"))
    assert verdict(429, retry_after=until, date=date).retry_after_seconds == 90.0
    assert verdict(429, retry_after=date, date=until).retry_after_seconds is None


def test_a_rate_limit_of_cloudflare_is_named() -> None:
    found = verdict(429, html("Error 1015 You are being rate limited"))
    assert (found.kind, found.detail) == ("rate_limited", "HTTP 429 by Cloudflare")


@pytest.mark.parametrize("status", [429, 503])
def test_only_a_captcha_makes_a_rate_limit_a_block(status: int) -> None:
    found = verdict(status, html("no"), retry_after="9", x_iinfo="1", server="cloudflare")
    assert found == Verdict("rate_limited", f"HTTP {status} by Imperva", 9.0)
    assert verdict(status, html("g-recaptcha" * 600), retry_after="9").block_kind == "captcha"


@each_row("status", [500, 502, 503, 504, 520, 522])
def test_cloudflare_in_front_of_a_broken_portal_blocks_nobody(status: int) -> None:
    page = html("Web server is down" if status == 503 else '<div id="cf-error-details">Error 520</div>')
    found = verdict(status, page, server="cloudflare", set_cookie="__cf_bm=1, datadome=2", cf_ray="1")
    assert found.kind == "server_error"


def test_a_block_may_say_how_long_it_lasts() -> None:
    found = verdict(403, retry_after="60", cf_mitigated="challenge")
    assert (found.kind, found.retry_after_seconds) == ("blocked", 60.0)


@each_row("body", ["", " \r\n\t", "<html><head></head><body>\n</body></html>", "\n<HTML></HTML>"])
def test_nothing_is_nothing(body: str) -> None:
    assert verdict(200, body).kind == "empty"


def test_a_byte_order_mark_is_nothing_too() -> None:
    assert classify(Response(ASKED, 200, {}, b"\xef\xbb\xbf\n", 0.1), ASKED).kind == "empty"


@each_row(
    ("body", "kind"),
    [
        (html("advert")[:-7], "truncated"),
        (html("advert").upper(), "ok"),
        (html("advert") + "<!-- 0.2 s -->\n", "ok"),
        (html("advert") + "<p>more</p>" * 200, "ok"),
        (html("advert") + "<p>more</p>" * 400, "truncated"),
    ],
)
def test_a_page_ends_where_it_closes(body: str, kind: str) -> None:
    assert verdict(200, body).kind == kind


@each_row(
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


@each_row(
    ("url", "kind"),
    [
        (ASKED + "/", "ok"),
        (ASKED + "?utm=1#x", "ok"),
        (ASKED.replace("https://www.", "http://"), "ok"),
        (ASKED.replace("obiava", "%6fbiava"), "ok"),
        (ASKED + "/prodava", "redirected"),
        ("https://www.imot.bg/obiavi/prodazhbi", "redirected"),
    ],
)
def test_another_path_is_another_page(url: str, kind: str) -> None:
    found = verdict(200, url=url)
    assert (found.kind, found.detail) == (kind, f"to {url}" if kind == "redirected" else "")


def test_a_hostile_page_takes_no_time() -> None:
    for body in ("<title" * 10_000, "<title>" + " " * 60_000, " " * 4990 + "x", "<html " * 800):
        assert verdict(200, body).kind == "truncated"
