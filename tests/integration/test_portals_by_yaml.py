"""Two portals made up here, of two charsets and two ways of paging, crawled by a file each, no Python."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from crawls import run, stored

HOODS = ("Лозенец", "Борово", "Център", "Младост 1", "Дружба 2")
ADVERTS = [
    {"id": 100 + n, "hood": HOODS[n % 5], "rooms": 1 + n % 4, "price": 80_000 + 1_500 * n, "area": 40 + 3 * n}
    for n in range(23)
]
PER_PAGE = 10
QUICK = {
    "ARCHIVE_ENABLED": "false",
    "DOMAIN_RATE_LIMITS": json.dumps({"kashti.test": 60_000, "broker.test": 60_000}),
}

# A table of labelled rows, windows-1251, pages by a link.
KASHTI = r"""
site: kashti.test
hosts: [kashti.test]
inventory: {adverts: 23, per_page: 10}
urls: {listing: '^/oferta/(?P<id>\d+)$', search: '^/tarsene'}
listing:
  ids:
    - {css: 'meta[property="og:url"]', attr: content, match: '/oferta/(\d+)$'}
    - {css: '#nomer', match: '№ (\d+)$'}
  rows: {params: {css: 'table.danni tr', label: th, value: td}}
  fields:
    offer: {from: [{css: h2}], parse: offer}
    place: {from: [{row: Място}], parse: place}
    price: {from: [{row: Цена}], parse: price, agree: [{css: '#kasa'}]}
    area_sqm: {from: [{row: Квадратура}], parse: area}
    floor: {from: [{row: Етаж}], parse: floor}
search:
  cards: 'li.oferta'
  card_id: {css: 'li.oferta', attr: id, match: '^o(\d+)$'}
  card_url: {css: a, attr: href}
  total: [{css: '#broi', match: '^(\d+)'}]
  next: [{css: 'a[rel="next"]', attr: href}]
  empty: [Няма оферти]
"""

# Facts in JSON-LD and in attributes, UTF-8, pages by a number that the address alone has.
BROKER = r"""
site: broker.test
hosts: [broker.test]
inventory: {adverts: 23, per_page: 10}
urls: {listing: '^/p/[a-z-]+-(?P<id>\d+)/$', search: '^/list/'}
listing:
  ids: [{jsonld: Offer, path: sku}]
  fields:
    offer: {from: [{jsonld: Offer, path: name, match: '^(.+?),'}], parse: offer}
    place: {from: [{css: '[data-place]', attr: data-place}], parse: place}
    price: {from: [{jsonld: Offer, path: [price, priceCurrency]}], parse: price}
    area_sqm: {from: [{css: '.facts span', all: true, match: '^(\d+ кв\.м)$'}], parse: area}
    floor: {from: [{css: '.facts span', all: true, match: '^ет\. (.+)$'}], parse: {floor: {bare: floor}}}
search:
  cards: 'article[data-ref]'
  hidden: '[hidden]'
  card_id: {css: 'article', attr: data-ref}
  card_url: {css: 'a.more', attr: href}
  total: [{css: 'h1', match: '\((\d+)\)'}]
  paging: {last: {css: '.pages', match: 'от (\d+)$'}, query: {str: [1, 1]}}
  empty: [Нищо за показване]
