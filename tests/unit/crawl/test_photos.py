"""Photos on demand: what is asked for and what is not; traps among pictures cost little and stop nothing."""

import resource
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from photo_servers import PhotoServer, bomb, endless_scans, pair, photo_server, png
from property_worlds import dispose_all, ids_of, new_matching, parts, save
from sale_sofia.buyer.evaluations import By, evaluate
from sale_sofia.crawl.photos import decoding, running
from sale_sofia.crawl.photos.decoding import DecodedPicture, look
from sale_sofia.crawl.photos.running import PhotoRun, PhotoSummary, fetch_photos, place_of
from sale_sofia.flats.photos.store import PhotoResult, SavedPicture, save_photo
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import advert_photos, match_links
from sale_sofia.history.runs.reports import count_photos
from sale_sofia.listings.model import Listing
from sale_sofia.operations.metrics import photo_families
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.photos import Photo, draw

ROOMS = [draw(Photo(f"flat:1:{shot}")) for shot in range(6)]
AGAIN = [draw(Photo(f"flat:1:{shot}", shot + 1, mirrored=True)) for shot in range(6)]
"""The same as another agency shows them."""
OTHERS = [draw(Photo(f"flat:2:{shot}")) for shot in range(6)]
TOGETHER, APART = {frozenset({"a1/1", "a2/1"})}, {frozenset({"a1/1"}), frozenset({"a2/1"})}


@pytest.fixture
def portal() -> Iterator[PhotoServer]:
    with photo_server() as served:
        yield served
    dispose_all()


class Desk:
    """An installation in which adverts were matched and photos are to be looked at."""

    def __init__(self, folder: Path, adverts: list[Listing], **changed: Any) -> None:  # noqa: ANN401
        self.matching: PropertyMatching = new_matching(folder)
        save(self.database, adverts)
        self.matching.match_new()
        limits = {"domain_rate_limits": {"imot.bg": 60_000.0, "bazar.bg": 60_000.0}, "photo_budget": 100}
        self.settings = Settings(data_dir=folder, **{**limits, **changed})

    @property
    def database(self) -> Database:
        return self.matching.database

    def run(self) -> PhotoSummary:
        return PhotoRun(self.settings, self.database, clock=lambda: 2000.0).run()

    def links(self) -> list[float]:
        """How likely stored pairs are one flat."""
        with self.database.read() as connection:
            return list(connection.scalars(select(match_links.c.probability)))

    def codes(self) -> list[str | None]:
        """What came of each photo, by advert and place."""
        ordered = select(advert_photos.c.code).order_by(advert_photos.c.listing_id, advert_photos.c.position)
        with self.database.read() as connection:
            return list(connection.scalars(ordered))


def evaluated(desk: Desk) -> None:
    """The buyer has put the first advert's flat on his list."""
    by = By("me", 1.0)
    desk.database.run_write(lambda connection: evaluate(connection, 1, "status", "shortlist", by))


def shown(portal: PhotoServer, name: str, bodies: list[bytes]) -> list[str]:
    return [portal.show(f"/{name}/{place}.jpg", body) for place, body in enumerate(bodies)]


def test_the_same_photos_make_two_adverts_one_flat(tmp_path: Path, portal: PhotoServer) -> None:
    desk = Desk(tmp_path, pair(portal, shown(portal, "a", ROOMS), shown(portal, "b", AGAIN)))
    assert parts(desk.database) == APART
    done = desk.run()
    # Two in common are enough: of twelve photos four were asked for, each once, after robots.txt.
    assert portal.asked == ["/robots.txt", "/a/0.jpg", "/b/0.jpg", "/a/1.jpg", "/b/1.jpg"]
    assert portal.accepted == {"image/jpeg,image/webp,image/png"}
    assert done[:7] == (4, 4, 4, 0, 1, "done", 2)
    assert parts(desk.database) == TOGETHER
    assert desk.matching.match_all().moved == 0
    assert desk.run()[:4] == (0, 0, 0, 0)


def test_photos_are_counted_for_reports_and_metrics(tmp_path: Path, portal: PhotoServer) -> None:
    adverts = pair(
        portal, [*shown(portal, "a", ROOMS[:1]), f"{portal.url}/gone.jpg"], shown(portal, "b", OTHERS)
    )
    desk = Desk(tmp_path, adverts)
    calls: list[None] = []
    assert fetch_photos(desk.settings, desk.database, lambda: 2000.0, going_on=lambda: calls.append(None))
    count = desk.database.run_read(count_photos)["imot.bg"]
    asked = len(portal.photos)
    assert count == (asked, asked, asked - 1, 1)
    assert len(calls) >= asked
    assert desk.database.run_read(partial(count_photos, since=2001.0)) == {}
    with desk.database.read() as connection:
        samples = {
            (one.name, *one.labels.values()): one.value
            for family in photo_families(connection)
            for one in family.samples
        }
    assert samples == {
        ("sale_sofia_photo_requests_total", "imot.bg"): asked,
        ("sale_sofia_photos", "imot.bg", "kept"): asked - 1,
        ("sale_sofia_photos", "imot.bg", "failed"): 1,
    }


