"""Files written atomically and durably: whole or not at all, also after a kill or a power failure.

A disk keeps a file's bytes once the file is synced, and its name once its folder is. So the bytes are synced
first, then the name, and only then does a write return. Also: YAML, read within limits.
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
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a path to write to; at the end it replaces the real one, whole or not at all.

    Raises:
        ValueError: the folder is missing, or the path is a folder; nothing was written.
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
        sync_parents(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace the file atomically, readable by its owner alone; its folder is made if need be."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        _write(unfinished, content)


def write_new(path: Path, content: str | bytes) -> bool:
    """Create the file, readable by its owner alone; False where one exists, which stays as it is."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = _draft_of(path)
    try:
        _write(unfinished, content)
        sync_file(unfinished)
        os.link(unfinished, path)  # never replaces a file, however many processes try at once
    except FileExistsError:
        return False
    finally:
        unfinished.unlink(missing_ok=True)
    sync_parents(path)
    return True


def sync_parents(path: Path) -> None:
    """Make its name durable, and those of all folders above it."""
    sync_folder(path.parent)
    _sync_above(path.parent.absolute())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


@cache  # once for each folder in a process: names above it do not change while we write below
def _sync_above(folder: Path) -> None:
    if folder.parent != folder:
        with suppress(OSError):  # a folder that we may not open existed before us
            sync_folder(folder.parent)
        _sync_above(folder.parent)


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{token_hex(8)}.part")


def _write(path: Path, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


# YAML: plain values only, by the C loader where there is one. The C loader recurses, so a deeply nested file
# would crash the process; nested brackets cost it the square of their number, and an alias may stand for a
# million values. So the values of a text are counted before it is loaded, event by event up to the limit.

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlTooMuch(yaml.YAMLError):
    """A text too expensive to load; the message says what is allowed."""


def file_text(path: Path) -> str:
    """Read the text of a user's file, up to the size limit.

    Raises:
        YamlTooMuch: it is longer than that.
        OSError, UnicodeDecodeError: it cannot be read, or is no text.
    """
    with path.open("rb") as file:
        data = file.read(YAML_MOST_BYTES + 1)
    if len(data) > YAML_MOST_BYTES:
        raise YamlTooMuch(f"is longer than {YAML_MOST_BYTES} bytes, the most that is read of a file")
    return data.decode("utf-8").replace("\r\n", "\n")


def read_yaml(text: str) -> Any:  # noqa: ANN401 - each text has a shape of its own
    """Load a YAML text; a tag for a Python object is an error.

    Raises:
        yaml.YAMLError: it is no YAML.
        YamlTooMuch: it holds more, or deeper, than any file of ours does.
    """
    return _within_limits(text, lambda: yaml.load(text, Loader=_LOADER))  # noqa: S506 - either is a safe loader


def read_shipped(package: str, name: str) -> Any:  # noqa: ANN401 - each file has a shape of its own
    """Load a YAML file of ours, without counting its values, in a third of the time."""
    return yaml.load(files(package).joinpath(name).read_text("utf-8"), Loader=_LOADER)  # noqa: S506


def compose_yaml(text: str) -> yaml.Node | None:
    """Parse the text into nodes with their positions; raises as `read_yaml` does."""
    node: yaml.Node | None = _within_limits(text, lambda: yaml.compose(text, Loader=yaml.SafeLoader))
    return node


def end_of(node: yaml.Node) -> int:
    """Return where the last value of a node ends; a block's own end includes the comments after it."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return max(map(end_of, last)) if isinstance(last, tuple) else end_of(last)


def line_end(text: str, place: int) -> int:
    """Return where the line of this position ends."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _within_limits(text: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the work makes
    if text.count("\n%") > YAML_MOST_DIRECTIVES:  # each is compared with all before it
        raise YamlTooMuch(f"has more than {YAML_MOST_DIRECTIVES} lines that begin with %")
    try:
        _count_values(text)
        return work()
    except (ValueError, LookupError, AttributeError) as error:  # an impossible date or number
        raise yaml.YAMLError(f"a value cannot be read: {error}") from None


def _count_values(text: str) -> None:
    """Count the values of a text, aliases written out; raise `YamlTooMuch` beyond a limit."""
    values = 0
    inside: list[tuple[str | None, int]] = []
    """The anchor of each open list and mapping, and how many values came before it."""
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
    """Whether it may be loaded as a number, in quadratic time; a quoted text is not."""
    return (
        len(event.value) > YAML_NUMBER_CHARACTERS
        and not event.implicit[1]
        and event.value.startswith(tuple("+-.0123456789"))
    )


def _line(event: Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else "a line"


# Permissions, and a large import.


def keep_others_out() -> None:
    """Make files and folders of this process and its children private to their owner."""
    os.umask(0o077 | os.umask(0o077))


def load_arrow() -> ModuleType:
    """Import Arrow with Parquet, an optional dependency that is large and slow to import.

    Raises:
        ValueError: it is not installed.
    """
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ValueError("Parquet files need the package pyarrow; install `sale-sofia[parquet]`.") from None
    arrow: ModuleType = pyarrow
    return arrow