"""


def kashti_page(path: str, _query: str) -> str | None:
    if path.startswith("/oferta/"):
        one = advert(path.rpartition("/")[2])
        return (
            None
            if one is None
            else page(
                f'<meta property="og:url" content="http://{{host}}/oferta/{one["id"]}">'
                f'<p id="nomer">Оферта № {one["id"]}</p><h2>Продава {one["rooms"]}-стаен</h2>'
                f'<b id="kasa">{one["price"]} лв.</b><table class="danni">'
                f"<tr><th>Място<td>гр. София, кв. {one['hood']}<tr><th>Цена<td>{one['price']} лв."
                f"<tr><th>Квадратура<td>{one['area']} кв. м<tr><th>Етаж<td>2-ри от 6</table>"
            )
        )
    number = int(path.removeprefix("/tarsene").strip("/") or 1)
    cards = "".join(
        f'<li class="oferta" id="o{one["id"]}"><a href="/oferta/{one["id"]}">виж</a>' for one in shown(number)
    )
    more = f'<a rel="next" href="/tarsene/{number + 1}">още</a>' if number * PER_PAGE < len(ADVERTS) else ""
    return page(f'<p id="broi">{len(ADVERTS)} оферти</p><ul>{cards}</ul>{more}')


def broker_page(path: str, query: str) -> str | None:
    if path.startswith("/p/"):
        one = advert(path.strip("/").rpartition("-")[2])
        data = one and {
            "@type": "Offer", "sku": str(one["id"]), "name": f"Продава {one['rooms']}-стаен, {one['hood']}",
            "price": round(one["price"] / 1.95583, 2), "priceCurrency": "EUR",
        }  # fmt: skip
        return (
            None
            if one is None
            else page(
                f'<script type="application/ld+json">{json.dumps(data)}</script>'
                f'<i data-place="София, {one["hood"]}"></i>'
                f'<p class="facts"><span>{one["area"]} кв.м</span><span>ет. 2 от 6</span></p>'
            )
        )
    number = int(query.removeprefix("str=") or 1)
    cards = "".join(
        f'<article data-ref="{one["id"]}"><a class="more" href="/p/imot-{one["id"]}/">виж</a></article>'
        for one in shown(number)
    )
    hidden = (
        '<div hidden><article data-ref="1"><a class="more" href="/p/obrazets-1/">образец</a></article></div>'
    )
    return page(f"<h1>Имоти ({len(ADVERTS)})</h1>{hidden}{cards}<p class='pages'>страница {number} от 3</p>")


def advert(number: str) -> Mapping[str, Any] | None:
    return next((one for one in ADVERTS if str(one["id"]) == number), None)


def shown(number: int) -> list[dict[str, Any]]:
    return ADVERTS[(number - 1) * PER_PAGE : number * PER_PAGE]


def page(body: str) -> str:
    return f'<html><head><meta charset="{{charset}}"></head><body>имоти {body}</body></html>'


PORTALS = {
    "kashti.test": (KASHTI, kashti_page, "windows-1251", "/tarsene", 1),
    "broker.test": (BROKER, broker_page, "utf-8", "/list/", 2),
}


@contextmanager
def serving(make: Any, charset: str) -> Iterator[str]:  # noqa: ANN401 - one of the two above
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            found = None if path == "/robots.txt" else make(path, query)
            body = (
                (found or "")
                .replace("{host}", self.headers["Host"])
                .replace("{charset}", charset)
                .encode(charset)
            )
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its base class says so
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@pytest.mark.parametrize("site", PORTALS)
def test_a_portal_of_plain_html_needs_its_file_alone(tmp_path: Path, site: str) -> None:
    text, make, charset, search, _ = PORTALS[site]
    folder = tmp_path / "sites"
    folder.mkdir()
    with serving(make, charset) as base:
        (folder / f"{site}.yaml").write_text(f"{text}start_urls: ['{base}{search}']\n", "utf-8")
        done = run(tmp_path / "data", "crawl", site, "--json", SITES_DIR=str(folder), **QUICK)
    assert done.returncode == 0, done.stderr[-2000:]
    told = {row["external_id"]: facts(row) for row in stored(tmp_path / "data")}
    assert told == {str(one["id"]): truth(one) for one in ADVERTS}


def facts(row: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("deal", "rooms", "price_eur", "area_sqm", "floor", "floors_total", "city", "neighbourhood")
    return tuple(row[name] for name in names)


def truth(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return ("sale", one["rooms"], round(one["price"] / 1.95583, 2), one["area"], 2, 6, "София", one["hood"])
