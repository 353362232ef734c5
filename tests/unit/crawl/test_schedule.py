"""The schedule file: read, checked, and the same turn for everybody."""

import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from sale_sofia.crawl.runners.schedule import CrawlSchedule, ScheduledCrawl, load_schedule
from sale_sofia.websites.site_file import SiteConfigError, available_sites
from tables import each_row

SOFIA = ZoneInfo("Europe/Sofia")


def write(folder: Path, text: str) -> Path:
    (folder / "schedule.yaml").write_text(text, "utf-8")
    return folder


def moment(day: int, hour: int, minute: int = 0) -> float:
    return datetime(2026, 11, day, hour, minute, tzinfo=SOFIA).timestamp()


def test_a_schedule_is_read(tmp_path: Path) -> None:
    often_text = "- {name: often, every_hours: 4, for: me}"
    text = f'crawls:\n- {{name: nightly, at: "03:30", sites: [imot.bg]}}\n{often_text}\n'
    nightly, often = load_schedule(write(tmp_path, text)).crawls
    assert (nightly.name, nightly.at, nightly.sites) == ("nightly", "03:30", ("imot.bg",))
    assert (often.every_hours, often.sites) == (4, available_sites())
    assert (nightly.looks_for, often.looks_for) == ((), ("me",))


def test_no_file_is_no_schedule(tmp_path: Path) -> None:
    assert load_schedule(tmp_path).crawls == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("crawls:\n- {name: x}", "crawls.0: say either `at` or `every_hours`"),
        ('crawls:\n- {name: x, at: "03:30", every_hours: 2}', "crawls.0: say either `at` or `every_hours`"),
        ('crawls:\n- {name: x, at: "24:00"}', "'24:00' is no time of day"),
        ("crawls:\n- {name: x, every_hours: 25}", "must be at most 24"),
        ("crawls:\n- {name: x, every_hours: 2, sites: [imot.com]}", "no portal imot.com; there are alo.bg"),
        ("crawls:\n- {name: x, every_hours: 2, when: now}", "unknown key when; allowed: at, every_hours"),
        ("crawls:\n- {name: x, every_hours: 2}\n- {name: x, every_hours: 3}", "two crawls are called x"),
        ("crawls: [", "not valid YAML"),
        ('quiet_hours: "23-06:30"', "quiet_hours: '23-06:30' are no quiet hours; write them in quotes, as"),
        ('quiet_hours: "23:00-23:00"', "'23:00-23:00' are no quiet hours"),
        ("quiet_hours: 23:00", "are no quiet hours"),
        (
            'crawls:\n- {name: x, every_hours: 2, quiet_hours: "night"}',
            "crawls.0.quiet_hours: 'night' are no",
        ),
    ],
)
def test_a_wrong_schedule_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SiteConfigError) as raised:
        load_schedule(write(tmp_path, text))
    assert said in str(raised.value)
    assert str(tmp_path / "schedule.yaml") in str(raised.value)


def test_a_daily_turn_lasts_until_the_next() -> None:
    daily = ScheduledCrawl(name="x", at="00:15")
    assert daily.slot(moment(15, 0, 15)) == daily.slot(moment(15, 23, 59)) == "2026-11-14T22:15Z"
    assert daily.slot(moment(16, 0, 14)) == "2026-11-14T22:15Z"
    assert daily.slot(moment(16, 0, 15)) == "2026-11-15T22:15Z"


def test_the_next_crawl_begins_at_the_first_turn_to_come_or_when_quiet_hours_end() -> None:
    nightly, often = ScheduledCrawl(name="x", at="22:30"), ScheduledCrawl(name="y", every_hours=8)
    assert CrawlSchedule().next_begin(moment(15, 12)) is None
    both = CrawlSchedule(crawls=(nightly, often))
    begins = [both.next_begin(moment(15, hour)) for hour in (12, 16, 23)]
    assert begins == [moment(15, 16), moment(15, 22, 30), moment(16, 0)]
    quiet = CrawlSchedule(crawls=(nightly,), quiet_hours="22:00-06:30")
    assert [quiet.next_begin(moment(15, hour)) for hour in (12, 23)] == [moment(16, 6, 30), moment(17, 6, 30)]


def test_turns_of_hours_follow_one_another() -> None:
    often = ScheduledCrawl(name="x", every_hours=5)
    turns = [often.slot(moment(15, hour)) for hour in (0, 5, 10, 15, 20)]
    assert len({*turns, often.slot(moment(16, 0))}) == 6
    assert often.slot(moment(15, 9, 59)) == turns[1] == "2026-11-15T03:00Z"


