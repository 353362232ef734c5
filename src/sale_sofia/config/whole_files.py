"""Files that are there whole or not at all, also after a kill, and also after the power was gone.

A disk keeps a file's bytes once the file was synced, and its name once its folder was. All that we are to
keep is written here: first the bytes, then the name, and only then is it said to be done.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Final

_OWNER_ONLY: Final = 0o600


@contextmanager
def whole_or_not_at_all(path: Path) -> Iterator[Path]:
    """A path to write to; what was written is there under the real one at the end, or nothing of it is.

    Raises:
        ValueError: there is no such folder, or a folder of this name; nothing was begun.
    """
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}; make it, or name another file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    unfinished = _draft_of(path)
    try:
        yield unfinished
        sync_file(unfinished)
        unfinished.replace(path)
        keep_name(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace the file, which only its owner can read; its folder is made if need be."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_or_not_at_all(path) as unfinished:
        _write(unfinished, content)


def write_new(path: Path, content: str | bytes) -> bool:
    """Make the file, which only its owner can read; False where there is one, which stays as it is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = _draft_of(path)
    try:
        _write(unfinished, content)
        sync_file(unfinished)
        os.link(unfinished, path)  # never over another one, however many try at once
    except FileExistsError:
        return False
    finally:
        unfinished.unlink(missing_ok=True)
    keep_name(path)
    return True


def keep_name(path: Path) -> None:
    """Its name stays given, and so do those of all folders above it."""
    sync_folder(path.parent)
    _keep_folder(path.parent.absolute())


def sync_folder(folder: Path) -> None:
    """The names in it stay given."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """What is in it stays in it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


@cache  # once for each folder in a process: names above it do not change while we write below
def _keep_folder(folder: Path) -> None:
    if folder.parent != folder:
        with suppress(OSError):  # one that others made, and that we may not open, was there before us
            sync_folder(folder.parent)
        _keep_folder(folder.parent)


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{token_hex(8)}.part")


def _write(path: Path, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb") as file:
        file.write(data)
