"""What a program that others are forked from knows for them, and what these have to learn themselves."""

import importlib
import os
import runpy
import select
import sys
from contextlib import suppress
from pathlib import Path

LOOPBACK_ONLY = str(Path(__file__).with_name("loopback_only"))
"""On the path of programs, and of all that they start, nothing leaves this machine."""


def learn_loopback() -> None:
    """What Python does at its start with that folder on its path."""
    if LOOPBACK_ONLY in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        runpy.run_path(f"{LOOPBACK_ONLY}/sitecustomize.py")


def wait_for_end(pid: int, seconds: float | None) -> None:
    """Until the process, whoever's child it is, has ended, or for so long."""
    with suppress(ProcessLookupError):
        end = os.pidfd_open(pid)
        try:
            waiting = select.poll()
            waiting.register(end, select.POLLIN)
            waiting.poll(None if seconds is None else seconds * 1000)
        finally:
            os.close(end)


def learn_own_portals() -> bool:
    """All of ours go by the portals of SITES_DIR; True if these are not those of the import.

    Portals are known from the import on. What `--help` says of portals stays as it was. To import all of ours
    anew takes longer than most commands.
    """
    registry = importlib.import_module("sale_sofia.websites.registry")
    own = {path.stem for path in Path(os.environ.get("SITES_DIR") or os.devnull).glob("*.yaml")}
    if own <= set(registry.AVAILABLE_SITES):
        return False
    available_sites = importlib.import_module("sale_sofia.websites.site_file").available_sites
    available_sites.cache_clear()
    found = available_sites()
    for module in [one for name, one in sys.modules.items() if name.partition(".")[0] == "sale_sofia"]:
        if "AVAILABLE_SITES" in vars(module):
            vars(module)["AVAILABLE_SITES"] = found
    return True


def warm_up() -> None:
    """What a crawl reads before its first page and after its last, and keeps: it is the same for all.

    Site files are known by their text, so that one of a test's own is still read.
    """
    importlib.import_module("sale_sofia.settings.model").load_settings()  # builds what checks them
    files = importlib.import_module("sale_sofia.websites.site_file")
    for site in files.available_sites():
        files.load_site_config(site)
    importlib.import_module("sale_sofia.listings.places").find_neighbourhood("Лозенец")
    importlib.import_module("sale_sofia.descriptions.dictionary").read_description(
        "Светъл апартамент с гараж."
    )
    for name in ("advice.scoring.runs", "crawl.photos.running", "descriptions.enrichment", "flats.runs"):
        importlib.import_module(f"sale_sofia.{name}")
    warm_up_places()


def warm_up_places() -> None:
    """What whoever tells of a flat works out of the shipped places; forgotten where others are used."""
    centre = importlib.import_module("sale_sofia.geography.shapes").BUYERS_CENTRE
    importlib.import_module("sale_sofia.geography.travel").journeys_to(centre)
    importlib.import_module("sale_sofia.geography.nearby").near_point(centre.point)


def warm_up_simulator() -> None:
    """The templates of its pages."""
    templates = importlib.import_module("sale_sofia_simulator.pieces").TEMPLATES
    for name in templates.list_templates():
        templates.get_template(name)


def warm_up_pages() -> None:
    """The same for the pages of the dashboard, with their templates."""
    warm_up_places()
    templates = importlib.import_module("sale_sofia.app.application").environment()
    for name in templates.list_templates():
        templates.get_template(name)
