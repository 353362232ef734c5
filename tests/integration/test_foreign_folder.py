"""A folder in which another user has put modules and settings: nothing of ours takes them for its own."""

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import httpx
import pytest

import sale_sofia
from dashboards import running_dashboard
from listening import free_port
from parallel_crawls import services_up, until
from sale_sofia.config.programs import own_program
from sale_sofia.simulator.running import start_in_process
from sale_sofia.simulator.simulator_config import SimulatorConfig

SETTINGS_OF_OTHERS = ("celeryconfig", "flowerconfig", "sitecustomize", "usercustomize")
ROOT = Path(sale_sofia.__file__).parent


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder we are in: a module by every name that could be imported, and settings for Streamlit."""
    folder = tmp_path / "foreign"
    (folder / ".streamlit").mkdir(parents=True)
    (folder / ".streamlit" / "config.toml").write_text('[server]\nbaseUrlPath = "foreign"\n')
    trap = f"with open({str(marks(folder))!r}, 'a') as marks: marks.write(__name__ + '\\n')\n"
    for name in {*sys.stdlib_module_names, *packages_distributions(), *SETTINGS_OF_OTHERS}:
        (folder / f"{name}.py").write_text(trap)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.chdir(folder)
    return folder


def marks(folder: Path) -> Path:
    """Names the modules of the folder that were imported."""
    return folder / "marks"


def test_nothing_is_imported_from_the_folder_we_are_in(foreign: Path) -> None:
    port = free_port()
    password = {"FLOWER_PASSWORD": "correct horse", "FLOWER_PORT": str(port)}
    with (
        start_in_process(SimulatorConfig(sites=("imot.bg",), properties=1, port=0)),
        services_up(foreign, **password),
        running_dashboard(foreign) as dashboard,
    ):
        until(lambda: is_answered(f"http://127.0.0.1:{port}/healthcheck"), "Flower")
        assert is_answered(f"{dashboard.url}/_stcore/health")  # not below /foreign
    assert not marks(foreign).exists(), marks(foreign).read_text()


def is_answered(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.HTTPError:
        return False


@pytest.mark.parametrize("module", ["sale_sofia.commands.postman", "sale_sofia.proxies.rotator_program"])
def test_nor_by_programs_that_only_some_commands_start(foreign: Path, module: str) -> None:
    environ = {**os.environ, "DATA_DIR": str(foreign)}
    told = subprocess.run(
        own_program(module, "0", "0"), env=environ, capture_output=True, text=True, check=False
    )
    assert "No Redis runs" in told.stderr or told.returncode == 0, told.stderr
    assert not marks(foreign).exists(), marks(foreign).read_text()


def test_one_place_starts_our_own_modules() -> None:
    starting = [path.name for path in ROOT.rglob("*.py") if "sys.executable" in path.read_text("utf-8")]
    assert starting == ["programs.py"]
