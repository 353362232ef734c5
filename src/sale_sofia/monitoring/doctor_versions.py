"""Which versions are installed: told by what the installer wrote down, without importing anything."""

import re
import sqlite3
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Final

from sale_sofia.config.settings import MIN_PYTHON
from sale_sofia.monitoring.doctor_check import Check, verdict

DISTRIBUTION: Final = "sale-sofia"
_REINSTALL: Final = "Install the package again, with its dependencies."
_NAME: Final = re.compile(r"[\w.-]+")
_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)*")
_BOUND: Final = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")


def python_version() -> Iterator[Check]:
    """Whether the interpreter is new enough."""
    least = ".".join(map(str, MIN_PYTHON))
    ok = sys.version_info >= MIN_PYTHON
    yield verdict("python", sys.version.split()[0], None if ok else f"Install Python {least} or newer.")


def sqlite_version() -> Iterator[Check]:
    """The SQLite that came with the interpreter."""
    yield verdict("sqlite", sqlite3.sqlite_version)


def package_version() -> Iterator[Check]:
    """Whether the package is installed, and which version."""
    try:
        yield verdict(DISTRIBUTION, metadata.version(DISTRIBUTION))
    except metadata.PackageNotFoundError:
        yield verdict(DISTRIBUTION, "not installed", _REINSTALL)


def dependencies() -> Iterator[Check]:
    """One verdict for every distribution the installed package declares, extras left out."""
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return
    for requirement in declared:
        if "extra ==" not in requirement:
            yield _dependency(requirement)


def _dependency(requirement: str) -> Check:
    found = _NAME.match(requirement)
    name = found.group() if found else requirement
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return verdict(name, "not installed", _REINSTALL)
    wanted = requirement.partition(";")[0]
    fits = all(_within(version, sign, bound) for sign, bound in _BOUND.findall(wanted))
    return verdict(
        name, version if fits else f"{version}, where {wanted} is wanted", None if fits else _REINSTALL
    )


def _within(version: str, sign: str, bound: str) -> bool:
    found, limit = _numbers(version), _numbers(bound)
    return found >= limit if sign == ">=" else found < limit


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers a version begins with, as `9.1.2.post2` with 9, 1 and 2."""
    found = _NUMBERS.match(version)
    numbers = found.group().split(".") if found else []
    return tuple(int(part) for part in numbers)
