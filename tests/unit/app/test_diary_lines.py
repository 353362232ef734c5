"""What the history of a flat says, and what is kept of it for reading without the network."""

import re
from pathlib import Path
from typing import Any

from sale_sofia.alerts.settings import LINK_PATH
from sale_sofia.app import pages
from sale_sofia.app.pages.flat import _change_line
from sale_sofia.buyer.evaluations import EvaluationChange
from sale_sofia.buyer.settings import SHARED_PATH, SIGN_IN_PATH
from tables import each_row

WORKER = Path(pages.__file__).parents[1] / "static" / "worker.js"


@each_row(
    ("field", "old", "new", "told"),
    [
        ("renovation_eur", None, 0.0, "– → € 0"),
        ("renovation_eur", 0.0, 9_000.0, "€ 0 → € 9 000"),
        ("reason", "шумно", None, "шумно → –"),
        ("positives", [], ["тихо", "светло"], "– → тихо, светло"),
    ],
)
def test_nothing_to_renovate_is_not_unknown(field: str, old: Any, new: Any, told: str) -> None:  # noqa: ANN401
    line = _change_line(EvaluationChange(1, None, field, old, new, "Ана", 0.0))
    assert line.replace("\N{NO-BREAK SPACE}", " ").partition(": ")[2] == told


@each_row("path", [SHARED_PATH, SIGN_IN_PATH, LINK_PATH])
def test_no_address_that_is_a_secret_is_kept_offline(path: str) -> None:
    (pattern,) = re.findall(r"/(\S+)/\.test\(url\.pathname\)\) return", WORKER.read_text("utf-8"))
    assert re.search(pattern.replace(r"\/", "/"), path)
