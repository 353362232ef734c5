from collections.abc import Sequence

import pytest

from sale_sofia_simulator.model import World
from sale_sofia_simulator.render import RenderedPage, render_world
from sale_sofia_simulator.world import make_world

SEED = 7


@pytest.fixture(scope="session")
def world() -> World:
    return make_world(1000, SEED)


@pytest.fixture(scope="session")
def town() -> World:
    """The beginning of `world`, small enough to keep all its pages in memory."""
    return make_world(150, SEED)


@pytest.fixture(scope="session")
def pages(town: World) -> Sequence[RenderedPage]:
    return tuple(render_world(town))


@pytest.fixture(scope="session")
def imot_texts(pages: Sequence[RenderedPage]) -> Sequence[str]:
    return tuple(page.body.decode("windows-1251") for page in listings(pages, "imot.bg"))


@pytest.fixture(scope="session")
def bazar_texts(pages: Sequence[RenderedPage]) -> Sequence[str]:
    return tuple(page.body.decode() for page in listings(pages, "bazar.bg"))


def listings(pages: Sequence[RenderedPage], site: str) -> list[RenderedPage]:
    return [page for page in pages if page.site == site and page.truth["kind"] == "listing"]
