"""Site files for simulated portals, so that every command crawls these and not the real ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import typer

from sale_sofia.config.site_config import CONFIG_FOLDER

_MARK: Final = "# Written by `sale-sofia simulate`: the installed file, begun at a simulated portal.\n"


def check_folder(folder: Path, sites: Sequence[str]) -> None:
    """Refuses a folder with site files of somebody's own; those of an earlier simulation may be replaced."""
    for path in (folder / f"{site}.yaml" for site in sites):
        if path.exists() and not path.read_text("utf-8").startswith(_MARK):
            raise typer.BadParameter(f"{path} is a site file of your own; name another folder")


def write_simulated_sites(folder: Path, start_urls: Mapping[str, Sequence[str]]) -> None:
    """The installed file of each portal, with these addresses to begin at."""
    folder.mkdir(parents=True, exist_ok=True)
    for site, urls in start_urls.items():
        installed = (CONFIG_FOLDER / "sites" / f"{site}.yaml").read_text("utf-8")
        begins = "".join(f"  - {url}\n" for url in urls)
        (folder / f"{site}.yaml").write_text(f"{_MARK}{installed}\nstart_urls:\n{begins}", "utf-8")
