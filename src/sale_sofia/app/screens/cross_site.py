"""Same flat elsewhere: what is cheaper on another portal, and pairs that may be one flat."""

import streamlit as st

from sale_sofia.advice.elsewhere import cheaper_elsewhere
from sale_sofia.app import comparing, formatting, navigation
from sale_sofia.app import deck as card
from sale_sofia.app.deck import Deck, open_deck, read_steps
from sale_sofia.app.settings import OFFERS_PER_PAGE
from sale_sofia.app.words import say
from sale_sofia.web.snapshot import Snapshot

COLUMNS = 3


def page() -> None:
    """Draw the page."""
    deck = open_deck()
    st.title(say("page.cross_site"))
    if not deck.snapshot.flats:
        st.info(say("nothing.yet"))
        return
    cheaper, review = st.tabs([say("cross.cheaper"), say("cross.review")])
    with cheaper:
        _cheaper(deck.snapshot)
    with review:
        _review(deck)


def _cheaper(now: Snapshot) -> None:
    found = cheaper_elsewhere(now.offered)
    st.markdown(say("cross.count", n=formatting.number(len(found))))
    pages = max(1, -(-len(found) // OFFERS_PER_PAGE))
    number = min(int(st.session_state.get("offers", 1)), pages)
    shown = found[(number - 1) * OFFERS_PER_PAGE : number * OFFERS_PER_PAGE]
    for start in range(0, len(shown), COLUMNS):
        for column, one in zip(st.columns(COLUMNS), shown[start : start + COLUMNS], strict=False):
            with column, st.container(border=True):
                st.html(comparing.offer_html(one))
                navigation.link("property", say("card.open"), id=one.flat.property_id)
    if pages > 1:
        st.pagination(pages, key="offers")


def _review(deck: Deck) -> None:
    waiting = comparing.waiting_pairs()
    if not waiting:
        st.success(say("cross.no_review"))
        return
    line = waiting[0]
    st.markdown(comparing.asked_line(waiting))
    with st.container(horizontal=True):
        options = (("same", comparing.say_same), ("different", comparing.say_different))
        for number, (name, decide) in enumerate((*options, ("unsure", comparing.say_unsure)), start=1):
            st.button(
                say(f"cross.{name}"), on_click=decide, args=(line,), key=f"cross_{name}", shortcut=str(number)
            )
    flats = [deck.snapshot.flats[one] for one in (line.one, line.two) if one in deck.snapshot.flats]
    steps = read_steps(flats)
    for column, flat, letter in zip(st.columns(2), flats, "AB", strict=False):
        with column:
            card.show(deck.card(flat, steps), deck.now, f'<div class="ss-note">{letter}</div>')
    if len(flats) > 1:
        st.table(comparing.compared(flats))


page()
