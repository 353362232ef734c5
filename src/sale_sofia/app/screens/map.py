"""Map: all flats on the market that may fit, at their places; several at one point are listed."""

import streamlit as st

from sale_sofia.app import navigation
from sale_sofia.app.deck import Deck, count_line, open_deck, show_cards
from sale_sofia.app.maps import show_map
from sale_sofia.app.settings import CARDS_PER_ROW
from sale_sofia.app.words import say
from sale_sofia.buyer.evaluations import UNWANTED
from sale_sofia.flats.flat import Flat

CHOICES = ("passing", "all", "shortlist")


def page() -> None:
    """Draw the page."""
    deck = open_deck()
    st.title(say("page.map"))
    if not deck.snapshot.flats:
        st.info(say("nothing.yet"))
        return
    which = st.segmented_control(
        say("map.which"),
        CHOICES,
        default=CHOICES[0],
        format_func=lambda one: say(f"map.{one}"),
        key="map-which",
        required=True,
    )
    flats = _flats(deck, which or CHOICES[0])
    chosen = show_map(deck, flats, "map")
    if chosen:
        st.header(say("map.at_point", found=count_line(len(chosen))))
        show_cards(deck, chosen, "map-point")
    else:
        # Whoever cannot see or point at the map reads the same here.
        st.header(say("map.best"))
        show_cards(deck, [flat for flat in flats if flat.lat is not None][:CARDS_PER_ROW], "map-best")
    navigation.link("search", say("map.search"), view="map")


def _flats(deck: Deck, which: str) -> list[Flat]:
    """The best first."""
    there = [flat for flat in deck.ranked.flats if flat.offered and flat.property_id in deck.scores]
    match which:
        case "shortlist":
            return [flat for flat in there if deck.status(flat) not in {"new", *UNWANTED}]
        case "passing":
            return [flat for flat in there if not deck.fails(flat) and deck.status(flat) not in UNWANTED]
        case _:
            return there


page()
