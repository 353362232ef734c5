"""A simulated portal that is crawled for some days, and then changes its layout; what must come of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from crawls import truth
from passing_days import NOTHING_AFTER, PassingDays, passing_days
from sale_sofia.history.drift.store import open_drift
from sale_sofia.history.listing_rows import VOLATILE_FIELDS
from sale_sofia.history.tables import listings, market_events
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import Incident

SEED = 3
ADVERTS = 30
SOUND_RUNS = 3
_NOT_COMPARED = VOLATILE_FIELDS | {"kind", "flags"}
Values = dict[str, dict[str, Any]]


@dataclass
class DriftDays:
    """The days, and a copy of the store as it was after the last sound one."""

    days: PassingDays
    copy: Path

    @property
    def site(self) -> str:
        return self.days.site

    def crawl(self, layout: str | None = None, *, everything: bool = True) -> None:
        """One run of the portal, in this layout."""
        self.days.simulator.wear(*([layout] if layout else []))
        self.days.crawl(everything=everything)

    def keep(self) -> None:
        with sqlite3.connect(self._file) as now, sqlite3.connect(self.copy) as copy:
            now.backup(copy)

    def restore(self) -> None:
        with sqlite3.connect(self.copy) as copy, sqlite3.connect(self._file) as now:
            copy.backup(now)

    @property
    def _file(self) -> Path:
        return Path(self.days.database.url.database or "")

    def drift(self) -> list[Incident]:
        with self.days.database.read() as connection:
            return open_drift(connection, self.site)

    def findings(self) -> set[tuple[str, str]]:
        """What has drifted: the kind, and the field."""
        found = [(one.kind.value, row["field"]) for one in self.drift() for row in one.details["findings"]]
        return set(found)

    def values(self) -> Values:
        """What is stored of every advert that is on the market."""
        on_market = select(listings).where(listings.c.closed_at.is_(None), listings.c.gone_at.is_(None))
        with self.days.database.read() as connection:
            rows = connection.execute(on_market).mappings().all()
        return {row["external_id"]: dict(row) for row in rows}

    def wrong(self, before: Values) -> list[tuple[str, str, Any, Any]]:
        """Values that are neither true now nor were believed before; null is never wrong."""
        found, stored = [], self.values()
        for (_, key), true in truth(self.days.simulator).items():
            now = stored.get(key, {})
            for name in true.keys() & now.keys() - _NOT_COMPARED:
                told: tuple[Any, ...] = (None, [], true[name], before.get(key, {}).get(name))
                if now[name] not in told:
                    found.append((key, name, now[name], true[name]))
        return found

    def gone(self) -> int:
        """How many adverts were ever found to be gone; one that is back is back in any layout."""
        found = select(func.count()).where(market_events.c.kind == "gone")
        with self.days.database.read() as connection:
            return int(connection.execute(found).scalar_one())

    def lost(self) -> set[str]:
        """The adverts that are taken for gone and are on the market."""
        taken = select(listings.c.external_id).where(
            listings.c.closed_at.is_(None), listings.c.gone_at.is_not(None)
        )
        with self.days.database.read() as connection:
            gone = set(connection.scalars(taken))
        return gone & {key for _, key in truth(self.days.simulator)}


@contextmanager
def drift_days(
    folder: Path,
    site: str,
    sound_runs: int = SOUND_RUNS,
    adverts: int | None = None,
    **settings: Any,  # noqa: ANN401 - any setting
) -> Iterator[DriftDays]:
    """A portal that was crawled on some sound days; pages that cannot be read are tried once."""
    with passing_days(folder, site, properties=adverts or ADVERTS, seed=SEED) as days:
        days.settings = Settings(
            data_dir=folder / "data",
            domain_rate_limits={site: 60_000},
            retry_max_attempts=1,
            retry_base_delay=0.01,
            retry_max_delay=0.01,
            **NOTHING_AFTER,
            **settings,
        )
        made = DriftDays(days, folder / "sound.db")
        for _ in range(sound_runs):
            made.crawl()
            days.next_day()
        made.keep()
        yield made
