"""The fair price of a flat: an interval, the flats it rests on, and where the asking price lies."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from sqlalchemy import Connection, select

from sale_sofia.advice.settings import COMPARABLES_SHOWN, COVERAGE, DISTORTED, JUDGED_FLATS
from sale_sofia.advice.valuation.flats import (
    TooFewFlats,
    comparable_flats,
    matrix,
    place_of,
    why_not_valued,
)
from sale_sofia.advice.valuation.model import (
    Current,
    FairBand,
    fit_and_judge,
    folds_of,
    neighbourhood_of,
    note_model,
    stored_model,
    write_file,
)
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import asked_eur_sqm, price_band
from sale_sofia.flats.projection import load_flats, refresh_flats
from sale_sofia.flats.rows import find_flat, read_flats
from sale_sofia.geography.shapes import metres
from sale_sofia.history.market_events import WITHDRAWN
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import compared
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

# The flats that a fair price rests on most, and how they differ from the flat that is valued.

_SHOWN = (
    "neighbourhood", "rooms", "area_sqm", "floor", "floors_total", "year_built", "act_status", "construction",
    "condition", "furnishing",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ComparableFlat:
    """A flat as it is now, beside the one that is valued."""

    flat: Flat
    weight: float
    """Its share in the fair price."""
    kilometres: float | None
    """Between the two places, as exactly as they are known."""
    why: tuple[str, ...]
    """What is alike and what is not."""

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        flat, eur_sqm = self.flat, asked_eur_sqm(self.flat)
        return {
            "property": flat.property_id,
            "price_eur": flat.price_eur,
            "vat": flat.vat,
            "eur_sqm": None if eur_sqm is None else round(eur_sqm),
            **{name: getattr(flat, name) for name in _SHOWN},
            "offered": flat.offered,
            "kilometres": None if self.kilometres is None else round(self.kilometres, 1),
            "weight": round(self.weight, 4),
            "why": list(self.why),
        }


def compare(flat: Flat, others: Mapping[int, Flat], weights: Mapping[int, float]) -> list[ComparableFlat]:
    """The others that still exist, the heaviest first."""
    here = place_of(flat)
    found = []
    for key, weight in sorted(weights.items(), key=lambda pair: (-pair[1], pair[0])):
        if other := others.get(key):
            there = place_of(other)
            far = metres(here, there) / 1000 if here and there else None
            found.append(ComparableFlat(other, weight, far, tuple(_why(flat, other))))
    return found


def _why(flat: Flat, other: Flat) -> Iterator[str]:
    if flat.neighbourhood and flat.neighbourhood == other.neighbourhood:
        yield "same neighbourhood"
    if flat.area_sqm and other.area_sqm:
        yield _differs(other.area_sqm - flat.area_sqm, "m²", ("larger", "smaller"), "same area")
    if flat.floor is not None and other.floor is not None:
        yield _differs(other.floor - flat.floor, "floor", ("higher", "lower"), "same floor")
    if flat.year_built and other.year_built:
        yield _differs(other.year_built - flat.year_built, "year", ("newer", "older"), "same year")
    for name in ("construction", "condition", "act_status"):
        own, its, word = getattr(flat, name), getattr(other, name), name.removesuffix("_status")
        if own:
            yield f"same {word}" if compared(name, own) == compared(name, its) else f"{word} {its or '?'}"


def _differs(by: float, unit: str, words: tuple[str, str], alike: str) -> str:
    several = "" if unit == "m²" or abs(by) == 1 else "s"
    return f"{round(abs(by), 1):g} {unit}{several} {words[by < 0]}" if round(by, 1) else alike


Verdict = Literal["below", "within", "above", "unknown"]
BASIS: Final = "asking prices, de-duplicated, VAT included"


@dataclass(frozen=True, slots=True)
class Valuation:
    """What a flat should cost by the asking prices of others. EUR per m², VAT included."""

    flat: Flat
    fair: FairBand | None
    verdict: Verdict
    explanation: str
    comparables: tuple[ComparableFlat, ...] = ()
    rests_on: int = 0
    """How many flats have a part in the fair price."""
    current: Current | None = None
    few: TooFewFlats | None = None
    """Set where there are too few flats for a fair price."""

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        flat, price, fair, area = self.flat, price_band(self.flat), self.fair, self.flat.area_sqm or 0.0
        return {
            "property": flat.property_id,
            "basis": BASIS,
            "asked": {
                "price_eur": flat.price_eur,
                "vat": flat.vat,
                "with_vat_eur": price._asdict() if price else None,
                "area_sqm": flat.area_sqm,
            },
            "fair_eur": fair and {name: round(value * area) for name, value in fair._asdict().items()},
            "fair_eur_sqm": fair and {name: round(value) for name, value in fair._asdict().items()},
            "verdict": self.verdict,
            "explanation": self.explanation,
            "rests_on": self.rests_on,
            "comparables": [comparable.as_json() for comparable in self.comparables],
            "model": self.current
            and {
                "made_at": self.current.made_at,
                **{name: value for name, value in self.current.report.items() if name != "by_neighbourhood"},
            },
        }


def value_property(
    database: Database, settings: Settings, property_id: int, *, refit: bool = False
) -> Valuation:
    """Value one property, or an advert that was not matched yet, by itself.

    Where there can be no fair price, the explanation says why.

    Raises:
        UnknownProperty: no property ever had this id.
    """
    flat = database.run_read(partial(find_flat, number=property_id))
    reason, few, current = why_not_valued(flat), None, None
    if reason is None or refit:  # it is fitted again as asked, also where this flat has no fair price
        try:
            current = current_model(database, settings, refit=refit)
        except TooFewFlats as error:
            few = error
    if reason:
        return Valuation(flat, None, "unknown", f"no fair price: {reason}")
    if current is None:
        return Valuation(flat, None, "unknown", f"no fair price: {few}", few=few)
    return value_flat(database, flat, current)


def value_flat(database: Database, flat: Flat, current: Current) -> Valuation:
    """Value a flat for which there can be a fair price."""
    ((fair, weights),) = current.model.values(folds_of([flat.property_id]), matrix([flat]))
    heaviest = np.argsort(-weights, kind="stable")[:COMPARABLES_SHOWN]
    shares = {int(current.model.ids[place]): float(weights[place]) for place in heaviest if weights[place]}
    verdict, explanation = _judged_there(flat, fair, current)
    comparables = compare(flat, _flats(database, list(shares)), shares)
    rests_on = int(np.count_nonzero(weights))
    return Valuation(flat, fair, verdict, explanation, tuple(comparables), rests_on, current)


def _judged_there(flat: Flat, fair: FairBand, current: Current) -> tuple[Verdict, str]:
    """As `judge`, but unknown where the neighbourhood has few flats: intervals may be far off there."""
    near = current.report["by_neighbourhood"].get(flat.neighbourhood, 0)
    if near < JUDGED_FLATS:
        return "unknown", f"flats known of its neighbourhood: {near}, needed to judge: {JUDGED_FLATS}"
    return judge(flat, fair)


def verdicts(flats: Sequence[Flat], current: Current) -> dict[int, tuple[Verdict, FairBand]]:
    """By property, for the flats that can be judged: the verdict of `value_flat`, and the fair band."""
    valued = [flat for flat in flats if not why_not_valued(flat)]
    if not valued:
        return {}
    ids = [flat.property_id for flat in valued]
    bands = (fair for fair, _ in current.model.values(folds_of(ids), matrix(valued)))
    judged = {
        flat.property_id: (_judged_there(flat, fair, current)[0], fair)
        for flat, fair in zip(valued, bands, strict=True)
    }
    return {number: verdict for number, verdict in judged.items() if verdict[0] != "unknown"}


def current_model(database: Database, settings: Settings, *, refit: bool = False) -> Current:
    """The stored model, or one that is fitted now, judged and stored.

    Raises:
        TooFewFlats: there are fewer flats than VALUATION_LEAST_FLATS.
    """
    now = time.time()
    if not refit:
        work = partial(
            stored_model,
            data_dir=settings.data_dir,
            made_since=now - settings.valuation_model_hours * SECONDS_PER_HOUR,
            least_flats=settings.valuation_least_flats,
        )
        if found := database.run_read(work):
            return found
    since = now - timedelta(days=settings.valuation_days).total_seconds()
    refresh_flats(database)
    flats = database.run_read(
        lambda connection: comparable_flats(
            _real_flats(connection), seen_since=since, most=settings.valuation_most_flats
        )
    )
    judged = fit_and_judge(enough(flats, settings))
    near = Counter(neighbourhood_of(flat) for flat in flats)
    report = {"flats": len(flats), **judged.as_json(), "by_neighbourhood": dict(near)}
    digest = write_file(settings.data_dir, judged.model)
    database.run_write(partial(note_model, digest=digest, made_at=now, flats=len(flats), report=report))
    return Current(judged.model, now, report)


def _real_flats(connection: Connection) -> Iterator[Flat]:
    """Every flat but those of adverts that were withdrawn: they turned out to be another flat's."""
    withdrawn = set(connection.scalars(select(listings.c.id).where(listings.c.closed_reason == WITHDRAWN)))
    for flat in load_flats(connection):
        if not withdrawn.issuperset(advert.listing_id for advert in flat.adverts):
            yield flat


