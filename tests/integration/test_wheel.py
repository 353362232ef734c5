"""The wheel in an environment with nothing but what it asks for, away from the checkout: the demo runs.

The environment is made without the network: the packages that `requirements/base.txt` pins are linked into it
from the environment of the tests, so that nothing which only developers have can be imported. `pip check`
there says whether all that the wheel asks for is among them.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from crawls import stored

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PATIENCE = 300
NOT_SOURCE = {"__pycache__"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as it is for a release."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the environment in `env` and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    environment = folder / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    link_packages(environment)
    pip(environment, "install", "--quiet", "--no-compile", "--no-deps", "--no-index", str(wheel))
    (folder / "work").mkdir()
    return folder


def link_packages(environment: Path) -> None:
    (target,) = environment.glob("lib/python*/site-packages")
    pinned = re.findall(
        r"^([\w.-]+)==", (ROOT / "requirements" / "base.txt").read_text("utf-8"), re.MULTILINE
    )
    for name in pinned:
        try:
            found = distribution(name)
        except PackageNotFoundError:  # for another system than this
            continue
        tops = {file.parts[0] for file in found.files or () if not file.parts[0].startswith("..")}
        for top in tops - NOT_SOURCE:
            if not (target / top).exists():
                (target / top).symlink_to(Path(str(found.locate_file(top))))


def pip(environment: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python",
         environment / "bin" / "python", *arguments],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in an empty folder, with no setting of ours and no way to the checkout."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [place / "env" / "bin" / "sale-sofia", *arguments],
        cwd=place / "work",
        env={**kept, "PATH": f"{place / 'env' / 'bin'}:/usr/bin:/bin", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,  # without a terminal the demo ends instead of serving its dashboard
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def source_files() -> set[str]:
    return {
        str(path.relative_to(SOURCE))
        for package in ("sale_sofia", "sale_sofia_simulator")
        for path in (SOURCE / package).rglob("*")
        if path.is_file() and not NOT_SOURCE & set(path.parts)
    }


def test_all_of_the_package_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    about = {name for name in names if name.startswith(f"sale_sofia-{PROJECT['version']}.dist-info/")}
    assert names - about == source_files()
    assert {name.partition("/")[2] for name in about} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE",
        "licenses/src/sale_sofia/geography/data/README.md",
        "licenses/src/sale_sofia/app/fonts/LICENSE_DEJAVU",
    }  # fmt: skip
    kinds = {Path(name).suffix for name in names - about}
    assert {".py", ".yaml", ".lua", ".css", ".html", ".typed"} <= kinds


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        told = content.read(f"sale_sofia-{PROJECT['version']}.dist-info/METADATA").decode()
        licence = content.read(f"sale_sofia-{PROJECT['version']}.dist-info/licenses/LICENSE").decode()
    assert f"\nVersion: {PROJECT['version']}\n" in told
    assert "\nLicense-Expression: MIT AND ODbL-1.0 AND CC-BY-4.0 AND Bitstream-Vera\n" in told
    assert "\nDescription-Content-Type: text/markdown\n" in told
    assert licence == (ROOT / "LICENSE").read_text("utf-8")


def test_what_it_asks_for_is_what_is_pinned(place: Path) -> None:
    assert "No broken requirements found." in pip(place / "env", "check")


def test_the_demo_runs_there(place: Path) -> None:
    told = run(place, "demo", "--properties", "4", "--days", "1")
    assert told.returncode == 0, told.stderr
    assert "day 0 of 1: imot.bg 4 new, 0 changed; bazar.bg 1 new, 0 changed" in told.stderr
    rows = stored(place / "work" / "data" / "demo")
    assert {row["site"] for row in rows} == {"imot.bg", "bazar.bg"}
    assert len(rows) >= 5
    assert all(row["price_eur"] is None or row["price_eur"] > 0 for row in rows)
    assert "once it is started: DATA_DIR=data/demo sale-sofia dashboard\n" in told.stdout
    assert [path.name for path in (place / "work").iterdir()] == ["data"]


def test_the_machine_is_found_ready_and_the_portals_known(place: Path) -> None:
    assert run(place, "--version").stdout == f"sale-sofia {PROJECT['version']}\n"
    doctor = run(place, "doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "Traceback" not in doctor.stderr
    listed = json.loads(run(place, "sites", "list", "--json").stdout)
    assert {one["site"] for one in listed["sites"]} == {
        "alo.bg", "bazar.bg", "homes.bg", "imot.bg", "imoti.com", "imoti.net", "luximmo.bg", "olx.bg",
        "suprimmo.bg",
    }  # fmt: skip


def test_parquet_is_an_extra_that_is_named_where_it_is_missing(place: Path) -> None:
    told = run(place, "export", "adverts.parquet")
    assert (told.returncode, told.stdout) == (2, "")
    assert "need the package pyarrow; install `sale-sofia[parquet]`.\n" in told.stderr
    assert not (place / "work" / "adverts.parquet").exists()
