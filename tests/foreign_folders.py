"""A folder in which another user has put modules and settings, and we are in it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

_SETTINGS_OF_OTHERS = ("celeryconfig", "flowerconfig", "sitecustomize", "usercustomize")


@contextmanager
def foreign_folder(folder: Path) -> Iterator[Path]:
    """Has a module by every name that could be imported."""
    folder.mkdir(parents=True)
    trap = f"with open({str(_marks(folder))!r}, 'a') as marks: marks.write(__name__ + '\\n')\n"
    for name in {*sys.stdlib_module_names, *packages_distributions(), *_SETTINGS_OF_OTHERS}:
        (folder / f"{name}.py").write_text(trap)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
        monkeypatch.chdir(folder)
        yield folder


def imported_from(folder: Path) -> list[str]:
    """The modules of the folder that were imported."""
    marks = _marks(folder)
    return marks.read_text("utf-8").splitlines() if marks.exists() else []


def _marks(folder: Path) -> Path:
    return folder / "marks"
