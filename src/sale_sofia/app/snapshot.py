"""All flats with their scores, kept in memory by the server and never older than the database."""

import gc
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection

from sale_sofia.advice.scoring.book import Looks, Ranked, ScoreBook
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import Seen
from sale_sofia.advice.scoring.store import kept_yardsticks
from sale_sofia.advice.scoring.yardsticks import Cell, Yardstick
from sale_sofia.app.settings import PROFILES_SCORED
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import FlatBook, no_collecting
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, DataVersion


@dataclass(frozen=True)
class Snapshot:
    """All flats as they were at one moment."""

    flats: Mapping[int, Flat]
    whose: Mapping[int, int]
    """Advert → property."""
    looks: Mapping[int, Seen]
    """Each beside its neighbours, as scores need it."""
    taken_at: float

    @cached_property
    def offered(self) -> list[Flat]:
        """Those that are still on the market."""
        return [flat for flat in self.flats.values() if flat.offered]

    @cached_property
    def last_seen(self) -> Mapping[str, float]:
        """When each portal's newest advert was last seen, by portal."""
        newest: dict[str, float] = {}
        for flat in self.flats.values():
            for advert in flat.adverts:
                newest[advert.site] = max(newest.get(advert.site, 0.0), advert.last_seen_at)
        return dict(sorted(newest.items()))


class Keeper:
    """Holds the newest snapshot for all sessions. Whoever asks waits until it is up to date."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._version = DataVersion(database)
        self._seen: str | None = None
        self._book = FlatBook()
        self._looks = Looks(settings)
        self._scores: dict[str, ScoreBook] = {}
        self._kept: Mapping[Cell, Yardstick] = {}
        self._snapshot: Snapshot | None = None

    def current(self) -> Snapshot:
        """All flats as they are now."""
        with self._lock, no_collecting():
            return self._current()

    def ranked(self, profile: Profile) -> tuple[Snapshot, Ranked]:
        """All flats as they are now, and what the profile makes of them."""
        with self._lock, no_collecting():
            snapshot = self._current()
            return snapshot, self._ranked(profile, snapshot)

    def _ranked(self, profile: Profile, snapshot: Snapshot) -> Ranked:
        """By the scores that are kept; those of the profile that was asked for longest ago are forgotten."""
        key = profile.model_dump_json()
        known = self._scores.pop(key, None)
        self._scores[key] = known or ScoreBook(profile)
        ranked = self._scores[key].refresh(snapshot.looks)
        if known is None:
            for old in list(self._scores)[:-PROFILES_SCORED]:
                del self._scores[old]
            # Millions of objects that live as long as the server: the collector need not look at them again.
            gc.freeze()
        return ranked

    def _current(self) -> Snapshot:
        version = self._version.current()  # asked first: what is committed from here on is seen next time
        if self._snapshot is None or version != self._seen:
            self._snapshot, self._seen = self._refreshed(self._snapshot), version
        return self._snapshot

    def _refreshed(self, before: Snapshot | None) -> Snapshot:
        kept = self._database.run_read(self._read)
        flats = self._book.flats
        if before is not None and before.flats is flats and self._kept == kept:
            return before
        self._kept = kept
        self._looks.refresh(flats, kept)
        return Snapshot(flats, self._book.whose, self._looks.seen, time.time())

    def _read(self, connection: Connection) -> Mapping[Cell, Yardstick]:
        self._book.refresh(connection)
        return kept_yardsticks(connection)
