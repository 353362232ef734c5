"""The captured pages of all portals, with their hand-read answers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sale_sofia.websites.registry import AVAILABLE_SITES
from shared import PAGE_SETS, SHARED, needs_real_pages, real_pages

LEAST_VALUES = {"pages": 1687, "pages2": 86}


@pytest.mark.slow
@needs_real_pages
@pytest.mark.parametrize("folder", PAGE_SETS, ids=lambda folder: folder.name)
def test_every_value_every_card_and_every_kind(folder: Path) -> None:
    command: list[str | Path] = [
        sys.executable, SHARED / "tools" / "check_pages.py", f"{sys.prefix}/bin/sale-sofia",
        folder, folder / "truth.json",
        "--sites", ",".join(AVAILABLE_SITES), "--min", "1.0", "--max-wrong", "0",
    ]  # fmt: skip
    judged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout[-3000:] + judged.stderr[-1000:]
    match = re.search(
        r"real pages: 1\.0000 right, 0\.0000 wrong of (\d+) values; kinds (\d+)/(\d+)", judged.stdout
    )
    assert match
    pages = [path for site in AVAILABLE_SITES for path, _ in real_pages(site) if path.is_relative_to(folder)]
    assert int(match[1]) >= LEAST_VALUES[folder.name]
    assert int(match[2]) == int(match[3]) == len(pages)


@needs_real_pages
def test_every_portal_has_a_real_page() -> None:
    assert [site for site in AVAILABLE_SITES if not list(real_pages(site))] == []
