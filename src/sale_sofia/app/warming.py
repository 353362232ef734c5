"""What the first visit after a start would wait for, read before anybody comes."""

import logging
from typing import Final

from sale_sofia.app import market, snapshot, state
from sale_sofia.insights.profiles import load_profiles
from sale_sofia.scraping.store import open_database

log: Final = logging.getLogger(__name__)


def warm() -> None:
    """Read all flats, score them by the profile that opens first, and work out the market; never raises.

    Whoever comes meanwhile waits for the same reading. A database that is not there yet is left to be made by
    whoever first needs it.
    """
    try:
        if open_database(state.settings()).exists():
            _read_all()
    except Exception:  # whatever it is, the pages meet it again and say so
        log.exception("the flats could not be read before the first visit")


def _read_all() -> None:
    for name, profile in sorted(load_profiles(state.settings().data_dir).profiles.items())[:1]:
        log.info("reading all flats, scored by %s", name)
        snapshot.keeper().ranked(profile)
    market.current("sale")
