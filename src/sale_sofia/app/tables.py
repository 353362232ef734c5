"""Flats as a table, on the screen and as a file that any spreadsheet can open."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from sale_sofia.app import formatting, navigation, safe
from sale_sofia.app.deck import Deck, count_line, read_steps
from sale_sofia.app.photos import shown_photos
from sale_sofia.app.words import named, say
from sale_sofia.config.screens import LONGEST_CELL, TABLE_ROWS
from sale_sofia.data.price_steps import PriceStep
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State

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
        "metro": formatting.distance(flat.metro_distance_m, flat.metro_minutes),
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