def test_other_photos_leave_them_apart(tmp_path: Path, portal: PhotoServer) -> None:
    desk = Desk(tmp_path, pair(portal, shown(portal, "a", ROOMS), shown(portal, "b", OTHERS)))
    [before] = desk.links()
    done = desk.run()
    assert (done.asked, done.moved) == (6, 0)  # three of each, and no more in vain
    assert parts(desk.database) == APART
    [after] = desk.links()
    # Weak evidence against: less likely than before, and still for a person to judge.
    assert before > after > desk.settings.match_review_probability


def test_pictures_on_several_flats_are_no_evidence(tmp_path: Path, portal: PhotoServer) -> None:
    """The agency's own: a third advert that cannot be the same flat has them too."""
    both = pair(portal, shown(portal, "a", ROOMS), shown(portal, "b", ROOMS), neighbourhood="Лозенец")
    third = both[0].model_copy(
        update={"external_id": "c", "floor": 7, "photo_urls": tuple(shown(portal, "c", ROOMS))}
    )
    desk = Desk(tmp_path, [*both, third])
    desk.run()
    assert parts(desk.database) == APART | {frozenset({"c/1"})}
    with desk.database.read() as connection:
        assert set(connection.scalars(select(advert_photos.c.stock))) == {True}


def test_drawings_of_a_building_that_is_not_finished_are_not_asked_for(
    tmp_path: Path, portal: PhotoServer
) -> None:
    urls = shown(portal, "a", ROOMS), shown(portal, "b", ROOMS)
    desk = Desk(tmp_path, pair(portal, *urls, under_construction=True))
    assert desk.run().asked == 0
    assert portal.asked == []


def test_photos_of_a_shortlisted_flat_are_asked_for(tmp_path: Path, portal: PhotoServer) -> None:
    one, _ = pair(portal, shown(portal, "a", ROOMS), [])
    desk = Desk(tmp_path, [one], photo_per_advert=4, photo_thumbnails=True)
    assert desk.run().asked == 0
    evaluated(desk)
    assert desk.run()[:4] == (4, 4, 4, 0)
    with desk.database.read() as connection:
        small = list(connection.scalars(select(advert_photos.c.thumbnail)))
    assert all(body.startswith(b"\xff\xd8") and len(body) < 30_000 for body in small)


def test_the_budget_is_for_all_runs_together(tmp_path: Path, portal: PhotoServer) -> None:
    urls = shown(portal, "a", ROOMS), shown(portal, "b", OTHERS)
    desk = Desk(tmp_path, pair(portal, *urls), photo_budget=1.5)  # two adverts
    assert (desk.run().ended, desk.run().ended) == ("budget", "budget")
    assert len(portal.photos) == 3


def test_a_server_that_fails_is_left_alone(tmp_path: Path, portal: PhotoServer) -> None:
    urls = [f"{portal.url}/{place}.jpg" for place in range(20)]
    portal.answers |= {f"/{place}.jpg": (503, {}, b"") for place in range(20)}
    one, two = pair(portal, urls, urls[10:])
    desk = Desk(tmp_path, [one, two], photo_per_advert=30)
    evaluated(desk)
    assert desk.run()[:4] == (5, 5, 0, 5)  # then its circuit is open
    assert portal.photos == [f"/{place}.jpg" for place in range(5)]


def test_a_run_that_is_stopped_asks_for_no_more(tmp_path: Path, portal: PhotoServer) -> None:
    desk = Desk(tmp_path, pair(portal, shown(portal, "a", ROOMS), shown(portal, "b", OTHERS)))
    stopped = PhotoRun(desk.settings, desk.database, stopped=lambda: len(portal.photos) >= 3).run()
    assert (stopped.asked, stopped.ended) == (3, "stopped")
    assert len(portal.photos) == 3


def test_robots_txt_is_obeyed(tmp_path: Path, portal: PhotoServer) -> None:
    portal.show("/robots.txt", b"User-agent: *\nDisallow: /b/\n", "text/plain")
    desk = Desk(tmp_path, pair(portal, shown(portal, "a", ROOMS), shown(portal, "b", ROOMS)))
    desk.run()
    assert portal.photos == ["/a/0.jpg", "/a/1.jpg", "/a/2.jpg"]


