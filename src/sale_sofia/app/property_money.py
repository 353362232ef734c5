"""What a property should cost by what is asked for others, what it costs in all, and a loan for it."""

from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from sale_sofia.app import charts, navigation, safe, state
from sale_sofia.app import formatting as shown
from sale_sofia.app.inputs import decimal
from sale_sofia.app.valuing import stored_valuation
from sale_sofia.app.words import say
from sale_sofia.config.screens import LOAN_OWN_PERCENT, LOAN_PERCENT, LOAN_PERCENTS, LOAN_YEARS
from sale_sofia.data.properties import UnknownProperty
from sale_sofia.insights.costs import Band, all_costs, vat_due
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.loan import loan
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.valuation import Valuation, value_property
from sale_sofia.insights.valuation_flats import asked_eur_sqm, not_valued_for


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
            f"<td>{safe.html(cell)}</td>"
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
