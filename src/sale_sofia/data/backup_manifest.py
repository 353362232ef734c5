"""What a backup says of itself: `backup.json`, its first member, and `SHA256SUMS`, its last."""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from sale_sofia.config.backup import FORMAT, NEWEST_MOMENT
from sale_sofia.data.backup_errors import BackupDamaged, BackupRefused

_LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)", re.ASCII)


class About(BaseModel):
    """Of which database and moment a backup is, and what is in it."""

    model_config = ConfigDict(frozen=True)

    format: int
    program: str
    """The version of the program that made it."""
    revision: str
    """The last step of the migrations that was done in the database."""
    made_at: Annotated[float, Field(ge=0, le=NEWEST_MOMENT)]
    """Seconds since 1970."""
    database: str
    """What the database is called before people: where it is, and no password."""
    rows: Mapping[str, NonNegativeInt]
    """Rows of each table."""
    pages: bool
    """Whether the page archive is in it."""
    room: NonNegativeInt
    """Bytes, about, that it takes when it is unpacked."""

    def as_json(self) -> bytes:
        """As it stands in the file."""
        return self.model_dump_json(indent=1).encode()


def read_about(content: bytes, backup: str) -> About:
    """What a backup says of itself.

    Raises:
        BackupRefused: a newer program made it.
        BackupDamaged: it says nothing that can be understood.
    """
    try:
        about = About.model_validate_json(content)
    except ValidationError:
        raise BackupDamaged(
            f"{backup} does not say what it is; it is damaged or no backup of ours."
        ) from None
    if about.format > FORMAT:
        raise BackupRefused(
            f"{backup} was made by sale-sofia {about.program} in a form that this program does not know; "
            "update the program."
        )
    return about


def sums_text(sums: Mapping[str, str]) -> bytes:
    """The checksums in the form that `sha256sum --check` reads."""
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()


def read_sums(content: bytes, backup: str) -> dict[str, str]:
    """The checksum of each member.

    Raises:
        BackupDamaged: the list is none.
    """
    lines = [_LINE.fullmatch(line) for line in content.decode("utf-8", "replace").split("\n")[:-1]]
    sums = {line[2]: line[1] for line in lines if line}
    if len(sums) != len(lines):
        raise BackupDamaged(f"{backup} is damaged: its list of checksums cannot be read.")
    return sums
