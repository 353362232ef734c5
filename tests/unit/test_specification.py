"""Every name that docs/specification.md gives for a name of the documents is there."""

import re
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from typer.main import get_command

from sale_sofia.cli.main import app
from sale_sofia.settings.model import DOCUMENTED_NAMES, Settings
from sale_sofia.storage.all_tables import metadata
from tables import each_row

PAGE = Path(__file__).parents[2] / "docs" / "specification.md"
ROWS = re.findall(r"^\| (.+?) \| (\w+) \| `([^`]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)


def is_there(kind: str, name: str) -> bool:
    match kind:
        case "import":
            module, _, path = name.partition(":")
            return attrgetter(path)(import_module(module)) is not None
        case "setting":
            return name.lower() in Settings.model_fields
        case "table":
            return name in metadata.tables
        case "command":
            return name in get_command(app).list_commands(None)  # type: ignore[attr-defined]
    return False


@each_row("row", ROWS)
def test_a_name_of_the_documents_leads_to_ours(row: tuple[str, str, str]) -> None:
    _, kind, name = row
    assert is_there(kind, name), name


def test_the_page_has_all_that_is_named_otherwise() -> None:
    assert len(ROWS) > 40
    quoted = set(re.findall(r"`([A-Z_]+)`", PAGE.read_text("utf-8")))
    assert {name for names in DOCUMENTED_NAMES.values() for name in names} <= quoted


def test_the_package_runs_as_a_module() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "sale_sofia", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("sale-sofia ")
