"""Real pages and texts that live beside the checkout; the project also passes without them."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"

needs_real_pages = pytest.mark.skipif(
    not (SHARED / "pages" / "truth.json").exists(), reason="the real pages (../shared/pages) are not here"
)
