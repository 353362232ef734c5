"""Beat's clock when the system's is set back: what it remembers then lies in the future."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from celery.schedules import crontab

from sale_sofia.services.beat_clock import BeatClock

DAY = timedelta(days=1)
SCHEDULE = {
    "often": {"task": "often", "schedule": 5.0},
    "seldom": {"task": "seldom", "schedule": crontab(minute="0", hour="*/6")},
}


@contextmanager
def clock(file: Path) -> Iterator[BeatClock]:
    app = Celery("test", broker="memory://", set_as_current=False)
    app.conf.beat_schedule = SCHEDULE
    with closing(BeatClock(app, schedule_filename=str(file))) as beat:
        yield beat


def set_back(beat: BeatClock) -> None:
    """As if all that was done so far had been done a day later."""
    for entry in beat.schedule.values():
        entry.last_run_at += DAY


def test_a_clock_set_back_while_it_runs_does_not_silence_it(tmp_path: Path) -> None:
    with clock(tmp_path / "beat") as beat:
        assert beat.tick() == pytest.approx(5, abs=0.5)
        set_back(beat)
        beat.populate_heap()
        assert beat.tick() == pytest.approx(5, abs=0.5)
        assert all(entry.last_run_at <= entry.default_now() for entry in beat.schedule.values())


def test_a_clock_set_back_between_two_starts_does_not_silence_it(tmp_path: Path) -> None:
    with clock(tmp_path / "beat") as before:
        set_back(before)
    with clock(tmp_path / "beat") as again:
        assert again.tick() == pytest.approx(5, abs=0.5)
