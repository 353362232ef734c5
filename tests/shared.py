"""Real pages and texts that live beside the checkout; the project also passes without them."""

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2] / "shared"

needs_real_pages = pytest.mark.skipif(
    not (SHARED / "pages" / "truth.json").exists(), reason="the real pages (../shared/pages) are not here"
)


def real_pages() -> dict[Path, dict[str, Any]]:
    """Every captured page of both sets, and what was read on it by hand."""
    folders = [SHARED / name for name in ("pages", "pages2") if (SHARED / name).exists()]
    return {
        folder / path: told
        for folder in folders
        for path, told in json.loads((folder / "truth.json").read_text("utf-8")).items()
    }
