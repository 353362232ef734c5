"""What pages of cards are drawn from: the flats, what the profile makes of them, the buyer's word."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import altair as alt
import pandas as pd
import streamlit as st
from sqlalchemy import Connection

from sale_sofia.advice.scoring.book import Ranked
from sale_sofia.advice.scoring.explaining import sentence
from sale_sofia.advice.scoring.judging import Criterion, Finding, State
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import Score, ranking
from sale_sofia.advice.scoring.settings import BEST
from sale_sofia.app import charts, formatting, navigation, snapshot, state
from sale_sofia.app import formatting as safe
from sale_sofia.app import formatting as shown
from sale_sofia.app.formatting import shown_photos
from sale_sofia.app.navigation import link
from sale_sofia.app.settings import CARDS_PER_PAGE, CARDS_PER_ROW, LONGEST_CELL, LONGEST_TITLE, TABLE_ROWS
from sale_sofia.app.state import chosen_profile
from sale_sofia.app.words import counted, language, named, say
from sale_sofia.buyer.evaluations import statuses
from sale_sofia.flats.flat import Contradiction, Flat
from sale_sofia.flats.rows import PriceStep, previous_price, price_steps
from sale_sofia.flats.views import YOU
from sale_sofia.settings.words import dictionary

# The one card of a flat: what a buyer wants to know first, in the same place on every page.


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
        f'<div class="ss-title">{_title(flat)}</div>',
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
        f'<img class="ss-photo" src="{escape(photo)}" alt="{formatting.html(alt)}" loading="lazy" '
        'referrerpolicy="no-referrer" decoding="async">'
    )


def unknown_count(flat: Flat) -> int:
    """How many of the facts on the card are not known."""
    told = (
        flat.price_eur, flat.area_sqm, flat.floor, flat.floors_total, flat.neighbourhood, flat.rooms,
        flat.construction, flat.year_built,
        flat.metro_walk,
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


def _title(flat: Flat) -> str:
    return formatting.html(flat.title or say("card.no_title", id=flat.property_id))


def _place(flat: Flat) -> str:
    place = formatting.html(flat.neighbourhood, LONGEST_TITLE) if flat.neighbourhood else say("card.no_place")
    metro = formatting.html(metro_words(flat))
    station = f" ({formatting.html(flat.metro_station)})" if flat.metro_station else ""
    return f"{place} · {say('card.metro')}: {metro}{station}"


def metro_words(flat: Flat) -> str:
    """The walk to the metro, and beside one that was worked out what adverts say."""
    walk, told = flat.metro_walk, shown.distance(flat.metro_distance_m, flat.metro_minutes)
    if walk is None or walk.source == "advert":
        return told
    beside = "" if told == shown.UNKNOWN else f" ({say('walk.told', told=told)})"
    return f"{shown.walk(walk.least, walk.most)}{beside}"


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
            f'<div class="ss-bad">✗ {formatting.html(say("card.fails", names=", ".join(card.fails)))}</div>'
        )
    if card.unsure:
        lines.append(
            f'<div class="ss-unsure">? '
            f"{formatting.html(say('card.unsure', names=', '.join(card.unsure)))}</div>"
        )
    if card.judged and not lines:
        lines.append(f'<div class="ss-good">✓ {say("card.passes")}</div>')
    return "".join(lines)


def _foot(card: Card, now: float) -> str:
    flat = card.flat
    days = shown.days(flat.days_on_market(now))
    unknown = unknown_count(flat)
    told = [
        ", ".join(sorted({formatting.html(advert.site) for advert in flat.adverts})),
        f"{say('card.on_market', days=days)} ({say(f'since.{flat.since.source}')})",
        *([counted("card.unknown", unknown, shown.number(unknown))] if unknown else []),
        *([f"<b>{named('status', card.status)}</b>"] if card.status != "new" else []),
        *([] if flat.offered else [f"<b>✗ {say('card.gone')}</b>"]),
    ]
    return " · ".join(told)


@dataclass(frozen=True, slots=True)
class Deck:
    """All flats as one buyer sees them now."""

    snapshot: snapshot.Snapshot
    profile_name: str
    profile: Profile
    ranked: Ranked
    statuses: Mapping[int, str]
    now: float

    @property
    def scores(self) -> Mapping[int, Score]:
        """By property; of those that may be what the profile looks for at all."""
        return self.ranked.scores

    def status(self, flat: Flat) -> str:
        """What the buyer said of the flat."""
        return self.statuses.get(flat.property_id, "new")

    def order(self, flat: Flat) -> tuple[int, float, int]:
        """The best first: what passes, then what may, then what fails; flats without a score last."""
        score = self.scores.get(flat.property_id)
        return (len(State), 0.0, flat.property_id) if score is None else ranking(score)

    def fails(self, flat: Flat) -> bool:
        """Whether the flat is out by the profile's conditions, or is not what it looks for."""
        score = self.scores.get(flat.property_id)
        return score is None or score.verdict == State.FAIL

    def card(self, flat: Flat, steps: Mapping[int, Sequence[PriceStep]]) -> Card:
        """The flat's card; `steps` are the prices of its adverts."""
        score = self.scores.get(flat.property_id)
        return Card(
            flat,
            score=score.value if score else None,
            known=score.known if score else None,
            fails=_names(score, State.FAIL),
            unsure=_names(score, State.UNKNOWN),
            judged=score is not None,
            status=self.status(flat),
            previous_eur=_previous(flat, steps),
        )


