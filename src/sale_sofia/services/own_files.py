"""Files that are nobody else's business: all that we make, and above all those with a secret in them."""

import os
from pathlib import Path
from typing import Final

from sale_sofia.config.whole_files import write_whole

_OTHERS: Final = 0o077


def keep_others_out() -> None:
    """From now on no other user can open a file or folder that this process, or a child of it, makes."""
    os.umask(_OTHERS | os.umask(_OTHERS))


def write_own(path: Path, text: str) -> None:
    """Replace the file; a reader sees the old one or the new one, and is its owner."""
    write_whole(path, text)
