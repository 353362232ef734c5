"""Compare: up to six flats side by side, differences first, and their order under other weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sale_sofia.advice.costs import Costs, loan
from sale_sofia.advice.scoring.profile import OwnPlace
from sale_sofia.advice.scoring.scoring import Score, Scorer, ranking
from sale_sofia.advice.valuation.model import FairBand
from sale_sofia.advice.valuation.valuation import Verdict
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, WebPage
from sale_sofia.app.deck import Deck, open_deck
from sale_sofia.app.facts import FACTS, asked, fact, value_of
from sale_sofia.app.pages.flat import band, own_costs, own_percent
from sale_sofia.app.settings import (
    COMPARED_LEAST,
    COMPARED_MOST,
    LOAN_PERCENT,
    LOAN_YEARS,
    WEIGHT_DIGITS,
)
from sale_sofia.app.visit import TICKED, PageVisit, Values, numbers, whole_number
from sale_sofia.app.words import say
from sale_sofia.buyer.evaluations import evaluations
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import asked_eur_sqm, price_band, vat_due
from sale_sofia.flats.store import UnknownProperty

Number = Callable[[Flat], float | None]


class ComparedLine(NamedTuple):
    """A line of the comparison: its name, the text of a flat's value, and which value is better."""

    name: str
    text: Callable[[Flat], str]
    better: Number | None = None
    """Higher is better; None where no value is better by itself."""
    place: str = ""
    """The name of one of the buyer's own places."""


def page(visit: PageVisit) -> WebPage:
    """The page."""
    deck = open_deck(visit)
    ids = numbers(visit.param("ids") or "") if "ids" in visit.request.query_params else visit.ticked
    flats = deck.flats(ids)[:COMPARED_MOST]
    rows = [row for line in lines(deck, flats, deck.scores(flats)) if (row := _row(line, flats))]
    rows.sort(key=lambda row: not row["differs"])
    only = visit.param("only") == "true"
    # Weights of the address, else of the profile.
    weights = {}
    for name, weight in deck.profile.weights.model_dump().items():
        tried = whole_number(visit.param(f"weight_{name}") or "", below=10**WEIGHT_DIGITS)
        weights[name] = round(weight) if tried is None else tried
    values: Values = {
        "cards": deck.cards(flats),
        "few": len(flats) < COMPARED_LEAST,
        "limits": {"least": COMPARED_LEAST, "most": COMPARED_MOST},
        "rows": [row for row in rows if row["differs"] or not only],
        "only": only,
        "ids": ",".join(str(flat.property_id) for flat in flats),
        "weights": weights,
        "ranked": _ranked(deck, flats, weights),
        "wanted": [
            card for card in _suggestions(deck) if card.id not in {flat.property_id for flat in flats}
        ],
    }
    return WebPage(
        "compare.html", say("page.compare"), values, lambda: [card.as_json() for card in deck.cards(flats)]
    )


def tick(visit: PageVisit) -> Done:
    """Add a flat to the comparison, or remove it."""
    ids = numbers(visit.form.get("id", ""))
    if not ids:
        return Done(say("property.unknown", id=fmt.UNKNOWN), wrong=True)
    (number, *_), ticked = ids, visit.ticked
    if number in ticked:
        ticked = [other for other in ticked if other != number]
    elif not open_deck(visit).flats([number]):
        raise UnknownProperty(number)
    elif len(ticked) == COMPARED_MOST:
        return Done(say("web.compared_most", most=COMPARED_MOST), wrong=True)
    else:
        ticked = [*ticked, number]
    cookie = ",".join(map(str, ticked))
    message = say("web.ticked", n=fmt.number(len(ticked)))
    return Done(message, data={"id": number, "ticked": ticked}, cookies={TICKED: cookie})


def _suggestions(deck: Deck) -> Sequence[Any]:
    """Flats that the buyer is interested in, to add; the best first."""
    interesting = {"shortlist", "viewing", "offer", "contacted"}
    ranks = deck.ranks([number for number, status in deck.statuses.items() if status in interesting])
    return deck.cards(deck.flats(sorted(ranks, key=ranks.__getitem__)))


def _lower(value: Number) -> Number:
    return lambda flat: None if (number := value(flat)) is None else -number


_BETTER: Final[Mapping[str, Number]] = {
    "area_sqm": lambda flat: flat.area_sqm,
    "area_net_sqm": lambda flat: flat.area_net_sqm,
    "rooms": lambda flat: flat.rooms,
    "bedrooms": lambda flat: flat.bedrooms,
    "bathrooms": lambda flat: flat.bathrooms,
    "year_built": lambda flat: flat.year_built,
    "balconies": lambda flat: flat.balconies,
    "metro_walk": _lower(lambda flat: flat.metro_walk.most if flat.metro_walk else None),
    "centre_travel": _lower(lambda flat: flat.centre_travel.most if flat.centre_travel else None),
    "school": _lower(lambda flat: flat.nearby.school.most if flat.nearby.school else None),
    "shop": _lower(lambda flat: flat.nearby.shop.most if flat.nearby.shop else None),
    "stop": _lower(lambda flat: flat.nearby.stop.most if flat.nearby.stop else None),
    "metro_distance_m": _lower(lambda flat: flat.metro_distance_m),
    "metro_minutes": _lower(lambda flat: flat.metro_minutes),
}


