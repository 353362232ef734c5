"""Two to four flats side by side: what differs, who is better at what, and other weights tried out."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import streamlit as st

from sale_sofia.advice.elsewhere import Elsewhere
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import Score, Scorer, ranking
from sale_sofia.app import deck as facts
from sale_sofia.app import formatting, state
from sale_sofia.app import formatting as shown
from sale_sofia.app.deck import Deck
from sale_sofia.app.settings import PAIRS_REVIEWED
from sale_sofia.app.words import named, say
from sale_sofia.flats import overrides
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.overrides import WrongDecision
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.views import ReviewLine, review_queue


class Line(NamedTuple):
    """One line of the comparison: its name, how a flat's value is shown, and which value is better."""

    name: str
    text: Callable[[Flat], str]
    better: Callable[[Flat], float | None] | None = None
    """The higher the better; None where nothing is better by itself."""


def _lower(value: Callable[[Flat], float | None]) -> Callable[[Flat], float | None]:
    return lambda flat: None if (found := value(flat)) is None else -found


def lines(now: float) -> tuple[Line, ...]:
    """All lines, in the order of the table."""
    measured = (
        Line("price", lambda flat: shown.euro(flat.price_eur), _lower(lambda flat: flat.price_eur)),
        Line(
            "eur_sqm",
            lambda flat: shown.euro_per_sqm(flat.price_per_sqm_eur),
            _lower(lambda flat: flat.price_per_sqm_eur),
        ),
        Line("days", lambda flat: shown.days(flat.days_on_market(now))),
        Line("portals", lambda flat: ", ".join(sorted({advert.site for advert in flat.adverts}))),
    )
    return (*measured, *(_fact_line(name) for name in facts.FACTS))


_BETTER: Final[Mapping[str, Callable[[Flat], float | None]]] = {
    "area_sqm": lambda flat: flat.area_sqm,
    "area_net_sqm": lambda flat: flat.area_net_sqm,
    "rooms": lambda flat: flat.rooms,
    "bedrooms": lambda flat: flat.bedrooms,
    "bathrooms": lambda flat: flat.bathrooms,
    "year_built": lambda flat: flat.year_built,
    "balconies": lambda flat: flat.balconies,
    "metro_walk": _lower(lambda flat: flat.metro_walk.most if flat.metro_walk else None),
    "metro_distance_m": _lower(lambda flat: flat.metro_distance_m),
    "metro_minutes": _lower(lambda flat: flat.metro_minutes),
}


def _fact_line(name: str) -> Line:
    return Line(name, lambda flat: facts.fact(name, getattr(flat, name)), _BETTER.get(name))


def comparison_table(flats: Sequence[Flat], now: float, *, only_differences: bool) -> str:
    """The flats as columns of an HTML table; what differs and what is best are marked by signs too."""
    head = "".join(f"<th scope='col'>№ {flat.property_id}</th>" for flat in flats)
    rows = [_row(line, flats) for line in lines(now) if not only_differences or _differs(line, flats)]
    body = "".join(rows)
    return f"<table class='ss-table'><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"


def best_of(line: Line, flats: Sequence[Flat]) -> set[int]:
    """The places of the flats that are better here than some other; none while they are alike or unknown."""
    values = [line.better(flat) if line.better else None for flat in flats]
    known = [value for value in values if value is not None]
    if len(set(known)) < 2:  # noqa: PLR2004 - one value is no comparison
        return set()
    return {place for place, value in enumerate(values) if value == max(known)}


def try_weights(deck: Deck, flats: Sequence[Flat], weights: Mapping[str, float]) -> list[tuple[Flat, Score]]:
    """The flats in the order in which these weights rank them."""
    profile = with_weights(deck.profile, weights)
    scorer = Scorer(profile)
    scored = [(flat, scorer.score(deck.snapshot.looks[flat.property_id])) for flat in flats]
    return sorted(scored, key=lambda pair: ranking(pair[1]))


def with_weights(profile: Profile, weights: Mapping[str, float]) -> Profile:
    """The profile with other weights."""
    values: dict[str, Any] = profile.model_dump()
    return Profile.model_validate({**values, "weights": dict(weights)})


def _differs(line: Line, flats: Sequence[Flat]) -> bool:
    return len({line.text(flat) for flat in flats}) > 1


def _row(line: Line, flats: Sequence[Flat]) -> str:
    differs, best = _differs(line, flats), best_of(line, flats)
    mark = "≠ " if differs else ""
    cells = "".join(
        f"<td class='{'ss-good' if place in best else ''}'>"
        f"{'★ ' if place in best else ''}{formatting.html(line.text(flat))}</td>"
        for place, flat in enumerate(flats)
    )
    name = say(f"fact.{line.name}") if line.name in facts.FACTS else say(f"compare.{line.name}")
    return f"<tr class='{'ss-differs' if differs else ''}'><th scope='row'>{mark}{name}</th>{cells}</tr>"


