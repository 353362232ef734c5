"""What `doctor` must not pass over: a damaged database, and files that the commands would refuse."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from crawls import run
from ready_files import put_ready_file

BAD_FILES = {
    "data/schedule.yaml": "crawls:\n- {name: a, at: '99:99'}\n- {name: b}\n",
    "data/alerts.yaml": "channels: 7\n",
    "data/profiles/mine.yaml": "must: {rooms_least: many}\n",
    "data/proxies/sources.json": '[{"place": "x", "unknown": 1}]',
    "data/phone_secret": "short",
    "data/imported/stations.json.gz": "[]",
    "data/imported/walks.json.gz": "[]",
    "sites/imot.bg.yaml": "hosts: []\n",
}


def found_wrong(data: Path, **more: str) -> tuple[int, list[dict[str, str]]]:
    """How `doctor` ends, and the checks that failed."""
    told = run(data, "doctor", "--json", **more)
    assert told.stdout, told.stderr
    return told.returncode, [check for check in json.loads(told.stdout)["checks"] if not check["ok"]]


def test_a_corrupt_root_page_is_found(tmp_path: Path) -> None:
    file = tmp_path / "sale_sofia.db"
    put_ready_file(file)
    assert found_wrong(tmp_path) == (0, [])
    with closing(sqlite3.connect(file)) as connection:
        [size] = connection.execute("PRAGMA page_size").fetchone()
        [root] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'listings'").fetchone()
    with file.open("r+b") as opened:
        opened.seek((root - 1) * size)
        opened.write(b"\xa5" * size)
    code, wrong = found_wrong(tmp_path)
    assert code == 1
    assert {check["name"] for check in wrong} == {"database"}
    assert str(file) in wrong[0]["detail"]
    assert "sale-sofia restore FILE --replace" in wrong[0]["advice"]


def test_a_row_that_points_nowhere_is_found(tmp_path: Path) -> None:
    file = tmp_path / "sale_sofia.db"
    put_ready_file(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("INSERT INTO frontier_pruned VALUES ('gone', 'listing', 'done', 1)")
        connection.commit()
    [wrong] = found_wrong(tmp_path)[1]
    assert "of frontier_pruned points to a row of jobs that is not there" in wrong["detail"]


def test_every_file_that_a_command_would_refuse_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    put_ready_file(data / "sale_sofia.db")
    for name, text in BAD_FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    code, wrong = found_wrong(data, SITES_DIR=str(tmp_path / "sites"))
    assert code == 1
    told = {
        name: [one["detail"] for one in wrong if str(tmp_path / name) in one["detail"]] for name in BAD_FILES
    }
    assert [name for name, found in told.items() if not found] == []
    (data / "alerts.yaml").rename(data / "channels.yaml")
    alone = found_wrong(data, SITES_DIR=str(tmp_path / "sites"))[1]
    assert [one["name"] for one in alone if str(data / "channels.yaml") in one["detail"]] == ["alerts"]
    assert len(told["data/schedule.yaml"]) == 2
    assert "is no time of day; write it in quotes" in told["data/schedule.yaml"][0]
    assert "say either `at` or `every_hours`" in told["data/schedule.yaml"][1]


def test_wrong_settings_are_a_failed_check_with_robots_too(tmp_path: Path) -> None:
    told = run(tmp_path, "doctor", "--robots", "--json", LOG_LEVEL="loudly")
    assert told.returncode == 1, told.stderr
    [wrong] = [check for check in json.loads(told.stdout)["checks"] if not check["ok"]]
    assert wrong["name"] == "settings"
