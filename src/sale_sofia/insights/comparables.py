"""The flats that a fair price rests on most, and in what they differ from the one that is valued."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sale_sofia.insights.flats import Flat
from sale_sofia.insights.valuation_features import kilometres, place_of
from sale_sofia.insights.valuation_flats import asked_eur_sqm

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
