"""What `crawl` and `resume` answer to programs where nothing has to be fetched."""

import json
from pathlib import Path
from typing import Any

import pytest

from sale_sofia.cli.main import app
from sale_sofia.crawl.frontier.wanted import UnknownWish


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


def test_a_crawl_for_nobody_we_know_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = "^no profile and no saved search is called 'us'; profiles: default; saved searches: -$"
    with pytest.raises(UnknownWish, match=sentence):
        app(["crawl", "imot.bg", "--for", "us"])
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "us.yaml").write_text("{budget_eur: 9, property_types: [house]}", "utf-8")
    with pytest.raises(SystemExit) as end:
        app(["crawl", "imot.bg", "imoti.com", "--for", "us"])
    assert end.value.code == 2
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "no search of imot.bg, imoti.com can hold what us looks for" in told
    assert answer(capsys, "jobs") == {"jobs": []}
