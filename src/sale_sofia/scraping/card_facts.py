"""Facts that a portal prints on its cards alone, given to the adverts whose own pages lack them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError
from sqlalchemy import Connection

from sale_sofia.data.cards import card_facts
from sale_sofia.data.sightings import Sighting
from sale_sofia.listings.model import Listing
from sale_sofia.websites.registry import get_scraper

_NOTHING: Final = (None, ())


def fill_from_cards(connection: Connection, site: str, sightings: Sequence[Sighting]) -> list[Sighting]:
    """The sightings with what their cards say and their pages do not; each such fact is named in `flags`."""
    if not any(table.fills for table in get_scraper(site).config.searches.values()):
        return list(sightings)
    known = card_facts(connection, site, [one.listing.external_id for one in sightings])
    return [_filled(one, known.get(one.listing.external_id, {})) for one in sightings]


def _filled(sighting: Sighting, facts: Mapping[str, Any]) -> Sighting:
    said = sighting.listing.model_dump()
    lacking = {name: value for name, value in facts.items() if said.get(name) in _NOTHING}
    if not lacking:
        return sighting
    flags = (*sighting.listing.flags, *(f"{name}_from_card" for name in lacking))
    try:
        listing = Listing.model_validate({**said, **lacking, "flags": flags})
    except ValidationError:  # a card of another time, which said what no advert can be
        return sighting
    return replace(sighting, listing=listing)
