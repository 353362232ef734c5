"""Rules are added, changed, switched and removed in their file: whole or not at all, its remarks kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from sale_sofia.alerts.checking import check_rules
from sale_sofia.alerts.rules import RULE_KINDS, AlertsError, AlertsFile, RuleKind, check_alerts, read_alerts
from sale_sofia.alerts.settings import ALERTS_FILE, ALERTS_FILE_SECONDS
from sale_sofia.operations.services.ownership import ALONE, StillLocked, lock_file, take
from sale_sofia.settings.files import compose_yaml, read_yaml, whole_or_not_at_all, write_new
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.site_file import parse_yaml

# One item of a list in a YAML text is changed, added or taken out; all other lines stay as written.

_INDENT = 2
Item = Mapping[str, Any]


class CannotEdit(ValueError):
    """The text is written in a way in which its lists cannot be edited."""


def add_item(text: str, key: str, item: Item) -> str:
    """The text with this item at the end of the list of that key, which is made where there is none."""
    found = _list_of(text, key)
    if found is None:
        return f"{text.rstrip()}\n\n{key}:\n{_written(item, _INDENT)}\n".lstrip("\n")
    if found.flow_style:
        rest = [*read_yaml(_cut(text, found)), dict(item)]
        head, tail = text[: found.start_mark.index].rstrip(" "), text[found.end_mark.index :]
        remark, line_end, below = tail.partition("\n")
        written = "\n".join(_written(one, _INDENT) for one in rest)
        return f"{head}{remark}\n{written}{line_end}{below}"
    place = _line_end(text, _end_of(found))
    return f"{text[:place]}\n{_written(item, found.start_mark.column)}{text[place:]}"


def change_item(text: str, key: str, place: int, item: Item) -> str:
    """The text with this item instead of the one at that place; remarks inside the old one are lost."""
    found = _node(text, key, place)
    lines = _dumped(item).splitlines()
    written = ("\n" + " " * found.start_mark.column).join(lines)
    return f"{text[: found.start_mark.index]}{written}{text[_end_of(found) :]}"


def drop_item(text: str, key: str, place: int) -> str:
    """The text without the item at that place."""
    node, found = _list_of(text, key), _node(text, key, place)
    start = text.rfind("\n", 0, found.start_mark.index) + 1
    left = text[:start] + text[_line_end(text, _end_of(found)) + 1 :]
    if node is None or len(node.value) > 1:
        return left
    colon = left.index(":", _key_end(text, key)) + 1
    return f"{left[:colon]} []{left[colon:]}"


def _list_of(text: str, key: str) -> SequenceNode | None:
    pair = _pair(text, key)
    if pair is None:
        return None
    if not isinstance(pair[1], SequenceNode):
        raise CannotEdit(f"{key} is no list")
    return pair[1]


def _pair(text: str, key: str) -> tuple[Node, Node] | None:
    root = compose_yaml(text)
    if root is None:
        return None
    if not isinstance(root, MappingNode):
        raise CannotEdit("the file holds no keys")
    return next((pair for pair in root.value if pair[0].value == key), None)


def _key_end(text: str, key: str) -> int:
    pair = _pair(text, key)
    if pair is None:
        raise CannotEdit(f"there is no {key}")
    return int(pair[0].end_mark.index)


def _node(text: str, key: str, place: int) -> MappingNode:
    """An item that has lines of its own."""
    found = _list_of(text, key)
    if found is None or found.flow_style:
        raise CannotEdit(f"{key} is written in one line")
    node = found.value[place]
    if not isinstance(node, MappingNode) or node.flow_style:
        raise CannotEdit(f"{key}.{place} is written in one line")
    return node


def _end_of(node: Node) -> int:
    """Where the last word of a node ends; a block's own end lies behind the remarks that follow it."""
    if not isinstance(node, MappingNode | SequenceNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    if isinstance(node, SequenceNode):
        return _end_of(last)
    return max(_end_of(one) for one in last)


def _cut(text: str, node: Node) -> str:
    return text[node.start_mark.index : node.end_mark.index]


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _written(item: Item, column: int) -> str:
    """The item as lines of a list that begins at this column."""
    first, *more = _dumped(item).splitlines()
    indent = " " * column
    return "\n".join([f"{indent}- {first}", *(f"{indent}  {line}" for line in more)])


def _dumped(item: Item) -> str:
    lines = [
        yaml.safe_dump(
            {name: value}, allow_unicode=True, default_flow_style=_flow(value), width=10_000
        ).strip()
        for name, value in item.items()
    ]
    return "\n".join(lines)


def _flow(value: object) -> bool | None:
    """Lists of words in one line; a key and its word as they are written everywhere."""
    return None if isinstance(value, list | dict) else False


Written = dict[str, Any]
"""A rule as it stands in the file."""


class RuleChanged(AlertsError):
    """Somebody else changed the rule meanwhile; nothing was written."""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The file of an installation. Two who edit at once do so one after the other."""

    settings: Settings
    database: Database

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.settings.data_dir / ALERTS_FILE

    def begin(self) -> None:
        """Write a file to begin with, which tells nothing yet.

        Raises:
            AlertsError: there is one already; it is left as it is.
        """
        # Only its owner can read it: whoever writes a secret into it all the same shows it to nobody else.
        if not write_new(self.path, (files("sale_sofia.alerts") / "starting.yaml").read_text("utf-8")):
            raise AlertsError(f"{self.path} is there already; edit it, or move it away")

    def written(self) -> dict[RuleKind, list[Written]]:
        """All rules as they stand in the file.

        Raises:
            AlertsError: there is no file, or it cannot be read.
        """
        return _rules(self._values(read_alerts(self.path)))

    def add(self, kind: RuleKind, rule: Written) -> None:
        """Add a rule at the end.

        Raises:
            AlertsError: it cannot be; nothing was written.
        """
        self._edit(lambda text: add_item(text, kind, rule), lambda rules: rules[kind].append(rule))

    def change(self, before: Written, rule: Written) -> None:
        """Write this rule instead of the one that stood there.

        Raises:
            RuleChanged: that one is not there any more.
            AlertsError: it cannot be; nothing was written.
        """

        def put(rules: dict[RuleKind, list[Written]]) -> None:
            kind, place = _place(rules, before)
            rules[kind][place] = rule

        self._edit(lambda text: change_item(text, *self._found(text, before), rule), put)

    def remove(self, before: Written) -> None:
        """Take the rule out.

        Raises:
            RuleChanged: it is not there any more as it was.
            AlertsError: it cannot be; nothing was written.
        """
        self._edit(
            lambda text: drop_item(text, *self._found(text, before)),
            lambda rules: rules[_place(rules, before)[0]].remove(before),
        )

    def switch(self, name: str, *, enabled: bool) -> None:
        """Let the rule of this name tell things, or not; one that is switched on begins anew.

        Raises:
            AlertsError: there is none of this name.
        """
        before = self.named(name)
        rest = {key: value for key, value in before.items() if key != "enabled"}
        self.change(before, rest if enabled else {**rest, "enabled": False})

    def named(self, name: str) -> Written:
        """The rule of this name as it stands in the file.

        Raises:
            AlertsError: there is none.
        """
        rules = [rule for some in self.written().values() for rule in some]
        for rule in rules:
            if rule["name"] == name:
                return rule
        there = ", ".join(str(rule["name"]) for rule in rules) or "none"
        raise AlertsError(f"no rule {name!r}; there are: {there}")

    def _edit(
        self, edit: Callable[[str], str], expect: Callable[[dict[RuleKind, list[Written]]], object]
    ) -> None:
        """Change the text; the file is written only when it then means what it should, and can be used."""
        with lock_file(self.path.with_suffix(".lock")) as lock:
            try:
                take(lock, ALONE, ALERTS_FILE_SECONDS)
            except StillLocked:
                raise AlertsError("somebody else is changing the rules; try again") from None
            text = read_alerts(self.path)
            expected = _rules(self._values(text))
            expect(expected)
            new = self._edited(edit, text)
            if _rules(self._values(new)) != expected or self._rest(new) != self._rest(text):
                raise AlertsError(f"{self.path}: is written in a way that only you can edit")
            self._write(new)

    def _edited(self, edit: Callable[[str], str], text: str) -> str:
        try:
            return edit(text)
        except CannotEdit as error:
            raise AlertsError(f"{self.path}: {error}; edit it by hand") from None

    def _write(self, text: str) -> None:
        file: AlertsFile = check_alerts(self.path, text)
        check_rules(self.settings, self.database, file)
        mode = self.path.stat().st_mode & 0o777
        with whole_or_not_at_all(self.path) as unfinished:
            unfinished.touch(mode)
            unfinished.chmod(mode)
            unfinished.write_text(text, "utf-8")

    def _found(self, text: str, rule: Written) -> tuple[RuleKind, int]:
        return _place(_rules(self._values(text)), rule)

    def _values(self, text: str) -> Mapping[str, Any]:
        check_alerts(self.path, text)
        return parse_yaml(self.path, text)

    def _rest(self, text: str) -> Mapping[str, Any]:
        return {key: value for key, value in self._values(text).items() if key not in RULE_KINDS}


def _rules(values: Mapping[str, Any]) -> dict[RuleKind, list[Written]]:
    return {kind: list(values.get(kind, [])) for kind in RULE_KINDS}


def _place(rules: Mapping[RuleKind, list[Written]], rule: Written) -> tuple[RuleKind, int]:
    for kind in RULE_KINDS:
        if rule in rules[kind]:
            return kind, rules[kind].index(rule)
    raise RuleChanged(f"the rule {rule['name']!r} is no longer what it was; look at it again")
