"""Copies of site files with something changed in them, used in place of the installed ones."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import CONFIG_FOLDER

Change = Callable[[dict[str, Any]], None]


@contextmanager
def changed_site(folder: Path, site: str, change: Change) -> Iterator[None]:
    """Inside, the portal is read by its file as `change` leaves it."""
    tables = yaml.safe_load((CONFIG_FOLDER / "sites" / f"{site}.yaml").read_text("utf-8"))
    change(tables)
    folder.mkdir(exist_ok=True)
    (folder / f"{site}.yaml").write_text(yaml.safe_dump(tables, allow_unicode=True), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITES_DIR", str(folder))
        get_scraper.cache_clear()
        try:
            yield
        finally:
            get_scraper.cache_clear()
