"""Looks at a real database: what they tell, what they only learn, and that nothing is told twice."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Barrier, Thread

import pytest

from alert_servers import AlertServers
from alert_world import DAY, HOUR, SEARCH, AlertWorld
from contract.storage.helpers import database
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.alerts.deciding import sources_of
from sale_sofia.alerts.editing import preview
from sale_sofia.alerts.looking import Looking
from sale_sofia.alerts.outbox import LogEntry, Looked, due_messages, read_log
from sale_sofia.alerts.rules import BuyerRule, load_alerts
from sale_sofia.alerts.wording import word_message
from sale_sofia.buyer.evaluations import By
from sale_sofia.buyer.searches import save_search
from sale_sofia.buyer.viewings import add_viewing, change_viewing
from sale_sofia.crawl.tables import jobs
from sale_sofia.flats import overrides
from sale_sofia.flats.projection import refresh_flats
from sale_sofia.history.jobs import CELERY, JobState, create_job, set_job_state
from sale_sofia.history.news import release_all
from sale_sofia.history.tables import listings
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind

RULES = """
channels: {{mail: 'json://a/', hook: 'json://b/'}}
{more}
buyer:
  - {{name: Тристаен, search: '{search}', channels: [mail]}}
  - {{name: Следени, shortlist: true, tell: [gone, cut], channels: [mail]}}
operator:
  - {{name: Ops, channels: [hook]}}
"""
START = 1_790_000_000.0


@dataclass(slots=True)
class Lookout:
    world: AlertWorld

    def look(self, days: float = 0.0) -> Looked:
        self.world.now += days * DAY
        self.world.match()
        return self.look_only()

    def look_only(self) -> Looked:
        file = load_alerts(self.world.settings.data_dir)
        assert file is not None
        return Looking(self.world.settings, self.world.database, file, lambda: self.world.now).look()

    def log(self) -> list[LogEntry]:
        with self.world.database.read() as connection:
            return read_log(connection, limit=1000)[::-1]

    def told(self) -> list[str]:
        """What was told so far, flats by the names of their adverts."""
        return [f"{item.kind} {self._name(item.facts)}" for entry in self.log() for item in entry.items]

    def _name(self, facts: object) -> str:
        assert isinstance(facts, dict)
        return str(facts.get("url") or facts["kind"]).rpartition("/")[2]

    def rules(self, more: str = "", text: str = RULES) -> None:
        path = self.world.settings.data_dir / "alerts.yaml"
        path.write_text(text.format(search=SEARCH, more=more), "utf-8")


@pytest.fixture
def lookout(tmp_path: Path, store_url: str) -> Iterator[Lookout]:
    db = database(store_url)
    found = Lookout(AlertWorld(Settings(data_dir=tmp_path), db, START))
    servers = AlertServers(mail_port=1, hook_port=2)
    found.world.begin(servers, flats=4)
    found.rules()
    yield found
    servers._loop.close()  # noqa: SLF001 - it was never started
    db.dispose()


@pytest.mark.slow
def test_what_is_there_when_a_rule_begins_is_learnt_and_not_told(lookout: Lookout) -> None:
    assert lookout.look() == Looked(flats=4)
    assert lookout.look_only() == Looked(), "nothing has changed: nothing is looked at"
    lookout.world.now += DAY
    lookout.world.seen("n1", 101)
    lookout.world.seen("dear", 301)
    assert lookout.look() == Looked(flats=2, items=1, messages=1)
    assert lookout.told() == ["new n1"]


def test_a_rule_that_says_something_else_learns_anew(lookout: Lookout) -> None:
    lookout.look()
    with lookout.world.database.write() as connection:
        save_search(connection, SEARCH, {"neighbourhood": ["Лозенец"]}, now=START, replace=True)
    lookout.world.now += DAY
    lookout.world.seen("n1", 301)
    lookout.world.cut("old1", 10)
    lookout.look()
    assert lookout.told() == ["cut old1"], "n1 was there when the rule became another, old1 was known before"
    lookout.world.now += DAY
    lookout.world.seen("n2", 302)
    lookout.look()
    assert lookout.told() == ["cut old1", "new n2"]


class LaterProfile(Profile):
    """A profile of a release that can ask for more."""

    garden_least_sqm: int | None = None


def test_a_release_that_can_ask_for_more_makes_no_rule_a_new_one(lookout: Lookout) -> None:
    rule = BuyerRule(name="Всички", profile="me", channels=("mail",))

    def print_of(profile: Profile) -> str:
        with lookout.world.database.read() as connection:
            return sources_of(connection, [rule], {"me": profile}, now=START)["Всички"].fingerprint

    asked = {"budget_eur": 200_000.0, "must": {"rooms_least": 2}}
    today = print_of(Profile.model_validate(asked))
    assert print_of(LaterProfile.model_validate(asked)) == today
    assert print_of(LaterProfile.model_validate(asked | {"garden_least_sqm": 20})) != today
    assert print_of(Profile.model_validate(asked | {"must": {"rooms_least": 3}})) != today


FOLLOWED = """
channels: {{mail: 'json://a/'}}
buyer:
  - {{name: Тристаен, search: '{search}', tell: [new, cut], channels: [mail]}}
  - {{name: Един, flat: {more}, tell: [cut, gone, rise], cut_percent: 0, channels: [mail]}}
