"""One item of a list in a YAML text is changed, added or taken out; all other lines stay as written."""

from collections.abc import Mapping
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from sale_sofia.config.yaml_text import compose_yaml, read_yaml

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
