"""Compare: up to six flats side by side, what differs first, and what other weights would make of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sale_sofia.advice.costs import all_costs, loan
from sale_sofia.advice.scoring.profile import OwnPlace, Profile
from sale_sofia.advice.scoring.scoring import Score, Scorer, ranking
from sale_sofia.advice.valuation.flats import asked_eur_sqm
from sale_sofia.advice.valuation.model import FairBand
from sale_sofia.advice.valuation.valuation import Verdict
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.deck import Deck, open_deck
from sale_sofia.app.facts import FACTS, fact, value_of
from sale_sofia.app.pages.flat import band
from sale_sofia.app.settings import (
    COMPARED_LEAST,
    COMPARED_MOST,
    LOAN_OWN_PERCENT,
    LOAN_PERCENT,
    LOAN_YEARS,
    WEIGHT_DIGITS,
)
from sale_sofia.app.visit import TICKED, Values, Visit, numbers
from sale_sofia.app.words import say
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.store import UnknownProperty

Number = Callable[[Flat], float | None]


class Line(NamedTuple):
    """One line of the comparison: its name, how a flat's value is shown, and which value is better."""

    name: str
    text: Callable[[Flat], str]
    better: Number | None = None
    """The higher the better; None where nothing is better by itself."""
    place: str = ""
    """Of a place of the buyer's own, what they call it."""


def page(visit: Visit) -> Page:
    """The page."""
    deck = open_deck(visit)
    asked = numbers(visit.asked("ids") or "") if "ids" in visit.request.query_params else visit.ticked
    flats = deck.flats(asked)[:COMPARED_MOST]
    rows = [row for line in lines(deck, flats, deck.scores(flats)) if (row := _row(line, flats))]
    rows.sort(key=lambda row: not row["differs"])
    only = visit.asked("only") == "true"
    # As the address tries them, else as the profile has them.
    weights = {}
    for name, weight in deck.profile.weights.model_dump().items():
        given = visit.asked(f"weight_{name}") or ""
        is_number = given.isascii() and given.isdigit() and len(given) <= WEIGHT_DIGITS
        weights[name] = int(given) if is_number else round(weight)
    values: Values = {
        "cards": deck.cards(flats),
        "few": len(flats) < COMPARED_LEAST,
        "limits": {"least": COMPARED_LEAST, "most": COMPARED_MOST},
        "rows": [row for row in rows if row["differs"] or not only],
        "only": only,
        "ids": ",".join(str(flat.property_id) for flat in flats),
        "weights": weights,
        "ranked": _ranked(deck, flats, weights),
        "wanted": [one for one in _wanted(deck) if one.id not in {flat.property_id for flat in flats}],
    }
    return Page(
        "compare.html", say("page.compare"), values, lambda: [card.as_json() for card in deck.cards(flats)]
    )


def tick(visit: Visit) -> Done:
    """Put a flat among the compared ones, or take it out."""
    found = numbers(visit.form.get("id", ""))
    if not found:
        return Done(say("property.unknown", id=shown.UNKNOWN), wrong=True)
    (number, *_), ticked = found, visit.ticked
    if number in ticked:
        ticked = [one for one in ticked if one != number]
    elif not open_deck(visit).flats([number]):
        raise UnknownProperty(number)
    elif len(ticked) == COMPARED_MOST:
        return Done(say("web.compared_most", most=COMPARED_MOST), wrong=True)
    else:
        ticked = [*ticked, number]
    cookie = ",".join(map(str, ticked))
    said = say("web.ticked", n=shown.number(len(ticked)))
    return Done(said, data={"id": number, "ticked": ticked}, cookies={TICKED: cookie})


def _wanted(deck: Deck) -> Sequence[Any]:
    """What the buyer is interested in, the best first, to be added."""
    interesting = {"shortlist", "viewing", "offer", "contacted"}
    ranks = deck.ranks([number for number, status in deck.statuses.items() if status in interesting])
    return deck.cards(deck.flats(sorted(ranks, key=ranks.__getitem__)))


def _lower(value: Number) -> Number:
    return lambda flat: None if (found := value(flat)) is None else -found


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


