"""Flats on a map that needs no internet: points, and the neighbourhoods with the median of their prices."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pydeck
import streamlit as st

from sale_sofia.app import formatting, safe
from sale_sofia.app.deck import Deck
from sale_sofia.app.map_names import Label, Point, names, view_of
from sale_sofia.app.words import say
from sale_sofia.config.screens import LEAST_MEDIAN_FLATS, MAP_HEIGHT, MAP_NAME_SIZE, MAP_POINTS, NEAR_DIGITS
from sale_sofia.insights.flats import Flat

_GREY: Final = (110, 118, 125, 200)
_COLOURS: Final = ((178, 24, 43), (244, 165, 130), (190, 190, 190), (146, 197, 222), (33, 102, 172))
"""Red to blue, which the colour-blind can tell apart; the score itself stands in the list and the tip."""
_LEAST_RADIUS: Final = 40.0


@dataclass(frozen=True, slots=True)
class Plotted:
    """What is drawn, and what could not be."""

    points: Mapping[Point, Sequence[Flat]]
    left_out: int
    """Flats of points beyond the most that are drawn."""
    without_place: int
    """Flats whose adverts say no exact place."""


def plot(flats: Iterable[Flat]) -> Plotted:
    """The flats by the point they are at, the best points first, so many as a map can show."""
    points: dict[Point, list[Flat]] = defaultdict(list)
    without = 0
    for flat in flats:
        if flat.lat is None or flat.lon is None:
            without += 1
        else:
            points[round(flat.lat, NEAR_DIGITS), round(flat.lon, NEAR_DIGITS)].append(flat)
    drawn = dict(list(points.items())[:MAP_POINTS])
    left_out = sum(map(len, points.values())) - sum(map(len, drawn.values()))
    return Plotted(drawn, left_out, without)


def show_map(deck: Deck, flats: Sequence[Flat], key: str) -> Sequence[Flat]:
    """Draw the flats; gives those at the point that was chosen."""
    plotted = plot(flats)
    _say_what_is_missing(plotted)
    chosen = st.pydeck_chart(
        _deck_of(deck, plotted, flats),
        height=MAP_HEIGHT,
        on_select="rerun",
        key=key,
        selection_mode="single-object",
    )
    st.caption(say("map.legend"))
    picked = chosen["selection"]["objects"].get("flats", [])
    return _at(plotted, picked[0]) if picked else ()


def medians(flats: Iterable[Flat]) -> dict[str, tuple[float | None, int]]:
    """The median EUR per m² of each neighbourhood, unknown for too few flats, and of how many flats it is."""
    found: dict[str, list[float]] = defaultdict(list)
    for flat in flats:
        if flat.neighbourhood is not None and flat.price_per_sqm_eur is not None:
            found[flat.neighbourhood].append(flat.price_per_sqm_eur)
    return {
        name: (statistics.median(prices) if len(prices) >= LEAST_MEDIAN_FLATS else None, len(prices))
        for name, prices in found.items()
    }


def _at(plotted: Plotted, picked: Mapping[str, Any]) -> Sequence[Flat]:
    return plotted.points.get((picked.get("lat", 0.0), picked.get("lon", 0.0)), ())


def _say_what_is_missing(plotted: Plotted) -> None:
    number = formatting.number
    told = {"points": number(len(plotted.points)), "flats": number(sum(map(len, plotted.points.values())))}
    st.caption(say("map.drawn", **told))
    if plotted.left_out:
        st.warning(say("map.left_out", n=number(plotted.left_out), most=number(MAP_POINTS)))
    if plotted.without_place:
        st.caption(say("map.without", n=number(plotted.without_place)))


def _deck_of(deck: Deck, plotted: Plotted, flats: Sequence[Flat]) -> pydeck.Deck:
    view = view_of(plotted.points)
    layers = [_neighbourhood_names(names(medians(flats), view, plotted.points)), _flat_points(deck, plotted)]
    # Without a provider nothing is fetched from anywhere; a style, even None, would be one.
    return pydeck.Deck(
        layers=layers,
        initial_view_state=pydeck.ViewState(latitude=view.lat, longitude=view.lon, zoom=view.zoom),
        map_provider=None,
        tooltip={"text": "{tip}"},
    )


def _flat_points(deck: Deck, plotted: Plotted) -> pydeck.Layer:
    rows = [_point(deck, point, flats) for point, flats in plotted.points.items()]
    return pydeck.Layer(
        "ScatterplotLayer",
        rows,
        id="flats",
        get_position=["lon", "lat"],
        get_fill_color="colour",
        get_radius="radius",
        get_line_color=[30, 40, 50],
        radius_min_pixels=5,
        radius_max_pixels=18,
        line_width_min_pixels=1,
        stroked=True,
        pickable=True,
    )


def _point(deck: Deck, point: Point, flats: Sequence[Flat]) -> dict[str, Any]:
    best = min(flats, key=deck.order)
    score = deck.scores.get(best.property_id)
    value = score.value if score else None
    return {
        "lat": point[0],
        "lon": point[1],
        "colour": list(_colour(value)),
        "radius": _LEAST_RADIUS + (best.area_sqm or 0.0) / 2,
        "tip": _tip(best, value, len(flats)),
    }


def _colour(value: float | None) -> tuple[int, ...]:
    if value is None:
        return _GREY
    return (*_COLOURS[min(int(value), len(_COLOURS) - 1)], 210)


def _tip(flat: Flat, value: float | None, count: int) -> str:
    several = f" (× {count})" if count > 1 else ""
    size = f"{formatting.euro(flat.price_eur)} · {formatting.area(flat.area_sqm)}"
    return f"{size}\n★ {formatting.score(value)}/5{several}\n{safe.plain(flat.neighbourhood or '?')}"


def _neighbourhood_names(labels: Iterable[Label]) -> pydeck.Layer:
    """The only ground there is: neighbourhoods at their centres, with the medians of their prices."""
    rows = [{"lat": one.lat, "lon": one.lon, "text": one.text, "shift": [0, one.shift]} for one in labels]
    return pydeck.Layer(
        "TextLayer",
        rows,
        id="neighbourhoods",
        get_position=["lon", "lat"],
        get_text="text",
        get_size=MAP_NAME_SIZE,
        get_pixel_offset="shift",
        get_color=[60, 70, 80],
        font_family=pydeck.types.String("sans-serif"),
        character_set=pydeck.types.String("auto"),
        pickable=False,
    )
