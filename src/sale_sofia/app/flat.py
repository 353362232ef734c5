"""Everything about one property, read at one moment from the database."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st
from sqlalchemy import Connection, select

from sale_sofia.advice.costs import all_costs, loan
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.valuation.flats import asked_eur_sqm, not_valued_for
from sale_sofia.advice.valuation.valuation import Valuation, value_property
from sale_sofia.app import charts, formatting, navigation, state
from sale_sofia.app import formatting as shown
from sale_sofia.app.formatting import decimal, refusal
from sale_sofia.app.settings import LOAN_OWN_PERCENT, LOAN_PERCENT, LOAN_PERCENTS, LOAN_YEARS, LONGEST_CELL
from sale_sofia.app.snapshot import stored_valuation
from sale_sofia.app.words import named, say
from sale_sofia.buyer.calendar import calendar_bytes, viewing_events
from sale_sofia.buyer.evaluations import (
    STATUSES,
    Evaluation,
    Note,
    WrongEvaluation,
    add_note,
    current_property,
    evaluate,
    evaluation_of,
    mark,
    notes_of,
)
from sale_sofia.buyer.settings import LONGEST_LINE, LONGEST_NOTE
from sale_sofia.buyer.viewings import (
    STATES,
    Viewing,
    add_viewing,
    change_viewing,
    viewing_moment,
    viewings_of,
)
from sale_sofia.flats.age import EarlierOffer
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.overrides import WrongDecision, split
from sale_sofia.flats.prices import Band, vat_due
from sale_sofia.flats.rows import PriceStep, price_steps, read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import Source, UnknownProperty, listing_rows, sources_of
from sale_sofia.flats.views import merged_view
from sale_sofia.history.tables import WAS_ASKED, market_events

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MarketEvent:
    """An advert that left the market, or came back; the moment is in seconds since 1970."""

    listing_id: int
    kind: str
    at: float


@dataclass(frozen=True, slots=True)
class PropertyData:
    """One property with all that is known and was said of it."""

    flat: Flat
    adverts: Mapping[int, Row]
    """The stored adverts by id."""
    view: Row
    """Facts with who says so and since when, and offers with their prices; see `merged_view`."""
    sources: Mapping[int, Source]
    """Why each advert is one of this property."""
    steps: Mapping[int, Sequence[PriceStep]]
    printed: Mapping[int, Sequence[PriceStep]]
    """Earlier prices that the adverts print; nobody saw them asked."""
    events: Sequence[MarketEvent]
    evaluation: Evaluation
    notes: Sequence[Note]
    viewings: Sequence[Viewing]


def read_property(connection: Connection, property_id: int) -> PropertyData:
    """The property that this id leads to now.

    Raises:
        UnknownProperty: no property ever had it.
    """
    found = current_property(connection, property_id)
    (flat,) = read_flats(connection, [found])
    ids = [advert.listing_id for advert in flat.adverts]
    rows = listing_rows(connection, ids)
    return PropertyData(
        flat=flat,
        adverts={row["id"]: dict(row) for row in rows},
        view=merged_view(flat, rows),
        sources={source.listing_id: source for source in sources_of(connection, ids)},
        steps=price_steps(connection, ids),
        printed=price_steps(connection, ids, ~WAS_ASKED),
        events=_events(connection, ids),
        evaluation=evaluation_of(connection, found),
        notes=notes_of(connection, found),
        viewings=viewings_of(connection, found),
    )


def _events(connection: Connection, ids: Sequence[int]) -> list[MarketEvent]:
    table = market_events
    chosen = select(table.c.listing_id, table.c.kind, table.c.at).where(table.c.listing_id.in_(ids))
    return [MarketEvent(*row) for row in connection.execute(chosen.order_by(table.c.at, table.c.id))]


# What the buyer decides, notes and plans; two windows at once lose nothing.

_SAID = "diary.said"


def show_status(data: PropertyData) -> None:
    """The status, its reason, and what renovation would cost."""
    _say_what_happened()
    now = data.evaluation
    with st.form("status"):
        chosen = st.selectbox(
            say("diary.status"),
            STATUSES,
            index=STATUSES.index(now.status),
            format_func=lambda one: named("status", one),
        )
        reason = st.text_input(say("diary.reason"), now.reason or "", max_chars=LONGEST_LINE)
        renovation = st.number_input(
            say("diary.renovation"), value=_whole(now.renovation_eur), min_value=0, step=500, placeholder="?"
        )
        if st.form_submit_button(say("diary.keep")):
            _write(lambda connection: _keep(connection, data, chosen, reason, renovation))
    if now.changed_at is not None:
        st.caption(say("diary.changed", moment=shown.moment(now.changed_at)))


def show_notes(data: PropertyData) -> None:
    """The notes, the newest first, and a place for another."""
    number = data.flat.property_id
    with st.form("note", clear_on_submit=True):
        text = st.text_area(say("diary.note"), max_chars=LONGEST_NOTE)
        if st.form_submit_button(say("diary.add_note")):
            _write(lambda connection: add_note(connection, number, text, state.by()))
    for note in reversed(data.notes):
        written = f"<span class='ss-small'>{shown.moment(note.written_at)}</span>"
        st.html(f"<div class='ss-note-text'>{written}<br>{formatting.html_paragraphs(note.text)}</div>")


def show_viewings(data: PropertyData) -> None:
    """The viewings, how they went, and a place to plan another."""
    _new_viewing(data.flat.property_id)
    for one in data.viewings:
        _show_viewing(one)
    if data.viewings:
        ids = {data.flat.property_id}
        st.download_button(
            say("viewing.calendar"),
            data=lambda: calendar_bytes(
                state.database().run_read(lambda connection: viewing_events(connection, ids))
            ),
            file_name=f"viewings-{data.flat.property_id}.ics",
            mime="text/calendar",
            on_click="ignore",
        )


def _new_viewing(property_id: int) -> None:
    with st.form("viewing", clear_on_submit=True):
        with st.container(horizontal=True):
            day = st.date_input(say("viewing.day"), format="DD.MM.YYYY")
            hour = st.time_input(say("viewing.hour"), value="17:30")
        agent = st.text_input(say("viewing.agent"), max_chars=LONGEST_LINE)
        phone = st.text_input(say("viewing.phone"), max_chars=LONGEST_LINE)
        remarks = st.text_input(say("viewing.remarks"), max_chars=LONGEST_LINE)
        if st.form_submit_button(say("viewing.add")):
            texts = {"agent": agent, "phone": phone, "remarks": remarks}
            given = {name: text for name, text in texts.items() if text.strip()}
            when = f"{day} {hour:%H:%M}"
            _write(
                lambda connection: add_viewing(
                    connection, property_id, {**given, "starts_at": viewing_moment(when)}, state.by()
                )
            )


def _show_viewing(one: Viewing) -> None:
    head = f"{shown.moment(one.starts_at)} · {say(f'viewing.state.{one.state}')}"
    with st.expander(head, expanded=one.state == "planned"):
        told = {"agent": one.agent, "phone": one.phone, "place": one.place, "remarks": one.remarks}
        lines = [
            f"{say(f'viewing.{name}')}: {formatting.html(text, LONGEST_CELL)}"
            for name, text in told.items()
            if text
        ]
        lines += [
            f"<span class='ss-good'>＋ {formatting.html(text, LONGEST_CELL)}</span>" for text in one.positives
        ]
        lines += [
            f"<span class='ss-bad'>－ {formatting.html(text, LONGEST_CELL)}</span>" for text in one.negatives
        ]
        st.html("<br>".join(lines) or say("viewing.nothing"))
        _change_viewing(one)


def _change_viewing(one: Viewing) -> None:
    with st.form(f"viewing-{one.id}", clear_on_submit=True):
        state_now = st.selectbox(
            say("viewing.state"),
            STATES,
            index=STATES.index(one.state),
            format_func=lambda value: say(f"viewing.state.{value}"),
        )
        positive = st.text_input(say("viewing.positive"), max_chars=LONGEST_LINE)
        negative = st.text_input(say("viewing.negative"), max_chars=LONGEST_LINE)
        if st.form_submit_button(say("viewing.keep")):
            lists = {"positives": positive, "negatives": negative}
            added = {name: [text] for name, text in lists.items() if text.strip()}
            fields = {"state": state_now, **added}
            _write(lambda connection: change_viewing(connection, one.id, fields, state.by()))


def _keep(
    connection: Connection, data: PropertyData, status: str, reason: str, renovation: int | None
) -> None:
    """Only what is other than it was shown: another window may have written the rest meanwhile."""
    now, by, number = data.evaluation, state.by(), data.flat.property_id
    if status != now.status:
        mark(connection, number, status, by, reason.strip() or None)
    elif reason.strip() != (now.reason or ""):
        evaluate(connection, number, "reason", reason.strip() or None, by)
    if renovation != _whole(now.renovation_eur):
        evaluate(connection, number, "renovation_eur", renovation, by)


def _write(work: Callable[[Connection], object]) -> None:
    """Do it and draw the page anew, or say in a sentence why not."""
    try:
        state.database().run_write(work)
    except WrongEvaluation as error:
        st.error(refusal(error))
    else:
        st.session_state[_SAID] = True
        st.rerun()


def _say_what_happened() -> None:
    if st.session_state.pop(_SAID, False):
        st.toast(say("diary.kept"), icon="✅")


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


# What a property should cost by what is asked for others, what it costs in all, and a loan for it.


def show_fair_price(flat: Flat) -> None:
    """The fair price as an interval among the flats it rests on."""
    found = stored_valuation(flat)
    if found is None:
        st.caption(say("fair.not_made"))
        if not st.button(say("fair.make"), key="fair-make"):
            return
        try:
            with st.spinner(say("fair.making")):
                found = value_property(state.database(), state.settings(), flat.property_id)
        except UnknownProperty:
            st.info(say("fair.unmatched"))
            return
    if found.fair is None:
        st.info(say("fair.none", why=why_none(found)))
        return
    _say_verdict(found)
    charts.draw(_fair_chart(found), say("fair.picture"))
    st.html(_comparables_table(found))


def why_none(found: Valuation) -> str:
    """Why there is no fair price, in the session's language."""
    if found.few is not None:
        return say("fair.why.few", known=shown.number(found.few.known), needed=shown.number(found.few.needed))
    return say(f"fair.why.{not_valued_for(found.flat)}")


