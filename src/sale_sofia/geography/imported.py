"""Places of the user's own, kept in DATA_DIR, which stand for the shipped ones.

A process works for one DATA_DIR: `use` says which. What is worked out from places and kept is forgotten when
they change.
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
"""The file of the walks to the metro that follow from the stations and neighbourhoods in use."""
NEARBY: Final = "nearby"
"""The file of what is near each neighbourhood, which follows from the schools, stops and areas in use."""
Stamp = tuple[tuple[str, int], ...]


class _Caching(Protocol):
    def cache_clear(self) -> None:
        """Forget everything."""


_Cached = TypeVar("_Cached", bound=_Caching)

_forget: Final[list[Callable[[], None]]] = []
_used: dict[str, Any] = {"folder": None, "stamp": ()}


def until_changed(cached: _Cached) -> _Cached:
    """A function with a cache, which is emptied when other places are used."""
    _forget.append(cached.cache_clear)
    return cached


def use(data_dir: Path) -> None:
    """From now on the places of this folder count, as they are now; cheap where nothing changed."""
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
    """The folder that the process works for; None before `use` has said it."""
    folder: Path | None = _used["folder"]
    return folder.parent if folder else None


def stamp() -> str:
    """Another text for other places; empty for the shipped ones."""
    return "-".join(f"{moment:x}" for _, moment in _used["stamp"])


def own(kind: str) -> Mapping[str, Any] | None:
    """What was imported of this kind; None where the shipped places count.

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
    """Replace what is imported of a kind, whole or not at all, and use it."""
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
