"""The fair price of a flat: an interval, the flats it rests on, and whether what is asked lies below it."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from sqlalchemy import Connection

from sale_sofia.advice import costs
from sale_sofia.advice.valuation.error import fit_and_judge, neighbourhood_of
from sale_sofia.advice.valuation.flats import (
    TooFewFlats,
    asked_eur_sqm,
    kilometres,
    known_flats,
    matrix,
    place_of,
    why_not_valued,
)
from sale_sofia.advice.valuation.model import Band, Current, folds_of, note_model, stored_model, write_file
from sale_sofia.advice.valuation.settings import COMPARABLES_SHOWN, COVERAGE, DISTORTED, JUDGED_FLATS
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.store import resolve
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

# The flats that a fair price rests on most, and in what they differ from the one that is valued.

_SHOWN = (
    "neighbourhood", "rooms", "area_sqm", "floor", "floors_total", "year_built", "act_status", "construction",
    "condition", "furnishing",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparable:
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


def compare(flat: Flat, others: Mapping[int, Flat], weights: Mapping[int, float]) -> list[Comparable]:
    """The others that are still known, those that weigh most first."""
    ordered = sorted(weights.items(), key=lambda one: (-one[1], one[0]))
    return [_compared(flat, others[key], weight) for key, weight in ordered if key in others]


def _compared(flat: Flat, other: Flat, weight: float) -> Comparable:
    here, there = place_of(flat), place_of(other)
    far = kilometres(here, there) if here and there else None
    return Comparable(other, weight, far, tuple(_why(flat, other)))


def _why(flat: Flat, other: Flat) -> Iterator[str]:
    if flat.neighbourhood == other.neighbourhood:
        yield "same neighbourhood"
    if flat.area_sqm and other.area_sqm:
        yield _differs(other.area_sqm - flat.area_sqm, "m²", ("larger", "smaller"), "same area")
    if flat.floor is not None and other.floor is not None:
        yield _differs(other.floor - flat.floor, "floor", ("higher", "lower"), "same floor")
    if flat.year_built and other.year_built:
        yield _differs(other.year_built - flat.year_built, "year", ("newer", "older"), "same year")
    for name in ("construction", "condition", "act_status"):
        if own := getattr(flat, name):
            told = getattr(other, name)
            yield f"same {_word(name)}" if own == told else f"{_word(name)} {told or '?'}"


def _differs(by: float, unit: str, words: tuple[str, str], alike: str) -> str:
    several = "" if unit == "m²" or abs(by) == 1 else "s"
    return f"{round(abs(by), 1):g} {unit}{several} {words[by < 0]}" if round(by, 1) else alike


def _word(name: str) -> str:
    return name.removesuffix("_status")


Verdict = Literal["below", "within", "above", "unknown"]
BASIS: Final = "asking prices, de-duplicated, VAT included"
_HOURS_PER_DAY: Final = 24


@dataclass(frozen=True, slots=True)
class Valuation:
    """What a flat should cost by what is asked for others. EUR for each m², VAT included."""

    flat: Flat
    fair: Band | None
    verdict: Verdict
    explanation: str
    comparables: tuple[Comparable, ...] = ()
    rests_on: int = 0
    """How many flats have a part in the fair price."""
    current: Current | None = None
    few: TooFewFlats | None = None
    """Where there are too few flats to tell a fair price from."""

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        asked = costs.price_band(self.flat)
        return {
            "property": self.flat.property_id,
            "basis": BASIS,
            "asked": {
                "price_eur": self.flat.price_eur,
                "vat": self.flat.vat,
                "with_vat_eur": asked._asdict() if asked else None,
                "area_sqm": self.flat.area_sqm,
            },
            "fair_eur": None if self.fair is None else self._whole_price(self.fair),
            "fair_eur_sqm": None if self.fair is None else _rounded(self.fair),
            "verdict": self.verdict,
            "explanation": self.explanation,
            "rests_on": self.rests_on,
            "comparables": [one.as_json() for one in self.comparables],
            "model": self.current and {"made_at": self.current.made_at, **_worth(self.current.report)},
        }

    def _whole_price(self, fair: Band) -> dict[str, int]:
        return _rounded(Band(*(value * (self.flat.area_sqm or 0.0) for value in fair)))


def value_property(
    database: Database, settings: Settings, property_id: int, *, refit: bool = False
) -> Valuation:
    """Value one property; where no fair price can be told, the explanation says why.

    Raises:
        UnknownProperty: no property ever had this id.
    """
    (flat,) = _flats(database, [database.run_read(partial(resolve, property_id=property_id))]).values()
    if reason := why_not_valued(flat):
        return Valuation(flat, None, "unknown", f"no fair price: {reason}")
    try:
        current = current_model(database, settings, refit=refit)
    except TooFewFlats as few:
        return Valuation(flat, None, "unknown", f"no fair price: {few}", few=few)
    return value_flat(database, flat, current)


def value_flat(database: Database, flat: Flat, current: Current) -> Valuation:
    """Value a flat of which a fair price can be told."""
    ((fair, weights),) = current.model.values(folds_of([flat.property_id]), matrix([flat]))
    heaviest = np.argsort(-weights, kind="stable")[:COMPARABLES_SHOWN]
    shares = {int(current.model.ids[place]): float(weights[place]) for place in heaviest if weights[place]}
    verdict, explanation = _judged_here(flat, fair, current)
    return Valuation(
        flat,
        fair,
        verdict,
        explanation,
        tuple(compare(flat, _flats(database, list(shares)), shares)),
        int(np.count_nonzero(weights)),
        current,
    )


def current_model(database: Database, settings: Settings, *, refit: bool = False) -> Current:
    """The stored model, or one that is fitted now, judged and stored.

    Raises:
        TooFewFlats: there are fewer flats than VALUATION_LEAST_FLATS.
    """
    since = time.time() - settings.valuation_model_hours * SECONDS_PER_HOUR
    work = partial(
        stored_model,
        data_dir=settings.data_dir,
        made_since=since,
        least_flats=settings.valuation_least_flats,
    )
    found = None if refit else database.run_read(work)
    return found or _fitted(database, settings)


def judge(flat: Flat, fair: Band) -> tuple[Verdict, str]:
    """Where the asked price lies, and why that is said; an unsure VAT leaves it unsure."""
    asked = costs.price_band(flat)
    if asked is None or not flat.area_sqm:
        return "unknown", "no price is asked"
    if traps := DISTORTED.intersection(flat.traps):
        return "unknown", f"what is asked is not the price of the flat: {flat.traps[min(traps)].quote}"
    least, most = asked.least / flat.area_sqm, (asked.most or asked.least) / flat.area_sqm
    first, last = _side(least, fair), _side(most, fair)
    if first != last:
        return "unknown", f"{first} the interval if the price includes VAT, {last} if not; no advert says"
    return first, _sentence(first, most if first == "below" else least, fair)


def _judged_here(flat: Flat, fair: Band, current: Current) -> tuple[Verdict, str]:
    """No verdict where too little is known of the neighbourhood: there intervals may hold far fewer flats."""
    near = current.report["by_neighbourhood"].get(flat.neighbourhood, 0)
    if near < JUDGED_FLATS:
        return "unknown", f"flats known of its neighbourhood: {near}, needed to judge: {JUDGED_FLATS}"
    return judge(flat, fair)


def _side(eur_sqm: float, fair: Band) -> Verdict:
    if eur_sqm < fair.low:
        return "below"
    return "above" if eur_sqm > fair.high else "within"


def _sentence(verdict: Verdict, eur_sqm: float, fair: Band) -> str:
    away = f"{abs(eur_sqm / fair.middle - 1):.0%} {'under' if eur_sqm < fair.middle else 'over'} the middle"
    share = f"{COVERAGE:.0%} of such flats"
    match verdict:
        case "below":
            return f"below the interval in which {share} are asked for, {away}: look for the reason"
        case "above":
            return f"above the interval in which {share} are asked for, {away}"
        case _:
            return f"inside the interval in which {share} are asked for, {away}"


def _fitted(database: Database, settings: Settings) -> Current:
    now = time.time()
    since = now - settings.valuation_days * _HOURS_PER_DAY * SECONDS_PER_HOUR
    flats = database.run_read(
        lambda connection: known_flats(
            read_flats(connection, photos=0), seen_since=since, most=settings.valuation_most_flats
        )
    )
    return _store(database, settings, enough(flats, settings), now)


def enough(flats: list[Flat], settings: Settings) -> list[Flat]:
    """These flats, if a fair price can be told from so many.

    Raises:
        TooFewFlats: it cannot.
    """
    if len(flats) < settings.valuation_least_flats:
        raise TooFewFlats(len(flats), settings.valuation_least_flats)
    return flats


def _store(database: Database, settings: Settings, flats: list[Flat], now: float) -> Current:
    judged = fit_and_judge(flats)
    near = Counter(neighbourhood_of(flat) for flat in flats)
    report = {"flats": len(flats), **judged.as_json(), "by_neighbourhood": dict(near)}
    digest = write_file(settings.data_dir, judged.model)
    database.run_write(partial(note_model, digest=digest, made_at=now, flats=len(flats), report=report))
    return Current(judged.model, now, report)


def _flats(database: Database, ids: list[int]) -> Mapping[int, Flat]:
    def work(connection: Connection) -> dict[int, Flat]:
        return {flat.property_id: flat for flat in read_flats(connection, ids, photos=0)}

    return database.run_read(work)


def _worth(report: Mapping[str, Any]) -> dict[str, Any]:
    return {name: told for name, told in report.items() if name != "by_neighbourhood"}


def _rounded(band: Band) -> dict[str, int]:
    return {name: round(value) for name, value in band._asdict().items()}
