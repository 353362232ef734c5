"""Property: everything about one flat, and what the buyer makes of it."""

import streamlit as st

from sale_sofia.app import deck as card
from sale_sofia.app import deck as facts
from sale_sofia.app import deck as judgements
from sale_sofia.app import formatting, navigation, state
from sale_sofia.app import formatting as safe
from sale_sofia.app.deck import Deck, open_deck
from sale_sofia.app.flat import (
    PropertyData,
    comparables_link,
    read_property,
    show_costs,
    show_fair_price,
    show_notes,
    show_offers,
    show_split,
    show_status,
    show_viewings,
)
from sale_sofia.app.formatting import shown_photos
from sale_sofia.app.settings import PHOTOS_SHOWN
from sale_sofia.app.words import say
from sale_sofia.flats.store import UnknownProperty

TABS = ("facts", "offers", "score", "fair", "costs", "diary", "split")


def page() -> None:
    """Draw the page."""
    deck = open_deck()
    st.title(say("page.property"))
    number = state.number_parameter("id")
    if number is None:
        _choose()
        return
    try:
        data = state.database().run_read(lambda connection: read_property(connection, number))
    except UnknownProperty:
        st.error(say("property.unknown", id=number))
        _choose()
        return
    state.remember("id", data.flat.property_id)
    _head(deck, data)
    for tab, name in zip(st.tabs([say(f"property.{name}") for name in TABS]), TABS, strict=True):
        with tab:
            _show(name, deck, data)


def _choose() -> None:
    """Without an id: ask for one."""
    with st.form("choose"):
        number = st.number_input(say("property.number"), min_value=1, step=1, value=None)
        if st.form_submit_button(say("card.open")) and number:
            navigation.go("property", id=number)
    navigation.link("search", say("page.search"))


def _head(deck: Deck, data: PropertyData) -> None:
    alt = data.flat.title or say("card.photo")
    photos = [card.picture(photo, alt) for photo in shown_photos(data.flat)[:PHOTOS_SHOWN]]
    left, right = st.columns([2, 1])
    with left:
        label = safe.html(say("property.photos", n=len(photos)))
        strip = "".join(photos) or card.picture(None, "")
        st.html(f"<div class='ss-strip' tabindex='0' role='group' aria-label='{label}'>{strip}</div>")
    with right:
        st.html(card.card_html(deck.card(data.flat, data.steps), deck.now, photo=False))
        navigation.link("compare", say("property.compare"), ids=data.flat.property_id)


def _show(name: str, deck: Deck, data: PropertyData) -> None:
    match name:
        case "facts":
            _facts(data)
        case "offers":
            show_offers(data, deck.now)
        case "score":
            _score(deck, data)
        case "fair":
            show_fair_price(data.flat)
            comparables_link(data.flat)
        case "costs":
            show_costs(data.flat, deck.profile, data.evaluation.renovation_eur)
        case "diary":
            _diary(data)
        case _:
            show_split(data)


def _facts(data: PropertyData) -> None:
    unknown = facts.unknown_facts(data.flat)
    st.caption(say("facts.unknown", n=formatting.number(unknown), all=formatting.number(len(facts.FACTS))))
    if contradictions := facts.contradictions_list(data.flat):
        st.html(contradictions)
    st.html(facts.facts_table(data.flat, data.view["fields"]))
    for number, row in data.adverts.items():
        if row["description"]:
            with st.expander(
                say("facts.words", advert=safe.markdown(f"{row['site']} {row['external_id']}")),
                key=f"words-{number}",
            ):
                st.html(f"<div lang='bg'>{safe.html_paragraphs(row['description'])}</div>")


def _score(deck: Deck, data: PropertyData) -> None:
    score = deck.scores.get(data.flat.property_id)
    if score is None:
        st.info(say("score.none", profile=safe.markdown(deck.profile_name)))
        return
    judgements.show_score(score, deck.profile)
    st.header(say("score.conditions"))
    judgements.show_findings(score, frozenset(deck.profile.unknown_ok))


def _diary(data: PropertyData) -> None:
    show_status(data)
    st.header(say("diary.viewings"))
    show_viewings(data)
    st.header(say("diary.notes"))
    show_notes(data)


page()
