"""Since when a flat is on the market, and when it was offered before: one answer out of all its adverts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sale_sofia.flats.settings import OFF_MARKET_DAYS
from sale_sofia.history.market_events import SECONDS_PER_DAY, WITHDRAWN, Since, Source, listed_since

Row = Mapping[Any, Any]
_OFF_MARKET: Final = OFF_MARKET_DAYS * SECONDS_PER_DAY


class EarlierOffer(NamedTuple):
    """An advert of the flat that ended, and after which another one began. Moments are seconds since 1970."""

    listing_id: int
    site: str
    since: float
    source: Source
    until: float
    price_eur: float | None
    """What it asked last."""


class Age(NamedTuple):
    """Since when the flat is on the market without a long pause, and its earlier offers, the latest first."""

    since: Since
    before: tuple[EarlierOffer, ...] = ()


class _Run(NamedTuple):
    """One advert from its beginning to its end; while it is there, it has none."""

    since: Since
    end: float
    row: Row


def age_of(rows: Sequence[Row]) -> Age:
    """The age of the flat that these adverts are of; the columns of `listings` are looked at."""
    real = [row for row in rows if row["closed_reason"] != WITHDRAWN] or rows
    # An id that was given to another flat says nothing of this one, also where a sister portal prints it.
    reused = {row["family_id"] for row in real if row["generation"] > 1} - {None}
    runs = sorted(
        (_Run(listed_since(row, reused=row["family_id"] in reused), _end(row), row) for row in real),
        key=lambda run: (run.since.at, run.end, run.row["id"]),
    )
    since, end = runs[0][:2]
    for run in runs[1:]:
        if run.since.at > end + _OFF_MARKET:
            since = run.since
        end = max(end, run.end)
    return Age(since, _before(runs))


def _end(row: Row) -> float:
    return min([row[name] for name in ("gone_at", "closed_at") if row[name] is not None], default=math.inf)


def _before(runs: Sequence[_Run]) -> tuple[EarlierOffer, ...]:
    """The ended adverts but those that began last; of one family, published on several portals, one."""
    newest = runs[-1].since.at
    last: dict[Any, _Run] = {}
    for run in sorted(runs, key=lambda run: (run.end, -run.row["id"])):
        if run.end < math.inf and run.since.at < newest:
            last[run.row["family_id"] or run.row["id"]] = run
    ended = sorted(last.values(), key=lambda run: (run.end, run.row["id"]), reverse=True)
    return tuple(
        EarlierOffer(run.row["id"], run.row["site"], *run.since, run.end, run.row["price_eur"])
        for run in ended
    )
