"""A folder in which another user has put modules and settings: no program of ours takes them for its own.

That neither does what `up` starts, nor the dashboard, is shown in test_security.py.
"""

import os
import subprocess
from pathlib import Path

import pytest

import sale_sofia
from foreign_folders import foreign_folder, imported_from
from sale_sofia.settings.programs import own_program

ROOT = Path(sale_sofia.__file__).parent


@pytest.mark.parametrize("module", ["sale_sofia.alerts.delivery", "sale_sofia.proxies.rotator"])
def test_nothing_is_imported_by_programs_that_only_some_commands_start(tmp_path: Path, module: str) -> None:
    with foreign_folder(tmp_path / "foreign") as foreign:
        environ = {**os.environ, "DATA_DIR": str(foreign)}
        told = subprocess.run(
            own_program(module, "0", "0"), env=environ, capture_output=True, text=True, check=False
        )
    assert "No Redis runs" in told.stderr or told.returncode == 0, told.stderr
    assert imported_from(foreign) == []


def test_one_place_starts_our_own_modules() -> None:
    starting = [path.name for path in ROOT.rglob("*.py") if "sys.executable" in path.read_text("utf-8")]
    assert starting == ["programs.py"]
