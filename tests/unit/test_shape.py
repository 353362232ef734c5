"""The house of docs/architecture.md: imports go one way, folders stay small."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sale_sofia

ROOT = Path(sale_sofia.__file__).parent
LAYERS = (
    ("__main__",),
    ("cli", "app"),
    ("celery_program",),
    ("orchestrator",),
    ("tasks",),
    ("celery_app",),
    ("operations",),
    ("crawl",),
    ("proxies",),
    ("alerts",),
    ("advice",),
    ("buyer",),
    ("flats",),
    ("descriptions",),
    ("history",),
    ("installation",),
    ("operations.services",),
    ("telemetry",),
    ("crawl.fetch",),
    ("crawl.resilience",),
    ("storage",),
    ("tables",),
    ("websites",),
    ("listings",),
    ("geography",),
    ("settings",),
)
"""From the top down. `tables.py`, `settings.py` and `tasks.py` of all slices are a layer each."""
ONLY = {"sale_sofia_simulator": {"listings", "geography", "settings"}}
LOWER_PARTS = {"crawl.resilience", "crawl.fetch", "operations.services"}
"""Parts of a slice that others below it need too."""
MOST_MODULES = 20
MOST_OF_A_FAMILY = 2


def room(module: str) -> str:
    """The layer that a module belongs to."""
    package, _, rest = module.partition(".")
    if package != "sale_sofia":
        return package
    names = rest.split(".")
    if rest == "storage.all_tables" or (len(names) > 1 and names[-1] == "tables"):
        return "tables"
    if len(names) > 1 and names[-1] in {"settings", "tasks"}:
        return names[-1]
    return part if (part := ".".join(names[:2])) in LOWER_PARTS else names[0]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)


def imports(path: Path) -> set[str]:
    """The other layers of the project that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {module_of(str(node.module), alias.name) for alias in node.names}
    ours = {name for name in found if name.startswith(("sale_sofia.", "sale_sofia_simulator."))}
    return {room(name) for name in ours} - {room(name_of(path))}


def module_of(module: str, name: str) -> str:
    """What is imported from, when this name is imported from there."""
    inner = ROOT.parent.joinpath(*module.split("."), f"{name}.py")
    return f"{module}.{name}" if inner.exists() else module


def allowed(own: str) -> set[str]:
    if own in ONLY:
        return ONLY[own]
    level = next(number for number, rooms in enumerate(LAYERS) if own in rooms)
    return set(ONLY) | {below for rooms in LAYERS[level + 1 :] for below in rooms}


def modules() -> list[Path]:
    simulator = ROOT.with_name("sale_sofia_simulator")
    return [path for root in (ROOT, simulator) for path in root.rglob("*.py") if path.name != "__init__.py"]


def test_imports_go_one_way() -> None:
    upwards = {
        name_of(path): wrong for path in modules() if (wrong := imports(path) - allowed(room(name_of(path))))
    }
    assert upwards == {}


def test_no_folder_is_too_large_and_none_holds_a_family() -> None:
    folders: dict[Path, list[str]] = {}
    for path in modules():
        if path.parent.name != "versions":
            folders.setdefault(path.parent, ["__init__"]).append(path.stem)
    assert [str(folder) for folder, names in folders.items() if len(names) > MOST_MODULES] == []
    families = {
        f"{folder.relative_to(ROOT.parent)}: {first}_*"
        for folder, names in folders.items()
        for first, count in Counter(name.partition("_")[0] for name in names).items()
        if count > MOST_OF_A_FAMILY
    }
    assert families == set()


def test_no_public_class_has_the_name_of_another() -> None:
    classes = Counter(
        node.name
        for path in ROOT.rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert len(classes) > 300
    assert [name for name, count in classes.items() if count > 1] == []


def test_yaml_is_loaded_in_one_place() -> None:
    """There it is weighed first: what is nested too deep would end the process inside the C reader."""
    loading = re.compile(r"\byaml\.(?:\w*load\w*|\w*Loader|compose\w*|parse|scan)\b")
    places = {
        path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if loading.search(path.read_text())
    }
    assert places == {"settings/files.py"}


@pytest.mark.parametrize(
    ("program", "large"),
    [
        # Redis's client, numpy and structlog alone were a third of a crawl's memory.
        pytest.param(
            "import sale_sofia.cli.crawl",
            "redis numpy structlog stamina httpx psycopg celery PIL alembic jinja2 "
            "sale_sofia.advice.search.query sale_sofia.advice.scoring.profile sale_sofia.flats.flat",
            id="crawl",
        ),
        pytest.param(
            "import sale_sofia.app.server",
            "redis httpx ollama curl_cffi celery sklearn alembic psycopg",
            id="dashboard",
        ),
        pytest.param(
            "from sale_sofia.cli.main import main; sys.argv[1:] = ['--help']; main()",
            "pydantic sqlite3 sqlalchemy sale_sofia.listings.dates sale_sofia.settings.model",
            id="help",
        ),
        pytest.param(
            "from sale_sofia.cli.main import main; sys.argv[1:] = ['settings']; main()",
            "rich.markdown sqlite3 sqlalchemy structlog sale_sofia.listings.dates",
            id="settings",
        ),
    ],
)
def test_a_command_loads_nothing_that_only_other_features_need(program: str, large: str) -> None:
    """Most of a command's start is what it imports."""
    report = f"print(*sorted(set({large.split()}) & set(sys.modules)), file=sys.stderr)"
    whole = f"import atexit, sys; atexit.register(lambda: {report}); {program}"
    alone = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    command = [sys.executable, "-c", whole]  # unmeasured: measuring imports modules of its own
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
