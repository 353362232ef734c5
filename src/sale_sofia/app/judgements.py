"""A score in words and as a picture: what each criterion contributes, and every condition with its reason."""

from collections.abc import Iterator
from typing import Any, Final

import altair as alt
import pandas as pd
import streamlit as st

from sale_sofia.app import charts, safe
from sale_sofia.app import formatting as shown
from sale_sofia.app.words import language, say
from sale_sofia.config.scoring import BEST
from sale_sofia.config.screens import LONGEST_CELL
from sale_sofia.insights.explaining import sentence
from sale_sofia.insights.judging import Criterion, Finding, State
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.scoring import Score

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
        f"<b>{shown.score(part.value)}</b> {safe.html(sentence(part, language()), LONGEST_CELL)}"
        for part in criterion.parts
    )


def _finding(one: Finding, *, is_accepted: bool) -> str:
    why = safe.html(sentence(one, language()), LONGEST_CELL)
    quote = f"<blockquote>„{safe.html(one.quote, LONGEST_CELL)}“</blockquote>" if one.quote else ""
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
