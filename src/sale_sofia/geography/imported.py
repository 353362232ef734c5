"""The user's own places, stored in DATA_DIR, which replace the shipped ones.

A process works with one DATA_DIR, set by `use`. Caches of values computed from places are cleared when they
change.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from sale_sofia.geography.settings import IMPORTED_FOLDER
from sale_sofia.settings.files import sync_folder, write_whole

KINDS: Final = ("timetable", "stations", "neighbourhoods", "districts", "parks", "schools")
WALKS: Final = "walks"
"""The file of walks to the metro, computed from the stations and neighbourhoods in use."""
NEARBY: Final = "nearby"
"""The file of what is near each neighbourhood, computed from the schools, stops and areas in use."""
FILES: Final = (*KINDS, WALKS, NEARBY)
Stamp = tuple[tuple[str, int], ...]


class _Caching(Protocol):
    def cache_clear(self) -> None:
        """Forget everything."""


_Cached = TypeVar("_Cached", bound=_Caching)

_forget: Final[list[Callable[[], None]]] = []
_used: dict[str, Any] = {"folder": None, "stamp": ()}


def until_changed(cached: _Cached) -> _Cached:
    """Clear the cache of this function whenever the places in use change (a decorator)."""
    _forget.append(cached.cache_clear)
    return cached


def use(data_dir: Path) -> None:
    """Use the places of this folder from now on, as they are now; cheap if nothing changed."""
    folder = data_dir / IMPORTED_FOLDER
    found = []
    for path in sorted(folder.glob("*.json.gz")):
        with suppress(FileNotFoundError):  # removed meanwhile
            found.append((path.name, path.stat().st_mtime_ns))
    stamp = tuple(found)
    if (folder, stamp) != (_used["folder"], _used["stamp"]):
        changed = stamp or _used["stamp"]
        _used.update(folder=folder, stamp=stamp)
        if changed:
            for forget in _forget:
                forget()


def used_folder() -> Path | None:
    """The DATA_DIR of this process; None before `use` is called."""
    folder: Path | None = _used["folder"]
    return folder.parent if folder else None


def stamp() -> str:
    """A text that changes with the imported places; empty for the shipped ones."""
    return "-".join(f"{moment:x}" for _, moment in _used["stamp"])


def own(kind: str) -> Mapping[str, Any] | None:
    """The imported places of this kind; None where the shipped ones are used.

    Raises:
        ValueError: the file is damaged.
    """
    if not any(name == _file(kind) for name, _ in _used["stamp"]):
        return None
    path = _used["folder"] / _file(kind)
    try:
        found: Mapping[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    except (gzip.BadGzipFile, EOFError, ValueError, zlib.error):
        raise ValueError(
            f"{path} is damaged; `sale-sofia places reset` goes back to what is shipped"
        ) from None
    return found


def keep(data_dir: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Replace the imported places of a kind atomically, and use them."""
    packed = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    write_whole(data_dir / IMPORTED_FOLDER / _file(kind), gzip.compress(packed, mtime=0))
    use(data_dir)


def remove(data_dir: Path, kind: str) -> bool:
    """Go back to the shipped places of a kind; False where nothing was imported."""
    path = data_dir / IMPORTED_FOLDER / _file(kind)
    if not path.exists():
        return False
    path.unlink()
    sync_folder(path.parent)
    use(data_dir)
    return True


def _file(kind: str) -> str:
    return f"{kind}.json.gz"
