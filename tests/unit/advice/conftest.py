"""Places of the user's own, for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sale_sofia.geography import imported


@pytest.fixture
def schools(tmp_path: Path) -> Iterator[None]:
    """Two schools are imported, of which one has an exam; nothing is worked out for neighbourhoods."""
    rows = [["1 СУ", 42.6737, 23.3300, 32], ["2 ОУ", 42.7100, 23.3000, None]]
    imported.keep(tmp_path, "schools", {"schools": rows, "meta": {"imported_at": 5.0, "source": "own"}})
    yield
    imported.use(tmp_path / "nothing")