"""


def test_a_rule_of_one_flat_tells_all_of_it_and_a_preview_what_was_told(lookout: Lookout) -> None:
    world = lookout.world
    lookout.look()
    lookout.rules(str(world.property_id("old2")), FOLLOWED)
    lookout.look()
    world.now += 3 * DAY
    world.cut("old3", 10)
    world.cut("old2", 1)
    lookout.look(1)
    assert sorted(lookout.told()) == ["cut old2", "cut old3"]
    world.now += DAY
    world.cut("old2", -5)
    lookout.look(1)
    assert lookout.told()[2:] == ["rise old2"]
    world.now += 20 * DAY
    world.seen("n1", 101)
    world.cut("old1", 10)
    world.gone("old2")
    lookout.look()
    world.now += 2 * DAY
    since = lookout.told()[3:]
    assert sorted(since) == ["cut old1", "gone old2", "new n1"]
    refresh_flats(world.database)
    file = load_alerts(world.settings.data_dir)
    assert file is not None
    with world.database.read() as connection:
        found = [
            item
            for rule in file.buyer
            for item in preview(connection, rule, world.settings.data_dir, now=world.now)
        ]
    seen = [f"{one.kind} {one.facts['url'].rpartition('/')[2]}" for one in found]
    assert sorted(seen) == sorted(since), "and not what was told before"


def test_a_viewing_is_told_a_day_and_two_hours_before_and_again_when_it_is_moved(lookout: Lookout) -> None:
    world, who = lookout.world, By("Ана", START)
    lookout.rules(text=RULES.replace("tell: [gone, cut]", "digest: '20:00'"))
    lookout.look()
    starts = world.now + 3 * DAY

    def at(hours: float) -> int:
        world.now = starts - hours * HOUR
        return lookout.look_only().items

    with world.database.write() as connection:
        number = add_viewing(connection, 1, {"starts_at": starts, "agent": "Иван"}, who)
        off = add_viewing(connection, 2, {"starts_at": starts}, who)
        change_viewing(connection, off, {"state": "cancelled"}, who)
    assert [at(hours) for hours in (24.1, 24, 23, 2.1, 2, 1.9, 0)] == [0, 1, 0, 0, 1, 0, 0]
    told = [(entry.channel, entry.digest, [item.kind for item in entry.items]) for entry in lookout.log()]
    assert told == [("mail", False, ["viewing"])] * 2, "once a channel, and never in a digest"
    (item,) = lookout.log()[0].items
    assert set(item.rules) == {"Тристаен", "Следени"}
    text = word_message([item], "en")
    assert text.subject.startswith("sale-sofia: Viewing ")
    assert "Agent: Иван" in text.body
    world.now = starts - 1.5 * HOUR
    starts += DAY
    with world.database.write() as connection:
        change_viewing(connection, number, {"starts_at": starts}, who)
    assert [at(hours) for hours in (25, 20, 1)] == [0, 1, 1]
    with world.database.write() as connection:
        add_viewing(connection, 3, {"starts_at": world.now + HOUR}, who)
    assert lookout.look_only().items == 1, "planned at short notice: told once, not twice"
    world.settings = Settings(data_dir=world.settings.data_dir, alert_viewings=False)
    with world.database.write() as connection:
        add_viewing(connection, 4, {"starts_at": world.now + HOUR}, who)
    assert lookout.look_only().items == 0


@pytest.mark.slow
def test_a_price_that_comes_back_to_what_was_told_is_told_again_and_once(lookout: Lookout) -> None:
    world = lookout.world
    lookout.look()
    for price in (120_000.0, 160_000.0, 120_000.0):
        world.now += DAY
        world.change("old1", price_eur=price)
        lookout.look()
    assert lookout.told() == ["cut old1", "cut old1"]
    world.change("old1", price_eur=120_000.0, price_bgn=234_699.6)
    world.say("old1", "shortlist")
    lookout.look(1)
    assert lookout.told() == ["cut old1", "cut old1"]
    keys = [item.key for entry in lookout.log() for item in entry.items]
    listing = world.listing_id("old1")
    assert keys == [f"cut|{listing}|120000|{START + days * DAY:.0f}" for days in (1, 3)]


def sofia(day: int, hour: int, minute: int = 0) -> float:
    return datetime(2026, 11, day, hour, minute, tzinfo=SOFIA).timestamp()


def test_a_reminder_that_quiet_hours_would_hold_past_its_viewing_comes_before_them(lookout: Lookout) -> None:
    world, who = lookout.world, By("Ана", START)
    lookout.rules('quiet_hours: {from: "22:30", to: "08:00"}')
    lookout.look()
    with world.database.write() as connection:
        add_viewing(connection, 1, {"starts_at": sofia(20, 8)}, who)
        add_viewing(connection, 2, {"starts_at": sofia(20, 9)}, who)

    def at(*moment: int) -> int:
        world.now = sofia(*moment)
        return lookout.look_only().items

    moments = ((19, 7, 59), (19, 8), (19, 9), (19, 21, 29), (19, 21, 30), (20, 6), (20, 7))
    assert [at(*moment) for moment in moments] == [0, 1, 1, 0, 1, 0, 1]
    waits = [entry.not_before for entry in lookout.log()]
    assert waits == [sofia(19, 8), sofia(19, 9), sofia(19, 21, 30), sofia(20, 8)]
    world.now = sofia(20, 23)
    with world.database.write() as connection:
        add_viewing(connection, 3, {"starts_at": sofia(21, 8)}, who)
    assert [at(20, 23), at(21, 7), at(21, 8)] == [0, 0, 0], "planned in quiet hours: no time is left"


def test_joining_and_parting_flats_tells_nothing_again(lookout: Lookout) -> None:
    world = lookout.world
    lookout.look()
    world.now += DAY
    world.seen("n1", 101)
    world.seen("n2", 102, site="bazar.bg")
    lookout.look()
    assert sorted(lookout.told()) == ["new n1", "new n2"]
    one, two = world.property_id("n1"), world.property_id("n2")
    for _ in range(2):
        overrides.link(world.matching, one, two)
        assert lookout.look(1).items == 0
        overrides.split(world.matching, one, [world.listing_id("n2")])
        assert lookout.look(1).items == 0
    world.now += DAY
    world.cut("n2", 10)
    lookout.look()
    assert lookout.told()[2:] == ["cut n2"]
    overrides.link(world.matching, one, two)
    assert lookout.look(1).items == 0


@pytest.mark.slow
def test_a_flat_joined_to_one_that_did_not_fit_is_not_new_again(lookout: Lookout) -> None:
    world = lookout.world
    world.seen("dear", 301)
    lookout.look()
    world.now += DAY
    world.seen("n1", 101)
    lookout.look()
    overrides.link(world.matching, world.property_id("dear"), world.property_id("n1"))
    assert world.property_id("n1") == world.property_id("dear"), "the older id stays"
    lookout.look(1)
    assert lookout.told() == ["new n1"]


def test_what_the_buyer_follows_is_known_from_then_on(lookout: Lookout) -> None:
    world = lookout.world
    lookout.look()
    world.now += DAY
    world.say("old1", "shortlist")
    world.say("old2", "viewing")
    world.now += DAY
    world.gone("old1")
    world.cut("old2", 10)
    lookout.look()  # the first since the buyer began to follow them
    assert sorted(lookout.told()) == ["cut old2", "gone old1"]
    assert [entry.items[0].rules for entry in lookout.log()] == [
        ("Тристаен", "Следени"),
        ("Тристаен", "Следени"),
    ]


def test_of_a_rejected_flat_nothing_is_told(lookout: Lookout) -> None:
    lookout.look()
    lookout.world.say("old1", "rejected")
    lookout.world.now += DAY
    lookout.world.cut("old1", 20)
    lookout.look()
    lookout.world.say("old1", "new")
    lookout.look(1)
    assert lookout.told() == []


def test_a_portal_whose_pages_changed_is_held_back(lookout: Lookout) -> None:
    world = lookout.world
    lookout.look()
    world.now += DAY
    world.begins(IncidentKind.DRIFT_PRICE, "alo.bg")
    world.seen("n1", 101, site="alo.bg")
    world.seen("n2", 102)
    lookout.look()
    assert sorted(lookout.told()) == ["incident drift_price", "new n2"]
    world.ends(IncidentKind.DRIFT_PRICE, "alo.bg")
    lookout.look(1)
    assert sorted(lookout.told())[2:] == ["new n1", "new n2"]


@pytest.mark.slow
def test_an_advert_that_no_run_has_read_right_is_told_when_one_has(lookout: Lookout) -> None:
    """Also where its portal is fine again: the run that ended the incident did not open it."""
    world = lookout.world
    lookout.look()
    world.now += DAY
    world.seen("n1", 101, site="alo.bg")
    world.seen("n2", 102, site="alo.bg")
    with world.database.write() as connection:
        own = listings.update().where(listings.c.external_id == "n1")
        connection.execute(own.values(held_by="j", new_at=world.now))
    lookout.look()
    assert lookout.told() == ["new n2"]
    with world.database.write() as connection:
        release_all(connection, "alo.bg", now=world.now)
    lookout.look()
    lookout.look(1)
    assert sorted(lookout.told()) == ["new n1", "new n2"]


def test_while_a_portal_is_crawled_nothing_of_it_is_told(lookout: Lookout) -> None:
    world = lookout.world
    lookout.look()
    world.now += DAY
    with world.database.write() as connection:
        create_job(
            connection, job_id="j", site="imot.bg", start_urls=["u"], listing_limit=None, now=world.now
        )
        set_job_state(connection, "j", JobState.PROCESSING, now=world.now)
        connection.execute(jobs.update().values(runner=CELERY))
    world.seen("n1", 101)
    lookout.look()
    assert lookout.told() == []
    with world.database.write() as connection:
        set_job_state(connection, "j", JobState.COMPLETE, now=world.now)
    lookout.look()
    assert lookout.told() == ["new n1"]


def test_a_rule_that_begins_while_a_portal_is_held_back_learns_all_the_same(lookout: Lookout) -> None:
    lookout.world.begins(IncidentKind.DRIFT_PRICE, "imot.bg")
    lookout.look()
    lookout.world.ends(IncidentKind.DRIFT_PRICE, "imot.bg")
    lookout.look(1)
    assert lookout.told() == ["incident drift_price", "incident_end drift_price"]


def test_a_rule_that_changes_while_a_portal_is_held_back_tells_nothing_of_it(lookout: Lookout) -> None:
    world = lookout.world
    lookout.look()
    world.now += DAY
    world.begins(IncidentKind.DRIFT_PRICE, "imot.bg")
    world.cut("old1", 30)
    with world.database.write() as connection:
        save_search(connection, SEARCH, {"neighbourhood": ["Лозенец"]}, now=world.now, replace=True)
    lookout.look()
    assert lookout.told() == ["incident drift_price"]
    world.ends(IncidentKind.DRIFT_PRICE, "imot.bg")
    lookout.look(1)
    assert sorted(lookout.told()) == ["cut old1", "incident drift_price", "incident_end drift_price"]


def test_an_incident_is_told_at_its_beginning_and_at_its_end(lookout: Lookout) -> None:
    world = lookout.world
    world.begins(IncidentKind.COLLAPSE, "imot.bg")
    world.ends(IncidentKind.COLLAPSE, "imot.bg")
    world.now += DAY
    world.begins(IncidentKind.EMPTY_JOB, "imot.bg")
    lookout.look(1)
    assert lookout.told() == ["incident empty_job"], "one that was over before the rules began is past"
    world.begins(IncidentKind.EMPTY_JOB, "imot.bg")  # seen again, still the same
    assert lookout.look(1).items == 0
    world.ends(IncidentKind.EMPTY_JOB, "imot.bg")
    lookout.look(1)
    beginning, end = lookout.log()
    assert [entry.items[0].kind for entry in (beginning, end)] == ["incident", "incident_end"]
    assert end.items[0].facts["message"] == "nothing has moved for 60 seconds"
    assert word_message(end.items, "bg").body.startswith("нищо не е помръднало от 60 секунди\n")
    assert end.items[0].facts["closed_at"] - end.items[0].facts["opened_at"] == 2 * DAY
    world.begins(IncidentKind.EMPTY_JOB, "imot.bg")
    world.now += DAY
    world.ends(IncidentKind.EMPTY_JOB, "imot.bg")
    lookout.look(1)
    lookout.look(1)
    assert lookout.told()[2:] == ["incident empty_job"], "over when it was first told: one message says both"
    both = lookout.log()[2].items[0].facts
    assert both["closed_at"] - both["opened_at"] == DAY


def test_two_rules_with_one_channel_make_one_message(lookout: Lookout) -> None:
    lookout.rules(
        text="""
