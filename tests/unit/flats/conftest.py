from collections.abc import Iterator

import pytest

from property_worlds import dispose_all


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    dispose_all()
