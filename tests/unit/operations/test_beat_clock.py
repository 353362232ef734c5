"""The clock that sends out what is due: it goes back with the machine's."""

from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery, _state

from sale_sofia import celery_program
from sale_sofia.celery_program import BeatClock


class Noting(BeatClock):
    """Notes what it would send, and connects to nobody."""

    producer = None  # type: ignore[assignment]

    sent: list[str]

    def apply_entry(self, entry: object, producer: object = None) -> None:  # noqa: ARG002 - as Celery's own
        self.sent.append(str(entry.name))  # type: ignore[attr-defined]


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Noting:
    monkeypatch.setattr(celery_program, "tell_alive", lambda: None)
    app = Celery("test", set_as_current=False)
    # What is read from the file asks the current app for the time: ours would look for its Redis.
    monkeypatch.setattr(_state._tls, "current_app", app)  # type: ignore[attr-defined]  # noqa: SLF001
    app.conf.beat_schedule = {"reconcile": {"task": "reconcile", "schedule": 5.0}}
    made = Noting(app, schedule_filename=str(tmp_path / "schedule"))
    made.sent = []
    return made


def struck(clock: Noting, seconds_ago: float) -> None:
    """When it struck last, as the file of a clock says."""
    for entry in clock.schedule.values():
        entry.last_run_at = entry.default_now() - timedelta(seconds=seconds_ago)
    clock._heap = None  # noqa: SLF001 - Celery has no other way to make it look again


def wait_of_reconcile(clock: Noting) -> float:
    return float(next(one for one in clock.schedule.values() if one.name == "reconcile").is_due()[1])


def test_what_struck_last_tomorrow_is_due_within_its_own_time(clock: Noting) -> None:
    struck(clock, -86_400.0)
    assert wait_of_reconcile(clock) > 86_000
    assert clock.tick() <= 5.0
    assert (clock.sent, wait_of_reconcile(clock) <= 5.0) == ([], True)


def test_what_is_due_is_sent_and_a_little_ahead_is_no_fault(clock: Noting) -> None:
    struck(clock, 6.0)
    clock.tick()
    assert "reconcile" in clock.sent
    struck(clock, -30.0)
    clock.tick()
    assert wait_of_reconcile(clock) > 30
