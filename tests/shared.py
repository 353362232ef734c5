"""Real pages and texts that live beside the checkout; the project also passes without them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2] / "shared"
PAGE_SETS = tuple(SHARED / name for name in ("pages", "pages2"))

needs_real_pages = pytest.mark.skipif(
    not all((folder / "truth.json").exists() for folder in PAGE_SETS),
    reason="the real pages (../shared/pages, ../shared/pages2) are not here",
)


def real_pages(site: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every real page of a portal, of all sets, and what it says."""
    for folder in PAGE_SETS:
        truth = json.loads((folder / "truth.json").read_text("utf-8"))
        yield from ((folder / path, told) for path, told in truth.items() if told["site"] == site)