def show_costs(flat: Flat, profile: Profile, renovation_eur: float | None) -> None:
    """Price, VAT, taxes, notary, commission and renovation; then a loan."""
    costs = all_costs(flat, profile)
    if costs is None or flat.price_eur is None:
        st.info(say("costs.no_price"))
        return
    renovation = costs.renovation if renovation_eur is None else Band(renovation_eur, renovation_eur)
    total = _sum(costs.price, costs.state, costs.commission, renovation)
    due = vat_due(flat)
    vat = say("costs.vat_unknown") if due is None else say("costs.vat_due" if due else "costs.vat_in")
    lines = {
        "price": f"{band(costs.price)} ({vat})",
        "state": band(costs.state),
        "commission": band(costs.commission),
        "renovation": band(renovation),
        "total": f"<strong>{band(total)}</strong>",
    }
    rows = "".join(
        f"<tr><th scope='row'>{say(f'costs.{name}')}</th><td>{text}</td></tr>" for name, text in lines.items()
    )
    st.html(f"<table class='ss-table'><tbody>{rows}</tbody></table>")
    _show_loan(total)


def band(costs: Band) -> str:
    """One sum, or from the least to the most, where something is not known."""
    if costs.exact:
        return shown.euro(costs.least)
    if costs.most is None:
        return say("costs.at_least", least=shown.euro(costs.least))
    return f"{shown.euro(costs.least)} – {shown.euro(costs.most)}"


