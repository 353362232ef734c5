"""YAML as all of us read it: plain values and nothing else, by the fast reader where there is one.

The fast reader goes down by calls of its own, so that a file nested deep enough ends the process; brackets in
brackets cost it the square of their number, and an alias may stand for a million values. What a text holds
is therefore counted before it is read, piece by piece and no further than its limit.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, Event, NodeEvent, ScalarEvent

from sale_sofia.config.reading import (
    YAML_DEEPEST,
    YAML_MOST_BYTES,
    YAML_MOST_DIRECTIVES,
    YAML_MOST_VALUES,
    YAML_NUMBER_CHARACTERS,
)

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NUMBER_STARTS: Final = tuple("+-.0123456789")


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


def compose_yaml(text: str) -> yaml.Node | None:
    """The text as nodes with their places in it; raises as `read_yaml` does."""
    node: yaml.Node | None = _with_care(text, lambda: yaml.compose(text, Loader=yaml.SafeLoader))
    return node


def _with_care(text: str, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the work makes
    try:
        _weigh(text)
        return work()
    except (ValueError, LookupError, AttributeError) as error:  # a date or a number that there cannot be
        raise yaml.YAMLError(f"a value cannot be read: {error}") from None


def _weigh(text: str) -> None:
    if text.count("\n%") > YAML_MOST_DIRECTIVES:  # each is compared with all before it
        raise YamlTooMuch(f"has more than {YAML_MOST_DIRECTIVES} lines that begin with %")
    weight = _Weight()
    for event in yaml.parse(text, Loader=_LOADER):
        weight.add(event)


class _Weight:
    """What the part of a text read so far comes to; every alias counts as all it stands for."""

    def __init__(self) -> None:
        self.values = 0
        self.open: list[tuple[str | None, int]] = []
        """The anchor of each list and mapping we are in, and how many values came before it."""
        self.anchored: dict[str | None, int] = {}

    def add(self, event: Event) -> None:
        if isinstance(event, AliasEvent):
            self._alias(event.anchor)
        elif isinstance(event, NodeEvent):
            self._node(event)
        elif isinstance(event, CollectionEndEvent):
            anchor, before = self.open.pop()
            self.anchored[anchor] = self.values - before
        if self.values > YAML_MOST_VALUES:
            raise YamlTooMuch(
                f"holds more than {YAML_MOST_VALUES} values, its aliases written out; no file needs so many"
            )

    def _node(self, event: NodeEvent) -> None:
        self.values += 1
        if isinstance(event, CollectionStartEvent):
            self._deeper(event)
            return
        self.anchored[event.anchor] = 1
        if isinstance(event, ScalarEvent) and _number_too_long(event):
            raise YamlTooMuch(f"{_line(event)}: a number of more than {YAML_NUMBER_CHARACTERS} characters")

    def _deeper(self, event: CollectionStartEvent) -> None:
        self.open.append((event.anchor, self.values - 1))
        self.anchored.pop(event.anchor, None)
        if len(self.open) > YAML_DEEPEST:
            raise YamlTooMuch(f"{_line(event)}: nested deeper than {YAML_DEEPEST} lists and mappings")

    def _alias(self, anchor: str | None) -> None:
        if any(anchor == one for one, _ in self.open):
            raise YamlTooMuch(f"*{anchor} stands inside what it stands for")
        self.values += self.anchored.get(anchor, 1)


def _number_too_long(event: ScalarEvent) -> bool:
    """Whether it may be read as a number, at the cost of its length squared; a text in quotes is not."""
    return (
        len(event.value) > YAML_NUMBER_CHARACTERS
        and not event.implicit[1]
        and event.value.startswith(_NUMBER_STARTS)
    )


def _line(event: Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else "a line"
