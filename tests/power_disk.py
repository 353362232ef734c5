"""What a disk may be left with when the power goes: made of the notes that tests/power_shim.c took.

A disk keeps what it was told to sync, and of the rest whatever it likes: a file's bytes once the file was
synced, a name once its folder was. Notes are replayed up to any point; the rest is dropped or kept by lot.
"""

import random
import shutil
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal, NamedTuple

_HEAD = struct.Struct("8s4Q2I")
_EXCHANGE = 2
_SECTOR = 512
Variant = Literal["nothing", "names", "zeros", "some"]
VARIANTS: tuple[Variant, ...] = ("nothing", "names", "zeros", "some")
"""Of what was never synced: nothing is there; names are, of empty files; or of zeros; or some of it, torn."""


class NoCompiler(Exception):
    """There is no C compiler on this machine."""


@cache
def shim() -> Path:
    """The library, compiled.

    Raises:
        NoCompiler: it cannot be.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoCompiler("no C compiler (cc), so writes cannot be watched")
    made = Path(mkdtemp(prefix="power-")) / "power_shim.so"
    source = Path(__file__).with_name("power_shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source)], check=True)
    return made


def environment(root: Path, notes: Path) -> dict[str, str]:
    """In which everything that is done below the root is written down."""
    return {"LD_PRELOAD": str(shim()), "POWER_ROOT": str(root.resolve()), "POWER_LOG": str(notes)}


class Note(NamedTuple):
    """One thing that was done."""

    kind: str
    one: int
    two: int
    offset: int
    flags: int
    first: str
    second: bytes


def mark(notes: Path, number: int) -> None:
    """Write down that a command has ended."""
    with notes.open("ab", buffering=0) as file:
        file.write(_HEAD.pack(b"mark", number, 0, 0, 0, 0, 0))


def read_notes(notes: Path) -> list[Note]:
    """All of them, in order."""
    content, at, found = notes.read_bytes(), 0, []
    while at < len(content):
        kind, one, two, offset, flags, first, second = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        texts = content[at : at + first], content[at + first : at + first + second]
        name = texts[0].decode("utf-8", "surrogateescape")
        found.append(Note(kind.rstrip(b"\0").decode(), one, two, offset, flags, name, texts[1]))
        at += first + second
    return found


@dataclass(eq=False)
class Thing:
    """A file, or a folder."""

    is_folder: bool
    writes: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Bytes and where they go; None sets the size."""
    synced: int = 0
    """So many of the writes are on the disk for certain."""


@dataclass(eq=False)
class Naming:
    """A name that was given, taken or changed."""

    folders: tuple[Thing, Thing]
    names: tuple[str, str]
    thing: Thing | None
    """None: the first name is taken away."""
    renames: bool = False
    exchanges: bool = False
    synced: bool = False

    def apply(self, held: dict[Thing, dict[str, Thing]]) -> None:
        one, two = (held.setdefault(folder, {}) for folder in self.folders)
        before, after = one.get(self.names[0]), two.get(self.names[1])
        if self.renames or self.thing is None:
            one.pop(self.names[0], None)
        if self.thing is not None:
            two[self.names[1]] = self.thing
        if self.exchanges and after is not None:
            one[self.names[0]] = after
            two[self.names[1]] = before or self.thing or after


class Disk:
    """A disk to which notes happen."""

    def __init__(self, root: int) -> None:
        self.root = Thing(is_folder=True)
        self._by_number = {root: self.root}
        self._things = [self.root]
        self._namings: list[Naming] = []

    def replay(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._note(note)

    def _note(self, note: Note) -> None:
        match note.kind:
            case "create" | "folder":
                thing = Thing(is_folder=note.kind == "folder")
                self._by_number[note.two] = thing
                self._things.append(thing)
                self._name(note.one, note.first, thing)
            case "link":
                self._name(note.one, note.first, self._by_number.get(note.two))
            case "remove":
                self._remove(note)
            case "rename":
                self._rename(note)
            case "write" | "size":
                self._write(note)
            case "sync":
                self._sync(self._by_number.get(note.one))
            case "all":
                for thing in self._things:
                    self._sync(thing)

    def _name(self, folder: int, name: str, thing: Thing | None) -> None:
        holder = self._by_number.get(folder)
        if holder is not None and thing is not None:
            self._namings.append(Naming((holder, holder), (name, name), thing))

    def _remove(self, note: Note) -> None:
        holder = self._by_number.get(note.one)
        if holder is not None:
            self._namings.append(Naming((holder, holder), (note.first, note.first), None))

    def _rename(self, note: Note) -> None:
        folders = self._by_number.get(note.one), self._by_number.get(note.two)
        thing = self._by_number.get(note.offset)
        names = note.first, note.second.decode("utf-8", "surrogateescape")
        if folders[0] and folders[1] and thing:
            swap = note.flags == _EXCHANGE
            both = (folders[0], folders[1])
            self._namings.append(Naming(both, names, thing, renames=True, exchanges=swap))

    def _write(self, note: Note) -> None:
        thing = self._by_number.get(note.one)
        if thing is not None:
            thing.writes.append((note.offset, note.second if note.kind == "write" else None))

    def _sync(self, thing: Thing | None) -> None:
        if thing is None:
            return
        thing.synced = len(thing.writes)
        for naming in self._namings:
            naming.synced |= thing in naming.folders

    def left(self, variant: Variant, rng: random.Random) -> Mapping[str, bytes | None]:
        """The files, by their paths below the root, and the folders, with None."""
        held: dict[Thing, dict[str, Thing]] = {}
        for naming in self._kept(variant, rng):
            naming.apply(held)
        found: dict[str, bytes | None] = {}
        self._walk(self.root, "", held, found, lambda thing: _content(thing, variant, rng))
        return found

    def _kept(self, variant: Variant, rng: random.Random) -> list[Naming]:
        """Names that are synced, and of the others those that were given before a point."""
        ends: Mapping[Variant, int] = {"nothing": 0, "some": rng.randrange(len(self._namings) + 1)}
        end = ends.get(variant, len(self._namings))
        return [naming for at, naming in enumerate(self._namings) if naming.synced or at < end]

    def _walk(self, folder, path, held, found, content) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        for name, thing in held.get(folder, {}).items():
            found[f"{path}{name}"] = None if thing.is_folder else content(thing)
            if thing.is_folder:
                self._walk(thing, f"{path}{name}/", held, found, content)


def _content(thing: Thing, variant: Variant, rng: random.Random) -> bytes:
    content = bytearray()
    for at, (offset, data) in enumerate(thing.writes):
        if at < thing.synced:
            _apply(content, offset, data)
        elif variant == "zeros":
            end = offset if data is None else offset + len(data)
            content.extend(bytes(max(0, end - len(content))))
        elif variant == "some" and rng.random() < 0.5:
            _apply(content, offset, data if data is None or rng.random() < 0.5 else _torn(data, rng))
    return bytes(content)


def _torn(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) // _SECTOR + 1) * _SECTOR]


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    content.extend(bytes(max(0, offset - len(content))))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


def make(files: Mapping[str, bytes | None], folder: Path) -> None:
    """Put what is left into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def points(notes: Sequence[Note], rng: random.Random, count: int) -> list[int]:
    """So many moments at which the power goes: half of them beside names, syncs and ends of commands."""
    edges = [at + by for at, note in enumerate(notes) if note.kind not in ("write", "size") for by in (0, 1)]
    chosen = rng.sample(edges, min(count // 2, len(edges)))
    return sorted(chosen + rng.choices(range(1, len(notes) + 1), k=count - len(chosen)))