@pytest.mark.parametrize(
    ("hours", "when", "expected"),
    [
        # In the night of 29 March 03:00 is followed by 04:00, so that each of these hours is a turn once …
        (1, ("2026-03-29T00:59Z", "2026-03-29T01:00Z", "2026-03-29T02:00Z"), ["00:00", "01:00", "02:00"]),
        # … and in that of 25 October 03:59 by 03:00: the hour that comes twice is one turn.
        (1, ("2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"), ["00:00", "00:00", "02:00"]),
        (3, ("2026-10-25T00:00Z", "2026-10-25T01:30Z", "2026-10-25T04:00Z"), ["00:00", "00:00", "04:00"]),
    ],
)
def test_hours_that_are_missing_or_come_twice(hours: int, when: tuple[str, ...], expected: list[str]) -> None:
    often = ScheduledCrawl(name="x", every_hours=hours)
    assert [often.slot(utc(one))[11:16] for one in when] == expected


@each_row(
    ("at", "before", "then"),
    [
        ("03:30", "2026-03-29T01:29:59Z", "2026-03-29T01:30Z"),  # 03:30 is not there: 04:30 summer time
        ("03:30", "2026-10-25T00:29:59Z", "2026-10-25T00:30Z"),  # it is there twice: the first one
        ("06:30", "2026-03-29T03:29:59Z", "2026-03-29T03:30Z"),
        ("06:30", "2026-10-25T04:29:59Z", "2026-10-25T04:30Z"),
    ],
)
def test_a_daily_turn_in_the_two_odd_nights(at: str, before: str, then: str) -> None:
    daily = ScheduledCrawl(name="x", at=at)
    assert (daily.slot(utc(before)) < then[:10], daily.slot(utc(then))) == (True, then)
    assert daily.turn(utc(then) + 7200) == utc(then)


def utc(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@each_row(
    ("hours", "first", "after"),
    [
        ("23:00-06:30", "2026-11-14T21:00Z", "2026-11-15T04:30Z"),
        ("09:00-10:00", "2026-11-15T07:00Z", "2026-11-15T08:00Z"),
        ("23:00-06:30", "2026-03-28T21:00Z", "2026-03-29T03:30Z"),  # an hour shorter
        ("23:00-06:30", "2026-10-24T20:00Z", "2026-10-25T04:30Z"),  # an hour longer
        ("23:00-03:30", "2026-03-28T21:00Z", "2026-03-29T01:30Z"),  # its end is jumped over
        ("23:00-03:30", "2026-10-24T20:00Z", "2026-10-25T00:30Z"),  # its end comes twice: once is enough
        ("03:30-05:00", "2026-10-25T00:30Z", "2026-10-25T03:00Z"),  # its beginning comes twice
    ],
)
def test_quiet_hours_begin_and_end(hours: str, first: str, after: str) -> None:
    crawl = ScheduledCrawl(name="x", every_hours=1)
    schedule = CrawlSchedule(quiet_hours=hours, crawls=(crawl,))
    moments = (utc(first) - 1, utc(first), utc(after) - 1, utc(after), utc(after) + 3600)
    assert [schedule.is_quiet(crawl, one) for one in moments] == [False, True, True, False, False]


def test_a_crawl_may_have_quiet_hours_of_its_own_or_none(tmp_path: Path) -> None:
    text = (
        'quiet_hours: "23:00-06:30"\ncrawls:\n- {name: all, every_hours: 1}\n'
        '- {name: own, every_hours: 1, quiet_hours: "12:00-13:00"}\n'
        "- {name: never, every_hours: 1, quiet_hours: none}\n"
    )
    schedule = load_schedule(write(tmp_path, text))
    quiet = {
        one.name: [schedule.is_quiet(one, moment(15, hour)) for hour in (1, 12)] for one in schedule.crawls
    }
    assert quiet == {"all": [True, False], "own": [False, True], "never": [False, False]}
    assert not load_schedule(write(tmp_path, "crawls: [{name: x, every_hours: 1}]")).is_quiet(
        schedule.crawls[1].model_copy(update={"quiet_hours": None}), moment(15, 1)
    )


def test_the_schedule_of_the_documentation_can_be_used(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "operations.md").read_text("utf-8")
    (example,) = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "crawls:" in block]
    schedule = load_schedule(write(tmp_path, example))
    assert (schedule.quiet_hours, len(schedule.crawls) >= 2) == ("23:00-06:30", True)
