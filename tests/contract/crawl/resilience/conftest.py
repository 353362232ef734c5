from collections.abc import Iterator

import pytest

from contract.crawl.resilience.backends import BACKENDS, GATE_BACKENDS, Backend


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    made = BACKENDS[request.param]()
    yield made
    made.close()


@pytest.fixture(params=sorted(GATE_BACKENDS))
def gate_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    made = GATE_BACKENDS[request.param]()
    yield made
    made.close()
