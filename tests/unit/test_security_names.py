"""Names out of messages, databases and archives: none of them is a way to another folder."""

import re
from pathlib import Path

import pytest
import zstandard

from sale_sofia.advice.scoring.profile import ProfileError, profile_path
from sale_sofia.crawl.fetch import archive
from sale_sofia.crawl.fetch.archive import ArchiveDamaged, PageArchive
from sale_sofia.crawl.frontier.jobs import new_job_id
from sale_sofia.crawl.runners.dispatching import (
    WrongMessage,
    check_job_id,
    check_lane,
    check_site,
    check_version,
)
from sale_sofia.crawl.settings import TASK_VERSION
from sale_sofia.history.runs.reports import ReportFiles
from sale_sofia.proxies.refresh import check_job_id as check_refresh
from sale_sofia.proxies.refresh import new_job_id as new_refresh
from sale_sofia.settings.model import Settings
from sale_sofia.websites.registry import AVAILABLE_SITES
from tables import each_row

WAYS_OUT = ["../x", "/etc/passwd", "a/../../x", "..", ".", "", "a\0b", "a b", "*", "x\n", "ю", "a" * 41]


@each_row("name", [*WAYS_OUT, None, 5, ["imot.bg"], {"a": 1}, b"j"])
def test_a_message_names_a_job_and_a_portal_or_is_refused(name: object) -> None:
    for check in (check_job_id, check_site):
        with pytest.raises(WrongMessage):
            check(name)
    with pytest.raises(ValueError, match="no refresh of ours"):
        check_refresh(name)


def test_our_own_names_are_not_refused() -> None:
    for site in AVAILABLE_SITES:
        check_lane(new_job_id(site), site, TASK_VERSION)
    assert check_refresh(new_refresh()).startswith("refresh-")


@each_row("version", [True, None, "1", 1.0, [1], "1" * 10_000])
def test_a_version_is_the_very_number(version: object) -> None:
    with pytest.raises(WrongMessage) as error:
        check_version(version)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("name", ["../../out", "/out", "a/b", ".."])
def test_a_report_stays_in_its_folder_whatever_its_job_is_called(tmp_path: Path, name: str) -> None:
    reports = ReportFiles(Settings(data_dir=tmp_path / "data", redis_url=None))
    run = {"job_id": name, "site": "imot.bg"}
    with pytest.raises(KeyError):  # the page wants more of a run than this; its file was written before
        reports.write(name, {"runs": [run], "generated_at": 0.0, "health": "ok", "summary": {}}, now=0.0)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent for path in written] == [reports.folder] * len(written)
    assert written


@pytest.mark.parametrize("name", WAYS_OUT)
def test_a_profile_and_an_archived_page_are_called_by_their_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProfileError):
        profile_path(tmp_path, name if name != "ю" else "../ю")
    with pytest.raises(ValueError, match="not a SHA-256 digest"):
        PageArchive(tmp_path, 1000).get(name)


def test_an_archived_page_that_would_unpack_to_too_much_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ARCHIVED_MOST_BYTES", 1000)
    pages = PageArchive(tmp_path, 10_000)
    digest = pages.put(b"x")
    (path,) = tmp_path.glob("??/*")
    path.write_bytes(zstandard.compress(bytes(1001)))
    with pytest.raises(ArchiveDamaged, match="more than any page"):
        pages.get(digest)


@pytest.mark.parametrize(
    ("page", "folder", "least"), [("security.md", "", 50), ("faults.md", "integration", 40)]
)
def test_every_file_that_the_notes_of_threats_and_faults_name_is_there(
    page: str, folder: str, least: int
) -> None:
    root = Path(__file__).parents[2]
    named = set(re.findall(r"`([\w/.-]+\.(?:py|yaml|txt|md))`", (root / "docs" / page).read_text("utf-8")))
    places = ("src", "tests", "deploy", "bench")
    there = {path.as_posix() for place in places for path in (root / place).rglob("*.*")}
    lost = {
        name for name in named if not any(path.endswith((f"{folder}/{name}", f"/{name}")) for path in there)
    }
    assert lost == set()
    assert len(named) > least


def test_what_is_written_for_a_moment_is_written_where_nobody_else_can_open_it() -> None:
    """`/tmp` is everybody's: only a folder that is its owner's alone may be made there."""
    source = Path(archive.__file__).parents[2]
    calls = {
        (path.relative_to(source).as_posix(), called, "dir=" in rest or bool(rest.strip()))
        for path in source.rglob("*.py")
        for called, rest in re.findall(
            r"(?:tempfile\.|\b)(mkstemp|\w*Temporary\w+)\(([^)]*)\)", path.read_text()
        )
    }
    in_tmp = {(path, called) for path, called, told in calls if not told}
    assert in_tmp == {("cli/backup.py", "TemporaryDirectory")}
    assert len(calls) > len(in_tmp)
