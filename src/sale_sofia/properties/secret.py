"""The key under which phones are hashed: made once for an installation, readable by its owner alone."""

import secrets
from pathlib import Path

from sale_sofia.config.matching import SECRET_BYTES, SECRET_FILE
from sale_sofia.config.whole_files import write_new


def load_secret(data_dir: Path) -> bytes:
    """The key of this installation; of many processes that ask first, one makes it."""
    path = data_dir / SECRET_FILE
    if not path.exists():
        write_new(path, secrets.token_bytes(SECRET_BYTES))
    key = path.read_bytes()
    if len(key) != SECRET_BYTES:
        raise ValueError(f"{path}: not a key of {SECRET_BYTES} bytes; restore the file, or delete it")
    return key
