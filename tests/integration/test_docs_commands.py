"""Every command that the documentation names is one that the program has."""

import re
from pathlib import Path

import pytest

from command_lines import command_lines, fault
from sale_sofia.config.settings import Settings
from sale_sofia.data.incidents import IncidentKind

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
OPERATIONS = ROOT / "docs" / "operations.md"
SETTINGS = {name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_is_there(page: Path) -> None:
    lines = list(command_lines(page.read_text("utf-8")))
    assert [found for line in lines if (found := fault(line))] == []


def test_the_page_of_operations_names_commands_and_every_incident() -> None:
    text = OPERATIONS.read_text("utf-8")
    assert len(list(command_lines(text))) > 20
    assert [kind for kind in IncidentKind if f"| `{kind.value}` |" not in text] == []


@pytest.mark.parametrize("page", ["operations.md", "scaling.md"])
def test_every_setting_that_is_named_is_there(page: str) -> None:
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)", (ROOT / "docs" / page).read_text("utf-8")))
    assert named - SETTINGS - {"DATA_DIR"} <= {"MAIN_HOST", "PRIVATE_ADDRESS"}
    assert named


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sale-sofia crawl imot.bg --parallel", None),
        ("sale-sofia crawll imot.bg", "'sale-sofia crawll imot.bg': sale-sofia has no command crawll"),
        ("sale-sofia db copy --form x", "'sale-sofia db copy --form x': copy has no option --form"),
        ("DATA_DIR=/x sale-sofia db check | cat --nothing", None),
        ("sudo -u sale-sofia /opt/sale-sofia/bin/sale-sofia jobs", None),
    ],
)
def test_a_wrong_command_is_seen(line: str, expected: str | None) -> None:
    assert fault(line) == expected