def open_deck() -> Deck:
    """Everything as it is now, for the profile that is chosen at the side."""
    name, profile = chosen_profile()
    taken, ranked = snapshot.keeper().ranked(profile)
    said = state.database().run_read(statuses)
    return Deck(taken, name, profile, ranked, said, state.now())


def read_steps(flats: Iterable[Flat]) -> Mapping[int, Sequence[PriceStep]]:
    """The prices of all adverts of these flats."""
    ids = [advert.listing_id for flat in flats for advert in flat.adverts]

    def read(connection: Connection) -> Mapping[int, Sequence[PriceStep]]:
        return price_steps(connection, ids)

    return state.database().run_read(read) if ids else {}


def show_cards(
    deck: Deck, flats: Sequence[Flat], key: str, note: Callable[[Flat], str] = lambda _: ""
) -> None:
    """The flats as cards, a page of them at a time; how many there are is always said."""
    pages = max(1, -(-len(flats) // CARDS_PER_PAGE))
    number = _page_number(key, pages)
    shown = flats[(number - 1) * CARDS_PER_PAGE : number * CARDS_PER_PAGE]
    steps = read_steps(shown)
    for start in range(0, len(shown), CARDS_PER_ROW):
        row = shown[start : start + CARDS_PER_ROW]
        for column, flat in zip(st.columns(CARDS_PER_ROW), row, strict=False):
            with column:
                show(deck.card(flat, steps), deck.now, note(flat))
    if pages > 1:
        st.pagination(pages, key=key)


def count_line(count: int) -> str:
    """`12 имота`."""
    return counted("properties", count, formatting.number(count))


def _page_number(key: str, pages: int) -> int:
    """The page chosen beneath the cards, as far as there are so many."""
    chosen = st.session_state.get(key, 1)
    if chosen > pages:
        st.session_state[key] = pages
    return min(int(chosen), pages)


def _names(score: Score | None, state_: State) -> tuple[str, ...]:
    return tuple(say(f"breaker.{name}") for name in score.named(state_)) if score else ()


def _previous(flat: Flat, steps: Mapping[int, Sequence[PriceStep]]) -> float | None:
    """What the advert with the flat's price asked before."""
    cheapest = flat.adverts[0] if flat.adverts else None
    return previous_price(steps.get(cheapest.listing_id, ())) if cheapest else None


# A score in words and as a picture: what each criterion contributes, and every condition with its reason.

SIGNS: Final = {State.PASS: "✓", State.FAIL: "✗", State.UNKNOWN: "?"}
_COLOURS: Final = {State.PASS: "ss-good", State.FAIL: "ss-bad", State.UNKNOWN: "ss-unsure"}


def show_score(score: Score, profile: Profile) -> None:
    """The score as contributions, and the parts of each criterion."""
    known = say("card.known", share=shown.percent(score.known))
    st.markdown(f"**{say('card.score', score=shown.score(score.value))}** ({known})")
    st.caption(say("score.points", points=shown.score(score.points)))
    rows = list(contributions(score, profile))
    charts.draw(_contributions_chart(rows), say("score.picture"), height=300)
    st.html(_parts_table(score, profile))


def show_findings(score: Score, accepted: frozenset[str]) -> None:
    """Every condition: passed, failed or unknown, why, and the advert's own words where there are any."""
    lines = [_finding(one, is_accepted=one.name in accepted) for one in score.findings]
    st.html("<ul class='ss-findings'>" + "".join(lines) + "</ul>")


def contributions(score: Score, profile: Profile) -> Iterator[dict[str, Any]]:
    """For each criterion the points it earned, lost, and could have earned if more were known; together 5."""
    for one, share in _weighted(score, profile):
        earned = (one.value or 0.0) * one.known * share
        lost = (BEST - (one.value or 0.0)) * one.known * share
        parts = {"earned": earned, "lost": lost, "unknown": BEST * share * (1 - one.known)}
        for number, (name, points) in enumerate(parts.items()):
            yield {
                "criterion": f"{say(f'criterion.{one.name}')} ({shown.percent(share)})",
                "part": say(f"score.{name}"),
                "order": number,
                "points": points,
            }


def _weighted(score: Score, profile: Profile) -> Iterator[tuple[Criterion, float]]:
    shares = profile.shares()
    return ((one, shares[one.name]) for one in sorted(score.criteria, key=lambda one: -shares[one.name]))


def _contributions_chart(rows: list[dict[str, Any]]) -> alt.Chart:
    frame = pd.DataFrame(rows)
    names = list(dict.fromkeys(frame["part"]))
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_bar(stroke="white")
        .encode(
            y=alt.Y("criterion:N", title=None, sort=None, axis=alt.Axis(labelLimit=170)),
            x=alt.X("points:Q", title=say("score.axis")),
            color=alt.Color(
                "part:N",
                title=None,
                legend=alt.Legend(orient="bottom"),
                scale=alt.Scale(domain=names, range=[charts.SCHEME[0], charts.SCHEME[1], "#d5dade"]),
            ),
            order="order:Q",
            tooltip=["criterion:N", "part:N", alt.Tooltip("points:Q", format=".2f")],
        )
    )
    return chart


def _parts_table(score: Score, profile: Profile) -> str:
    names = ("criterion", "value", "known", "why")
    head = "".join(f"<th scope='col'>{say(f'score.table.{name}')}</th>" for name in names)
    rows = "".join(
        f"<tr><th scope='row'>{say(f'criterion.{one.name}')}<br>"
        f"<span class='ss-small'>{shown.percent(share)}</span></th>"
        f"<td>{shown.score(one.value)}</td><td>{shown.percent(one.known)}</td><td>{_parts(one)}</td></tr>"
        for one, share in _weighted(score, profile)
    )
    return f"<table class='ss-table'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _parts(criterion: Criterion) -> str:
    return "<br>".join(
        f"<b>{shown.score(part.value)}</b> {formatting.html(sentence(part, language()), LONGEST_CELL)}"
        for part in criterion.parts
    )


def _finding(one: Finding, *, is_accepted: bool) -> str:
    why = formatting.html(sentence(one, language()), LONGEST_CELL)
    quote = f"<blockquote>„{formatting.html(one.quote, LONGEST_CELL)}“</blockquote>" if one.quote else ""
    allowed = f" ({say('finding.accepted')})" if is_accepted and one.state is State.UNKNOWN else ""
    word = say(f"finding.{one.state.value}")
    return (
        f"<li class='{_COLOURS[one.state]}'>{SIGNS[one.state]} <b>{say(f'breaker.{one.name}')}</b>: "
        f"{word}{allowed} <span class='ss-small'>{why}</span>{quote}</li>"
    )


def draw_side_by_side(rows: list[dict[str, Any]]) -> None:
    """What each criterion contributes to each flat, as bars beside each other."""
    frame = pd.DataFrame([row for row in rows if row["order"] == 0])
    names = list(dict.fromkeys(frame["flat"]))
    chart = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            y=alt.Y("criterion:N", title=None, sort=None, axis=alt.Axis(labelLimit=170)),
            yOffset=alt.YOffset("flat:N", sort=names),
            x=alt.X("points:Q", title=say("score.axis")),
            color=alt.Color(
                "flat:N",
                title=None,
                legend=alt.Legend(orient="bottom"),
                scale=alt.Scale(domain=names, range=list(charts.SCHEME[: len(names)])),
            ),
            tooltip=["flat:N", "criterion:N", alt.Tooltip("points:Q", format=".2f")],
        )
    )
    charts.draw(chart, say("score.picture"), height=80 + 70 * frame["criterion"].nunique())