def lines(deck: Deck, flats: Sequence[Flat], scores: Mapping[int, Score]) -> tuple[Line, ...]:
    """All lines, in the order of the table."""
    fair = deck.visit.site.verdicts(flats)
    price, per_sqm = _lower(lambda flat: flat.price_eur), _lower(lambda flat: flat.price_per_sqm_eur)
    measured = (
        Line("compare.price", lambda flat: shown.euro(flat.price_eur), price),
        Line("compare.eur_sqm", lambda flat: shown.euro_per_sqm(flat.price_per_sqm_eur), per_sqm),
        Line(
            "costs.total",
            lambda flat: _total(flat, deck.profile)[0],
            lambda flat: _total(flat, deck.profile)[1],
        ),
        Line("loan.monthly", lambda flat: _monthly(flat, deck.profile)),
        Line("property.fair", lambda flat: _fair(fair, flat)[0], lambda flat: _fair(fair, flat)[1]),
        Line("property.score", lambda flat: _points(scores, flat)[0], lambda flat: _points(scores, flat)[1]),
        Line("compare.days", lambda flat: shown.days(flat.days_on_market(deck.now))),
        Line("compare.portals", lambda flat: ", ".join(flat.portals)),
    )
    return (*measured, *(_fact_line(name) for name in FACTS), *map(_place_line, deck.profile.places))


def _fact_line(name: str) -> Line:
    return Line(f"fact.{name}", lambda flat: fact(name, value_of(name, flat)), _BETTER.get(name))


def _place_line(own: OwnPlace) -> Line:
    return Line(
        "fact.own_place",
        lambda flat: fact("centre_travel", flat.travel_to(own.place)),
        _lower(lambda flat: travel.most if (travel := flat.travel_to(own.place)) else None),
        own.name,
    )


def _total(flat: Flat, profile: Profile) -> tuple[str, float | None]:
    costs = all_costs(flat, profile)
    return (shown.UNKNOWN, None) if costs is None else (band(costs.total), -costs.total.least)


def _monthly(flat: Flat, profile: Profile) -> str:
    costs = all_costs(flat, profile)
    if costs is None:
        return shown.UNKNOWN
    return shown.euro(
        loan(costs.total.least * (100 - LOAN_OWN_PERCENT) / 100, LOAN_PERCENT, LOAN_YEARS).monthly
    )


def _fair(found: Mapping[int, tuple[Verdict, FairBand]], flat: Flat) -> tuple[str, float | None]:
    """From the least to the most that would be fair, and how far below its middle the flat is offered."""
    asked, judged = asked_eur_sqm(flat), found.get(flat.property_id)
    if judged is None or asked is None or flat.area_sqm is None:
        return shown.UNKNOWN, None
    fair = judged[1]
    sums = [shown.euro(one * flat.area_sqm) for one in (fair.low, fair.high)]
    return " – ".join(sums), -asked / fair.middle


def _points(scores: Mapping[int, Score], flat: Flat) -> tuple[str, float | None]:
    score = scores.get(flat.property_id)
    if score is None:
        return shown.UNKNOWN, None
    counts = say("card.points", points=shown.score(score.points))
    return f"{shown.score(score.value)} ({counts})", score.points


def _row(line: Line, flats: Sequence[Flat]) -> Values | None:
    """The line of all flats; None where nobody knows anything."""
    texts = [line.text(flat) for flat in flats]
    if all(text == shown.UNKNOWN for text in texts):
        return None
    best = _best(line, flats)
    cells = [{"text": text, "best": place in best} for place, text in enumerate(texts)]
    return {"name": say(line.name, name=line.place), "cells": cells, "differs": len(set(texts)) > 1}


def _best(line: Line, flats: Sequence[Flat]) -> set[int]:
    """The places of the flats that are better here than some other; none while they are alike or unknown."""
    values = [line.better(flat) if line.better else None for flat in flats]
    known = [value for value in values if value is not None]
    if len(set(known)) < COMPARED_LEAST:
        return set()
    return {place for place, value in enumerate(values) if value == max(known)}


def _ranked(deck: Deck, flats: Sequence[Flat], weights: Mapping[str, int]) -> list[Values]:
    """The flats in the order these weights would make; none where no weight is above zero."""
    if not any(weights.values()) or not flats:
        return []
    profile = deck.profile.model_copy(
        update={"weights": deck.profile.weights.model_copy(update=dict(weights))}
    )
    scorer = Scorer(profile)
    scores: list[tuple[Flat, Score]] = [
        (seen.flat, scorer.score(seen)) for seen in deck.looks(flats) if scorer.is_candidate(seen.flat)
    ]
    scores.sort(key=lambda one: ranking(one[1]))
    return [
        {
            "id": flat.property_id,
            "text": say("compare.ranked", points=shown.score(score.points), value=shown.score(score.value)),
        }
        for flat, score in scores
    ]
