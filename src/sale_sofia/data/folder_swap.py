"""A folder in the place of another, in one step: whoever looks finds the old one or the new one, whole."""

import ctypes
import errno
import os
from pathlib import Path
from typing import Final

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def exchange(one: Path, other: Path) -> bool:
    """Let two folders of one disk change their names, in one step; False where the system cannot.

    Raises:
        OSError: it can, but not these two.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_HERE:
        return False
    raise OSError(code, os.strerror(code), str(other))


def replace_folder(new: Path, place: Path, aside: Path) -> None:
    """Put the new folder in the place of the one that is there, which is afterwards at `aside`.

    Where the system cannot exchange names, there is a moment without either between two renamings.
    """
    if exchange(new, place):
        new.rename(aside)
        return
    place.rename(aside)
    try:
        new.rename(place)
    except OSError:
        aside.rename(place)
        raise