# The facts of a flat in words: what is known, who says so and since when, and who says otherwise.

Value = Any
_PLAIN: Final = ("city", "district", "neighbourhood", "street", "metro_station")
_NAMED: Final = (
    "deal", "property_type", "construction", "act_status", "furnishing", "condition", "parking_status",
)  # fmt: skip
_LISTED: Final = {
    "heating": "heating",
    "orientation": "orientation",
    "parking": "parking",
    "storage": "storage",
}
FACTS: Final = (
    "deal", "property_type", "rooms", "bedrooms", "bathrooms", "wc_separate", "area_sqm", "area_net_sqm",
    "yard_sqm", "floor", "floors_total", "elevator", "construction", "year_built", "under_construction",
    "act_status", "condition", "furnishing", "heating", "orientation", "has_balcony", "balconies", "storage",
    "parking", "parking_status", "city", "district", "neighbourhood", "street", "metro_walk",
    "metro_station", "metro_distance_m", "metro_minutes",
)  # fmt: skip
"""Every fact that is shown, in the order of the page."""
_NUMBERS: Final[Mapping[str, Callable[[Value], str]]] = {
    "area_sqm": shown.area,
    "area_net_sqm": shown.area,
    "yard_sqm": shown.area,
    "rooms": lambda value: named("rooms", min(value, 5)),
    "floor": lambda value: say("floor.ground") if value == 0 else str(value),
    "metro_walk": lambda walk: shown.walk(walk.least, walk.most),
    "metro_distance_m": shown.distance,
    "metro_minutes": lambda value: shown.distance(None, value),
}


