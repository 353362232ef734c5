"""What `crawl` and `resume` answer to programs where nothing has to be fetched."""

import json
from pathlib import Path
from typing import Any

import pytest

from sale_sofia.cli.main import app


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", '{"imot.bg": 30}')


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    with pytest.raises(SystemExit) as end:
        app([*arguments, "--json"])
    assert end.value.code == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_an_estimate_is_json_too_and_a_portal_named_twice_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    [one] = answer(capsys, "crawl", "imot.bg", "imot.bg", "--estimate", "--limit", "60")["estimates"]
    assert (one["site"], one["requests_per_minute"]) == ("imot.bg", 30)
    assert one["hours"] == one["requests"] / 30 / 60


def test_nothing_to_resume_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "resume") == {"jobs": [], "stopped": False}
