"""Which files of an installation a backup holds: those that are named, and nothing beside them."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sale_sofia.config.backup import KEPT_FILES, KEPT_FOLDERS, PAGES_FOLDER, SITES_FOLDER
from sale_sofia.data.backup_names import belongs, is_page


class Part(NamedTuple):
    """A file, and what it is called in a backup."""

    name: str
    path: Path


def operator_parts(data_dir: Path, sites_dir: Path | None) -> list[Part]:
    """What people wrote, and what only this installation knows."""
    singles = [Part(name, data_dir / name) for name in KEPT_FILES if (data_dir / name).is_file()]
    folders = [part for name in KEPT_FOLDERS for part in _files(name, data_dir / name)]
    sites = _files(SITES_FOLDER, sites_dir, "*.yaml") if sites_dir else ()
    return [*singles, *folders, *sites]


def page_parts(data_dir: Path) -> Iterator[Part]:
    """The archived pages, by their names; one that is just being written has another name."""
    for folder in sorted((data_dir / PAGES_FOLDER).glob("??")):
        found = (Part(f"{PAGES_FOLDER}/{folder.name}/{path.name}", path) for path in folder.glob("*"))
        yield from sorted(part for part in found if is_page(part.name))


def _files(name: str, folder: Path, pattern: str = "*") -> Iterator[Part]:
    for path in sorted(folder.glob(pattern)):
        if path.is_file() and belongs(f"{name}/{path.name}"):
            yield Part(f"{name}/{path.name}", path)
