"""What is written down about our own Redis server, so that others find it and take nothing else for it."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sale_sofia.services.own_files import write_own

_FILE: Final = "server.json"


class ServerRecord(BaseModel):
    """The server of a folder as it was started."""

    model_config = ConfigDict(frozen=True, strict=True)

    port: Annotated[int, Field(gt=0, lt=65_536)]
    nonce: Annotated[str, Field(min_length=1)]
    """Made for this one start; the server has it on its command line and tells it when asked."""
    password: Annotated[str, Field(repr=False)] = ""
    """What the server wants to hear first: loopback is open to every user of the machine."""
    options: list[str] = []
    pid: Annotated[int, Field(gt=0)] | None = None
    """None until the process is there."""
    born: str | None = None


def read_record(folder: Path) -> ServerRecord | None:
    """The folder's record; None when there is none that can be read."""
    try:
        return ServerRecord.model_validate_json((folder / _FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def write_record(folder: Path, record: ServerRecord) -> None:
    """Replace the folder's record; a reader sees the old one or the new one, whole."""
    write_own(folder / _FILE, record.model_dump_json())


def forget_record(folder: Path, nonce: str) -> None:
    """Remove the record of this one start; another's stays."""
    record = read_record(folder)
    if record and record.nonce == nonce:
        (folder / _FILE).unlink(missing_ok=True)
