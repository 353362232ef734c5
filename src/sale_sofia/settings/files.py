"""Files that are there whole or not at all, also after a kill, and also after the power was gone.

A disk keeps a file's bytes once the file was synced, and its name once its folder was. All that we are to
keep is written here: first the bytes, then the name, and only then is it said to be done.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from types import ModuleType
from typing import Any, Final

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, Event, ScalarEvent

from sale_sofia.listings.settings import (
    YAML_DEEPEST,
    YAML_MOST_BYTES,
    YAML_MOST_DIRECTIVES,
    YAML_MOST_VALUES,
    YAML_NUMBER_CHARACTERS,
)


@contextmanager
def whole_or_not_at_all(path: Path) -> Iterator[Path]:
    """A path to write to; what was written is there under the real one at the end, or nothing of it is.

    Raises:
        ValueError: there is no such folder, or a folder of this name; nothing was begun.
    """
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}; make it, or name another file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")
    unfinished = _draft_of(path)
    try:
        yield unfinished
        sync_file(unfinished)
        unfinished.replace(path)
        keep_name(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace the file, which only its owner can read; its folder is made if need be."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_or_not_at_all(path) as unfinished:
        _write(unfinished, content)


def write_new(path: Path, content: str | bytes) -> bool:
    """Make the file, which only its owner can read; False where there is one, which stays as it is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = _draft_of(path)
    try:
        _write(unfinished, content)
        sync_file(unfinished)
        os.link(unfinished, path)  # never over another one, however many try at once
    except FileExistsError:
        return False
    finally:
        unfinished.unlink(missing_ok=True)
    keep_name(path)
    return True


def keep_name(path: Path) -> None:
    """Its name stays given, and so do those of all folders above it."""
    sync_folder(path.parent)
    _keep_folder(path.parent.absolute())


def sync_folder(folder: Path) -> None:
    """The names in it stay given."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """What is in it stays in it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


@cache  # once for each folder in a process: names above it do not change while we write below
def _keep_folder(folder: Path) -> None:
    if folder.parent != folder:
        with suppress(OSError):  # one that others made, and that we may not open, was there before us
            sync_folder(folder.parent)
        _keep_folder(folder.parent)


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{token_hex(8)}.part")


def _write(path: Path, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


# YAML as all of us read it: plain values and nothing else, by the fast reader where there is one. The fast
# reader goes down by calls of its own, so that a file nested deep enough ends the process; brackets in
# brackets cost it the square of their number, and an alias may stand for a million values. What a text
# holds is therefore counted before it is read, piece by piece and no further than its limit.

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlTooMuch(yaml.YAMLError):
    """A text that is not read because of what reading it would cost; the sentence says what is allowed."""


def file_text(path: Path) -> str:
    """The text of a user's file, of which no more is read than is allowed.

    Raises:
        YamlTooMuch: it is longer than that.
        OSError, UnicodeDecodeError: it cannot be read, or is no text.
    """
    with path.open("rb") as file:
        held = file.read(YAML_MOST_BYTES + 1)
    if len(held) > YAML_MOST_BYTES:
        raise YamlTooMuch(f"is longer than {YAML_MOST_BYTES} bytes, the most that is read of a file")
    return held.decode("utf-8").replace("\r\n", "\n")


def read_yaml(text: str) -> Any:  # noqa: ANN401 - each text has a shape of its own
    """What the text holds; a tag that asks for an object of ours is an error.

    Raises:
        yaml.YAMLError: it is no YAML.
        YamlTooMuch: it holds more, or deeper, than any file of ours does.
    """
    return _with_care(text, lambda: yaml.load(text, Loader=_LOADER))  # noqa: S506 - either is a safe loader


def read_shipped(package: str, name: str) -> Any:  # noqa: ANN401 - each file has a shape of its own
    """What a YAML file of ours holds; nobody has to weigh it, which takes a third of the time."""
    return yaml.load(files(package).joinpath(name).read_text("utf-8"), Loader=_LOADER)  # noqa: S506


def compose_yaml(text: str) -> yaml.Node | None:
    """The text as nodes with their places in it; raises as `read_yaml` does."""
    node: yaml.Node | None = _with_care(text, lambda: yaml.compose(text, Loader=yaml.SafeLoader))
    return node


def end_of(node: yaml.Node) -> int:
    """Where the last word of a node ends; a block's own end lies behind the remarks that follow it."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return max(map(end_of, last)) if isinstance(last, tuple) else end_of(last)


def line_end(text: str, place: int) -> int:
    """Where the line of this place ends."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _with_care(text: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the work makes
    if text.count("\n%") > YAML_MOST_DIRECTIVES:  # each is compared with all before it
        raise YamlTooMuch(f"has more than {YAML_MOST_DIRECTIVES} lines that begin with %")
    try:
        _weigh(text)
        return work()
    except (ValueError, LookupError, AttributeError) as error:  # a date or a number that there cannot be
        raise yaml.YAMLError(f"a value cannot be read: {error}") from None


def _weigh(text: str) -> None:
    """Count what a text holds, every alias as all it stands for."""
    values = 0
    inside: list[tuple[str | None, int]] = []
    """The anchor of each list and mapping we are in, and how many values came before it."""
    anchored: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, AliasEvent):
            if any(event.anchor == anchor for anchor, _ in inside):
                raise YamlTooMuch(f"*{event.anchor} stands inside what it stands for")
            values += anchored.get(event.anchor, 1)
        elif isinstance(event, CollectionStartEvent):
            inside.append((event.anchor, values))
            anchored.pop(event.anchor, None)
            values += 1
            if len(inside) > YAML_DEEPEST:
                raise YamlTooMuch(f"{_line(event)}: nested deeper than {YAML_DEEPEST} lists and mappings")
        elif isinstance(event, ScalarEvent):
            anchored[event.anchor] = 1
            values += 1
            if _number_too_long(event):
                raise YamlTooMuch(
                    f"{_line(event)}: a number of more than {YAML_NUMBER_CHARACTERS} characters"
                )
        elif isinstance(event, CollectionEndEvent):
            anchor, before = inside.pop()
            anchored[anchor] = values - before
        if values > YAML_MOST_VALUES:
            raise YamlTooMuch(
                f"holds more than {YAML_MOST_VALUES} values, its aliases written out; no file needs so many"
            )


def _number_too_long(event: ScalarEvent) -> bool:
    """Whether it may be read as a number, at the cost of its length squared; a text in quotes is not."""
    return (
        len(event.value) > YAML_NUMBER_CHARACTERS
        and not event.implicit[1]
        and event.value.startswith(tuple("+-.0123456789"))
    )


def _line(event: Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else "a line"


# Files that are nobody else's business: all that we make, and above all those with a secret in them.


def keep_others_out() -> None:
    """From now on no other user can open a file or folder that this process, or a child of it, makes."""
    os.umask(0o077 | os.umask(0o077))


def write_own(path: Path, text: str) -> None:
    """Replace the file; a reader sees the old one or the new one, and is its owner."""
    write_whole(path, text)


def load_arrow() -> ModuleType:
    """Arrow with its Parquet files, which is large and slow to import: an extra, and only for who needs it.

    Raises:
        ValueError: it is not installed.
    """
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ValueError("Parquet files need the package pyarrow; install `sale-sofia[parquet]`.") from None
    arrow: ModuleType = pyarrow
    return arrow
