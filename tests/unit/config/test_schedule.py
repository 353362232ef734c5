"""The schedule file: read, checked, and the same turn for everybody."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from sale_sofia.config.schedule import ScheduledCrawl, load_schedule
from sale_sofia.config.site_config import SiteConfigError, available_sites

SOFIA = ZoneInfo("Europe/Sofia")


def write(folder: Path, text: str) -> Path:
    (folder / "schedule.yaml").write_text(text, "utf-8")
    return folder


def moment(day: int, hour: int, minute: int = 0) -> float:
    return datetime(2026, 11, day, hour, minute, tzinfo=SOFIA).timestamp()


def test_a_schedule_is_read(tmp_path: Path) -> None:
    text = 'crawls:\n- {name: nightly, at: "03:30", sites: [imot.bg]}\n- {name: often, every_hours: 4}\n'
    nightly, often = load_schedule(write(tmp_path, text)).crawls
    assert (nightly.name, nightly.at, nightly.sites) == ("nightly", "03:30", ("imot.bg",))
    assert (often.every_hours, often.sites) == (4, available_sites())


def test_no_file_is_no_schedule(tmp_path: Path) -> None:
    assert load_schedule(tmp_path).crawls == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("crawls:\n- {name: x}", "crawls.0: say either `at` or `every_hours`"),
        ('crawls:\n- {name: x, at: "03:30", every_hours: 2}', "crawls.0: say either `at` or `every_hours`"),
        ('crawls:\n- {name: x, at: "24:00"}', "'24:00' is no time of day"),
        ("crawls:\n- {name: x, every_hours: 25}", "less than or equal to 24"),
        ("crawls:\n- {name: x, every_hours: 2, sites: [imot.com]}", "no portal imot.com; there are alo.bg"),
        ("crawls:\n- {name: x, every_hours: 2, when: now}", "unknown key when; allowed: at, every_hours"),
        ("crawls:\n- {name: x, every_hours: 2}\n- {name: x, every_hours: 3}", "two crawls are called x"),
        ("crawls: [", "not valid YAML"),
    ],
)
def test_a_wrong_schedule_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SiteConfigError) as raised:
        load_schedule(write(tmp_path, text))
    assert said in str(raised.value)
    assert str(tmp_path / "schedule.yaml") in str(raised.value)


def test_a_daily_turn_is_a_day_in_sofia() -> None:
    daily = ScheduledCrawl(name="x", at="00:15")
    assert daily.slot(moment(15, 0, 15)) == daily.slot(moment(15, 23, 59)) == "2026-11-15"
    assert daily.slot(moment(16, 0, 15)) == "2026-11-16"


def test_turns_of_hours_follow_one_another() -> None:
    often = ScheduledCrawl(name="x", every_hours=4)
    turns = [often.slot(moment(15, hour)) for hour in (0, 4, 8, 12, 16, 20)]
    assert len(set(turns)) == 6
    assert often.slot(moment(15, 4, 3)) == turns[1]
