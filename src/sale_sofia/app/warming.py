"""What the first visit after a start would wait for, read before anybody comes."""

import logging
from typing import Final

from sale_sofia.app import market, snapshot, state
from sale_sofia.insights.profiles import load_profiles

log: Final = logging.getLogger(__name__)


def warm() -> None:
    """Read all flats, score them by the profile that opens first, and work out the market; never raises."""
    try:
        for name, profile in sorted(load_profiles(state.settings().data_dir).profiles.items())[:1]:
            log.info("reading all flats, scored by %s", name)
            snapshot.keeper().ranked(profile)
        market.current("sale")
    except Exception:  # whatever it is, the pages meet it again and say so
        log.exception("the flats could not be read before the first visit")