def fact(name: str, value: Value) -> str:
    """A fact's value in words, safe to be escaped and shown; unknown is "?"."""
    if value is None or value in ((), []):
        return shown.UNKNOWN
    if name in _NUMBERS:
        return _NUMBERS[name](value)
    if isinstance(value, bool):
        return shown.yes_no(value)
    if name in _LISTED:
        return ", ".join(named(_LISTED[name], one) for one in value)
    return named(name, value) if name in _NAMED else formatting.plain(value)


def facts_table(flat: Flat, fields: Mapping[str, Mapping[str, Any]]) -> str:
    """All facts as an HTML table; `fields` are those that portals print."""
    rows = "".join(_row(name, flat, fields.get(name)) for name in FACTS)
    head = "".join(f"<th scope='col'>{say(f'facts.{name}')}</th>" for name in ("fact", "value", "source"))
    return f"<table class='ss-table'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def contradictions_list(flat: Flat) -> str:
    """What contradicts what, and what is believed all the same, as HTML; nothing without any."""
    lines = "".join(f"<li>{formatting.html(_contradiction(one))}</li>" for one in flat.contradictions)
    return f"<ul class='ss-unsure'>{lines}</ul>" if lines else ""


def _contradiction(one: Contradiction) -> str:
    least, most = one.other if isinstance(one.other, tuple) else (one.other, one.other)
    told = {"one": _said(one, one.one), "other": _said(one, one.other), "least": least, "most": most}
    doubted = ", ".join(say(f"fact.{name}") for name in one.facts)
    outcome = "facts.doubted" if one.kept is None else "facts.kept"
    return f"{say(f'contradiction.{one.code}', **told)} {say(outcome, facts=doubted)}"


