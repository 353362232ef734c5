"""The engine: a portal from a table alone, and what it refuses to believe."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience.errors import ParseError
from sale_sofia.crawl.visit.judging import Judge
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import LayoutChanged, Page, PageLimits, RemovedListing, WrongListing
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.reading import check_page, read_page
from sale_sofia.websites.site_file import CONFIG_FOLDER, SiteConfigError, load_site_config
from sale_sofia.websites.splitting import Hints

LIMITS = PageLimits(1_000_000, 10_000, 1_000)
SITE = """
site: pazar.example
hosts: [pazar.example]
inventory: {adverts: 10, per_page: 5}
politeness:
  {delay_seconds: 1, concurrency: 1, connect_timeout_seconds: 1, read_timeout_seconds: 1, retries: 0}
urls: {listing: '^/imot/(?P<id>[0-9]+)$', search: '^/imoti'}
listing:
  ids: [{css: 'link[rel="canonical"]', attr: href, match: '/imot/([0-9]+)$'}]
  rows:
    params: {css: 'li'}
  fields:
    price: {from: [{css: '.new-price'}, {css: '.price'}], parse: price}
    area_sqm: {from: [{row: Площ}], parse: area}
    floor: {from: [{row: Етаж}], parse: floor}
    description: {from: [{jsonld: Product, path: [description]}], parse: lines}
search:
  cards: '.card'
  hidden: '[hidden]'
  card_id: {css: '.card', attr: data-id}
  card_url: {css: a, attr: href}
  fields:
    price: {from: [{css: b}], parse: price}
  total: [{css: '.total', match: '([0-9 ]{1,14}) обяви'}]
  next: [{css: 'a.next', attr: href}]
  empty: [Нищо не е намерено]
