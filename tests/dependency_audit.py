"""`make audit`: does any package of the locks have a known vulnerability?

Three answers and three exit codes: none is known (0), some are (1), the database was not reached (3). A
package that the database does not know is no sound one: a mirror of the index that answers "unknown" to
everything counts as not reached, where pip-audit alone would say that nothing is wrong.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCKS = ("uv.txt", "build.txt", "dev.txt", "bench.txt")
"""The smallest first: it shows whether the database is there at all. What base.txt pins, dev.txt does too."""
ANSWER_SECONDS = 5
"""Longest wait for one answer of the database."""
AUDIT_SECONDS = 300.0
"""Longest time for all locks when asked for; the database is asked about some 300 packages one by one."""
TEST_SECONDS = 60.0
"""The same before the tests, which must not wait for it."""
SOUND, VULNERABLE, NOT_REACHED = 0, 1, 3
REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"
_PIP_AUDIT = (sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--format", "json")
_QUIETLY = ("--desc", "off", "--progress-spinner", "off", "--timeout", str(ANSWER_SECONDS))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an audit says."""

    code: int
    lines: tuple[str, ...]


def judge(found: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """The verdict on what pip-audit reported of each lock."""
    packages = [one for report in found.values() for one in report["dependencies"]]
    bad = sorted({_sentence(one, fault) for one in packages for fault in one.get("vulns", ())})
    if bad:
        return Verdict(VULNERABLE, tuple(bad))
    unknown = sorted({str(one["name"]) for one in packages if "skip_reason" in one})
    if unknown:
        return Verdict(NOT_REACHED, (f"the database does not know {', '.join(unknown)}",))
    return Verdict(SOUND, (f"{len(packages)} pinned packages, no known vulnerability",))


def _sentence(package: Mapping[str, Any], fault: Mapping[str, Any]) -> str:
    mended = ", ".join(fault["fix_versions"]) or "no version yet"
    return f"{package['name']} {package['version']}: {fault['id']}, mended in {mended}"


def audit(seconds: float, locks: Sequence[Path]) -> Verdict:
    """Look all locks up within so many seconds; the first that is not answered for ends it."""
    end, found = time.monotonic() + seconds, {}
    for lock in locks:
        report = _report(lock, end - time.monotonic())
        if report is None:
            return Verdict(NOT_REACHED, (f"no answer about {lock.name}",))
        found[lock.name] = report
        if (verdict := judge(found)).code == NOT_REACHED:
            return verdict
    return judge(found)


def _report(lock: Path, seconds: float) -> dict[str, Any] | None:
    try:
        told = subprocess.run(
            [*_PIP_AUDIT, *_QUIETLY, "-r", str(lock)],
            capture_output=True,
            text=True,
            check=False,
            timeout=max(0.0, seconds),
        )
        report = json.loads(told.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return None
    return report if isinstance(report, dict) else None


def main(words: Sequence[str]) -> int:
    """Print the verdict; with --warn a vulnerability is only said, loudly."""
    parser = argparse.ArgumentParser(description="Look the pinned packages up among known vulnerabilities.")
    parser.add_argument("--warn", action="store_true", help="Say what was found and end well whatever it is.")
    warn = parser.parse_args(words).warn
    verdict = audit(TEST_SECONDS if warn else AUDIT_SECONDS, [REQUIREMENTS / name for name in LOCKS])
    sys.stdout.write("\n".join(told(verdict)) + "\n")
    return SOUND if warn else verdict.code


def told(verdict: Verdict) -> list[str]:
    """The verdict for people; a vulnerability stands between two bars."""
    if verdict.code == VULNERABLE:
        bar = "!" * 80
        return [bar, "audit: KNOWN VULNERABILITIES", *verdict.lines, "renew the locks: make lock", bar]
    head = "audit" if verdict.code == SOUND else "audit: not reached"
    return [f"{head}: {line}" for line in verdict.lines]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