def judge(flat: Flat, fair: FairBand) -> tuple[Verdict, str]:
    """Where the asking price lies, and why; unknown where that depends on an unknown VAT."""
    price = price_band(flat)
    if price is None or not flat.area_sqm:
        return "unknown", "no price is asked"
    if traps := DISTORTED.intersection(flat.traps):
        return "unknown", f"what is asked is not the price of the flat: {flat.traps[min(traps)].quote}"
    least, most = price.least / flat.area_sqm, (price.most or price.least) / flat.area_sqm
    first, last = _side(least, fair), _side(most, fair)
    if first != last:
        return "unknown", f"{first} the interval if the price includes VAT, {last} if not; no advert says"
    return first, _sentence(first, most if first == "below" else least, fair)


def _side(eur_sqm: float, fair: FairBand) -> Verdict:
    if eur_sqm < fair.low:
        return "below"
    return "above" if eur_sqm > fair.high else "within"


def _sentence(verdict: Verdict, eur_sqm: float, fair: FairBand) -> str:
    where = "inside" if verdict == "within" else verdict
    side = "under" if eur_sqm < fair.middle else "over"
    reason = ": look for the reason" if verdict == "below" else ""
    return (
        f"{where} the interval in which {COVERAGE:.0%} of such flats are asked for, "
        f"{abs(eur_sqm / fair.middle - 1):.0%} {side} the middle{reason}"
    )


def enough(flats: list[Flat], settings: Settings) -> list[Flat]:
    """These flats, if they are enough for a fair price.

    Raises:
        TooFewFlats: they are not.
    """
    if len(flats) < settings.valuation_least_flats:
        raise TooFewFlats(len(flats), settings.valuation_least_flats)
    return flats


def _flats(database: Database, ids: list[int]) -> Mapping[int, Flat]:
    found = database.run_read(lambda connection: list(read_flats(connection, ids, photos=0)))
    return {flat.property_id: flat for flat in found}