# The same flat elsewhere: what is cheaper on another portal, and pairs of which nobody is sure yet.


def offer_html(one: Elsewhere) -> str:
    """Where it is cheaper and by how much, in which nothing from a portal can mean anything."""
    flat = one.flat
    place = formatting.html(flat.neighbourhood) if flat.neighbourhood else shown.UNKNOWN
    rooms = named("rooms", flat.rooms) if flat.rooms is not None else shown.UNKNOWN
    without = "excluded" in {one.cheapest.vat, one.dearest.vat}
    vat = f" {say('vat.included')}" if without else ""  # else it would not be the difference of the two
    saved = f"{shown.MINUS}{shown.euro(one.saving_eur)}{vat} ({shown.MINUS}{shown.percent(one.share, 1)})"
    return (
        f'<div class="ss-title">{place} · {rooms} · {shown.area(flat.area_sqm)}</div>'
        f"<div><strong>{_price(one, cheapest=True)}</strong> {say('cross.instead')} "
        f'<s>{_price(one, cheapest=False)}</s> <span class="ss-good">▼ {saved}</span></div>'
    )


def _price(one: Elsewhere, *, cheapest: bool) -> str:
    advert = one.cheapest if cheapest else one.dearest
    vat = f" {say('card.vat')}" if advert.vat == "excluded" else ""
    return f"{shown.euro(advert.price_eur)}{vat} ({formatting.html(advert.site)})"


def waiting_pairs() -> list[ReviewLine]:
    """Pairs that nobody decided on, first where an answer settles most; those put aside come last."""
    return state.database().run_read(partial(review_queue, limit=PAIRS_REVIEWED))


def asked_line(waiting: Sequence[ReviewLine]) -> str:
    """How many wait, how likely the first is one flat, and since when the buyer is unsure of it."""
    first, number = waiting[0], shown.number(len(waiting))
    told = say("cross.asked", n=number, share=shown.percent(first.probability))
    if first.unsure_since is None:
        return told
    return f"{told} {say('cross.unsure_since', moment=shown.moment(first.unsure_since))}"


def say_same(line: ReviewLine) -> None:
    """The two are one flat, for ever."""
    _decide(lambda matching: overrides.link(matching, line.one, line.two))


def say_different(line: ReviewLine) -> None:
    """The two are two flats, for ever."""
    _decide(lambda matching: overrides.part(matching, line.one, line.two))


def say_unsure(line: ReviewLine) -> None:
    """Asked again after all others."""
    _decide(lambda matching: overrides.leave_open(matching, line.one, line.two))


def compared(flats: Sequence[Flat]) -> list[dict[str, str]]:
    """The facts of both beside each other; what differs is marked."""
    rows = []
    for name, values in _facts(flats).items():
        differ = len(set(values)) > 1 and shown.UNKNOWN not in values
        mark = "≠" if differ else "?" if shown.UNKNOWN in values else "="
        rows.append({say("cross.fact"): name, "A": values[0], "": mark, "B": values[1]})
    return rows


def _facts(flats: Sequence[Flat]) -> dict[str, list[str]]:
    told = {
        "cross.price": [shown.euro(flat.price_eur) for flat in flats],
        "cross.area": [shown.area(flat.area_sqm) for flat in flats],
        "cross.rooms": [shown.number(flat.rooms) for flat in flats],
        "cross.floor": [shown.floor(flat.floor, flat.floors_total) for flat in flats],
        "cross.place": [formatting.plain(flat.neighbourhood or shown.UNKNOWN) for flat in flats],
        "cross.building": [named("construction", flat.construction or shown.UNKNOWN) for flat in flats],
        "cross.year": [shown.UNKNOWN if flat.year_built is None else str(flat.year_built) for flat in flats],
        "cross.seller": [formatting.plain(_seller(flat)) for flat in flats],
        "cross.sites": [", ".join(sorted({one.site for one in flat.adverts})) for flat in flats],
    }
    return {say(key): values for key, values in told.items()}


def _seller(flat: Flat) -> str:
    return next((one.seller_name for one in flat.adverts if one.seller_name), shown.UNKNOWN)


def _decide(decision: Callable[[PropertyMatching], object]) -> None:
    matching = PropertyMatching(state.settings(), state.database())
    try:
        decision(matching)
    except (WrongDecision, LookupError):
        st.toast(say("conflict"))
