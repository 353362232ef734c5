"""The audit's three answers; what pip-audit reports is given as it prints it."""

from pathlib import Path
from typing import Any

import pytest

from dependency_audit import NOT_REACHED, SOUND, VULNERABLE, Verdict, audit, judge, told

GOOD = {"name": "left", "version": "1.0", "vulns": []}
UNKNOWN = {"name": "right", "skip_reason": "not found"}
BAD = {"name": "sole", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"], "aliases": []}]}


def report(*packages: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"some.txt": {"dependencies": list(packages), "fixes": []}}


@pytest.mark.parametrize(
    ("packages", "code", "line"),
    [
        ([GOOD], SOUND, "1 pinned packages, no known vulnerability"),
        ([GOOD, UNKNOWN], NOT_REACHED, "the database does not know right"),
        ([GOOD, BAD, UNKNOWN], VULNERABLE, "sole 2.0: PYSEC-1, mended in 2.1"),
    ],
)
def test_a_package_nobody_knows_is_not_sound_and_a_vulnerable_one_wins(
    packages: list[dict[str, Any]], code: int, line: str
) -> None:
    assert judge(report(*packages)) == Verdict(code, (line,))


def test_a_vulnerability_is_said_loudly() -> None:
    lines = told(judge(report(BAD)))
    assert lines[0] == lines[-1] == "!" * 80
    assert lines[1:3] == ["audit: KNOWN VULNERABILITIES", "sole 2.0: PYSEC-1, mended in 2.1"]


def test_no_time_left_is_not_reached(tmp_path: Path) -> None:
    lock = tmp_path / "empty.txt"
    lock.touch()
    assert audit(0.0, [lock]) == Verdict(NOT_REACHED, ("no answer about empty.txt",))
