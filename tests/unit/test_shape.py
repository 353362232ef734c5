"""The house of docs/architecture.md: imports go one way, functions stay small."""

import ast
import re
import statistics
from pathlib import Path

import pytest

import sale_sofia

ROOT = Path(sale_sofia.__file__).parent
LAYERS = (
    {"cli", "app"},
    {"commands"},
    {"orchestrator", "celery_app"},
    {"scraping"},
    {"proxies"},
    {"alerts"},
    {"monitoring"},
    {"insights"},
    {"websites", "properties", "llm"},
    {"fetching"},
    {"resilience", "data", "services"},
    {"listings"},
    {"config"},
)
ONLY = {
    "websites": {"listings", "config"},
    "simulator": {"listings", "config"},
    "services": {"listings", "config"},
}


def room(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    """The other rooms of the project that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return {room(name) for name in found if name.startswith("sale_sofia.")} - {own}


def allowed(own: str) -> set[str]:
    if own in ONLY:
        return ONLY[own]
    level = next(number for number, rooms in enumerate(LAYERS) if own in rooms)
    return {"simulator"} | set().union(*LAYERS[level + 1 :])


@pytest.mark.slow
def test_imports_go_one_way() -> None:
    upwards = {
        str(path.relative_to(ROOT)): wrong
        for path in ROOT.rglob("*.py")
        if path.name != "__init__.py"
        if (wrong := imports(path) - allowed(path.relative_to(ROOT).parts[0].removesuffix(".py")))
    }
    assert upwards == {}


def function_lengths() -> list[int]:
    return sorted(
        sum(
            node.end_lineno - node.lineno + 1
            for node in function.body
            if not is_docstring(node) and node.end_lineno
        )
        for path in ROOT.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@pytest.mark.slow
def test_functions_are_small() -> None:
    lengths = function_lengths()
    assert statistics.median(lengths) <= 5
    assert lengths[len(lengths) * 9 // 10] <= 20


def test_yaml_is_loaded_in_one_place() -> None:
    """There it is weighed first: what is nested too deep would end the process inside the C reader."""
    loading = re.compile(r"\byaml\.(?:\w*load\w*|\w*Loader|compose\w*|parse|scan)\b")
    places = {
        path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if loading.search(path.read_text())
    }
    assert places == {"config/yaml_text.py"}
