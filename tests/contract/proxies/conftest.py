from collections.abc import Iterator

import pytest

from contract.proxies.pools import WORLDS, World


@pytest.fixture(params=sorted(WORLDS))
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made = WORLDS[request.param]()
    yield made
    made.close()
