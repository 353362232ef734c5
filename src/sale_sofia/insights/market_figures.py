"""The figures of some flats: what is asked, how many there are, how fast they come and go, what is cut."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sale_sofia.config.market import STILL_THERE_DAYS
from sale_sofia.insights.market_flats import Snapshot
from sale_sofia.insights.market_weeks import Track
from sale_sofia.insights.survival import Curve, kaplan_meier


class Quartiles(NamedTuple):
    """EUR for each m²: a quarter of the flats is cheaper than `low`, half than `median`."""

    low: float
    median: float
    high: float


class Week(NamedTuple):
    """One week: what was there at its end, what came and what went in it."""

    start: float
    complete: bool
    stock: int
    prices: int
    median_eur_sqm: float | None
    new: int | None
    """None for the week in which watching began: then everything is new."""
    gone: int


class DaysOnMarket(NamedTuple):
    """How long flats stay, open ones counted; None where too few flats are known, or most are still there."""

    flats: int
    gone: int
    median: float | None
    still_there: dict[int, float | None] | None
    """After so many days, the share that is still offered; None where nobody has watched so long."""


class Cuts(NamedTuple):
    """Of the flats offered now: how many had their price cut, and the median of all cuts, in per cent."""

    flats: int
    share: float | None
    median_percent: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of some flats; figures of too few flats are None."""

    stock: int
    prices: int
    eur_sqm: Quartiles | None
    weeks: tuple[Week, ...]
    change_percent: float | None
    """From the first week whose median is told to the last."""
    new_per_week: float | None
    gone_per_week: float | None
    days: DaysOnMarket
    cuts: Cuts


def figures(tracks: Sequence[Track], *, began: float, least: int) -> Figures:
    """The figures of these flats, watched since `began`; none that fewer than `least` flats make."""
    offered = [one for one in tracks if one.now.there]
    prices = _prices([one.now for one in offered])
    weeks = tuple(_weeks(tracks, began, least))
    whole = [week for week in weeks if week.complete and week.new is not None]
    return Figures(
        len(offered),
        len(prices),
        quartiles(prices) if len(prices) >= least else None,
        weeks,
        _change_percent(weeks),
        statistics.fmean(week.new or 0 for week in whole) if whole else None,
        statistics.fmean(week.gone for week in whole) if whole else None,
        _days(kaplan_meier(one.stay for one in tracks), least),
        _cuts(offered, least),
    )


def quartiles(prices: Sequence[float]) -> Quartiles:
    """With values between two flats where a quartile falls between them."""
    return Quartiles(*np.quantile(np.asarray(prices), (0.25, 0.5, 0.75)).tolist())


def _prices(snapshots: Sequence[Snapshot]) -> list[float]:
    return [one.eur_sqm for one in snapshots if one.eur_sqm is not None]


def _weeks(tracks: Sequence[Track], began: float, least: int) -> Iterator[Week]:
    new, gone = Counter(one.new_in for one in tracks), Counter(one.gone_in for one in tracks)
    for number, span in enumerate(tracks[0].spans):
        if span.complete and span.end <= began:
            continue
        there = [one.snapshots[number] for one in tracks if one.snapshots[number].there]
        prices = _prices(there)
        median = statistics.median(prices) if len(prices) >= least else None
        watched = None if span.start < began else new[number]
        yield Week(span.start, span.complete, len(there), len(prices), median, watched, gone[number])


def _change_percent(weeks: Sequence[Week]) -> float | None:
    told = [week.median_eur_sqm for week in weeks if week.median_eur_sqm is not None]
    return (told[-1] / told[0] - 1) * 100 if len(told) > 1 else None


def _days(curve: Curve, least: int) -> DaysOnMarket:
    if curve.flats < least:
        return DaysOnMarket(curve.flats, curve.gone, None, None)
    still = {days: curve.after(days) for days in STILL_THERE_DAYS}
    return DaysOnMarket(curve.flats, curve.gone, curve.median(), still)


def _cuts(offered: Sequence[Track], least: int) -> Cuts:
    cut = [one for one in offered if one.cuts]
    if len(offered) < least:
        return Cuts(len(cut), None, None)
    sizes = [size for one in cut for size in one.cuts]
    median = statistics.median(sizes) * 100 if sizes else None
    return Cuts(len(cut), len(cut) / len(offered), median)
