"""When a sweep is complete, what it says of what it did not show, and what it never says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from sale_sofia.crawl.frontier import frontier, sweeping
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.jobs import begin_job, close_frontier, end_job, known_job
from sale_sofia.crawl.frontier.ranking import Wish
from sale_sofia.crawl.frontier.wanted import Wanted
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import target
from sale_sofia.crawl.visit.outcomes import Failed, Found, Gone, Outcome, Read
from sale_sofia.crawl.visit.writer import Ledger, write_batch
from sale_sofia.history.cards import SeenCard, card_hash
from sale_sofia.history.jobs import JobState
from sale_sofia.history.news import held_adverts
from sale_sofia.history.runs.incidents import review_run
from sale_sofia.history.sweeps import Sweep, accept_drop, list_sweeps
from sale_sofia.history.tables import cards, listings, market_events
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident, open_incidents
from sale_sofia.websites.registry import get_scraper
from site_copies import changed_site

SOFIA = {
    "imot.bg": "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya",
    "bazar.bg": "https://bazar.bg/obiavi/prodazhba-apartamenti/sofia?sort=default",
}
NARROW = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya/lozenets/dvustaen"
"""A search that cannot be cut."""
OTHER = "https://www.imot.bg/obiavi/naemi/grad-sofiya"
DAY = 86_400.0


def address(site: str, number: int) -> str:
    return (
        f"https://www.imot.bg/obiava-1b{number:015d}"
        if site == "imot.bg"
        else f"https://bazar.bg/obiava-{number:08d}"
    )


def identity(site: str, number: int) -> str:
    return f"1b{number:015d}" if site == "imot.bg" else f"{number:08d}"


@dataclass
class World:
    """A portal whose searches and adverts a test sets by hand, swept once a day."""

    database: Database
    site: str = "imot.bg"
    day: int = 0
    prices: dict[int, float] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)
    """Adverts whose page cannot be had."""
    opened: list[int] = field(default_factory=list)

    def sweep(self, shown: Sequence[int], start: str | None = None, **how: Any) -> JobState:  # noqa: ANN401
        """One crawl of one page of results a day after the last."""
        self.day += 1
        self.opened.clear()
        now = self.day * DAY
        limit, everything = how.get("limit"), how.get("everything", False)
        with self.database.write() as connection:
            begun = begin_job(
                connection,
                get_scraper(self.site),
                [start or SOFIA[self.site]],
                limit=limit,
                now=now,
                everything=everything,
                wanted=how.get("wanted"),
            )
        while claims := self._claims(begun, now):
            outcomes = [self._answer(claim, shown, how) for claim in claims]
            with self.database.write() as connection:
                write_batch(connection, Ledger(begun, self.site, limit), outcomes, now=now)
        with self.database.write() as connection:
            read = known_job(connection, begun)
            for _ in range(2 if how.get("closed_twice") else 0):
                close_frontier(connection, read, now=now)
            return end_job(connection, known_job(connection, begun), now=now)

    def _claims(self, job_id: str, now: float) -> list[Claim]:
        with self.database.write() as connection:
            return frontier.claim(connection, job_id, owner="me", count=9, now=now, lease_seconds=60)

    def _answer(self, claim: Claim, shown: Sequence[int], how: dict[str, Any]) -> Outcome:
        if claim.kind == "search":
            return self._search(claim, shown, how)
        number = int(str(get_scraper(self.site).listing_id(claim.url))[2:])
        self.opened.append(number)
        if number in self.broken:
            return Failed(claim, "HttpServer", "503 (skip)")
        if number not in self.prices:
            return Gone(claim, "removed")
        listing = Listing(
            site=self.site,
            external_id=identity(self.site, number),
            url=address(self.site, number),
            price_eur=self.prices[number],
            area_sqm=70.0,
            city="София",
            property_type="apartment",
        )
        return Read(claim, listing)

    def _search(self, claim: Claim, shown: Sequence[int], how: dict[str, Any]) -> Outcome:
        if how.get("fails"):
            return Failed(claim, "HttpBlocked", "captcha")
        if how.get("missing") or (how.get("absent") and how["absent"] in claim.url):
            return Gone(claim, "removed")
        page = int(claim.url.rpartition("/p-")[2]) if "/p-" in claim.url else 1
        pages = how.get("pages", [shown])
        following = target(get_scraper(self.site), f"{SOFIA[self.site]}/p-{page + 1}")
        adverts = tuple(
            (
                SeenCard(
                    identity(self.site, number),
                    card_hash({"price_eur": self.prices[number]}),
                    url=address(self.site, number),
                    said={"price_eur": self.prices[number]} if how.get("wanted") else {},
                ),
                target(get_scraper(self.site), address(self.site, number)),
            )
            for number in pages[page - 1]
        )
        total = how.get("total")
        return Found(
            claim,
            adverts,
            following if page < len(pages) else None,
            total=total,
            exact=not how.get("capped"),
            capped=how.get("capped", False),
        )

    def last(self) -> Sweep:
        with self.database.read() as connection:
            return list_sweeps(connection, limit=1)[0]

    def gone(self) -> dict[int, int]:
        """The adverts that are gone, and since which day."""
        found = select(listings.c.external_id, listings.c.gone_at).where(listings.c.gone_at.is_not(None))
        with self.database.read() as connection:
            return {int(row[0][2:]): int(row[1] / DAY) for row in connection.execute(found)}


def numbered(count: int) -> dict[int, float]:
    return {number: 100_000.0 + number for number in range(1, count + 1)}


@pytest.fixture
def world(store_url: str) -> Iterator[World]:
    database = Database(store_url, busy_timeout_seconds=5, busy_retries=2)
    yield World(database, prices=numbered(12))
    database.dispose()


ALL = tuple(range(1, 13))
WITHOUT_12 = ALL[:-1]


@pytest.mark.slow
def test_gone_is_what_two_complete_sweeps_and_its_own_page_do_not_show(world: World) -> None:
    world.sweep(ALL)
    del world.prices[12]
    world.sweep(WITHOUT_12)
    assert world.opened == []
    assert world.gone() == {}
    world.sweep(WITHOUT_12)
    assert world.opened == [12]
    assert world.gone() == {12: 2}
    assert (world.last().complete, world.last().adverts, world.last().gone) == (True, 11, 1)
    world.sweep(WITHOUT_12)
    assert (world.opened, world.last().gone) == ([], 0)


def test_of_two_that_end_a_job_at_once_one_judges_its_sweep(world: World, tmp_path: Path) -> None:
    """Both have read the job before either changed it."""

    def not_looked_at(tables: dict[str, Any]) -> None:
        tables["delisting"] = {"absence": True, "look": False, "sweeps": 2}

    with changed_site(tmp_path / "sites", "imot.bg", not_looked_at):
        world.sweep(ALL)
        world.sweep(WITHOUT_12)
        world.sweep(WITHOUT_12, closed_twice=True)
    with world.database.read() as connection:
        assert connection.execute(select(func.max(cards.c.misses))).scalar() == 2
    assert (world.gone(), world.last().gone) == ({12: 2}, 1)


def test_where_no_page_is_looked_at_as_many_sweeps_decide_as_the_file_says(
    world: World, tmp_path: Path
) -> None:
    def not_looked_at(tables: dict[str, Any]) -> None:
        tables["delisting"] = {"absence": True, "look": False, "sweeps": 2}

    with changed_site(tmp_path / "sites", "imot.bg", not_looked_at):
        world.sweep(ALL)
        world.sweep(WITHOUT_12)
        assert world.gone() == {}
        world.sweep(WITHOUT_12)
    assert world.gone() == {12: 2}


@pytest.mark.slow
def test_an_advert_whose_page_is_there_is_not_gone(world: World) -> None:
    world.sweep(ALL)
    for _ in range(2):
        world.sweep(WITHOUT_12)
    assert world.opened == [12]
    world.sweep(WITHOUT_12)  # its page has been seen, so this is the first sweep without it again
    assert world.opened == []
    assert world.gone() == {}


@pytest.mark.slow
def test_an_advert_whose_page_cannot_be_had_is_not_gone_but_asked_again(world: World) -> None:
    world.sweep(ALL)
    del world.prices[12]
    world.broken = {12}
    for _ in range(3):
        world.sweep(WITHOUT_12)
    assert (world.opened, world.gone()) == ([12], {})
    world.broken = set()
    world.sweep(WITHOUT_12)
    assert world.gone() == {12: 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    "store_url", ["sqlite"], indirect=True
)  # what is asked of a store is that of the others
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"fails": True}, "1 of 1 searches failed"),
        ({"missing": True}, f"1 searches are not there any more, for example {NARROW}"),
        ({"limit": 11}, "limited to 11 adverts"),
        ({"total": 40}, f"11 of 40 seen, {NARROW} ended after 11 of 40"),
        ({"total": 1000, "capped": True}, f"11 of 1 000 seen, {NARROW} ended after 11 of 1 000"),
    ],
)
def test_a_sweep_that_is_not_complete_says_nothing(world: World, how: dict[str, Any], reason: str) -> None:
    world.sweep(ALL, NARROW)
    del world.prices[12]
    for _ in range(2):  # as many as make an advert gone when they are complete
        world.sweep(WITHOUT_12, NARROW, **how)
        assert world.opened == []
    assert (world.last().complete, world.last().reason) == (False, reason)
    world.sweep(WITHOUT_12, NARROW)
    assert world.gone() == {}
    world.sweep(WITHOUT_12, NARROW)
    assert world.gone() == {12: 4}


@pytest.mark.slow
def test_a_collapse_stops_delisting_and_is_an_incident(world: World) -> None:
    for _ in range(2):
        world.sweep(ALL)
    world.prices = {1: world.prices[1]}
    for _ in range(3):
        assert world.sweep((1,)) is JobState.COMPLETE
    assert world.gone() == {}
    assert world.last().reason == "collapsed: 1 adverts, where 12 are usual"
    with world.database.read() as connection:
        assert [one.kind for one in open_incidents(connection)] == [IncidentKind.COLLAPSE]


@pytest.mark.slow
def test_an_open_drift_stops_delisting(world: World) -> None:
    world.sweep(ALL)
    del world.prices[12]
    with world.database.write() as connection:
        details = {"findings": [{"field": "listing.floor", "selector": "row: Етаж"}]}
        drift = Trouble(IncidentKind.DRIFT_FILL, "imot.bg", Said.of("fields are missing"), details=details)
        open_incident(connection, drift, now=1.0)
    for _ in range(3):
        world.sweep(WITHOUT_12)
    assert world.gone() == {}
    assert world.last().reason == "drift_fill: fields are missing"


def test_a_drift_of_fields_that_are_no_longer_read_is_over(world: World) -> None:
    removed = {"field": "listing.removed", "selector": "row: Махнато"}
    per_page = {"field": "search.cards_per_page", "selector": ".ads .item"}
    with world.database.write() as connection:
        for kind, finding in ((IncidentKind.DRIFT_FILL, removed), (IncidentKind.DRIFT_CARDS, per_page)):
            drift = Trouble(kind, "imot.bg", Said.of("it was"), details={"findings": [finding]})
            open_incident(connection, drift, now=1.0)
    world.sweep(ALL)
    with world.database.read() as connection:
        assert [one.kind for one in open_incidents(connection)] == [IncidentKind.DRIFT_CARDS]


@pytest.mark.slow
def test_a_sweep_of_other_searches_says_nothing(world: World) -> None:
    world.sweep(ALL)
    del world.prices[12]
    for _ in range(3):
        world.sweep((1, 2), start=OTHER)
    assert world.gone() == {}
    world.sweep(WITHOUT_12)
    world.sweep(WITHOUT_12)
    assert world.gone() == {12: 5}


@pytest.mark.slow
def test_where_searches_are_a_window_only_the_page_itself_decides(world: World) -> None:
    world = replace(world, site="bazar.bg")
    world.sweep(ALL)
    del world.prices[12]
    for _ in range(8):
        world.sweep(WITHOUT_12)
    assert (world.opened, world.gone()) == ([], {})
    world.day = 30  # by now every advert is due for a visit
    world.sweep(ALL[:7])
    assert sorted(world.opened) == list(ALL)
    assert world.gone() == {12: 31}


def test_what_comes_back_is_opened_and_told(world: World) -> None:
    world.sweep(ALL)
    price = world.prices.pop(12)
    world.sweep(WITHOUT_12)
    world.sweep(WITHOUT_12)
    world.prices[12] = price
    world.sweep(ALL)
    assert (world.opened, world.gone()) == ([12], {})
    with world.database.read() as connection:
        found = select(market_events.c.kind, market_events.c.at).order_by(market_events.c.id)
        told = [(kind, int(at / DAY)) for kind, at in connection.execute(found)]
    assert told == [("gone", 2), ("back", 4)]


def test_only_what_may_be_new_is_opened(world: World) -> None:
    world.sweep(ALL)
    assert sorted(world.opened) == list(ALL)
    world.sweep(ALL)
    assert world.opened == []
    world.prices |= {3: 95_000.0, 13: 1.0}
    world.sweep((*ALL, 13))
    assert sorted(world.opened) == [3, 13]
    world.sweep(ALL, everything=True)
    assert sorted(world.opened) == list(ALL)


def test_an_advert_that_could_not_be_opened_is_opened_the_next_time(world: World) -> None:
    world.sweep(ALL)
    world.prices[3] = 95_000.0
    world.broken = {3}
    world.sweep(ALL)
    assert world.opened == [3]
    world.broken = set()
    world.sweep(ALL)
    assert world.opened == [3]
    world.sweep(ALL)
    assert world.opened == []


def test_an_advert_known_from_other_searches_is_not_opened_again(world: World) -> None:
    world.sweep(ALL)
    world.sweep((1, 2), start=OTHER)
    assert world.opened == []


def test_a_quiet_crawl_is_complete_and_counts_what_it_saw(world: World) -> None:
    world.sweep(ALL)
    assert world.sweep(ALL) is JobState.COMPLETE
    with world.database.read() as connection:
        job_id = world.last().job_id
        assert frontier.count_rows(connection, job_id, "listing").done == 12
        codes = select(rows.c.code).where(rows.c.job_id == job_id, rows.c.kind == "listing").distinct()
        assert list(connection.execute(codes).scalars()) == ["unchanged"]


def test_a_sweep_that_found_nothing_at_all_is_empty(world: World) -> None:
    assert world.sweep(()) is JobState.EMPTY


def test_a_card_moves_with_what_it_shows_of_the_advert() -> None:
    card = {"price_eur": 100.0, "area_sqm": 60.0, "price_bgn": 195.6, "rooms": 2}
    assert (
        card_hash(card) == card_hash(dict(reversed(card.items()))) == card_hash({**card, "price_bgn": None})
    )
    assert len({card_hash({**card, **more}) for more in ({}, {"price_eur": 90.0}, {"vat": "excluded"})}) == 3


# A crawl for what somebody looks for: flats under 100 006 € in two neighbourhoods.
CHEAP = Wanted(
    ("me",),
    (Wish({"neighbourhood": ("Борово", "Лозенец")}, most={"price_eur": 100_006.0}),),
)


def test_a_crawl_for_a_profile_opens_only_what_may_fit(world: World) -> None:
    assert world.sweep(ALL, wanted=CHEAP) is JobState.COMPLETE
    assert sorted(world.opened) == [1, 2, 3, 4, 5, 6]
    with world.database.read() as connection:
        left = select(rows.c.url).where(rows.c.code == "unwanted").order_by(rows.c.url)
        assert list(connection.execute(left).scalars()) == [address("imot.bg", one) for one in ALL[6:]]
        asked = select(rows.c.url).where(rows.c.kind == "search").order_by(rows.c.id)
        assert list(connection.execute(asked).scalars()) == [
            f"https://www.imot.bg/obiavi/prodazhbi/grad-sofiya/{place}" for place in ("borovo", "lozenets")
        ]
    assert (world.last().complete, world.last().announced, world.last().adverts) == (True, 24, 12)
    # A card that cost too much and is cheaper now is opened; one that was read is not.
    world.prices[9] = 99_000.0
    world.sweep(ALL, wanted=CHEAP)
    assert world.opened == [9]


def test_a_portal_may_have_nothing_of_what_is_looked_for(world: World) -> None:
    assert world.sweep((), wanted=CHEAP) is JobState.COMPLETE
    assert (world.last().complete, world.last().adverts) == (True, 0)
    assert world.sweep((), wanted=CHEAP, fails=True) is JobState.FAILED
    assert world.sweep(()) is JobState.EMPTY


def test_a_neighbourhood_that_the_portal_does_not_have_is_no_loss(world: World) -> None:
    assert world.sweep(ALL, wanted=CHEAP, absent="borovo") is JobState.COMPLETE
    assert (world.last().complete, world.last().missing) == (True, None)
    with world.database.read() as connection:
        assert open_incidents(connection) == []


@pytest.mark.slow
def test_a_sweep_of_a_part_delists_there_and_nowhere_else(world: World) -> None:
    for _ in range(2):
        world.sweep(ALL)
    part = (1, 2, 3, 8, 9)
    world.sweep(part, wanted=CHEAP)
    gone = {3: world.prices.pop(3), 9: world.prices.pop(9), 12: world.prices.pop(12)}
    for _ in range(4):
        world.sweep((1, 2, 8), wanted=CHEAP)
    # 4 to 7 and 10 to 12 were never shown by it; 9 was, but its page is not one to be asked for.
    assert world.gone() == {3: 4}
    # Another profile knows nothing of what this one has seen.
    dearer = Wanted(("me",), (Wish(most={"price_eur": 500_000.0}),))
    for _ in range(3):
        world.sweep((1, 2), wanted=dearer)
    assert world.gone() == {3: 4}
    # The whole portal does: all that it has shown before.
    for _ in range(2):
        world.sweep([one for one in ALL if one not in gone])
    assert sorted(world.gone()) == [3, 9, 12]


@pytest.mark.parametrize("look", [True, False])
def test_a_miss_before_an_advert_was_seen_again_elsewhere_does_not_count(
    world: World, tmp_path: Path, *, look: bool
) -> None:
    """Else it would be gone since before it was last seen, after a single sweep without it."""

    def looked_at(tables: dict[str, Any]) -> None:
        tables["delisting"] = {"absence": True, "look": look, "sweeps": 2}

    with changed_site(tmp_path / "sites", "imot.bg", looked_at):
        world.sweep(ALL)
        world.sweep(WITHOUT_12)
        world.sweep((1, 12), start=OTHER)
        world.prices.pop(12)
        world.sweep(WITHOUT_12)
        assert world.gone() == {}
        world.sweep(WITHOUT_12)
        assert world.gone() == {12: 4}


def test_adverts_that_the_job_has_do_not_use_up_its_limit(world: World) -> None:
    """Where a portal repeats some on top of every page, it would read all pages and never reach it."""
    world.sweep((), limit=4, pages=[(1, 2, 3), (1, 4, 5), (1, 6, 7), (1, 8, 9)])
    assert sorted(world.opened) == [1, 2, 3, 4]
    with world.database.read() as connection:
        assert frontier.count_rows(connection, world.last().job_id, "search").total == 2


def test_a_narrower_sweep_does_not_make_up_for_what_the_whole_one_missed(world: World) -> None:
    world.sweep(ALL, total=100)
    with world.database.read() as connection:
        assert [one.kind for one in open_incidents(connection)] == [IncidentKind.COVERAGE]
        held = len(held_adverts(connection, "imot.bg"))
    assert held == 12
    assert world.sweep((1, 2), wanted=CHEAP) is JobState.COMPLETE
    assert world.last().complete
    with world.database.read() as connection:
        assert [one.kind for one in open_incidents(connection)] == [IncidentKind.COVERAGE]
        assert len(held_adverts(connection, "imot.bg")) == 12
    world.sweep(ALL, total=12)
    with world.database.read() as connection:
        assert (open_incidents(connection), held_adverts(connection, "imot.bg")) == ([], {})


def test_a_sweep_for_a_changed_profile_makes_up_for_what_it_missed_before(world: World) -> None:
    def held() -> tuple[int, list[IncidentKind]]:
        with world.database.read() as connection:
            kinds = [one.kind for one in open_incidents(connection)]
            return len(held_adverts(connection, "imot.bg")), kinds

    world.sweep(ALL, wanted=CHEAP, total=100)
    assert held() == (12, [IncidentKind.COVERAGE])
    dearer = (Wish({"neighbourhood": ("Борово", "Лозенец")}, most={"price_eur": 500_000.0}),)
    world.sweep(ALL, wanted=Wanted(("somebody else",), dearer), total=12)
    assert (world.last().complete, held()) == (True, (6, [IncidentKind.COVERAGE])), "what it read is new"
    world.sweep(ALL, wanted=Wanted(("me",), dearer), total=12)
    assert (world.last().complete, held()) == (True, (0, []))


def test_an_incident_of_the_whole_portal_stays_its_own_when_a_part_misses_some_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "known_starts", lambda site: (SOFIA[site],))
    world.sweep(ALL, total=100)
    whole = world.last().job_id
    for total, complete in ((100, False), (2, True)):
        world.sweep((1, 2), wanted=CHEAP, total=total)
        assert world.last().complete is complete
        with world.database.read() as connection:
            assert [one.job_id for one in open_incidents(connection)] == [whole]


def test_a_drop_that_a_person_accepts_is_usual_from_then_on(world: World) -> None:
    def sweep(numbers: Sequence[int]) -> list[IncidentKind]:
        world.sweep(numbers)
        with world.database.write() as connection:
            review_run(connection, world.last().job_id, Settings(), now=world.day * DAY)
            return [one.kind for one in open_incidents(connection)]

    def accept() -> Sweep | None:
        with world.database.write() as connection:
            return accept_drop(connection, "imot.bg", now=world.day * DAY)

    assert accept() is None
    for _ in range(3):
        sweep(ALL)
    assert accept() is None
    assert sweep(ALL[:4]) == [IncidentKind.COLLAPSE]
    accepted = accept()
    assert (accepted and accepted.adverts, accept()) == (4, None)
    assert world.last().reason == "accepted as usual (collapsed: 4 adverts, where 12 are usual)"
    world.prices = {number: world.prices[number] for number in ALL[:4]}
    assert [sweep(ALL[:4]) for _ in range(2)] == [[], []]
    assert (world.last().complete, sorted(world.gone())) == (True, list(ALL[4:]))


def test_a_collapse_that_lasts_stays_an_incident(world: World) -> None:
    """The run that found it must not close it, though by now the runs before it saw as little."""
    shown = [ALL] * 3 + [ALL[:4]] * 5
    for numbers in shown:
        world.sweep(numbers)
        with world.database.write() as connection:
            review_run(connection, world.last().job_id, Settings(), now=world.day * DAY)
            kinds = [one.kind for one in open_incidents(connection)]
        assert kinds == ([] if numbers is ALL else [IncidentKind.COLLAPSE])
    world.sweep(ALL)
    with world.database.write() as connection:
        review_run(connection, world.last().job_id, Settings(), now=world.day * DAY)
        assert open_incidents(connection) == []