def _show_loan(total: Band) -> None:
    st.header(say("loan.title"))
    with st.container(horizontal=True):
        own = st.number_input(say("loan.own"), min_value=0, max_value=100, value=LOAN_OWN_PERCENT, step=5)
        rate = decimal(say("loan.rate"), LOAN_PERCENTS, LOAN_PERCENT)
        years = st.number_input(say("loan.years"), min_value=1, max_value=40, value=LOAN_YEARS, step=1)
    taken = loan(total.least * (100 - own) / 100, rate, years)
    with st.container(horizontal=True):
        st.metric(say("loan.borrowed"), shown.euro(taken.borrowed))
        st.metric(say("loan.monthly"), shown.euro(taken.monthly))
        st.metric(say("loan.interest"), shown.euro(taken.interest))


def _sum(*bands: Band) -> Band:
    mosts = [one.most for one in bands]
    known = [most for most in mosts if most is not None]
    return Band(sum(one.least for one in bands), sum(known) if len(known) == len(mosts) else None)


def _say_verdict(found: Valuation) -> None:
    fair, area = found.fair, found.flat.area_sqm
    if fair is None or area is None:
        return
    told = {
        "low": shown.euro(fair.low * area),
        "middle": shown.euro(fair.middle * area),
        "high": shown.euro(fair.high * area),
        "n": shown.number(found.rests_on),
    }
    st.markdown(say("fair.band", **told))
    sign = {"below": "▼", "above": "▲", "within": "●", "unknown": "?"}[found.verdict]
    st.markdown(f"**{sign} {say(f'fair.{found.verdict}')}**")
    st.caption(say("fair.basis"))


