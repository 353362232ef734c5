"""Who looks at the pages in the tests of a module, which says what is on offer there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app_runs import put_adverts
from web_pages import Browser, browser


@pytest.fixture
def ana(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Browser]:
    """The browser of the first of the household; the module's ADVERTS are on offer."""
    put_adverts(tmp_path, *request.module.ADVERTS)
    with browser(tmp_path) as opened:
        opened.cookies.set("sale_sofia_language", "en")
        opened.fill("/people/add", name="Ана", language="en")
        yield opened
