"""The one card of a flat: what a buyer wants to know first, in the same place on every page."""

from dataclasses import dataclass
from html import escape

import streamlit as st

from sale_sofia.app import formatting as shown
from sale_sofia.app import safe
from sale_sofia.app.navigation import link
from sale_sofia.app.photos import shown_photos
from sale_sofia.app.words import counted, named, say
from sale_sofia.config.screens import LONGEST_TITLE
from sale_sofia.data.market import days_on_market
from sale_sofia.insights.flats import Flat


@dataclass(frozen=True, slots=True)
class Card:
    """A flat with what is thought of it."""

    flat: Flat
    score: float | None = None
    known: float | None = None
    """The share of the score that rests on what is known, from 0 to 1."""
    fails: tuple[str, ...] = ()
    """Names of the conditions it fails, in the session's language."""
    unsure: tuple[str, ...] = ()
    """Names of the conditions of which nobody knows."""
    judged: bool = False
    """Whether there were conditions at all."""
    status: str = "new"
    previous_eur: float | None = None
    """The price before the last change, where that is worth telling."""


def show(card: Card, now: float, note: str = "") -> None:
    """Draw the card with a link to the flat's own page; `note` is safe HTML above the title."""
    with st.container(border=True, height="stretch"):
        st.html(card_html(card, now, note))
        link("property", say("card.open"), id=card.flat.property_id)


def card_html(card: Card, now: float, note: str = "", *, photo: bool = True) -> str:
    """The card as HTML in which nothing from a portal can mean anything."""
    flat = card.flat
    parts = (
        _photo(flat) if photo else "",
        note,
        f'<div class="ss-price">{_price(card)}</div>',
        f'<div class="ss-title">{safe.html(flat.title or say("card.no_title", id=flat.property_id))}</div>',
        f'<div class="ss-place">{_place(flat)}</div>',
        f'<div class="ss-facts">{_facts(flat)}</div>',
        f'<div class="ss-verdict">{_verdict(card)}</div>',
        f'<div class="ss-foot">{_foot(card, now)}</div>',
    )
    return f'<article class="ss-card">{"".join(parts)}</article>'


def picture(photo: str | None, alt: str) -> str:
    """One of `shown_photos`, which tells its server nothing of this page; or a drawn placeholder."""
    if photo is None:
        return f'<div class="ss-photo ss-empty" role="img" aria-label="{say("card.no_photo")}">⌂</div>'
    return (
        f'<img class="ss-photo" src="{escape(photo)}" alt="{safe.html(alt)}" loading="lazy" '
        'referrerpolicy="no-referrer" decoding="async">'
    )


def unknown_count(flat: Flat) -> int:
    """How many of the facts on the card are not known."""
    told = (
        flat.price_eur, flat.area_sqm, flat.floor, flat.floors_total, flat.neighbourhood, flat.rooms,
        flat.construction, flat.year_built,
        flat.metro_distance_m if flat.metro_minutes is None else flat.metro_minutes,
    )  # fmt: skip
    return sum(one is None for one in told)


def _photo(flat: Flat) -> str:
    return picture(next(iter(shown_photos(flat)), None), flat.title or say("card.photo"))


def _price(card: Card) -> str:
    flat = card.flat
    vat = f' <span class="ss-small">{say("card.vat")}</span>' if flat.vat == "excluded" else ""
    now = f"<strong>{shown.euro(flat.price_eur)}</strong>{vat}"
    if card.previous_eur is None or flat.price_eur is None or card.previous_eur == flat.price_eur:
        return now
    fell = flat.price_eur < card.previous_eur
    moved = f"{'▼' if fell else '▲'} {shown.percent_change(card.previous_eur, flat.price_eur)}"
    before = f"{say('card.was')} <s>{shown.euro(card.previous_eur)}</s>"
    colour = "ss-good" if fell else "ss-bad"
    return f'{now} <span class="{colour}">{moved}</span> <span class="ss-small">{before}</span>'


def _place(flat: Flat) -> str:
    place = safe.html(flat.neighbourhood, LONGEST_TITLE) if flat.neighbourhood else say("card.no_place")
    metro = shown.distance(flat.metro_distance_m, flat.metro_minutes)
    station = f" ({safe.html(flat.metro_station)})" if flat.metro_station else ""
    return f"{place} · {say('card.metro')}: {metro}{station}"


def _facts(flat: Flat) -> str:
    rooms = named("rooms", flat.rooms) if flat.rooms is not None else shown.UNKNOWN
    facts = (
        shown.area(flat.area_sqm),
        shown.euro_per_sqm(flat.price_per_sqm_eur),
        rooms,
        f"{say('card.floor')} {shown.floor(flat.floor, flat.floors_total)}",
        named("construction", flat.construction) if flat.construction else shown.UNKNOWN,
    )
    return " · ".join(facts)


def _verdict(card: Card) -> str:
    known = (
        ""
        if card.known is None
        else f' <span class="ss-small">({say("card.known", share=shown.percent(card.known))})</span>'
    )
    score = say("card.no_score") if card.score is None else say("card.score", score=shown.score(card.score))
    return f"<strong>{score}</strong>{known}{_conditions(card)}"


def _conditions(card: Card) -> str:
    lines = []
    if card.fails:
        lines.append(
            f'<div class="ss-bad">✗ {safe.html(say("card.fails", names=", ".join(card.fails)))}</div>'
        )
    if card.unsure:
        lines.append(
            f'<div class="ss-unsure">? {safe.html(say("card.unsure", names=", ".join(card.unsure)))}</div>'
        )
    if card.judged and not lines:
        lines.append(f'<div class="ss-good">✓ {say("card.passes")}</div>')
    return "".join(lines)


def _foot(card: Card, now: float) -> str:
    flat = card.flat
    end = None if flat.offered else flat.last_seen_at
    days = days_on_market(flat.first_seen_at, end, None, now=now)
    unknown = unknown_count(flat)
    told = [
        ", ".join(sorted({safe.html(advert.site) for advert in flat.adverts})),
        say("card.on_market", days=shown.days(days)),
        *([counted("card.unknown", unknown, shown.number(unknown))] if unknown else []),
        *([f"<b>{named('status', card.status)}</b>"] if card.status != "new" else []),
        *([] if flat.offered else [f"<b>✗ {say('card.gone')}</b>"]),
    ]
    return " · ".join(told)
