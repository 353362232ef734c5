"""Compare: two to four flats side by side, and what other weights would make of them."""

from collections.abc import Sequence

import streamlit as st

from sale_sofia.app import comparing, formatting, navigation, state
from sale_sofia.app import deck as card
from sale_sofia.app import deck as judgements
from sale_sofia.app import formatting as safe
from sale_sofia.app.deck import Deck, open_deck, read_steps
from sale_sofia.app.settings import COMPARED_LEAST, COMPARED_MOST, WEIGHT_MOST
from sale_sofia.app.words import say
from sale_sofia.flats.flat import Flat

KEY = "compared"


def page() -> None:
    """Draw the page."""
    deck = open_deck()
    st.title(say("page.compare"))
    if not deck.snapshot.flats:
        st.info(say("nothing.yet"))
        return
    flats = _choose(deck)
    if len(flats) < COMPARED_LEAST:
        st.info(say("compare.few", least=COMPARED_LEAST, most=COMPARED_MOST))
        return
    steps = read_steps(flats)
    for column, flat in zip(st.columns(len(flats)), flats, strict=True):
        with column:
            card.show(deck.card(flat, steps), deck.now)
    only = st.toggle(say("compare.only"), key="only-differences")
    st.caption(say("compare.legend"))
    st.html(comparing.comparison_table(flats, deck.now, only_differences=only))
    _weights(deck, flats)


def _choose(deck: Deck) -> Sequence[Flat]:
    """The flats of the address, else those on the shortlist; more are added by their number."""
    known = deck.snapshot.flats
    if KEY not in st.session_state:
        st.session_state[KEY] = _asked(deck)
    offered = list(dict.fromkeys([*st.session_state[KEY], *_listed(deck)]))
    chosen = st.multiselect(
        say("compare.choose"),
        offered,
        key=KEY,
        max_selections=COMPARED_MOST,
        format_func=lambda number: _label(known[number]),
        placeholder=say("compare.choose"),
        accept_new_options=False,
    )
    with st.form("add-to-comparison", clear_on_submit=True):
        number = st.number_input(say("compare.number"), min_value=1, step=1, value=None)
        if st.form_submit_button(say("compare.add")):
            _add(deck, number, chosen)
    state.remember("ids", ",".join(map(str, chosen)))
    return [known[number] for number in chosen]


def _asked(deck: Deck) -> list[int]:
    given = state.parameter("ids") or ""
    numbers = [int(one) for one in given.split(",") if one.isascii() and one.isdigit()]
    there = [number for number in dict.fromkeys(numbers) if number in deck.snapshot.flats]
    return there[:COMPARED_MOST]


def _listed(deck: Deck) -> list[int]:
    """What the buyer is interested in, the best first."""
    wanted = [
        deck.snapshot.flats[number]
        for number, status in deck.statuses.items()
        if status in {"shortlist", "viewing", "offer", "contacted"} and number in deck.snapshot.flats
    ]
    return [flat.property_id for flat in sorted(wanted, key=deck.order)]


def _add(deck: Deck, number: int | None, chosen: Sequence[int]) -> None:
    if number is None or number not in deck.snapshot.flats:
        st.error(say("property.unknown", id=number or formatting.UNKNOWN))
    elif number not in chosen and len(chosen) < COMPARED_MOST:
        navigation.go("compare", ids=",".join(map(str, [*chosen, number])))


def _label(flat: Flat) -> str:
    place = safe.plain(flat.neighbourhood or formatting.UNKNOWN)
    size = f"{formatting.euro(flat.price_eur)} · {formatting.area(flat.area_sqm)}"
    return f"№ {flat.property_id} · {size} · {place}"


def _weights(deck: Deck, flats: Sequence[Flat]) -> None:
    st.header(say("compare.weights"))
    st.caption(say("compare.weights_why"))
    now = deck.profile.weights.model_dump()
    columns = st.columns(COMPARED_MOST)
    weights = {
        name: columns[place % len(columns)].slider(
            say(f"criterion.{name}"), 0, WEIGHT_MOST, round(value), key=f"weight-{name}"
        )
        for place, (name, value) in enumerate(now.items())
    }
    if not any(weights.values()):
        st.error(say("compare.no_weight"))
        return
    ranked = comparing.try_weights(deck, flats, weights)
    for place, (flat, score) in enumerate(ranked, start=1):
        sign = judgements.SIGNS[score.verdict]
        told = {"points": formatting.score(score.points), "value": formatting.score(score.value)}
        st.markdown(f"{place}. {sign} **{_label(flat)}**: " + say("compare.ranked", **told))
    profile = comparing.with_weights(deck.profile, weights)
    rows = [
        {**row, "flat": f"№ {flat.property_id}"}
        for flat, score in ranked
        for row in judgements.contributions(score, profile)
    ]
    judgements.draw_side_by_side(rows)


page()
