"""Every regular expression of the package and how it is used, found in its source: none can be forgotten."""

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import sale_sofia

ROOT = Path(sale_sofia.__file__).parent
HOW = {"match": "match", "fullmatch": "fullmatch"} | dict.fromkeys(
    ("search", "findall", "finditer", "sub", "subn", "split"), "search"
)
NOT_OURS = ("simulator",)
"""It reads pages that it wrote itself."""
MADE_OF = {"city": "София", "key": "панел", "word": "панел"}
"""What functions that make a pattern are given."""


class Used(NamedTuple):
    where: str
    pattern: "re.Pattern[Any]"
    how: str


def own_patterns() -> Iterator[Used]:
    """Each pattern with each of its uses; one that has no name of its own with all uses of its module."""
    for path in sorted(ROOT.rglob("*.py")):
        calls = list(_calls(path))
        module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        if "import re\n" in path.read_text("utf-8") and path.relative_to(ROOT).parts[0] not in NOT_OURS:
            yield from _of_module(module, calls)


def _calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in HOW:
            yield node, HOW[node.func.attr]


def _of_module(module: str, calls: list[tuple[ast.Call, str]]) -> Iterator[Used]:
    names = vars(importlib.import_module(module))
    named = [
        Used(f"{module}:{call.lineno}", pattern, how)
        for call, how in calls
        if (pattern := _evaluated(call, names)) is not None
    ]
    yield from named
    known = {used.pattern for used in named}
    ways = {how for call, how in calls if not _of_a_text(call) and _evaluated(call, names) is None} or {
        "search"
    }
    for pattern in {one for one in _kept(module, names) if one not in known}:
        yield from (Used(module, pattern, how) for how in ways)


def _of_a_text(call: ast.Call) -> bool:
    """Whether it is `str.split`, which is given a sign or nothing, and no text."""
    return not call.args or isinstance(call.args[0], ast.Constant)


def _evaluated(call: ast.Call, names: Mapping[str, Any]) -> "re.Pattern[Any] | None":
    """The pattern that is used, where it has a name or is written on the spot."""
    assert isinstance(call.func, ast.Attribute)
    written = ast.unparse(call.func.value)
    try:
        if written == "re":
            return re.compile(eval(ast.unparse(call.args[0]), dict(names)))  # noqa: S307 - our own source
        found = eval(written, dict(names))  # noqa: S307 - our own source
    except Exception:  # noqa: BLE001 - a name that only its function knows
        return None
    return found if isinstance(found, re.Pattern) else None


def _kept(module: str, names: Mapping[str, Any]) -> Iterator["re.Pattern[Any]"]:
    for value in names.values():
        yield from _inside(value)
        if getattr(value, "__module__", None) == module and callable(value) and "Pattern" in _returns(value):
            yield from _inside(_made(value))


def _returns(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__annotations__", {}).get("return", ""))


def _made(function: Callable[..., Any]) -> object:
    needed = inspect.signature(function).parameters
    return function(**{name: MADE_OF[name] for name in needed}) if set(needed) <= set(MADE_OF) else None


def _inside(value: object) -> Iterator["re.Pattern[Any]"]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        yield from (one for part in value.values() for one in _inside(part))
    elif isinstance(value, list | tuple):
        yield from (one for part in value for one in _inside(part))
