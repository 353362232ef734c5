"""Compose files as Compose reads them: joined, their variables filled in, and checked as far as we go."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[1] / "deploy"
MISSING = "no value"

Tree = dict[str, Any]
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Z_]+)(?:(?P<how>:[-?])(?P<text>[^}]*))?\}")

# The keys of the Compose Specification that our files use, and what each may hold.
TOP: Mapping[str, type] = {
    "name": str, "services": dict, "networks": dict, "volumes": dict, "secrets": dict,
}  # fmt: skip
SERVICE: Mapping[str, type | tuple[type, ...]] = {
    "image": str, "build": dict, "command": list, "environment": dict, "restart": str, "secrets": list,
    "volumes": list, "networks": list, "ports": list, "depends_on": dict, "read_only": bool, "tmpfs": list,
    "cap_drop": list, "security_opt": list, "stop_grace_period": str, "stop_signal": str, "shm_size": str,
    "healthcheck": dict, "logging": dict, "deploy": dict,
}  # fmt: skip
HEALTH = {"test", "interval", "timeout", "start_period", "retries", "disable"}


def compose(*names: str, variables: Mapping[str, str] | None = None) -> Tree:
    """The files one over the other, as `docker compose -f … -f …` joins them."""
    joined: Tree = {}
    for name in names:
        joined = _over(joined, yaml.safe_load((DEPLOY / name).read_text("utf-8")))
    filled: Tree = _filled(joined, variables or {})
    return {key: value for key, value in filled.items() if not key.startswith("x-")}


def variables_of(*names: str) -> set[str]:
    """Every variable that the files ask for."""
    texts = [(DEPLOY / name).read_text("utf-8") for name in names]
    return {match["name"] for text in texts for match in _VARIABLE.finditer(text)}


def _over(below: Any, above: Any, key: str = "") -> Any:  # noqa: ANN401 - any YAML
    if isinstance(below, dict) and isinstance(above, dict):
        names = below | above
        return {
            name: _over(below[name], above[name], name) if name in below and name in above else names[name]
            for name in names
        }
    # A command and a health test replace the one below; other lists grow.
    if isinstance(below, list) and isinstance(above, list) and key not in ("command", "test"):
        return [*below, *(entry for entry in above if entry not in below)]
    return above


def _filled(tree: Any, variables: Mapping[str, str]) -> Any:  # noqa: ANN401 - any YAML
    if isinstance(tree, dict):
        return {key: _filled(value, variables) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_filled(value, variables) for value in tree]
    return _VARIABLE.sub(lambda match: _value(match, variables), tree) if isinstance(tree, str) else tree


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if given := variables.get(match["name"]):
        return given
    return match["text"] if match["how"] == ":-" else MISSING


def faults(tree: Tree) -> list[str]:
    """What Compose would refuse, one line each."""
    services: Mapping[str, Tree] = tree["services"]
    found = [*_wrong_keys("the file", tree, TOP)]
    for name, service in services.items():
        found += _wrong_keys(name, service, SERVICE)
        found += _unknown(f"{name}: secret", service.get("secrets", ()), tree["secrets"])
        found += _unknown(f"{name}: network", service.get("networks", ()), tree.get("networks", {}))
        volumes = [entry.partition(":")[0] for entry in service.get("volumes", ())]
        found += _unknown(f"{name}: volume", (v for v in volumes if v[0] not in "./"), tree["volumes"])
        found += _unknown(f"{name}: health", service.get("healthcheck", ()), HEALTH)
        for other, how in service.get("depends_on", {}).items():
            waits = how["condition"] == "service_healthy"
            if other not in services or (waits and "test" not in services[other].get("healthcheck", {})):
                found.append(f"{name} waits for {other}, which never says that it is well")
    return found


def _wrong_keys(where: str, tree: Tree, known: Mapping[str, Any]) -> list[str]:
    return [f"{where}: {key}" for key, value in tree.items() if not isinstance(value, known.get(key, ()))]


def _unknown(what: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    return [f"{what} {name} is not there" for name in sorted(set(names) - set(known))]