"""
LISTING = "https://pazar.example/imot/7"
SEARCH = "https://pazar.example/imoti"
CANONICAL = f'<link rel="canonical" href="{LISTING}">'


@pytest.fixture
def site(tmp_path: Path) -> TableSite:
    return make_site(tmp_path, SITE)


def make_site(folder: Path, text: str) -> TableSite:
    (folder / "sites").mkdir()
    shutil.copy(CONFIG_FOLDER / "defaults.yaml", folder)
    (folder / "sites" / "pazar.example.yaml").write_text(text, "utf-8")
    return TableSite(load_site_config("pazar.example", folder), LIMITS)


def page(body: str, url: str = LISTING) -> Page:
    return Page(url, f"<html><body>имоти {body}</body></html>".encode())


def test_a_portal_needs_yaml_alone(site: TableSite) -> None:
    body = CANONICAL + "<p class=price>99 000 €</p><ul><li>Площ: 70 кв.м<li>Eтаж: 2-ри от 6</ul>"
    read = normalise(site.listing(page(body)))
    assert (read.external_id, read.price_eur, read.area_sqm, read.floor, read.floors_total) == (
        "7",
        99000,
        70,
        2,
        6,
    )


def test_the_link_that_matched_is_recorded(site: TableSite) -> None:
    old = site.listing(page(CANONICAL + "<p class=price>99 000 €</p>"))
    new = site.listing(page(CANONICAL + "<p class=new-price>98 000 €</p><p class=price>99 000 €</p>"))
    assert (old.fields["price"].link, old.fields["price"].texts) == (1, ("99 000 €",))
    assert (new.fields["price"].link, new.fields["price"].texts) == (0, ("98 000 €",))
    assert "area_sqm" not in old.fields


def test_a_label_with_two_values_says_nothing(site: TableSite) -> None:
    body = CANONICAL + "<ul><li>Площ: 70 кв.м<li>Площ: 80 кв.м<li>Етаж: 2-ри<li>Етаж: 2-ри</ul>"
    read = normalise(site.listing(page(body)))
    assert (read.area_sqm, read.floor) == (None, 2)


def test_a_value_beside_its_label(tmp_path: Path) -> None:
    beside = make_site(
        tmp_path, SITE.replace("params: {css: 'li'}", "params: {css: 'p > span', beside: true}")
    )
    body = (
        "<p><span>Етажност</span><br><b>9</b><br> <span>Етаж: </span><!-- --><br><b><b>2-ри</b> от 6</b>"
        "<span>Площ</span><b>70 м²</b><span>Двор</span></p>"
    )
    read = normalise(beside.listing(page(CANONICAL + body)))
    assert (read.floor, read.floors_total, read.area_sqm) == (2, 6, 70)


def test_inner_elements_that_do_not_count(tmp_path: Path) -> None:
    text = SITE.replace("{css: '.new-price'}", "{css: '.new-price', without: 's, small'}")
    body = "<p class=new-price><s>110 000 €</s> 99 000 € <small>(без такси)</small></p>"
    raw = make_site(tmp_path, text).listing(page(CANONICAL + body))
    assert raw.fields["price"].texts == ("99 000 €",)


def test_what_stands_between_two_marks_is_not_read(tmp_path: Path) -> None:
    site = make_site(tmp_path, SITE.replace("listing:\n", "listing:\n  skip: [[<stats>, </stats>]]\n", 1))
    price = "<stats><p class=price>1 €</p></stats><p class=price>99 000 €</p>"
    assert normalise(site.listing(page(CANONICAL + price))).price_eur == 99000
    cut_short = price.replace("</stats>", "")
    assert normalise(site.listing(page(CANONICAL + cut_short))).price_eur == 1


def test_broken_json_ld_is_left_out(site: TableSite) -> None:
    broken = '<script type="application/ld+json">{"@type": "Product", </script>'
    sound = '<script type="application/ld+json">{"@type": "Product", "description": "Светъл"}</script>'
    listed = '<script type="application/ld+json">[1]</script>'
    read = normalise(site.listing(page(CANONICAL + broken + listed + sound)))
    assert read.description == "Светъл"


def test_another_advert_is_not_the_one_asked_for(site: TableSite) -> None:
    with pytest.raises(WrongListing, match="advert 8 was asked for, the page is advert 7"):
        site.listing(page(CANONICAL, "https://pazar.example/imot/8"))


def test_two_ids_are_no_id(tmp_path: Path) -> None:
    text = SITE.replace("  ids: [", "  ids: [{css: h1}, ")
    with pytest.raises(LayoutChanged, match="gives itself 2 ids: 7, 9"):
        make_site(tmp_path, text).listing(page(CANONICAL + "<h1>9</h1>"))


def test_an_id_that_not_every_database_stores_is_refused(tmp_path: Path) -> None:
    named = make_site(tmp_path, SITE.replace("[0-9]+", "[a-z]+"))

    def pages(own: str) -> tuple[Page, Page]:
        url = f"https://pazar.example/imot/{own}"
        card = f'<p class=card data-id={own}><a href="{url}">x</a></p>'
        return page(f'<link rel="canonical" href="{url}">', url), page(card, SEARCH)

    listing, results = pages("a" * 80)
    assert named.listing(listing).external_id == named.search(results).cards[0].external_id == "a" * 80
    listing, results = pages("a" * 81)
    for read, refused in ((named.listing, listing), (named.search, results)):
        with pytest.raises(LayoutChanged, match="has 81 characters; at most 80 are stored"):
            read(refused)


def test_results_in_place_of_an_advert_mean_it_is_gone(site: TableSite) -> None:
    canonical = f'<link rel="canonical" href="{SEARCH}">'
    with pytest.raises(RemovedListing):
        site.listing(page(canonical))
    with pytest.raises(RemovedListing):
        site.listing(
            page('<p class=total>1 обяви</p><div class=card data-id=9><a href="/imot/9">x</a></div>')
        )


def test_other_adverts_on_a_page_without_its_own_id_do_not_make_it_gone(site: TableSite) -> None:
    with pytest.raises(LayoutChanged, match="does not give its advert's id"):
        site.listing(page('<div class=card data-id=9><a href="/imot/9">x</a></div>'))


CARD = '<div class=card data-id={0}><a href="/imot/{0}">x</a><b>{1}</b></div>'


def test_cards(site: TableSite) -> None:
    body = (
        "<p class=total>1 234 обяви</p>"
        + CARD.format(1, "50 000 €")
        + CARD.format(2, "по договаряне")
        + CARD.format(1, "50 000 €")
        + f"<div hidden>{CARD.format(3, '1 €')}</div>"
        + "<div class=card>реклама</div><a class=next href='/imoti?page=2'>напред</a>"
    )
    found = site.search(page(body, SEARCH))
    assert [(card.external_id, card.url, dict(card.facts)) for card in found.cards] == [
        ("1", "https://pazar.example/imot/1", {"price_eur": 50000}),
        ("2", "https://pazar.example/imot/2", {}),
    ]
    assert (found.total, found.capped, found.verified_empty) == (1234, False, False)
    assert found.next_url == "https://pazar.example/imoti?page=2"


def test_the_last_page_has_no_next(site: TableSite) -> None:
    leads_to_itself = CARD.format(1, "5 €") + f"<a class=next href='{SEARCH}'>напред</a>"
    leads_elsewhere = CARD.format(1, "5 €") + "<a class=next href='/kontakti'>напред</a>"
    assert site.search(page(CARD.format(1, "5 €"), SEARCH)).next_url is None
    assert site.search(page(leads_to_itself, SEARCH)).next_url is None
    assert site.search(page(leads_elsewhere, SEARCH)).next_url is None


def test_nothing_found_needs_the_portals_own_words(site: TableSite) -> None:
    empty = site.search(page("<p>Нищо не е намерено</p>", SEARCH))
    assert (empty.cards, empty.total, empty.verified_empty) == ((), 0, True)
    with pytest.raises(LayoutChanged, match="no cards and does not say"):
        site.search(page("<p>Здравейте</p>", SEARCH))
    with pytest.raises(LayoutChanged, match="no cards and does not say"):
        site.search(page("<script>const none = 'Нищо не е намерено'</script>", SEARCH))


def test_a_card_that_leads_to_another_advert_is_not_believed(site: TableSite) -> None:
    with pytest.raises(LayoutChanged, match=r"the card of advert 1 leads to https://pazar\.example/imot/2"):
        site.search(page('<div class=card data-id=1><a href="/imot/2">x</a></div>', SEARCH))


def test_an_address_that_not_every_database_looks_up_is_refused(site: TableSite) -> None:
    query = "?" + "я" * 1000  # two bytes each
    card = '<div class=card data-id=1><a href="/imot/1{}">x</a></div>'
    following = card.format("") + f'<a class=next href="/imoti{query}">напред</a>'
    for body, length in ((card.format(query), 2029), (following, 2028)):
        with pytest.raises(LayoutChanged, match=f"an address of {length} bytes, .*; at most 2000"):
            site.search(page(body, SEARCH))


def test_a_card_inside_another_is_not_believed(site: TableSite) -> None:
    with pytest.raises(LayoutChanged, match="inside another"):
        site.search(
            page(f"<div class=card data-id=1><a href='/imot/1'>x</a>{CARD.format(2, '5 €')}</div>", SEARCH)
        )


def test_an_unknown_parser_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        SiteConfigError, match=r"listing\.fields\.price\.parse: no parser prise; allowed: area, "
    ):
        make_site(tmp_path, SITE.replace("parse: price}\n    area", "parse: prise}\n    area"))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "{row: Етаж}",
            "{row: Етаж, rows: more}",
            "listing.fields.floor: no rows named more; there are params: name one with rows:",
        ),
        ("{css: b}", "{row: Цена}", "search.fields.price: no rows named params; there are none"),
    ],
)
def test_rows_that_are_not_there_are_refused_by_name(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(SiteConfigError) as raised:
        make_site(tmp_path, SITE.replace(old, new))
    assert sentence in str(raised.value)


def test_a_form_without_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SiteConfigError, match="form is for links with a path"):
        make_site(tmp_path, SITE.replace("{css: '.price'}", "{css: '.price', form: '{} €'}"))


def test_a_wrong_link_is_not_also_told_as_a_short_list(tmp_path: Path) -> None:
    with pytest.raises(SiteConfigError) as raised:
        make_site(tmp_path, SITE.replace("{css: b}", "{css: b, form: '{} €'}"))
    assert len(str(raised.value).splitlines()) == 1
    assert "search.fields.price.from.0: form is for" in str(raised.value)


def test_all_wrong_names_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = SITE.replace("parse: area}", "parse: aria}").replace("floor: {from", "flor: {from")
    with pytest.raises(SiteConfigError) as raised:
        make_site(
            tmp_path,
            text.replace("parse: lines}", "parse: line}").replace("{row: Етаж}", "{row: Е, rows: x}"),
        )
    mistakes = [line.partition("pazar.example.yaml: ")[2] for line in str(raised.value).splitlines()]
    assert [line.partition(";")[0] for line in mistakes] == [
        "listing.fields.area_sqm.parse: no parser aria",
        "listing.fields.flor: no rows named x",
        "listing.fields.description.parse: no parser line",
    ]


def test_a_fact_that_no_listing_has_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        SiteConfigError, match=r"listing\.fields\.year: an advert has no such field; allowed: .*, year_built$"
    ):
        make_site(
            tmp_path,
            SITE.replace("\n  fields:\n", "\n  fields:\n    year: {from: [{css: b}], parse: year}\n", 1),
        )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("{floor: {bear: floor}}", "floor takes bare, not bear"),
        ("{floor: {bare: floor, least: 1}}", "floor takes bare, not bare, least"),
        ("heating", "heating takes yes, not none"),
        ("{text: {upper: true}}", "text takes no arguments, not upper"),
        ("{}", "needs at least 1"),
        ("{floor: {}, text: {}}", "at most 1 item"),
    ],
)
def test_a_parser_with_other_arguments_is_refused(tmp_path: Path, given: str, sentence: str) -> None:
    with pytest.raises(SiteConfigError, match=sentence):
        make_site(tmp_path, SITE.replace("parse: floor}", f"parse: {given}}}"))


def test_a_check_shows_the_text_that_a_match_missed(tmp_path: Path) -> None:
    text = SITE.replace("{css: '.price'}", r"{css: '.price', match: 'Цена (\d+ €)'}")
    site = make_site(tmp_path, text.replace("{css: b}", r"{css: b, match: '^(\d+) лв'}"))
    body = CANONICAL + "<p class=price>Цена<br>99 €</p><ul><li>Площ: 70 кв.м</ul>"
    rows = {row["field"]: row for row in check_page(site, page(body))["fields"]}
    assert (rows["price"]["link"], rows["price"]["unmatched"]) == (None, "Цена 99 €")
    assert [rows[name]["unmatched"] for name in ("area_sqm", "floor")] == [None, None]
    card = check_page(site, page("<p class=total>1 обяви</p>" + CARD.format(1, "5 €"), SEARCH))
    assert [row["unmatched"] for row in card["fields"]] == ["5 €"]


@pytest.mark.parametrize(("proof", "proven"), [("", None), ("class=price", True), ("class=results", False)])
def test_a_check_says_whether_a_mark_of_proof_stands_on_the_page(
    tmp_path: Path, proof: str, proven: object
) -> None:
    site = make_site(tmp_path, f"{SITE}proof: ['{proof}']\n" if proof else SITE)
    body = CANONICAL + "<p class=price>99 000 €</p>"
    assert check_page(site, page(body))["proven"] is proven
    results = "<p class=total>1 обяви</p><p class=price>" + CARD.format(1, "5 €")
    assert check_page(site, page(results, SEARCH))["proven"] is proven


def test_a_check_counts_the_adverts_of_a_sitemap(tmp_path: Path) -> None:
    site = make_site(tmp_path, SITE + "sitemap: {path: '^/sitemap'}\n")
    body = b"<urlset><url><loc>/imot/7</loc></url><url><loc>/about</loc></url></urlset>"
    answer = check_page(site, Page("https://pazar.example/sitemap.xml", body))
    assert (answer["list"], answer["cards"], answer["sitemaps"]) == ("sitemap", 1, 0)
    index = b"<sitemapindex><sitemap><loc>/sitemap-1.xml</loc></sitemap></sitemapindex>"
    answer = check_page(site, Page("https://pazar.example/sitemap.xml", index))
    assert (answer["list"], answer["cards"], answer["sitemaps"]) == ("sitemap", 0, 1)


def test_a_text_of_which_only_a_flag_is_made_is_not_understood(site: TableSite) -> None:
    body = CANONICAL + "<p class=price>от 99 000 €</p><ul><li>Площ: 70 кв.м<li>Етаж: последен</ul>"
    answer = check_page(site, page(body))
    assert (answer["unread"], answer["flags"]) == (["price", "floor"], ["price_unreadable"])
    assert answer["missing"] == ["description"]


def test_kinds_of_addresses(site: TableSite) -> None:
    assert site.kind_of(LISTING) == "listing"
    assert site.kind_of("http://127.0.0.1:8701/imot/7") == "listing"
    assert site.kind_of(SEARCH) == "search"
    assert site.kind_of("https://pazar.example/kontakti") is None
    assert site.parts(SEARCH, Hints()).urls == ()


def test_a_page_that_says_only_who_it_is_is_a_changed_layout(tmp_path: Path) -> None:
    """Also where a person looks what each link finds: there the table is shown, with nothing in it."""
    fields = "\n  fields:\n    title: {from: [{css: h1}], parse: text}\n"
    site = make_site(tmp_path, SITE.replace("\n  fields:\n", fields, 1))
    bare = page(CANONICAL + "<h1>Продава 2-стаен</h1><p class=cena>99 000 €</p>")
    assert read_page(site, bare)["error"] == {
        "type": "layout_changed",
        "message": "of the advert nothing is found but its id and its title",
    }
    answer = check_page(site, bare)
    assert (answer["missing"], answer["flags"]) == (
        ["price", "area_sqm", "floor", "description"],
        ["layout_changed"],
    )


def test_the_crawl_stores_no_advert_that_says_only_who_it_is(site: TableSite) -> None:
    judge = Judge(site)
    claim = Claim(1, "listing", LISTING, 1, 1)
    answer = Response(LISTING, 200, {"content-type": "text/html"}, page(CANONICAL).body, 0.1)
    with pytest.raises(ParseError, match="nothing is found but its id"):
        judge.outcome(claim, answer, datetime.now(UTC))
