"""A new portal's files: its site file with every key explained, and a test that reads saved pages by it."""

import re
from importlib.resources import files
from pathlib import Path

import typer

from sale_sofia.config.site_config import own_sites_folder
from sale_sofia.websites.registry import AVAILABLE_SITES

_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}")
_TEMPLATES = files("sale_sofia.config").joinpath("new_site")


def write_site(name: str, folder: Path | None) -> tuple[Path, Path]:
    """The site file and the test, both new; where either exists already nothing is written."""
    if not _DOMAIN.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is no domain; write it like flats.example, in small letters")
    if name in AVAILABLE_SITES:
        raise typer.BadParameter(f"there is a portal {name} already; `sale-sofia sites list` names them all")
    place = folder or own_sites_folder() or Path("sites")
    paths = place / f"{name}.yaml", place / f"test_{re.sub(r'[^a-z0-9]', '_', name)}.py"
    for path in paths:
        if path.exists():
            raise typer.BadParameter(f"{path} exists already; nothing was written")
    place.mkdir(parents=True, exist_ok=True)
    for path, template in zip(paths, ("site.yaml.txt", "test_site.py.txt"), strict=True):
        path.write_text(_TEMPLATES.joinpath(template).read_text("utf-8").replace("NAME", name), "utf-8")
    return paths
