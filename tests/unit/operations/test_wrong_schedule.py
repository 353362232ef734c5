"""A wrong schedule ends `up` with one sentence, instead of a worker and a beat that die again and again."""

from pathlib import Path

import pytest

from sale_sofia.operations.services.fleet import Fleet
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.settings.model import load_settings
from sale_sofia.websites.site_file import SiteConfigError


def test_nothing_is_started_with_a_wrong_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    (tmp_path / "schedule.yaml").write_text("crawls: [{name: nightly, at: '25:30'}]\n")
    services = Orchestrator(load_settings().model_copy(update={"data_dir": tmp_path}))
    monkeypatch.setattr(Fleet, "start_redis", lambda _: started.append("Redis"))
    monkeypatch.setattr(Fleet, "start_worker_and_beat", lambda _: started.append("worker and beat"))
    with pytest.raises(SiteConfigError, match=r"schedule.yaml: crawls.0.at: '25:30' is no time of day"):
        services.start_celery()
    assert started == []
