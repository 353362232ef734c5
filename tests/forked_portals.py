"""Portals are known from the import on: a forked program with others in its folder has to learn them."""

import importlib
import os
import sys
from pathlib import Path


def learn_own_portals() -> bool:
    """All of ours go by the portals of SITES_DIR; True if these are not those of the import.

    What `--help` says of portals stays as it was. To import all of ours anew takes longer than most commands.
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
