"""The adverts of a property: prices now and over time, and the buyer's word that one is another flat."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from sale_sofia.app import charts, safe, state
from sale_sofia.app import formatting as shown
from sale_sofia.app.property_data import PropertyData
from sale_sofia.app.sentences import refusal
from sale_sofia.app.words import named, say
from sale_sofia.properties.overrides import WrongDecision, split
from sale_sofia.properties.runs import PropertyMatching


def show_offers(data: PropertyData, now: float) -> None:
    """The adverts on all portals, and how their prices moved."""
    st.html(offers_table(data))
    price = data.view["price"]
    if price and price["difference_eur"]:
        told = {
            "difference": shown.euro(price["difference_eur"]),
            "percent": shown.percent(price["difference_percent"] / 100, 1),
        }
        st.markdown(say("offers.apart", **told))
    st.header(say("offers.history"))
    rows = list(price_rows(data, now))
    if rows:
        chart: Any = alt.layer(_steps(rows), _events(data))
        charts.draw(chart, say("offers.history"))
    else:
        st.info(say("offers.no_price"))


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


def advert_name(row: Mapping[str, Any]) -> str:
    """An advert by its portal and number there."""
    return safe.plain(f"{row['site']} {row['external_id']}")


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
            "advert": safe.markdown(advert_name(row)),
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
    vat = f" <span class='ss-small'>{named('vat', offer['vat'])}</span>" if offer["vat"] else ""
    kind = named("seller_kind", offer["seller_kind"]) if offer["seller_kind"] else shown.UNKNOWN
    seller = " ".join([kind, safe.plain(offer["seller_name"])] if offer["seller_name"] else [kind])
    there = say("offers.there") if offer["offered"] else f"✗ {say('card.gone')}"
    cells = (
        _portal(offer),
        f"{shown.euro(offer['price_eur'])}{more}{vat}",
        safe.html(seller),
        f"{shown.day(offer['first_seen_at'])} – {shown.day(offer['last_seen_at'])}",
        there,
    )
    return "<tr>" + "".join(f"<td>{one}</td>" for one in cells) + "</tr>"


def _portal(offer: Mapping[str, Any]) -> str:
    name = safe.html(f"{offer['site']} {offer['external_id']}")
    url = safe.html_address(offer["url"])
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


def _events(data: PropertyData) -> alt.Chart:
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
