"""What a process holds and which it has started, as the system counts it."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_KILOBYTE = 1024


@dataclass(frozen=True, slots=True)
class Held:
    """Of one process, or of several together."""

    megabytes: float = 0.0
    """Its own memory and its share of what it has in common with others (PSS): the fewer, the more."""
    own_megabytes: float = 0.0
    """Memory that nobody shares: the end of another process of the same origin adds nothing."""
    open_files: int = 0
    threads: int = 0

    def __add__(self, other: "Held") -> "Held":
        return Held(
            self.megabytes + other.megabytes,
            self.own_megabytes + other.own_megabytes,
            self.open_files + other.open_files,
            self.threads + other.threads,
        )


def held_by(pid: int) -> Held:
    """Now; nothing of a process that has ended."""
    folder = Path(f"/proc/{pid}")
    with suppress(OSError):
        memory = folder / "smaps_rollup"
        shared = _number(memory, "Pss:") / _KILOBYTE
        own = _number(memory, "Private_Dirty:") / _KILOBYTE
        files = len(list((folder / "fd").iterdir()))
        return Held(shared, own, files, _number(folder / "status", "Threads:"))
    return Held()


def children(pid: int) -> list[int]:
    """Of the process, now; none of one that has ended."""
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    return []


def _number(file: Path, name: str) -> int:
    lines = file.read_text("ascii", "replace").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