channels: {{mail: 'json://a/', hook: 'json://b/'}}
buyer:
  - {{name: A, search: '{search}', channels: [mail]}}
  - {{name: B, search: '{search}', channels: [mail, hook], digest: "08:30"}}
"""
    )
    lookout.look()
    lookout.world.now += DAY
    lookout.world.seen("n1", 101)
    lookout.look()
    log = lookout.log()
    assert {(one.channel, one.digest) for one in log} == {("mail", False), ("hook", True)}
    assert {one.items[0].rules for one in log} == {("A", "B")}


def test_of_two_rules_with_one_channel_the_urgent_one_counts(lookout: Lookout) -> None:
    lookout.rules(
        text="""
channels: {{hook: 'json://b/'}}
operator:
  - {{name: A, channels: [hook]}}
  - {{name: B, channels: [hook], urgent: true}}
"""
    )
    lookout.world.begins(IncidentKind.COLLAPSE, "imot.bg")
    lookout.look()
    with lookout.world.database.read() as connection:
        (due,) = due_messages(connection, now=lookout.world.now, without=())
    assert due.urgent


def test_too_many_at_once_are_one_message(lookout: Lookout) -> None:
    lookout.look()
    lookout.world.now += DAY
    for number in range(21):
        lookout.world.seen(f"n{number}", 101 + number)
    assert lookout.look() == Looked(flats=21, items=21, messages=1)


def test_quiet_hours_hold_back_what_is_not_urgent(lookout: Lookout) -> None:
    lookout.rules(more='quiet_hours: {{from: "00:00", to: "23:59"}}'.replace("{{", "{").replace("}}", "}"))
    lookout.look()
    lookout.world.begins(IncidentKind.COLLAPSE, "imot.bg")
    lookout.look(0.01)
    (entry,) = lookout.log()
    assert entry.not_before > lookout.world.now


@pytest.mark.slow
def test_two_looks_at_once_tell_it_once(lookout: Lookout) -> None:
    lookout.look()
    lookout.world.now += DAY
    for number in range(5):
        lookout.world.seen(f"n{number}", 101 + number)
    lookout.world.match()
    barrier = Barrier(4)

    def look() -> None:
        barrier.wait()
        lookout.look_only()

    threads = [Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lookout.told()) == [f"new n{number}" for number in range(5)]


@pytest.mark.slow
def test_a_rule_of_a_profile_tells_by_score(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path / 'sale_sofia.db'}", busy_timeout_seconds=30, busy_retries=3)
    from sale_sofia.storage.migrate import initialize_database  # noqa: PLC0415 - only here

    initialize_database(db)
    found = Lookout(AlertWorld(Settings(data_dir=tmp_path), db, START))
    text = """
channels: {{mail: 'json://a/'}}
buyer:
  - {{name: Всички, profile: default, channels: [mail]}}
  - {{name: Сигурни, profile: default, unknown: false, channels: [mail]}}
  - {{name: Добри, profile: default, min_score: 5, channels: [mail]}}
"""
    found.rules(text=text)
    found.world.seen("old", 1)
    found.look()
    found.world.now += DAY
    found.world.seen("n1", 20)
    found.world.seen("dear", 900)
    found.look()
    (entry,) = found.log()
    assert (entry.items[0].kind, entry.items[0].rules) == ("new", ("Всички",))
    facts = entry.items[0].facts
    assert 0 < facts["points"] <= facts["score"] <= 5
    assert 0 < facts["known"] < 1
    assert "act15" in facts["unknown"]
    db.dispose()
