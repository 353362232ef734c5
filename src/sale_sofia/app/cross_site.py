"""The same flat elsewhere: what is cheaper on another portal, and pairs of which nobody is sure yet."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from sale_sofia.app import formatting as shown
from sale_sofia.app import safe, state
from sale_sofia.app.words import named, say
from sale_sofia.config.screens import PAIRS_REVIEWED
from sale_sofia.data.properties_views import ReviewLine, review_queue
from sale_sofia.insights.elsewhere import Elsewhere
from sale_sofia.insights.flats import Flat
from sale_sofia.properties import overrides
from sale_sofia.properties.overrides import WrongDecision
from sale_sofia.properties.runs import PropertyMatching


def offer_html(one: Elsewhere) -> str:
    """Where it is cheaper and by how much, in which nothing from a portal can mean anything."""
    flat = one.flat
    place = safe.html(flat.neighbourhood) if flat.neighbourhood else shown.UNKNOWN
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
    return f"{shown.euro(advert.price_eur)}{vat} ({safe.html(advert.site)})"


def waiting_pairs() -> list[ReviewLine]:
    """Pairs that nobody decided on, the likeliest first; those put aside as unsure come last."""
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
        "cross.place": [safe.plain(flat.neighbourhood or shown.UNKNOWN) for flat in flats],
        "cross.building": [named("construction", flat.construction or shown.UNKNOWN) for flat in flats],
        "cross.year": [shown.UNKNOWN if flat.year_built is None else str(flat.year_built) for flat in flats],
        "cross.seller": [safe.plain(_seller(flat)) for flat in flats],
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
