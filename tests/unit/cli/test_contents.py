"""The page of all commands: whole, true, and without importing any of them."""

import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command

from sale_sofia.cli.main import CONTENTS, app
from tables import each_row

NAMES = [name for part in CONTENTS.values() for name in part]
IMPORTED = """
import sys
from sale_sofia.cli.main import main
try:
    main()
finally:
    print(sorted({"celery", "pydantic", "sqlalchemy"} & set(sys.modules)), file=sys.stderr)
"""


@each_row("name", NAMES)
def test_every_command_is_where_the_contents_say(name: str) -> None:
    found: Any = get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    assert (found.name, bool(found.help)) == (name, True)


@pytest.mark.slow
def test_help_shows_all_and_imports_none() -> None:
    told = subprocess.run(
        [sys.executable, "-c", IMPORTED, "--help"], capture_output=True, text=True, timeout=120, check=True
    )
    words = set(told.stdout.split())
    assert [name for name in NAMES if name not in words] == []
    assert told.stderr == "[]\n"


def test_a_slip_is_told_what_it_may_have_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        app(["crwal"])
    assert end.value.code == 2
    assert "Did you mean 'crawl'?" in capsys.readouterr().err
