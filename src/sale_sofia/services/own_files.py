"""Files that are nobody else's business: all that we make, and above all those with a secret in them."""

import os
from pathlib import Path
from typing import Final

_OWNER_ONLY: Final = 0o600
_OTHERS: Final = 0o077


def keep_others_out() -> None:
    """From now on no other user can open a file or folder that this process, or a child of it, makes."""
    os.umask(_OTHERS | os.umask(_OTHERS))


def write_own(path: Path, text: str) -> None:
    """Replace the file; a reader sees the old one or the new one, and is its owner."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