@pytest.mark.slow
def test_its_own_rate_is_kept(tmp_path: Path, portal: PhotoServer) -> None:
    urls = shown(portal, "a", ROOMS[:1]), shown(portal, "b", OTHERS[:1])
    rates = {"imot.bg": 120.0, "bazar.bg": 120.0}
    desk = Desk(tmp_path, pair(portal, *urls), domain_rate_limits=rates)
    began = time.monotonic()
    assert desk.run().asked == 2
    assert time.monotonic() - began >= 0.95  # robots.txt, half a second, a photo, half a second, a photo


@pytest.mark.slow
def test_a_crash_repeats_one_photo_and_loses_none(
    tmp_path: Path, portal: PhotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, pair(portal, shown(portal, "a", ROOMS), shown(portal, "b", AGAIN)))
    left = [2]

    def dies(*given: Any, **named: Any) -> SavedPicture | None:  # noqa: ANN401
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return save_photo(*given, **named)

    monkeypatch.setattr(running, "save_photo", dies)
    with pytest.raises(KeyboardInterrupt):
        desk.run()
    monkeypatch.undo()
    desk.run()
    assert portal.photos == ["/a/0.jpg", "/b/0.jpg", "/a/1.jpg", "/a/1.jpg", "/b/1.jpg"]
    assert parts(desk.database) == TOGETHER


@pytest.mark.parametrize(
    ("price", "shared", "expected"),
    [
        pytest.param(485_000.0, 2, TOGETHER, id="two photos at nearly one price"),
        pytest.param(485_000.0, 1, APART, id="one photo"),
        pytest.param(520_000.0, 2, APART, id="two photos at another price: a floor is not known"),
    ],
)
def test_what_photos_decide_is_decided_by_the_next_match(
    tmp_path: Path, price: float, shared: int, expected: set[frozenset[str]]
) -> None:
    """Also after a crash between the last photo and matching."""
    desk = Desk(tmp_path, pair(PhotoServer(), [], [], price_eur=price))
    for listing_id in ids_of(desk.database).values():
        for place in range(3):
            number = 100 + place if place < shared else 200 + 10 * listing_id + place
            asked = PhotoResult(listing_id, place, "http://x", 1, signature=bytes(160))
            desk.database.run_write(partial(save_photo, photo=asked, number=number, now=1.0))
    assert desk.matching.match_new().adverts == 2
    assert parts(desk.database) == expected
    assert desk.matching.match_all().moved == 0
    dispose_all()


def test_failures_never_reach_the_crawl(
    tmp_path: Path, portal: PhotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, pair(portal, shown(portal, "a", ROOMS), shown(portal, "b", ROOMS)))
    monkeypatch.setattr(running, "find_doubts", lambda *_: 1 / 0)
    assert not fetch_photos(desk.settings, desk.database)
    with desk.database.read() as connection:
        assert [one.kind for one in open_incidents(connection)] == [IncidentKind.PHOTOS_FAILED]
    monkeypatch.undo()
    assert fetch_photos(desk.settings, desk.database)
    with desk.database.read() as connection:
        assert open_incidents(connection) == []


# Which photos are asked for at all.


@pytest.mark.parametrize(
    ("site", "advert_url", "url", "domain"),
    [
        ("imot.bg", "https://www.imot.bg/obiava-1", "https://cdn3.focus.bg/imot/x.jpg", "focus.bg"),
        ("bazar.bg", "https://bazar.bg/obiava-1", "https://imotstatic4.focus.bg/x.jpg", "focus.bg"),
        ("homes.bg", "https://www.homes.bg/1", "https://g1.homes.bg/1o.jpg", "g1.homes.bg"),
        ("alo.bg", "https://www.alo.bg/1", "https://www.alo.bg/1.jpg", "alo.bg"),
        ("imot.bg", "http://127.0.0.1:1/obiava-1", "https://127.0.0.1:1/x.jpg", "imot.bg"),
        ("imot.bg", "http://127.0.0.1:1/obiava-1", "https://cdn3.focus.bg/imot/x.jpg", None),
        ("imot.bg", "https://www.imot.bg/obiava-1", "http://127.0.0.1:1/x.jpg", None),
        ("imot.bg", "https://www.imot.bg/obiava-1", "https://notfocus.bg/x.jpg", None),
        ("imot.bg", "https://www.imot.bg/obiava-1", "https://focus.bg.evil.com/x.jpg", None),
        ("imot.bg", "https://www.imot.bg/obiava-1", "file:///etc/passwd", None),
        ("imot.bg", "https://www.imot.bg/obiava-1", "https://[cdn3.focus.bg/x.jpg", None),
        ("imot.bg", "https://www.imot.bg/obiava-1", f"https://cdn3.focus.bg/{'x' * 1000}", None),
    ],
)
def test_photos_are_asked_for_where_the_portal_keeps_them(
    site: str, advert_url: str, url: str, domain: str | None
) -> None:
    place = place_of(Settings(), site, advert_url, url)
    assert (place.domain if place else None) == domain
    if place is not None:
        assert place.url == url.replace("https://127", "http://127")
    if domain == "focus.bg":
        assert place is not None
        assert place.rate == Settings().photo_rate_per_minute


