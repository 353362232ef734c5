"""A score in words, English or Bulgarian. The sentences are in words.yaml."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, Final, Literal

from sale_sofia.advice.costs import all_costs
from sale_sofia.advice.scoring.judging import BreakerFinding, Criterion, CriterionPart, State
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import Score, Scorer, look
from sale_sofia.advice.scoring.yardsticks import Cell, Yardstick
from sale_sofia.flats.flat import Flat
from sale_sofia.settings.files import read_yaml

Language = Literal["en", "bg"]
_COST_NAMES: Final[Mapping[str, Mapping[Language, str]]] = {
    "price": {"en": "price with VAT", "bg": "цена с ДДС"},
    "state": {"en": "transfer tax, notary, entry of the deed", "bg": "местен данък, нотариус, вписване"},
    "commission": {"en": "commission with VAT", "bg": "комисиона с ДДС"},
    "renovation": {"en": "renovation", "bg": "ремонт"},
    "total": {"en": "in all", "bg": "общо"},
}


@cache
def _words() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    text = files("sale_sofia.advice.scoring").joinpath("words.yaml").read_text("utf-8")
    words: Mapping[str, Mapping[str, Mapping[str, str]]] = read_yaml(text)
    return words


def name_of(key: str, language: Language) -> str:
    """The name of a criterion, a breaker or a state."""
    return _words()["names"][key][language]


def sentence(judged: CriterionPart | BreakerFinding, language: Language) -> str:
    """The reason for the worth of a part or the state of a breaker, and whether only a text says so."""
    text = _Filling(language).format(_words()["says"][judged.say][language], **judged.values)
    only_text = isinstance(judged, BreakerFinding) and judged.only_text
    return f"{text} ({_words()['marks']['only_text'][language]})" if only_text else text


def explain_flat(
    flat: Flat, profile: Profile, yardsticks: Mapping[Cell, Yardstick], language: Language
) -> dict[str, Any]:
    """The whole score of a flat, with its costs, measured by these stored yardsticks."""
    seen = look(flat, lambda cell: yardsticks.get(cell, Yardstick()))
    explained = explain(Scorer(profile).score(seen), profile, language)
    costs = all_costs(flat, profile)
    items: list[dict[str, Any]] = [
        {"item": item, "name": _COST_NAMES[item][language], "least_eur": band.least, "most_eur": band.most}
        for item, band in (costs._asdict() if costs else {}).items()
    ]
    return {**explained, "offered": flat.offered, "costs": items}


def explain(score: Score, profile: Profile, language: Language) -> dict[str, Any]:
    """The whole score: what each fact adds to the points, and what each breaker found."""
    shares = profile.shares()
    return {
        "property_id": score.property_id,
        "value": score.value,
        "known": score.known,
        "points": score.points,
        "verdict": score.verdict.value,
        "criteria": [_criterion(criterion, shares[criterion.name], language) for criterion in score.criteria],
        "breakers": [
            {
                "breaker": finding.name,
                "name": name_of(finding.name, language),
                "state": finding.state.value,
                "accepted": finding.state is State.UNKNOWN and finding.name in profile.unknown_ok,
                "why": sentence(finding, language),
                "quote": finding.quote,
                "only_text": list(finding.only_text),
            }
            for finding in score.findings
        ],
    }


def _criterion(criterion: Criterion, weight: float, language: Language) -> dict[str, Any]:
    return {
        "criterion": criterion.name,
        "name": name_of(criterion.name, language),
        "weight": weight,
        "value": criterion.value,
        "known": criterion.known,
        "points": (criterion.value or 0.0) * criterion.known * weight,
        "parts": [
            {
                "part": part.name,
                "value": part.value,
                "points": (part.value or 0.0) * part.share * weight,
                "why": sentence(part, language),
            }
            for part in criterion.parts
        ],
    }


class _Filling(Formatter):
    """Fills a sentence: sums, shares, numbers and words as people of that language write them."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - any fact
        """The value in the format that stands after its name."""
        match format_spec:
            case "word":
                return self._word(value)
            case "tier":
                return self._word(f"tier_{value}")
            case "eur":
                return f"€ {value:,.0f}".replace(",", " ")
            case "share":
                return f"{value:.0%}"
            case "n":
                return "?" if value is None else self._number(value)
            case _:
                return "?" if value is None else str(value)

    def _word(self, value: str | Sequence[str]) -> str:
        if isinstance(value, str):
            return _words()["terms"][value][self._language]
        return ", ".join(map(self._word, value))

    def _number(self, value: float) -> str:
        text = f"{value:.1f}".removesuffix(".0")
        return text.replace(".", ",") if self._language == "bg" else text
