"""imoti.com after imot.bg, day after day: few of its adverts are opened, and no change of them is missed.

What each portal shows is the simulator's truth, with changes of its own on one portal only: another price, an
advert taken down. The crawl's own code reads the pages, without a network.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from sqlalchemy import RowMapping, select

from sale_sofia.crawl.frontier import linking
from sale_sofia.history.jobs import Job, get_job
from sale_sofia.history.tables import WAS_ASKED, listings, price_points
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia_simulator.model import Money, TwinAdvert, World
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portal import Robots, Stock
from sale_sofia_simulator.simulation import PORTALS
from sale_sofia_simulator.twins import twin_adverts
from sale_sofia_simulator.world import advance, make_world
from swept_portals import SearchSweep

pytestmark = pytest.mark.slow
SEED, ADVERTS, FEW, DAYS = 7, 160, 80, 4
EVENING = 1_776_800_000.0
MOST_OPENED = 0.15
EACH = 80
"""One of so many numbers, of which every second is an advert, has a fate of its own on one portal."""
COMPARED = ("price_eur", "area_sqm", "neighbourhood", "property_type", "rooms")
Change = Callable[[int, TwinAdvert], TwinAdvert | None]


@pytest.fixture(autouse=True)
def linked_copies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COPY_CHECK_EVERY", "20")
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def its_own(day: int, advert: TwinAdvert) -> TwinAdvert | None:
    """What imoti.com shows of an advert: of some another price from a day on, some are taken down."""
    which = advert.number % EACH
    if which == 0 and day >= 1:
        return None
    if which == 20 and day >= 1 and advert.money.shown:
        return replace(advert, money=Money(advert.money.layout, round(advert.money.amount_eur * 0.9)))
    if which == 40 and day >= 2:
        # Of this and its own next day, two changes in a row.
        price = round(advert.money.amount_eur * (0.8 if day == 2 else 0.7))
        return replace(advert, money=Money(advert.money.layout, price)) if advert.money.shown else advert
    return advert


@dataclass
class Family:
    """imot.bg and one of its relatives, swept one after the other."""

    database: Database
    relative: str = "imoti.com"
    adverts: int = FEW
    world: World = field(init=False)
    day: int = 0
    shown: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = make_world(self.adverts, SEED)
        sites = ("imot.bg", self.relative)
        made = [
            PORTALS[site](f"http://127.0.0.1:{8700 + number}", Robots(), PageCache(50_000_000))
            for number, site in enumerate(sites)
        ]
        self.sweeps = {one.site: SearchSweep(self.database, one, now=EVENING) for one in made}

    def sweep(self, change: Change = lambda _day, advert: advert) -> tuple[Job, float]:
        """Both portals on this day: the relative's job, and the share of its adverts that were opened."""
        # Some are taken down on imot.bg only.
        imot = [one for one in self.world.imot if self.day == 0 or one.home.number % EACH != 60]
        other = self.world.bazar if self.relative == "bazar.bg" else twin_adverts(self.world, self.relative)
        changed = [one for advert in other if (one := change(self.day, advert))]  # type: ignore[arg-type]
        self._sweep("imot.bg", imot)
        return self._sweep(self.relative, changed)

    def _sweep(self, site: str, adverts: Sequence[Any]) -> tuple[Job, float]:
        sweep = self.sweeps[site]
        sweep.portal.show(Stock(tuple(adverts)), self.world.now)
        self.shown[site] = [sweep.portal.truth(one) for one in adverts]
        sweep.asked.clear()
        assert sweep.run(sweep.portal.start_urls(), adverts=True).complete
        opened = sum(sweep.portal.listing_id(url.split("870", 1)[1][1:]) is not None for url in sweep.asked)
        with self.database.read() as connection:
            job = get_job(connection, sweep.job_id)
        assert job is not None
        assert opened >= job.sampled + job.disagreed
        return job, opened / len(adverts)

    def pass_days(self, days: int = 1) -> None:
        self.day += 1
        self.world = advance(self.world, self.day, SEED)
        for sweep in self.sweeps.values():
            sweep.now += (days - 1) * 86_400

    def stored(self, site: str) -> dict[str, RowMapping]:
        with self.database.read() as connection:
            chosen = select(listings).where(listings.c.site == site, listings.c.closed_at.is_(None))
            return {row["external_id"]: row for row in connection.execute(chosen).mappings()}

    def prices(self, listing_id: int) -> list[float | None]:
        chosen = select(price_points.c.price_eur).where(price_points.c.listing_id == listing_id, WAS_ASKED)
        with self.database.read() as connection:
            return list(connection.scalars(chosen.order_by(price_points.c.seen_at)))

    def missed(self, site: str) -> dict[str, Any]:
        """Of what the portal shows now, all that is not stored so."""
        rows: dict[str, RowMapping] = self.stored(site)
        wrong: dict[str, Any] = {}
        for truth in self.shown[site]:
            row = rows[truth["external_id"]]
            if row["gone_at"] is not None:
                wrong[truth["external_id"]] = "gone"
            elif other := {name: (truth[name], row[name]) for name in COMPARED if row[name] != truth[name]}:
                wrong[truth["external_id"]] = other
        return wrong


