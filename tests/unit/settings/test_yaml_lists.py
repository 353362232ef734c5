"""A list in a YAML text is edited item by item; remarks and everything else stay as they were."""

import pytest
import yaml

from sale_sofia.alerts.editing import CannotEdit, add_item, change_item, drop_item
from tables import each_row

TEXT = """\
# the head
channels: {mail: "json://x"}   # beside

buyer:   # mine
  # the first
  - name: One
    tell: [new, cut]   # what
    channels: [mail]
  # between
  - name: Two
    channels:
      - mail
  # after
operator: []   # nobody
# the end
"""
NEW = {"name": "Нов", "digest": "08:30", "tell": ["new"], "channels": ["mail"], "unknown": False}
ONE = {"name": "One", "tell": ["new", "cut"], "channels": ["mail"]}
TWO = {"name": "Two", "channels": ["mail"]}
WRITTEN = """\
  - name: Нов
    digest: 08:30
    tell: [new]
    channels: [mail]
    unknown: false
"""


def rules(text: str, key: str = "buyer") -> list[object]:
    found: list[object] = yaml.safe_load(text)[key]
    return found


def test_an_item_is_added_at_the_end() -> None:
    added = add_item(TEXT, "buyer", NEW)
    assert added == TEXT.replace("      - mail\n", "      - mail\n" + WRITTEN)
    assert rules(added) == [ONE, TWO, NEW]


def test_an_empty_list_and_a_missing_one_get_their_first() -> None:
    assert add_item(TEXT, "operator", NEW) == TEXT.replace(
        "operator: []   # nobody\n", "operator:   # nobody\n" + WRITTEN
    )
    assert add_item("a: 1\n", "buyer", NEW) == "a: 1\n\nbuyer:\n" + WRITTEN
    assert add_item("", "buyer", NEW) == "buyer:\n" + WRITTEN
    assert rules(add_item('buyer: [{name: "x"}]', "buyer", NEW)) == [{"name": "x"}, NEW]


def test_an_item_is_changed_in_its_place() -> None:
    changed = change_item(TEXT, "buyer", 0, NEW)
    assert rules(changed) == [NEW, TWO]
    assert changed.startswith(TEXT.partition("  - name: One")[0] + WRITTEN[:-1])
    assert changed.endswith(TEXT.partition("  # between")[2])
    assert rules(change_item(TEXT, "buyer", 1, NEW)) == [ONE, NEW]


def test_an_item_is_dropped_and_the_last_one_leaves_an_empty_list() -> None:
    first = drop_item(TEXT, "buyer", 0)
    assert first == TEXT.replace("  - name: One\n    tell: [new, cut]   # what\n    channels: [mail]\n", "")
    none = drop_item(first, "buyer", 0)
    assert rules(none) == []
    assert "buyer: []   # mine\n  # the first\n  # between\n  # after\n" in none


def test_what_was_added_and_dropped_leaves_no_trace() -> None:
    assert drop_item(add_item(TEXT, "operator", NEW), "operator", 0) == TEXT
    assert drop_item(add_item(TEXT, "buyer", NEW), "buyer", 2) == TEXT


@each_row("word", ["yes", "1", "12:30", "a: b", "#x", "'", '"', " x", "-", "null", "й\n"])
def test_words_that_yaml_would_take_for_something_else_stay_words(word: str) -> None:
    assert rules(add_item(TEXT, "operator", {"name": word}), "operator") == [{"name": word}]
    assert rules(change_item(TEXT, "buyer", 0, {"name": word}))[0] == {"name": word}


def test_lists_in_one_line_are_left_to_a_person() -> None:
    with pytest.raises(CannotEdit, match="one line"):
        change_item("buyer: [{name: x}]", "buyer", 0, NEW)
    with pytest.raises(CannotEdit, match="one line"):
        drop_item("buyer:\n  - {name: x}\n", "buyer", 0)
    with pytest.raises(CannotEdit, match="no list"):
        add_item("buyer: 5", "buyer", NEW)
