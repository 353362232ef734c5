"""The captured pages of all portals, with their hand-read answers."""

import subprocess
import sys
from pathlib import Path

from sale_sofia.websites.registry import AVAILABLE_SITES
from shared import SHARED, needs_real_pages


@needs_real_pages
def test_every_value_every_card_and_every_kind() -> None:
    command: list[str | Path] = [
        sys.executable, SHARED / "tools" / "check_pages.py", f"{sys.prefix}/bin/sale-sofia",
        SHARED / "pages", SHARED / "pages" / "truth.json",
        "--sites", ",".join(AVAILABLE_SITES), "--min", "1.0", "--max-wrong", "0",
    ]  # fmt: skip
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout[-3000:] + judged.stderr[-1000:]
    assert "real pages: 1.0000 right, 0.0000 wrong of 1687 values; kinds 42/42" in judged.stdout