def test_few_copies_are_opened_and_no_change_is_missed(database: Database) -> None:
    family = Family(database, adverts=ADVERTS)
    job, share = family.sweep(its_own)
    assert share <= MOST_OPENED
    assert job.linked >= (1 - MOST_OPENED) * ADVERTS
    seen: dict[str, list[float | None]] = {}
    for _ in range(DAYS):
        for truth in family.shown["imoti.com"]:
            told = seen.setdefault(truth["external_id"], [])
            if told[-1:] != [truth["price_eur"]]:
                told.append(truth["price_eur"])
        assert family.missed("imoti.com") == {}
        assert family.missed("imot.bg") == {}
        family.pass_days()
        job, share = family.sweep(its_own)
        assert share <= MOST_OPENED
        assert job.differing == 0
    # Each price that imoti.com ever showed is a price point of its own advert, in its order.
    rows = family.stored("imoti.com")
    again = {row["external_id"] for row in rows.values() if row["generation"] > 1}
    moved = {one: told for one, told in seen.items() if len(told) > 1 and one not in again}
    assert len(moved) >= 4
    for external_id, told in moved.items():
        assert family.prices(rows[external_id]["id"])[: len(told)] == told
    # What was taken down on one portal only is gone there, and there only.
    there = {truth["external_id"] for truth in family.shown["imoti.com"]}
    taken = {row["external_id"] for row in rows.values() if row["external_id"] not in there}
    own = {one for one in taken if int(one) % EACH == 0}
    assert own
    assert all(rows[one]["gone_at"] is not None for one in own)
    imot = family.stored("imot.bg")
    left = [imot[rows[one]["family_id"]] for one in own if rows[one]["family_id"] in imot]
    still = {truth["external_id"] for truth in family.shown["imot.bg"]}
    assert [row["external_id"] for row in left if row["gone_at"] is None] == [
        row["external_id"] for row in left if row["external_id"] in still
    ]
    # Of those whose relative was taken down, the page was opened: nobody else has it.
    alone = [row for row in rows.values() if int(row["external_id"]) % EACH == 60 and row["gone_at"] is None]
    assert alone
    assert all(row["opened_at"] is not None for row in alone)


def test_texts_are_those_of_the_relative_that_was_opened(database: Database) -> None:
    family = Family(database)
    family.sweep()
    before = {one.external_id: one.prose.text for one in family.world.imot}
    for _ in range(6):  # the simulator edits some texts, which no card shows
        family.world = advance(family.world, family.day + 1, SEED)
        family.day += 1
    family.pass_days(30)  # by then every advert is due
    _, share = family.sweep()
    assert share <= MOST_OPENED
    imot, copies = family.stored("imot.bg"), family.stored("imoti.com")
    texts = {truth["external_id"]: truth["description"] for truth in family.shown["imot.bg"]}
    edited = [one for one, text in texts.items() if before.get(one, text) != text]
    assert edited
    assert {one: imot[one]["description"] for one in texts} == texts
    linked = [row for row in copies.values() if row["gone_at"] is None and row["opened_at"] is None]
    assert any(row["family_id"] in edited for row in linked)
    for row in linked:
        assert row["copy_of"] == imot[row["family_id"]]["id"]
        assert row["description"] is None


def test_imports_of_bazar_are_linked_by_the_photo_on_their_cards(database: Database) -> None:
    family = Family(database, "bazar.bg")
    job, share = family.sweep()
    native = sum(one.imot_id is None for one in family.world.bazar)
    assert job.linked + job.sampled + job.disagreed + native >= 0.97 * FEW
    assert share <= (native / FEW) + MOST_OPENED
    imot, rows = family.stored("imot.bg"), family.stored("bazar.bg")
    linked = [row for row in rows.values() if row["copy_of"] is not None]
    assert len(linked) == job.linked
    assert all(row["copy_of"] == imot[row["family_id"]]["id"] for row in linked)
    assert {row["price_eur"] for row in linked} == {imot[row["family_id"]]["price_eur"] for row in linked}


def test_a_portal_whose_copies_differ_is_told(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPY_CHECK_EVERY", "3")
    get_settings.cache_clear()
    family = Family(database)
    monkeypatch.setattr(linking, "_ON_CARD", ())  # as if cards told nothing but a price

    def another_floor(_day: int, advert: TwinAdvert) -> TwinAdvert:
        home = advert.home
        return replace(advert, home=replace(home, floor=home.floor + 1)) if home.floor else advert

    job, _ = family.sweep(another_floor)
    assert job.differing > 0.5 * job.sampled > 0
    with database.read() as connection:
        opened = open_incidents(connection, "imoti.com")
    assert [(one.kind.value, one.message.values["sampled"]) for one in opened] == [("copies", job.sampled)]