def _fair_chart(found: Valuation) -> Any:  # noqa: ANN401 - Altair's own type is of many kinds
    """The comparables as points, the interval as a band, this flat as a diamond."""
    rows = [
        {"eur_sqm": price, "weight": one.weight, "what": say("fair.other"), "id": one.flat.property_id}
        for one in found.comparables
        if (price := asked_eur_sqm(one.flat)) is not None
    ]
    own = asked_eur_sqm(found.flat)
    mine = [] if own is None else [{"eur_sqm": own, "what": say("fair.this"), "id": found.flat.property_id}]
    x = alt.X("eur_sqm:Q", title="€/m²", scale=alt.Scale(zero=False))
    fair = found.fair or (0.0, 0.0, 0.0)
    interval = alt.Chart(pd.DataFrame([{"low": min(fair), "high": max(fair)}]))
    middle = alt.Chart(pd.DataFrame([{"eur_sqm": sorted(fair)[1]}]))
    points = alt.Chart(pd.DataFrame(rows, columns=["eur_sqm", "weight", "what", "id"]))
    own_point = alt.Chart(pd.DataFrame(mine, columns=["eur_sqm", "what", "id"]))
    y = alt.Y("what:N", title=None, axis=alt.Axis(labelLimit=140))
    chart: Any = alt.layer(
        interval.mark_rect(opacity=0.18, color=charts.SCHEME[0]).encode(
            x=alt.X("low:Q", title="€/m²"), x2="high:Q"
        ),
        middle.mark_rule(color=charts.SCHEME[0]).encode(x=x),
        points.mark_circle(color=charts.SCHEME[4], opacity=0.8).encode(
            x=x, y=y, size=alt.Size("weight:Q", legend=None), tooltip=["id:N", "eur_sqm:Q"]
        ),
        own_point.mark_point(shape="diamond", filled=True, size=180, color=charts.SCHEME[1]).encode(x=x, y=y),
    )
    return chart


def _comparables_table(found: Valuation) -> str:
    names = ("id", "price", "eur_sqm", "area", "floor", "place", "weight")
    head = "".join(f"<th scope='col'>{say(f'fair.table.{name}')}</th>" for name in names)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{formatting.html(cell)}</td>"
            for cell in (
                one.flat.property_id,
                shown.euro(one.flat.price_eur),
                shown.euro_per_sqm(asked_eur_sqm(one.flat)),
                shown.area(one.flat.area_sqm),
                shown.floor(one.flat.floor, one.flat.floors_total),
                one.flat.neighbourhood or shown.UNKNOWN,
                shown.percent(one.weight, 1),
            )
        )
        + "</tr>"
        for one in found.comparables
    )
    return f"<table class='ss-table'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def comparables_link(flat: Flat) -> None:
    """To the market of the same neighbourhood."""
    if flat.neighbourhood:
        navigation.link("market", say("fair.market"), place=flat.neighbourhood)


