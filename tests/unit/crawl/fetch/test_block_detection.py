"""Every challenge page is known by its vendor, and nothing that good pages hold is taken for one."""

from typing import get_args

import pytest

from sale_sofia.crawl.fetch.base import BlockKind, Response, Verdict
from sale_sofia.crawl.fetch.blocks import DECISIVE_BODY, asks_for_browser
from sale_sofia.crawl.fetch.classify import classify, disguised_block
from sale_sofia.crawl.fetch.settings import LOOKED_AT_BYTES, TINY_BYTES
from tables import each_row
from unit.crawl.fetch.challenges import ADVERT, ASKED, CHALLENGES, RECAPTCHA, Case, answer, html
from unit.crawl.fetch.good_pages import GOOD

PROOF = (b'class="advHeader"',)
HOME = "https://www.imot.bg/"


@each_row("case", CHALLENGES)
def test_challenges_are_blocks(case: Case) -> None:
    found = classify(answer(case), ASKED, proof=PROOF)
    assert (found.kind, found.vendor, found.block_kind) == ("blocked", case.vendor, case.kind)
    assert found.detail == f"HTTP {case.status} by {case.vendor}"


def test_the_corpus_is_wide() -> None:
    vendors = [case.vendor for case in CHALLENGES]
    assert len(CHALLENGES) >= 60
    assert len({case.name for case in CHALLENGES}) == len(CHALLENGES)
    assert min(vendors.count(vendor) for vendor in set(vendors)) >= 2
    assert {case.kind for case in CHALLENGES} == {*get_args(BlockKind)} - {"redirect"}


@pytest.mark.slow
@each_row("case", CHALLENGES)
@each_row("change", ["upper", "lower", "byte order mark", "blank lines", "cut off"])
def test_a_challenge_is_known_in_any_dress(case: Case, change: str) -> None:
    body = {
        "upper": case.body.upper(),
        "lower": case.body.lower(),
        "byte order mark": "\ufeff" + case.body,
        "blank lines": "\r\n" * 20 + case.body.replace("><", ">\r\n\t<"),
        "cut off": case.body.removesuffix("</body></html>"),
    }[change]
    found = classify(answer(case._replace(body=body)), ASKED, proof=PROOF)
    assert (found.kind, found.vendor, found.block_kind) == ("blocked", case.vendor, case.kind)


@each_row("case", GOOD)
def test_what_good_pages_may_hold_is_no_block(case: Case) -> None:
    assert classify(answer(case), ASKED) == Verdict("ok")
    assert classify(answer(case), ASKED, proof=PROOF) == Verdict("ok")


@each_row("mark", DECISIVE_BODY)
def test_a_mark_counts_in_the_first_bytes_only(mark: bytes) -> None:
    last = b"<p>" + b"x" * (LOOKED_AT_BYTES - 3 - len(mark)) + mark
    assert _page(last).kind == "blocked"
    assert _page(b"x" + last).kind == "ok"


def test_a_tiny_page_is_one_below_the_limit() -> None:
    start = b'<b class="g-recaptcha">'
    assert _page(start + b"x" * (TINY_BYTES - len(start) - len(b"</html>") - 1)).kind == "blocked"
    assert _page(start + b"x" * (TINY_BYTES - len(start) - len(b"</html>"))).kind == "ok"


@each_row(
    ("place", "kind"),
    [
        ("captcha", "captcha"),
        ("sorry/index", "captcha"),
        ("challenge?from=1", "captcha"),
        ("blocked.html", "captcha"),
        ("user/Login", "login"),
        ("sign-in?back=1", "login"),
        ("vhod", "login"),
        ("", "redirect"),
        ("?from=obiava", "redirect"),
    ],
)
def test_being_sent_away_is_a_block_whatever_is_there(place: str, kind: str) -> None:
    case = Case("", 200, html('<div class="advHeader">' + ADVERT))
    found = classify(answer(case, HOME + place), ASKED, proof=PROOF)
    assert (found.kind, found.block_kind) == ("blocked", kind)


@each_row("path", ["challenger", "blockedout", "loginov-grad", "vhodove", "obiavi/sorrydale"])
def test_a_place_may_be_called_nearly_so(path: str) -> None:
    assert classify(answer(Case("", 200, html("advert")), HOME + path), ASKED).kind == "redirected"


@pytest.mark.parametrize("path", ["blocked", "login", ""])
def test_an_address_that_was_asked_for_is_no_redirect(path: str) -> None:
    assert classify(answer(Case("", 200, html("advert")), HOME + path), HOME + path).kind == "ok"


def test_a_page_without_what_was_asked_for_is_a_block_if_it_asks_for_a_captcha() -> None:
    response = answer(Case("", 200, html(RECAPTCHA + ADVERT)))
    assert classify(response, ASKED, proof=PROOF) == Verdict("ok")
    found = disguised_block(response, proof=PROOF)
    assert found == Verdict(
        "blocked", "HTTP 200 by captcha widget", block_kind="captcha", vendor="captcha widget"
    )


@each_row(
    ("case", "vendor"),
    [
        (Case("", 200, html('<b class="h-captcha">' + ADVERT)), "captcha widget"),
        (Case("", 200, html('<b class="CF-Turnstile">' + ADVERT)), "captcha widget"),
        (Case("", 200, html(ADVERT, "Attention Required! | Cloudflare")), "Cloudflare"),
        (Case("", 200, html("window._pxAppId=1" + ADVERT)), "PerimeterX"),
        (Case("", 200, html(ADVERT), {"x-iinfo": "1"}), "Imperva"),
        (Case("", 200, html(ADVERT), {"server": "cloudflare", "set-cookie": "datadome=1; __cf_bm=1"}), None),
        (Case("", 200, html(ADVERT)), None),
        (Case("", 200, html('<i class="advHeader"><b class="g-recaptcha">' + ADVERT)), None),
    ],
)
def test_a_new_layout_is_no_block_unless_something_says_so(case: Case, vendor: str | None) -> None:
    found = disguised_block(answer(case), proof=PROOF)
    assert (found.vendor if found else None) == vendor


def _page(body: bytes) -> Verdict:
    return classify(Response(ASKED, 200, {"content-type": "text/html"}, body + b"</html>", 0.1), ASKED)


FOR_NOBODY = {
    "attention", "attention, tiny 200", "error details, 503", "server", "imperva header", "imperva cdn, 503",
    "imperva header, tiny 200", "aws cookie",
}  # fmt: skip
"""Of these kinds, but refused outright or told only by what good pages have too."""


@each_row("case", CHALLENGES)
def test_only_challenges_of_a_script_are_for_a_browser(case: Case) -> None:
    """A captcha is for a person, and a bare refusal for nobody."""
    by_script = case.kind in {"cloudflare", "challenge"} and case.name not in FOR_NOBODY
    assert asks_for_browser(answer(case), PROOF) == by_script