def _said(one: Contradiction, value: Value) -> str:
    """A number as it is; a word of any of the facts by its name."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return formatting.plain(value)  # three rooms have a word, three bedrooms none
    names = (f"{name}.{value}" for name in (*one.facts, *_NAMED))
    return next((say(name) for name in names if name in dictionary()), formatting.plain(value))


def unknown_facts(flat: Flat) -> int:
    """How many of the facts nobody tells."""
    return sum(fact(name, getattr(flat, name)) == shown.UNKNOWN for name in FACTS)


def _row(name: str, flat: Flat, told: Mapping[str, Any] | None) -> str:
    value = fact(name, getattr(flat, name))
    cells = (
        f"<th scope='row'>{say(f'fact.{name}')}</th><td>{formatting.html(value)}{_others(name, told)}</td>"
    )
    walk = flat.metro_walk if name == "metro_walk" else None
    source = say(f"walk.{walk.source}") if walk and walk.source != "advert" else _source(value, told)
    return f"<tr>{cells}<td>{source}</td></tr>"


def _source(value: str, told: Mapping[str, Any] | None) -> str:
    if told is not None:
        who = say("facts.you") if told["site"] == YOU else formatting.html(told["site"])
        return f"{who}, {shown.day(told['seen_at'])}"
    return "" if value == shown.UNKNOWN else say("facts.description")


def _others(name: str, told: Mapping[str, Any] | None) -> str:
    """What other adverts say instead."""
    others: Sequence[Mapping[str, Any]] = told["others"] if told else ()
    if not others:
        return ""
    said = "; ".join(
        f"{fact(name, one['value'])} ({one['site']}, {shown.day(one['seen_at'])})" for one in others
    )
    return f"<div class='ss-unsure'>≠ {formatting.html(say('facts.differs', others=said))}</div>"


# Flats as a table, on the screen and as a file that any spreadsheet can open.

Row = dict[str, Any]
_BEST_SCORE: Final = 5
_FORMATS: Final = {
    "price": formatting.euro,
    "eur_sqm": formatting.euro,
    "area": formatting.area,
    "known": lambda percent: formatting.percent(percent / 100),
}


def show_table(deck: Deck, flats: Sequence[Flat], key: str) -> None:
    """The first rows as a table; the choice of one opens the flat. How many there are is always said."""
    shown = flats[:TABLE_ROWS]
    if len(flats) > len(shown):
        told = {"shown": formatting.number(len(shown)), "all": count_line(len(flats))}
        st.caption(say("table.cut", **told))
    rows = [table_row(deck, flat, steps) for steps in [read_steps(shown)] for flat in shown]
    table = pd.DataFrame(rows, columns=list(_columns()))
    chosen = st.dataframe(
        table.style.format(_FORMATS, na_rep=formatting.UNKNOWN),
        column_config=_columns(),
        hide_index=True,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        row_height=60,
    )
    picked = chosen["selection"]["rows"]
    if picked and picked[0] < len(shown):
        navigation.go("property", id=shown[picked[0]].property_id)


def table_row(deck: Deck, flat: Flat, steps: Mapping[int, Sequence[PriceStep]]) -> Row:
    """One line of the table; unknown is empty."""
    score = deck.scores.get(flat.property_id)
    prices = [one.price_eur for one in steps.get(flat.adverts[0].listing_id, ()) if one.price_eur is not None]
    return {
        "photo": next(iter(shown_photos(flat)), None),
        "title": safe.plain(flat.title or say("card.no_title", id=flat.property_id)),
        "price": flat.price_eur,
        "line": [*prices, prices[-1]] if prices else None,
        "score": score.value if score else None,
        "known": score.known * 100 if score else None,
        "fails": ", ".join(say(f"breaker.{name}") for name in score.named(State.FAIL)) if score else None,
        "eur_sqm": flat.price_per_sqm_eur,
        "area": flat.area_sqm,
        "rooms": flat.rooms,
        "floor": formatting.floor(flat.floor, flat.floors_total),
        "place": safe.plain(flat.neighbourhood) if flat.neighbourhood else None,
        "metro": metro_words(flat),
        "status": named("status", deck.status(flat)),
        "portals": ", ".join(sorted({advert.site for advert in flat.adverts})),
        "link": safe.address(flat.adverts[0].url),
    }


def export(deck: Deck, flats: Iterable[Flat]) -> bytes:
    """All flats as CSV, which no spreadsheet can take for formulas; unknown is empty."""
    text = io.StringIO()
    names = [name for name in _columns() if name not in {"photo", "line"}]
    writer = csv.writer(text)
    writer.writerow([say(f"table.{name}") for name in names])
    for flat in flats:
        row = table_row(deck, flat, {})
        writer.writerow([safe.cell(row[name], LONGEST_CELL) for name in names])
    return text.getvalue().encode("utf-8-sig")


def _columns() -> dict[str, Any]:
    column = st.column_config
    return {
        "photo": column.ImageColumn(say("table.photo"), width="small"),
        "title": column.TextColumn(say("table.title"), width="medium"),
        "price": column.NumberColumn(say("table.price")),
        "line": column.LineChartColumn(say("table.line"), width="small"),
        "score": column.ProgressColumn(
            say("table.score"), min_value=0, max_value=_BEST_SCORE, format="%.1f", width="small"
        ),
        "known": column.NumberColumn(say("table.known"), width="small"),
        "fails": column.TextColumn(say("table.fails")),
        "eur_sqm": column.NumberColumn(say("table.eur_sqm")),
        "area": column.NumberColumn(say("table.area"), width="small"),
        "rooms": column.NumberColumn(say("table.rooms"), width="small"),
        "floor": column.TextColumn(say("table.floor"), width="small"),
        "place": column.TextColumn(say("table.place")),
        "metro": column.TextColumn(say("table.metro"), width="small"),
        "status": column.TextColumn(say("table.status"), width="small"),
        "portals": column.TextColumn(say("table.portals")),
        "link": column.LinkColumn(say("table.link"), display_text="↗", width="small"),
    }