# The adverts of a property: prices now and over time, and the buyer's word that one is another flat.


def show_offers(data: PropertyData, now: float) -> None:
    """The adverts on all portals, when the flat was offered before, and how the prices moved."""
    st.html(offers_table(data))
    for earlier in data.flat.offered_before:
        st.markdown(offered_before(earlier, now))
    price = data.view["price"]
    if price and price["difference_eur"]:
        told = {
            "difference": shown.euro(price["difference_eur"]),
            "percent": shown.percent(price["difference_percent"] / 100, 1),
        }
        st.markdown(say("offers.apart", **told))
    st.header(say("offers.history"))
    rows, printed = list(price_rows(data, now)), list(printed_rows(data))
    if rows:
        chart: Any = alt.layer(_steps(rows), _price_events(data), _printed_chart(printed))
        charts.draw(chart, say("offers.history"))
    else:
        st.info(say("offers.no_price"))
    for one in printed:
        st.caption(formatting.markdown(one["what"]))


def offered_before(one: EarlierOffer, now: float) -> str:
    """An earlier offer of the flat in a sentence."""
    told = {"ago": shown.ago(one.until, now), "price": shown.euro(one.price_eur)}
    days = {"since": shown.day(one.since), "until": shown.day(one.until)}
    return say("offers.before", **told, **days, site=formatting.markdown(one.site))


def offers_table(data: PropertyData) -> str:
    """The adverts as an HTML table, the cheapest first."""
    names = ("portal", "price", "seller", "seen", "state")
    head = "".join(f"<th scope='col'>{say(f'offers.{name}')}</th>" for name in names)
    body = "".join(_offer_row(offer) for offer in data.view["offers"])
    return f"<table class='ss-table'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def price_rows(data: PropertyData, now: float) -> Iterator[dict[str, Any]]:
    """Every price of every advert since when, and the last one until the advert went, or until now."""
    for advert in data.flat.adverts:
        label = advert_name(data.adverts[advert.listing_id])
        points = [one for one in data.steps.get(advert.listing_id, ()) if one.price_eur is not None]
        for one in points:
            yield {"advert": label, "at": charts.moment(one.seen_at), "price": one.price_eur}
        if points:
            end = now if advert.offered else advert.last_seen_at
            yield {"advert": label, "at": charts.moment(end), "price": points[-1].price_eur}


def printed_rows(data: PropertyData) -> Iterator[dict[str, Any]]:
    """Every earlier price that an advert prints, when that was seen first, and the sentence of it."""
    for listing_id, points in data.printed.items():
        for one in points:
            told = {"advert": advert_name(data.adverts[listing_id]), "price": shown.euro(one.price_eur)}
            what = say("offers.printed", **told, day=shown.day(one.seen_at))
            yield {"at": charts.moment(one.seen_at), "price": one.price_eur, "what": what}


def advert_name(row: Mapping[str, Any]) -> str:
    """An advert by its portal and number there."""
    return formatting.plain(f"{row['site']} {row['external_id']}")


def show_split(data: PropertyData) -> None:
    """Let the buyer say that some adverts are another flat."""
    if len(data.adverts) == 1:
        st.caption(say("split.alone"))
        return
    st.caption(say("split.why"))
    _evidence(data)
    with st.form("split"):
        chosen = st.multiselect(
            say("split.which"),
            list(data.adverts),
            format_func=lambda one: advert_name(data.adverts[one]),
            placeholder=say("split.choose"),
        )
        if st.form_submit_button(say("split.do")):
            if chosen:
                _split(data.flat.property_id, chosen)
            else:
                st.error(say("split.choose"))


