"""What is in deploy/ agrees with the program and with itself, as far as is seen without an engine."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from command_lines import fault
from command_server import COMMAND
from compose_files import DEPLOY, MISSING, Tree, compose, faults, variables_of
from parallel_world import surroundings
from sale_sofia.crawl.settings import SOFT_SHUTDOWN_SECONDS
from sale_sofia.operations.settings import DASHBOARD_PORT, WORKER_QUIT_SECONDS, WORKER_STOP_SECONDS
from sale_sofia.settings.model import Settings, load_settings

ROOT = DEPLOY.parent
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
SETTINGS = {name.upper() for name in Settings.model_fields}
WAYS = {
    "one machine": ("compose.yaml",),
    "the machine that serves others": ("compose.yaml", "compose.serve.yaml"),
    "a further machine": ("compose.worker.yaml",),
}
VARIABLES = {"PRIVATE_ADDRESS": "10.0.0.1", "MAIN_HOST": "main.internal"}
OUR_PROGRAMS = ("worker", "beat", "flower", "dashboard")


@pytest.fixture(params=list(WAYS.values()), ids=list(WAYS))
def tree(request: pytest.FixtureRequest) -> Tree:
    """The services of one way to deploy."""
    return compose(*request.param, variables=VARIABLES)


def ours(tree: Tree) -> dict[str, Tree]:
    return {name: service for name, service in tree["services"].items() if name in OUR_PROGRAMS}


def test_compose_files_hold_together(tree: Tree) -> None:
    assert faults(tree) == []
    assert MISSING not in json.dumps(tree)


@pytest.mark.parametrize("files", WAYS.values(), ids=WAYS)
def test_compose_itself_reads_them(files: tuple[str, ...], tmp_path: Path) -> None:
    docker = shutil.which("docker")
    if (
        not docker
        or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("docker compose is not installed")
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    named = [word for name in files for word in ("-f", str(tmp_path / "deploy" / name))]
    told = subprocess.run(
        [docker, "compose", *named, "config", "-q"],
        env={**os.environ, **VARIABLES}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (told.returncode, told.stderr) == (0, "")


def test_the_programs_settings_are_what_the_program_reads(tree: Tree, tmp_path: Path) -> None:
    for name, service in ours(tree).items():
        environ = {key: str(value) for key, value in service["environment"].items()}
        assert set(environ) <= SETTINGS, name
        with surroundings(with_secrets(environ, service["secrets"], tmp_path)):
            found = load_settings()
        assert found.parallel_scraping
        assert ":long%20enough@" in found.database_url.get_secret_value()
        assert found.redis_url is not None
        assert ":long%20enough@" in found.redis_url.get_secret_value()


def with_secrets(environ: Mapping[str, str], secrets: list[str], folder: Path) -> dict[str, str]:
    """The environment with files of `folder` where the container has its secrets."""
    for secret in secrets:
        (folder / secret).write_text("long enough", "ascii")
    return {key: value.replace("/run/secrets", str(folder)) for key, value in environ.items()}


def test_every_variable_of_the_compose_files_is_explained() -> None:
    files = [name for names in WAYS.values() for name in names]
    example = (DEPLOY / ".env.example").read_text("utf-8")
    explained = set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))
    # These two have no sensible default, and the head of the file that wants them says so.
    assert variables_of(*files) - {"PRIVATE_ADDRESS", "MAIN_HOST"} == explained


def test_nothing_is_open_to_other_machines_unless_asked_for() -> None:
    published = {
        name: service["ports"]
        for name, service in compose("compose.yaml")["services"].items()
        if "ports" in service
    }
    assert published == {
        "flower": [f"127.0.0.1:5555:{Settings.model_fields['flower_port'].default}"],
        "dashboard": [f"127.0.0.1:8501:{DASHBOARD_PORT}"],
    }
    shared = compose("compose.yaml", "compose.serve.yaml", variables=VARIABLES)["services"]
    assert shared["redis"]["ports"] == ["10.0.0.1:6379:6379"]
    assert shared["postgres"]["ports"] == ["10.0.0.1:5432:5432"]


def test_no_file_of_deploy_holds_a_secret() -> None:
    for path in DEPLOY.rglob("*"):
        if path.is_file() and "secrets" not in path.relative_to(DEPLOY).parts:
            assert not re.search(r"://[^/\s:@]*:[^@\s$]+@", path.read_text("utf-8")), path


def test_commands_of_the_services_are_ours(tree: Tree) -> None:
    lines = [f"sale-sofia {shlex.join(service['command'])}" for service in ours(tree).values()]
    assert [found for line in lines if (found := fault(line))] == []


def test_the_dashboard_asks_for_a_password_and_is_asked_itself() -> None:
    service = compose("compose.yaml")["services"]["dashboard"]
    assert "dashboard_password" in service["secrets"]
    secret = "/run/secrets/dashboard_password"  # noqa: S105 - where it is, not what it is
    assert service["environment"]["DASHBOARD_PASSWORD_FILE"] == secret
    assert f"127.0.0.1:{DASHBOARD_PORT}/healthz" in service["healthcheck"]["test"][-1]


def test_programs_have_the_time_they_need_to_stop(tree: Tree) -> None:
    longest = WORKER_STOP_SECONDS + WORKER_QUIT_SECONDS
    assert longest > SOFT_SHUTDOWN_SECONDS
    assert int(tree["services"]["worker"]["stop_grace_period"].removesuffix("s")) > longest
    worker = unit(DEPLOY / "systemd" / "sale-sofia-worker@.service")
    assert int(worker["TimeoutStopSec"][0]) > longest


def unit(path: Path) -> dict[str, list[str]]:
    """The lines of a unit, by name."""
    found: dict[str, list[str]] = {}
    for line in path.read_text("utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_run_our_commands_with_our_settings(path: Path) -> None:
    lines = unit(path)
    assert lines["ExecStart"][0].startswith("/opt/sale-sofia/bin/sale-sofia ")
    assert fault(lines["ExecStart"][0]) is None
    named = [entry.partition("=")[0] for line in lines["Environment"] for entry in line.split()]
    assert set(named) <= SETTINGS
    credentials = {line.partition(":")[0] for line in lines.get("LoadCredential", ())}
    files = {
        entry.partition("%d/")[2] for line in lines["Environment"] for entry in line.split() if "%d" in entry
    }
    assert files == credentials


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_are_sound_and_shut_in(path: Path, tmp_path: Path) -> None:
    systemd = shutil.which("systemd-analyze")
    if not systemd:
        pytest.skip("systemd-analyze is not installed")
    for other in (DEPLOY / "systemd").iterdir():
        text = other.read_text("utf-8").replace("/opt/sale-sofia/bin/sale-sofia", str(COMMAND))
        (tmp_path / other.name).write_text(text, "utf-8")
    instance = tmp_path / path.name.replace("@.", "@1.")
    shutil.copy(tmp_path / path.name, tmp_path / "copy")
    shutil.move(tmp_path / "copy", instance)
    verified = subprocess.run([systemd, "verify", instance], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = [systemd, "security", "--offline=yes", "--threshold=20", str(instance)]
    told = subprocess.run(judged, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout[-200:]


def test_the_example_of_the_units_settings_can_be_read(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd" / "environment.example").read_text("utf-8")
    environ = dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    files = {"DATABASE_PASSWORD_FILE": "d", "REDIS_PASSWORD_FILE": "r"}
    for name in files.values():
        (tmp_path / name).write_text("long enough", "ascii")
    with surroundings(environ | {key: str(tmp_path / name) for key, name in files.items()}):
        found = load_settings()
    assert set(environ) <= SETTINGS
    assert str(found.worker_processes) == environ["WORKER_PROCESSES"]
    assert ":long%20enough@main.internal" in found.database_url.get_secret_value()


def dockerfile() -> list[str]:
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def copied() -> list[str]:
    lines = [shlex.split(line) for line in dockerfile() if line.startswith("COPY ") and "--from=" not in line]
    return [source for words in lines for source in words[1:-1]]


def test_the_image_is_made_of_what_is_there_and_pinned() -> None:
    assert [source for source in copied() if not (ROOT / source).exists()] == []
    assert re.fullmatch(r"ARG BASE=python:3\.\d+\.\d+-slim-\w+", dockerfile()[0])
    for line in dockerfile():
        if "pip install" in line and "--no-index" not in line:
            assert "--require-hashes" in line, line
    for name in ("base.txt", "build.txt"):
        text = (ROOT / "requirements" / name).read_text("utf-8").replace("\\\n", " ")
        wanted = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
        assert [line for line in wanted if "--hash=sha256:" not in line] == []
    assert any(line.startswith("USER 10001") for line in dockerfile())


def test_the_builder_is_sent_all_that_is_copied() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    let_in = tuple(line.removeprefix("!") for line in lines if line.startswith("!"))
    assert [source for source in copied() if not f"{source}/".startswith(let_in)] == []


def test_the_wheel_of_the_image_holds_the_whole_program(tmp_path: Path) -> None:
    """With such a wheel the program runs: test_wheel.py."""
    for source in copied():
        target = tmp_path / "build" / source
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, target)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheel")]
    made = subprocess.run(build, cwd=tmp_path / "build", capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = (path for path in (ROOT / "src").glob("sale_sofia*/**/*") if path.is_file())
    assert held == {str(one.relative_to(ROOT / "src")) for one in files if "__pycache__" not in one.parts}
