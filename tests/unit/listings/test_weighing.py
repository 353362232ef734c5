"""Pages made to be hard to parse are refused before they are, whatever their shape; others are not."""

import time

import pytest
from selectolax.lexbor import LexborHTMLParser

from hostile_readers import page
from sale_sofia.listings.page import HostilePage, PageLimits, refuse_hostile
from sale_sofia.operations.hostile import HTML
from tables import each_row

LIMITS = PageLimits(max_bytes=8_000_000, max_tags=20_000, max_options=4000)
SIZE = 1_000_000
SLOW_SECONDS = 2.0
"""Of computing: refused, or parsed in less."""


@pytest.mark.slow
@each_row("shape", HTML)
def test_no_shape_takes_long(shape: str) -> None:
    body = page(shape, SIZE)
    begun = time.process_time()
    try:
        refuse_hostile(body, LIMITS)
    except HostilePage:
        pass
    else:
        LexborHTMLParser(body.decode())
    assert time.process_time() - begun < SLOW_SECONDS


@each_row(
    ("shape", "size", "why"),
    [
        ("attributes", 10_000, "more than 1000 attributes"),
        ("attributes of an end tag", 10_000, "more than 1000 attributes"),
        ("attributes split by slashes", 10_000, "more than 1000 attributes"),
        ("attributes after quotes", 10_000, "more than 1000 attributes"),
        ("numbered formatting over paragraphs", 60_000, "opened again 1000000 times"),
        ("nested blocks", 60_000, "more than 512 deep"),
        ("nested blocks", 20_000, "more than 512 deep"),
        ("open blocks", 10_000, "more than 512 deep"),
        ("open lists", 60_000, "more than 512 deep"),
        ("open fonts", 60_000, "opened again 1000000 times"),
    ],
)
def test_what_is_wrong_is_said(shape: str, size: int, why: str) -> None:
    with pytest.raises(HostilePage, match=why):
        refuse_hostile(page(shape, size), LIMITS)


def test_the_fewest_tags_that_can_be_opened_again_too_often() -> None:
    def left_open(each: int) -> bytes:
        return b"".join(b"<b a=%d>" % number for number in range(each)) + b"<p>" * each

    refuse_hostile(left_open(1000), LIMITS)
    with pytest.raises(HostilePage, match="opened again 1000000 times"):
        refuse_hostile(left_open(1001), LIMITS)


@each_row(
    "piece",
    [
        '<p><i class="icon-#"></i><b id=#>x</b><a href="/#">y</a></p>',
        '<div class="a" id="b#" data-json="{&quot;a&quot;: 1}" title="a > b">x</div>',
        "<ul><li><svg><path d=#/></svg><p>x<br>y<img src=#></ul>",
        "<script>for (i = 0; i<n; i++) { a = b / c; d = 'e' ; f(g, h); }</script>",
    ],
)
def test_an_ordinary_page_is_let_through(piece: str) -> None:
    body = "".join(piece.replace("#", str(number)) for number in range(2000)).encode()
    refuse_hostile(body, LIMITS)