def _evidence(data: PropertyData) -> None:
    for listing_id, source in data.sources.items():
        row = data.adverts[listing_id]
        told = {
            "advert": formatting.markdown(advert_name(row)),
            "by": say(f"decided.{source.decided_by}"),
            "probability": shown.percent(source.probability, 1),
        }
        st.markdown(say("split.evidence", **told))


def _split(property_id: int, listing_ids: Sequence[int]) -> None:
    matching = PropertyMatching(state.settings(), state.database())
    try:
        found = split(matching, property_id, listing_ids)
    except WrongDecision as error:
        st.error(refusal(error))
    else:
        st.success(say("split.done", id=found))
        st.rerun()


def _offer_row(offer: Mapping[str, Any]) -> str:
    above = offer["above_lowest_eur"]
    more = f" <span class='ss-small'>(+{shown.euro(above)})</span>" if above else ""
    vat = f" <span class='ss-small'>{named('vat', offer['vat_state'])}</span>" if offer["vat_state"] else ""
    kind = named("seller_kind", offer["seller_kind"]) if offer["seller_kind"] else shown.UNKNOWN
    seller = " ".join([kind, formatting.plain(offer["seller_name"])] if offer["seller_name"] else [kind])
    there = say("offers.there") if offer["offered"] else f"✗ {say('card.gone')}"
    there += "" if offer["opened"] else f" <span class='ss-small'>{say('offers.unopened')}</span>"
    cells = (
        _portal(offer),
        f"{shown.euro(offer['price_eur'])}{more}{vat}",
        formatting.html(seller),
        f"{shown.day(offer['first_seen_at'])} – {shown.day(offer['last_seen_at'])}",
        there,
    )
    return "<tr>" + "".join(f"<td>{one}</td>" for one in cells) + "</tr>"


def _portal(offer: Mapping[str, Any]) -> str:
    name = formatting.html(f"{offer['site']} {offer['external_id']}")
    url = formatting.html_address(offer["url"])
    if url is None:
        return name
    return f"<a href='{url}' target='_blank' rel='noopener noreferrer nofollow'>{name} ↗</a>"


def _steps(rows: list[dict[str, Any]]) -> alt.Chart:
    """One line for each advert, by colour and by its dashes."""
    names = list(dict.fromkeys(row["advert"] for row in rows))
    chart: alt.Chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(interpolate="step-after", point=True)
        .encode(
            x=alt.X("at:T", title=say("offers.day")),
            y=alt.Y("price:Q", title="€", scale=alt.Scale(zero=False)),
            color=alt.Color(
                "advert:N",
                title=say("offers.advert"),
                scale=alt.Scale(
                    domain=names, range=[charts.SCHEME[n % len(charts.SCHEME)] for n in range(len(names))]
                ),
            ),
            strokeDash=alt.StrokeDash("advert:N", legend=None),
            tooltip=["advert:N", "at:T", alt.Tooltip("price:Q", format=",.0f")],
        )
    )
    return chart


def _printed_chart(rows: list[dict[str, Any]]) -> alt.Chart:
    """A hollow diamond for each price that was only in print: no line leads to it."""
    frame = pd.DataFrame(rows, columns=["at", "price", "what"]).astype(
        {"at": "datetime64[ns]", "price": "float64"}
    )
    marks = alt.Chart(frame).mark_point(shape="diamond", filled=False, size=120, color=charts.INK)
    chart: alt.Chart = marks.encode(x="at:T", y="price:Q", tooltip="what:N")
    return chart


def _price_events(data: PropertyData) -> alt.Chart:
    """A line where an advert went or came back."""
    rows = [
        {
            "at": charts.moment(one.at),
            "what": f"{say(f'offers.{one.kind}')}: {advert_name(data.adverts[one.listing_id])}",
        }
        for one in data.events
    ]
    frame = pd.DataFrame(rows, columns=["at", "what"]).astype({"at": "datetime64[ns]"})
    marks = alt.Chart(frame).mark_rule(strokeDash=[4, 3], color=charts.INK)
    chart: alt.Chart = marks.encode(x="at:T", tooltip="what:N")
    return chart
