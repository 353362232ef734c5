"""Scores as tables for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from sale_sofia.commands.crawl_tables import number
from sale_sofia.commands.tables import plain_table
from sale_sofia.insights.explaining import Language, name_of

View = Mapping[str, Any]
_UNKNOWN = "?"
_STYLES = {"pass": "green", "fail": "red", "unknown": "yellow"}
_SIGNS = {"pass": "+", "fail": "–", "unknown": "?"}
"""A sign beside each colour, for those who do not see it."""


def ranking_table(profile: str, lines: Sequence[View], language: Language) -> Table:
    """A line for each flat, the best first."""
    numbers = ("rooms", "m²", "floor", "€", "€/m²", "score", "known", "points")
    table = plain_table(f"Scores for {profile}", ("id", "neighbourhood"), numbers, "conditions")
    for line in lines:
        facts = (line["rooms"], line["area_sqm"], line["floor"], line["price_eur"], line["price_per_sqm_eur"])
        table.add_row(
            str(line["property_id"]),
            line["neighbourhood"] or _UNKNOWN,
            *map(number, facts),
            *_score_cells(line),
            _conditions(line, language),
        )
    return table


def _score_cells(view: View) -> tuple[str, str, str]:
    return _worth(view["value"]), f"{view['known']:.0%}", f"{view['points']:.2f}"


def _worth(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.1f}"


def _conditions(line: View, language: Language) -> Text:
    told = Text(f"{_SIGNS[line['verdict']]} {name_of(line['verdict'], language)}", _STYLES[line["verdict"]])
    for state in ("failed", "unknown"):
        if line[state]:
            names = ", ".join(name_of(name, language) for name in line[state])
            told.append(f"; {_SIGNS['fail' if state == 'failed' else 'unknown']} {names}", "default")
    return told


def explanation_parts(view: View, language: Language) -> Iterator[Table | Text]:
    """One flat: its score fact by fact, its deal breakers, its costs."""
    known = f"{view['known']:.0%} known, {view['points']:.2f} points"
    yield Text(f"Property {view['property_id']}: {_worth(view['value'])} of 5, {known}")
    yield _criteria_table(view["criteria"])
    yield _breakers_table(view["breakers"], language)
    if view["costs"]:
        yield _costs_table(view["costs"])


def _criteria_table(criteria: Sequence[View]) -> Table:
    table = plain_table("Criteria", ("criterion",), ("weight", "worth", "known", "points"), "why")
    for one in criteria:
        table.add_row(one["name"], f"{one['weight']:.0%}", *_score_cells(one), "", style="bold")
        for part in one["parts"]:
            table.add_row("", "", _worth(part["value"]), "", f"{part['points']:.2f}", part["why"])
    return table


def _breakers_table(breakers: Sequence[View], language: Language) -> Table:
    table = plain_table("Conditions", ("condition", "state"), (), "why")
    for one in breakers:
        state = Text(f"{_SIGNS[one['state']]} {name_of(one['state'], language)}", _STYLES[one["state"]])
        quote = f" – “{one['quote']}”" if one["quote"] else ""
        table.add_row(one["name"], state, one["why"] + quote)
    return table


def _costs_table(costs: Sequence[View]) -> Table:
    table = plain_table("Costs", ("item",), ("from €", "to €"))
    for one in costs:
        most = _UNKNOWN if one["most_eur"] is None else number(one["most_eur"])
        table.add_row(one["name"], number(one["least_eur"]), most)
    return table
