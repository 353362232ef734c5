"""All flats in memory, brought up to date by reading only those that changed."""

from collections.abc import Iterable, Mapping
from typing import Final

from sqlalchemy import Connection

from sale_sofia.config.insights import PHOTOS_REMEMBERED, REREAD_SHARE
from sale_sofia.data.changed_adverts import Traces, advert_properties, changed_adverts, look
from sale_sofia.insights.flat_rows import read_flats
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.sparing import sparing

NOTHING: Final[Mapping[int, Flat]] = {}


class FlatBook:
    """Keeps every flat by its property. What was handed out before a refresh stays as it was."""

    def __init__(self) -> None:
        self.flats: Mapping[int, Flat] = NOTHING
        self._traces: Traces | None = None
        self.whose: Mapping[int, int] = {}
        """Advert → property, of every advert."""

    def refresh(self, connection: Connection) -> None:
        """Afterwards the flats are those of the database as the connection sees it.

        Where it fails they are as before, and all that changed since then is still to be read.
        """
        before, now = self._traces, look(connection, self._traces)
        changed = None if before is None else self._changed(connection, before, now)
        if changed is None or len(changed) > REREAD_SHARE * len(self.flats):
            self._hold(NOTHING, read_flats(connection, photos=PHOTOS_REMEMBERED))
        elif changed:
            kept = {number: flat for number, flat in self.flats.items() if number not in changed}
            self._hold(kept, read_flats(connection, changed, photos=PHOTOS_REMEMBERED))
        self._traces = now

    def _changed(self, connection: Connection, before: Traces, after: Traces) -> set[int]:
        """The properties to read anew, those that an advert left and those that it came to."""
        adverts = changed_adverts(connection, before, after)
        if before.matched == after.matched and all(advert in self.whose for advert in adverts):
            return {self.whose[advert] for advert in adverts}
        whose = advert_properties(connection)
        moved = {advert for advert, old in self.whose.items() if whose.get(advert, advert) != old}
        touched = adverts | moved
        return {whose.get(advert, advert) for advert in touched} | {
            self.whose[advert] for advert in touched if advert in self.whose
        }

    def _hold(self, kept: Mapping[int, Flat], read: Iterable[Flat]) -> None:
        new = {flat.property_id: flat for flat in sparing(read)}
        gone = [] if not kept else [flat for number, flat in self.flats.items() if number not in kept]
        whose = dict(self.whose) if kept else {}
        for flat in gone:
            for advert in flat.adverts:
                whose.pop(advert.listing_id, None)
        whose.update(
            {advert.listing_id: flat.property_id for flat in new.values() for advert in flat.adverts}
        )
        self.whose = whose
        self.flats = {**kept, **new}