def test_a_portal_that_is_off_or_gone_is_asked_for_no_photo(monkeypatch: pytest.MonkeyPatch) -> None:
    address = ("https://www.imot.bg/obiava-1", "https://www.imot.bg/photo.jpg")
    assert place_of(Settings(), "imot.bg", *address)
    assert place_of(Settings(), "gone.example", *address) is None
    monkeypatch.setattr(get_scraper("imot.bg"), "enabled", False)
    assert place_of(Settings(), "imot.bg", *address) is None


# Traps.


def endless(handler: BaseHTTPRequestHandler) -> None:
    try:
        while True:
            handler.wfile.write(bytes(65_536))
    except OSError:
        pass


def silent(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(ROOMS[0][:100])
    time.sleep(3)


@pytest.mark.slow
def test_traps_cost_little_and_stop_nothing(tmp_path: Path, portal: PhotoServer) -> None:
    good = shown(portal, "good", ROOMS[:2])
    traps = {
        "bomb.png": bomb(6000),
        "short.png": png(4000, 4000, b"x"),
        "cut.jpg": ROOMS[0][: len(ROOMS[0]) // 2],
        "words.jpg": b"<html>" * 1000,
        "sign.gif": b"GIF89a" + bytes(100),
        "tiny.png": png(1, 1, b"x\x9cc\x00\x00\x00\x02\x00\x01"),
        "empty.jpg": b"",
    }
    urls = [portal.show(f"/{name}", body) for name, body in traps.items()]
    urls.append(portal.show("/page", b"<html>", "text/html"))
    urls.append(portal.show("/large.jpg", bytes(600_000)))
    for name, body in (("endless.jpg", endless), ("silent.jpg", silent)):
        portal.answers[f"/{name}"] = (200, {"Content-Type": "image/jpeg"}, body)
        urls.append(f"{portal.url}/{name}")
    elsewhere = {"Location": "http://127.0.0.1:9/x.jpg"}
    portal.answers["/away.jpg"] = (302, elsewhere, b"")
    urls += [f"{portal.url}/away.jpg", f"{portal.url}/gone.jpg", *good]
    one, _ = pair(portal, urls, [])
    limits = {"photo_per_advert": 30, "photo_max_bytes": 500_000, "http_timeout": 1}
    desk = Desk(tmp_path, [one], **limits)
    evaluated(desk)
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    done = desk.run()
    assert time.monotonic() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # kB
    assert desk.codes() == [
        *["ParseHostile"] * 8, *["BodyTooLarge"] * 2, "NetworkTimeout", "RobotsDisallowed", "HttpClient",
        None, None,
    ]  # fmt: skip
    assert (done.kept, done.failed) == (2, 13)
    # Only what was the network's fault is asked for once more, and three times in all.
    asked = len(portal.photos)
    for _ in range(3):
        desk.run()
    assert portal.photos[asked:] == ["/silent.jpg"] * 2


def test_a_picture_of_too_many_pixels_is_not_unpacked() -> None:
    assert look(119_999, ROOMS[0]) == "a picture of 400 times 300 pixels"
    assert isinstance(look(120_000, ROOMS[0]), DecodedPicture)
    # Its head alone is read: there is nothing behind it.
    assert look(10**6, png(30_000, 30_000, b"")) == "a picture of 30000 times 30000 pixels"


@pytest.mark.slow
def test_looking_is_ended_when_it_takes_too_long(
    tmp_path: Path, portal: PhotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "DECODE_SECONDS", 0.3)
    monkeypatch.setattr(decoding, "PAGE_PATIENCE", 100)
    slow = portal.show("/slow.jpg", endless_scans(4900, 5000))
    one, _ = pair(portal, [slow, *shown(portal, "good", ROOMS[:1])], [])
    desk = Desk(tmp_path, [one], photo_max_bytes=3_000_000)
    evaluated(desk)
    desk.run()
    assert desk.codes() == ["ParseHostile", None]


@pytest.mark.slow
def test_looking_is_ended_when_it_takes_too_much_memory(
    tmp_path: Path, portal: PhotoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "DECODE_MEMORY_BYTES", 100_000_000)
    urls = [portal.show("/wide.png", bomb(20_000)), *shown(portal, "good", ROOMS[:1])]
    one, _ = pair(portal, urls, [])
    desk = Desk(tmp_path, [one], photo_max_pixels=1_000_000_000)
    evaluated(desk)
    desk.run()
    assert desk.codes() == ["ParseHostile", None]