def lines(deck: Deck, flats: Sequence[Flat], scores: Mapping[int, Score]) -> tuple[ComparedLine, ...]:
    """All lines, in the order of the table."""
    fair = deck.visit.state.verdicts(flats)
    said = deck.visit.database.run_read(evaluations)

    def costs(flat: Flat) -> Costs | None:
        evaluation = said.get(flat.property_id)
        return own_costs(flat, deck.profile, evaluation.renovation_eur if evaluation else None)

    price = _lower(lambda flat: paid.least if (paid := price_band(flat)) else None)
    measured = (
        ComparedLine("compare.price", _price, price),
        ComparedLine(
            "compare.eur_sqm", lambda flat: fmt.euro_per_sqm(asked_eur_sqm(flat)), _lower(asked_eur_sqm)
        ),
        ComparedLine("costs.total", lambda flat: _total(costs(flat))[0], lambda flat: _total(costs(flat))[1]),
        ComparedLine("loan.monthly", lambda flat: _monthly(costs(flat))),
        ComparedLine("property.fair", lambda flat: _fair(fair, flat)[0], lambda flat: _fair(fair, flat)[1]),
        ComparedLine(
            "property.score", lambda flat: _points(scores, flat)[0], lambda flat: _points(scores, flat)[1]
        ),
        ComparedLine("compare.days", lambda flat: fmt.days(flat.days_on_market(deck.now))),
        ComparedLine("compare.portals", lambda flat: ", ".join(flat.portals)),
    )
    return (*measured, *(_fact_line(name) for name in FACTS), *map(_place_line, deck.profile.places))


def _price(flat: Flat) -> str:
    """As printed, and whether VAT comes on top."""
    return f"{asked(flat)} {say('card.vat') if vat_due(flat) else ''}".strip()


def _fact_line(name: str) -> ComparedLine:
    return ComparedLine(f"fact.{name}", lambda flat: fact(name, value_of(name, flat)), _BETTER.get(name))


def _place_line(own: OwnPlace) -> ComparedLine:
    return ComparedLine(
        "fact.own_place",
        lambda flat: fact("centre_travel", flat.travel_to(own.place)),
        _lower(lambda flat: travel.most if (travel := flat.travel_to(own.place)) else None),
        own.name,
    )


def _total(costs: Costs | None) -> tuple[str, float | None]:
    return (fmt.UNKNOWN, None) if costs is None else (band(costs.total), -costs.total.least)


def _monthly(costs: Costs | None) -> str:
    if costs is None:
        return fmt.UNKNOWN
    borrowed = costs.total.least * (100 - own_percent(costs)) / 100
    return fmt.euro(loan(borrowed, LOAN_PERCENT, LOAN_YEARS).monthly)


def _fair(verdicts: Mapping[int, tuple[Verdict, FairBand]], flat: Flat) -> tuple[str, float | None]:
    """The fair price from least to most, and how far below its middle the flat is offered."""
    eur_sqm, judged = asked_eur_sqm(flat), verdicts.get(flat.property_id)
    if judged is None or eur_sqm is None or flat.area_sqm is None:
        return fmt.UNKNOWN, None
    fair = judged[1]
    sums = [fmt.euro(edge * flat.area_sqm) for edge in (fair.low, fair.high)]
    return " – ".join(sums), -eur_sqm / fair.middle


def _points(scores: Mapping[int, Score], flat: Flat) -> tuple[str, float | None]:
    score = scores.get(flat.property_id)
    if score is None:
        return fmt.UNKNOWN, None
    counts = say("card.points", points=fmt.score(score.points))
    return f"{fmt.score(score.value)} ({counts})", score.points


def _row(line: ComparedLine, flats: Sequence[Flat]) -> Values | None:
    """The line of all flats; None where it is unknown for each."""
    texts = [line.text(flat) for flat in flats]
    if all(text == fmt.UNKNOWN for text in texts):
        return None
    best = _best(line, flats)
    cells = [{"text": text, "best": index in best} for index, text in enumerate(texts)]
    return {"name": say(line.name, name=line.place), "cells": cells, "differs": len(set(texts)) > 1}


def _best(line: ComparedLine, flats: Sequence[Flat]) -> set[int]:
    """The indexes of the best flats in this line; empty where all are alike or unknown."""
    values = [line.better(flat) if line.better else None for flat in flats]
    comparable = [value for value in values if value is not None]
    if len(set(comparable)) < COMPARED_LEAST:
        return set()
    return {index for index, value in enumerate(values) if value == max(comparable)}


def _ranked(deck: Deck, flats: Sequence[Flat], weights: Mapping[str, int]) -> list[Values]:
    """The flats in the order of these weights; empty where no weight is above zero."""
    if not any(weights.values()) or not flats:
        return []
    profile = deck.profile.model_copy(
        update={"weights": deck.profile.weights.model_copy(update=dict(weights))}
    )
    scorer = Scorer(profile)
    scores: list[tuple[Flat, Score]] = [
        (seen.flat, scorer.score(seen)) for seen in deck.looks(flats) if scorer.is_candidate(seen.flat)
    ]
    scores.sort(key=lambda pair: ranking(pair[1]))
    return [
        {
            "id": flat.property_id,
            "text": say("compare.ranked", points=fmt.score(score.points), value=fmt.score(score.value)),
        }
        for flat, score in scores
    ]
