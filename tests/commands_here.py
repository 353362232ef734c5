"""The program's commands given in this process: a new one takes a second to start."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sale_sofia.cli.main import main


class Told(NamedTuple):
    """How a command ended, and what it said; the error stream without its line breaks."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found


Command = Callable[..., Told]


def commands(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Gives the program a command on this DATA_DIR."""

    def command(*arguments: str | Path) -> Told:
        monkeypatch.setenv("DATA_DIR", str(data))
        monkeypatch.setattr(sys, "argv", ["sale-sofia", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Told(int(ended.value.code or 0), told.out, " ".join(told.err.replace("│", " ").split()))

    return command
