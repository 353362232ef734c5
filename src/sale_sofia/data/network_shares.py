"""Which files are not on a disk of this machine: SQLite must not be on a share."""

import re
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mountinfo")
_SHARES: Final = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "fuse.sshfs"}
    | {"fuse.glusterfs", "glusterfs", "beegfs", "fuse.s3fs", "fuse.rclone", "davfs", "fuse.davfs2"}
)


def network_share(path: Path, mounts: str | None = None) -> str | None:
    """The kind of network share that the path is on; None on a disk of this machine, or if nobody knows."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
        except OSError:
            return None
    place = path.absolute()
    kinds = dict(_mounts(mounts))
    nearest = next((parent for parent in (place, *place.parents) if parent in kinds), None)
    kind = kinds[nearest] if nearest else ""
    return kind if kind in _SHARES else None


def _mounts(mounts: str) -> list[tuple[Path, str]]:
    """Where something is mounted, and of which kind it is; the later hides the earlier."""
    lines = (line.partition(" - ") for line in mounts.splitlines())
    return [(_unescaped(left.split()[4]), right.split()[0]) for left, mark, right in lines if mark]


def _unescaped(text: str) -> Path:
    return Path(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text))
