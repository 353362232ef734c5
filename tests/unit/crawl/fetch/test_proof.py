"""A page that can be read is never blocked for its words: real pages, rendered pages, quoted marks."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.fetch.blocks import DECISIVE_BODY, SUPPORTING_BODY, TINY_BODY, is_proven
from sale_sofia.crawl.fetch.classify import classify, disguised_block
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import CONFIG_FOLDER, SiteConfigError, available_sites, load_site_config
from sale_sofia_simulator.render import TWIN_PORTALS, RenderedPage, render_twin, render_world
from sale_sofia_simulator.simulation import FAMILY
from sale_sofia_simulator.world import make_world
from shared import PAGE_SETS, needs_real_pages, real_pages
from tables import each_row
from unit.crawl.fetch.challenges import ASKED, CHALLENGES, Case, answer

REAL = sorted(path for folder in PAGE_SETS for path in folder.glob("*/*.html"))
PROOF = {site: load_site_config(site).proof for site in available_sites()}
BARE = {"content-type": "text/html"}
BEHIND_CLOUDFLARE = {
    **BARE, "server": "cloudflare", "cf-ray": "9d2f6a1c0e8b4f57-SOF", "cf-cache-status": "DYNAMIC",
    "set-cookie": "__cf_bm=1; path=/; HttpOnly, cf_clearance=2",
}  # fmt: skip
SEED = 20261115


def response(url: str, body: bytes, headers: dict[str, str]) -> Response:
    return Response(url, 200, headers, body, 0.1)


def verdicts(url: str, body: bytes, proof: tuple[bytes, ...]) -> set[str]:
    """Of the page as it is and as it comes through Cloudflare, with and without proof."""
    answers = [response(url, body, headers) for headers in (BARE, BEHIND_CLOUDFLARE)]
    return {classify(one, url, proof=marks).kind for one in answers for marks in ((), proof)}


@needs_real_pages
@each_row("path", REAL)
def test_real_pages_are_good(path: Path) -> None:
    body = path.read_bytes()
    expected = "ok" if b"</html" in body.lower() else "truncated"
    assert verdicts(ASKED, body, PROOF.get(path.parent.name, ())) == {expected}


@needs_real_pages
def test_most_real_pages_are_closed() -> None:
    assert sum(b"</html" in path.read_bytes().lower() for path in REAL) >= 40


@needs_real_pages
def test_real_pages_that_can_be_read_are_proven() -> None:
    own = [path for site in PROOF for path, told in real_pages(site) if told["kind"] != "error"]
    pages = [(path, response(ASKED, path.read_bytes(), BARE)) for path in own]
    assert len(pages) >= 20
    assert [path for path, page in pages if not is_proven(page, PROOF[path.parent.name])] == []


@pytest.mark.slow
def test_rendered_pages_of_every_kind_are_good_and_proven() -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for page in render_world(make_world(150, SEED)):
        proof = PROOF[page.site]
        assert verdicts(page.url, page.body, proof) == {"ok"}, page.path
        assert disguised_block(response(page.url, page.body, BEHIND_CLOUDFLARE)) is None, page.path
        assert is_proven(response(page.url, page.body, BARE), proof), page.path
        seen[page.site, page.truth["kind"]] += 1
    assert min(seen[site, "listing"] for site in FAMILY) >= 150
    assert min(seen[site, "search"] for site in FAMILY) >= 3


@pytest.mark.slow
@each_row("site", TWIN_PORTALS)
def test_pages_of_the_other_portals_are_good_and_proven(site: str) -> None:
    pages = list(render_twin(make_world(30, SEED), site))
    assert len(pages) > 30
    for page in pages:
        kind = "application/json" if page.body.startswith(b"{") else "text/html"
        bare = response(page.url, page.body, {"content-type": kind})
        assert {classify(bare, page.url, proof=marks).kind for marks in ((), PROOF[site])} == {"ok"}, (
            page.path
        )
        assert is_proven(bare, PROOF[site]), page.path


@pytest.mark.slow
@each_row("site", PROOF)
@each_row("case", CHALLENGES)
def test_no_challenge_is_proven(site: str, case: Case) -> None:
    assert not is_proven(answer(case._replace(status=200)), PROOF[site])


def quoting(body: bytes, words: bytes) -> bytes:
    """The page with the words in its head, its advert's description and every paragraph, as text."""
    text = words.replace(b"<", b"&lt;")
    return body.replace(b"<body", b"<!-- " + words + b" --><body", 1).replace(b"<br", text + b"<br")


def adverts() -> Iterator[RenderedPage]:
    pages = (page for page in render_world(make_world(2, SEED)) if page.truth["kind"] == "listing")
    return iter({page.site: page for page in pages}.values())


@pytest.mark.slow
@each_row("words", [*DECISIVE_BODY, *SUPPORTING_BODY, *TINY_BODY])
def test_an_advert_may_quote_any_mark(words: bytes) -> None:
    for page in adverts():
        body = quoting(page.body, words)
        assert words in body
        listing = normalise(get_scraper(page.site).listing(Page(page.url, body)))
        assert listing.external_id == page.truth["external_id"]
        assert classify(response(page.url, body, BARE), page.url, proof=PROOF[page.site]).kind == "ok"
        assert (words in DECISIVE_BODY) == (
            classify(response(page.url, body, BARE), page.url).kind == "blocked"
        )


def test_a_title_proves_nothing_against_an_advert() -> None:
    for page in adverts():
        start, _, rest = page.body.partition(b"<title>")
        body = start + b"<title>Just a moment...<" + rest.partition(b"<")[2]
        assert classify(response(page.url, body, BARE), page.url).vendor == "Cloudflare"
        assert classify(response(page.url, body, BARE), page.url, proof=PROOF[page.site]).kind == "ok"


def test_headers_and_statuses_come_before_proof() -> None:
    for page in adverts():
        blocked = response(page.url, page.body, {**BARE, "cf-mitigated": "challenge"})
        assert classify(blocked, page.url, proof=PROOF[page.site]).kind == "blocked"
        for status, kind in ((403, "blocked"), (429, "rate_limited"), (404, "removed")):
            refused = Response(page.url, status, BARE, page.body, 0.1)
            assert classify(refused, page.url, proof=PROOF[page.site]).kind == kind


def test_proof_counts_with_a_good_status_only() -> None:
    for page in adverts():
        gone = Response(page.url, 404, BARE, quoting(page.body, b"window._cf_chl_opt"), 0.1)
        assert classify(gone, page.url, proof=PROOF[page.site]).kind == "blocked"


@pytest.mark.parametrize(
    ("mark", "sentence"),
    [
        ("Обява", "proof.0: must be ASCII, which is the same in every charset"),
        ("<p>", "proof.0: Data should have at least 6 bytes"),
    ],
)
def test_a_mark_that_proves_nothing_is_refused(tmp_path: Path, mark: str, sentence: str) -> None:
    (tmp_path / "sites").mkdir()
    for name in ("defaults.yaml", "sites/imot.bg.yaml"):
        text = (CONFIG_FOLDER / name).read_text("utf-8")
        (tmp_path / name).write_text(text.replace("""'class="advHeader"'""", f"'{mark}'"), "utf-8")
    with pytest.raises(SiteConfigError) as raised:
        load_site_config("imot.bg", tmp_path)
    assert f"imot.bg.yaml: {sentence}" in str(raised.value)
