"""What a check of the doctor comes to."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sale_sofia.config.doctor import PROGRAM_SECONDS

Told = Callable[[float, float], None]
"""Told how many seconds a long look has taken, and how many it may take."""
_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict of one check; `advice` is there when, and only when, it failed."""

    name: str
    ok: bool
    detail: str
    advice: str | None = None


def verdict(name: str, detail: str, advice: str | None = None) -> Check:
    """A check that failed where there is advice, and is fine where there is none."""
    return Check(name, ok=advice is None, detail=detail, advice=advice)


def program_version(program: Path) -> str | None:
    """The version that a program tells of itself; None where it does not."""
    try:
        told = subprocess.run(  # noqa: S603 - found in PATH or named by the settings
            [program, "--version"], capture_output=True, text=True, timeout=PROGRAM_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    found = _VERSION.search(told.stdout)
    return found.group() if found else None
