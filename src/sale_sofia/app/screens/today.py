"""Today: what is new or cheaper since the last visit and passes the conditions, best first, and why."""

import streamlit as st

from sale_sofia.advice.since import NEWS_KINDS
from sale_sofia.app import deck as card
from sale_sofia.app import formatting, navigation, today
from sale_sofia.app.deck import Deck, open_deck, read_steps, show_cards
from sale_sofia.app.state import visitor
from sale_sofia.app.today import Today
from sale_sofia.app.words import say


def page() -> None:
    """Draw the page."""
    deck = open_deck()
    st.title(say("page.today"))
    if not deck.snapshot.flats:
        st.info(say("nothing.yet"))
        return
    who = f"{visitor()}:{deck.profile_name}"
    news = today.read_today(deck, who)
    _head(deck, news, who)
    _queue(deck, news, who)
    _all_news(deck, news)


def _head(deck: Deck, news: Today, who: str) -> None:
    told, late = today.freshness(deck)
    st.caption(say("today.fresh", portals=told))
    if late:
        st.warning(say("today.late", portals=", ".join(late)), icon="⚠️")
    since = {"moment": formatting.moment(news.visit.since), "ago": formatting.ago(news.visit.since, deck.now)}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(say("today.first") if news.visit.first else say("today.since", **since))
        st.button(say("today.seen_all"), on_click=today.mark_seen, args=(who,), key="seen_all")


def _queue(deck: Deck, news: Today, who: str) -> None:
    st.header(say("today.queue", n=formatting.number(len(news.queue))))
    if not news.queue:
        done = "today.decided" if news.news else "today.nothing"
        st.success(say(done, profile=deck.profile_name) if done == "today.nothing" else say(done))
        return
    flat = news.queue[0]
    with st.container(key="triage", width=460):
        note = today.note(news.of.get(flat.property_id), deck.now)
        card.show(deck.card(flat, read_steps([flat])), deck.now, note)
        with st.container(horizontal=True):
            _button("shortlist", "★", who, flat.property_id)
            _button("reject", "✗", who, flat.property_id)
            st.button(
                f"◷ {say('today.later')}",
                on_click=today.decide_later,
                args=(who, flat.property_id),
                key=f"later-{flat.property_id}",
            )


def _button(word: str, sign: str, who: str, property_id: int) -> None:
    status = {"shortlist": "shortlist", "reject": "rejected"}[word]
    label = f"{sign} {say(f'today.{word}')}"
    key = f"{word}-{property_id}"
    st.button(label, on_click=today.decide, args=(who, property_id, status), key=key)


def _all_news(deck: Deck, news: Today) -> None:
    st.header(say("today.all_news"))
    by_kind = {kind: [one.flat for one in news.news if one.kind == kind] for kind in NEWS_KINDS}
    # One kind at a time: five pages of cards at once would keep the browser busy for seconds.
    kind = st.segmented_control(
        say("today.all_news"),
        NEWS_KINDS,
        default=NEWS_KINDS[0],
        format_func=lambda one: f"{say(f'today.kind.{one}')} ({formatting.number(len(by_kind[one]))})",
        key="kind",
        required=True,
        label_visibility="collapsed",
    )
    of = news.of
    chosen = kind or NEWS_KINDS[0]
    show_cards(
        deck, by_kind[chosen], f"page-{chosen}", lambda flat: today.note(of[flat.property_id], deck.now)
    )
    if news.failing:
        st.caption(say("today.failing", n=formatting.number(news.failing)))
        navigation.link("criteria", say("page.criteria"))


page()
