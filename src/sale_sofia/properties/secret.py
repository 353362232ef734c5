"""The key under which phones are hashed: made once for an installation, readable by its owner alone."""

import os
import secrets
from pathlib import Path

from sale_sofia.config.matching import SECRET_BYTES, SECRET_FILE


def load_secret(data_dir: Path) -> bytes:
    """The key of this installation; of many processes that ask first, one makes it."""
    path = data_dir / SECRET_FILE
    if not path.exists():
        _make(path)
    key = path.read_bytes()
    if len(key) != SECRET_BYTES:
        raise ValueError(f"{path}: not a key of {SECRET_BYTES} bytes; restore the file, or delete it")
    return key


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:  # noqa: PTH123
        file.write(secrets.token_bytes(SECRET_BYTES))
    try:
        os.link(draft, path)  # whole or not at all, and never over another process's key
    except FileExistsError:
        pass
    finally:
        draft.unlink()
