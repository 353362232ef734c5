"""A portal without pages of results, made up here: adverts come from a sitemap, or a list of addresses."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from crawls import answer, run, stored

SITE = "listi.test"
IDS = range(200, 223)
SITE_FILE = r"""
site: listi.test
hosts: [listi.test]
inventory: {adverts: 23, per_page: 100}
urls: {listing: '^/[a-z]+/imot-(?P<id>\d+)$'}
sitemap: {path: '^/sitemap', follow: '/sitemap-flats', adverts: '/sofia/'}
listing:
  ids: [{css: 'meta[property="og:url"]', attr: content, match: '/imot-(\d+)$'}]
  rows: {params: {css: 'dt', beside: true}}
  fields:
    offer: {from: [{css: h1}], parse: offer}
    place: {from: [{row: Място}], parse: place}
    price: {from: [{row: Цена}], parse: price}
    area_sqm: {from: [{row: Площ}], parse: area}
"""


@dataclass
class Portal:
    """What it serves, and what it was asked for."""

    changed: dict[int, str] = field(default_factory=dict)
    """Another day than the first on which an advert changed."""
    asked: list[str] = field(default_factory=list)
    robots: bytes | None = None

    def body(self, path: str) -> bytes | None:
        self.asked.append(path)
        shards = {
            "/robots.txt": self.robots,
            "/sitemap.xml": index(
                "/sitemap-flats-1.xml", "/sitemap-flats-2.xml.gz", "/sitemap-flats-3.xml", "/sitemap-news.xml"
            ),
            "/sitemap-flats-1.xml": self.shard(IDS[:12], "/varna/imot-999"),
            "/sitemap-flats-2.xml.gz": gzip.compress(self.shard(IDS[12:], "/about")),
            "/sitemap-flats-3.xml": self.shard(IDS[:0], "/varna/imot-998"),
        }
        number = path.rpartition("-")[2]
        if number.isdecimal() and int(number) in IDS:
            return advert(int(number))
        return shards.get(path)

    def shard(self, ids: range, other: str) -> bytes:
        days = {f"/sofia/imot-{one}": self.changed.get(one, "2026-11-01") for one in ids} | {
            other: "2026-11-01"
        }
        urls = (f"<url><loc>{path}</loc><lastmod>{day}</lastmod></url>" for path, day in days.items())
        return f"<urlset>{''.join(urls)}</urlset>".encode()


def index(*paths: str) -> bytes:
    shards = "".join(f"<sitemap><loc>{one}</loc></sitemap>" for one in paths)
    return f"<sitemapindex>{shards}</sitemapindex>".encode()


def advert(number: int) -> bytes:
    return (
        f'<html><meta charset="utf-8"><meta property="og:url" content="/sofia/imot-{number}">'
        f"<body><h1>Продава 2-стаен</h1><dl><dt>Място</dt><dd>гр. София, кв. Лозенец</dd>"
        f"<dt>Цена</dt><dd>{number} 000 €</dd><dt>Площ</dt><dd>70 кв.м</dd></dl></body></html>"
    ).encode()


@contextmanager
def serving(portal: Portal) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = portal.body(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header(
                "Content-Type", "text/html" if self.path.startswith("/sofia") else "application/xml"
            )
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its base class says so
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def environment(tmp_path: Path, more: str = "") -> dict[str, str]:
    folder = tmp_path / "sites"
    folder.mkdir(exist_ok=True)
    (folder / f"{SITE}.yaml").write_text(SITE_FILE + more, "utf-8")
    pace = json.dumps({SITE: 60_000})
    return {"SITES_DIR": str(folder), "ARCHIVE_ENABLED": "false", "DOMAIN_RATE_LIMITS": pace}


def prices(data: Path) -> dict[str, Any]:
    return {row["external_id"]: row["price_eur"] for row in stored(data)}


def test_a_sitemap_leads_to_every_advert_and_the_sweep_is_complete(tmp_path: Path) -> None:
    data, portal, told = tmp_path / "data", Portal(), environment(tmp_path)
    with serving(portal) as base:
        start = ("crawl", SITE, "--start-url", f"{base}/sitemap.xml", "--json")
        done = run(data, *start, **told)
        assert done.returncode == 0, done.stderr[-2000:]
        assert prices(data) == {str(one): one * 1000.0 for one in IDS}
        assert sorted(path for path in portal.asked if "sofia" not in path) == [
            "/robots.txt", "/sitemap-flats-1.xml", "/sitemap-flats-2.xml.gz", "/sitemap-flats-3.xml",
            "/sitemap.xml",
        ]  # fmt: skip
        portal.asked.clear()
        portal.changed[205] = "2026-11-14"
        assert run(data, *start, **told).returncode == 0
    assert [path for path in portal.asked if "sofia" in path] == ["/sofia/imot-205"]
    sweeps = answer(run(data, "sweeps", "--json", **told))["sweeps"]
    assert [(one["complete"], one["adverts"], one["announced"], one["opened"]) for one in sweeps] == [
        (True, 23, 23, 1),
        (True, 23, 23, 23),
    ]


def test_a_list_of_addresses_is_enough(tmp_path: Path) -> None:
    data, portal = tmp_path / "data", Portal()
    with serving(portal) as base:
        listed = json.dumps([f"{base}/sofia/imot-{one}" for one in IDS[:3]])
        done = run(data, "crawl", SITE, "--json", **environment(tmp_path, f"start_urls: {listed}\n"))
    assert done.returncode == 0, done.stderr[-2000:]
    assert prices(data) == {"200": 200_000.0, "201": 201_000.0, "202": 202_000.0}
    assert sorted(portal.asked) == ["/robots.txt", *(f"/sofia/imot-{one}" for one in IDS[:3])]
    assert answer(run(data, "sweeps", "--json"))["sweeps"] == []


def test_a_forbidden_sitemap_is_told_where_the_file_names_no_start(tmp_path: Path) -> None:
    portal = Portal(robots=b"User-agent: *\nDisallow: /sitemap")
    with serving(portal) as base:
        start = ("--start-url", f"{base}/sitemap.xml", "--json")
        done = run(tmp_path / "data", "crawl", SITE, *start, **environment(tmp_path))
    assert done.returncode == 1
    assert "robots.txt forbids" in json.loads(done.stdout)["jobs"][0]["error"]
    assert portal.asked == ["/robots.txt"]
