"""Alerts as rows: channels without their secrets, rules, and what was sent and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from hashlib import sha256
from typing import Any, Final
from uuid import uuid4

import streamlit as st

from sale_sofia.advice.scoring.profile import profile_names
from sale_sofia.alerts.channels import Channel, NotSent, Sender
from sale_sofia.alerts.editing import RuleFile, Written
from sale_sofia.alerts.outbox import SENT, Entry
from sale_sofia.alerts.rules import (
    BUYER_KINDS,
    AlertsError,
    AlertsFile,
    BuyerRule,
    OperatorRule,
    Rule,
    RuleKind,
)
from sale_sofia.alerts.settings import LONGEST_NAME
from sale_sofia.alerts.wording import word_message, word_test
from sale_sofia.app import formatting, state
from sale_sofia.app import formatting as shown
from sale_sofia.app.formatting import number, refusal, steps
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.words import language, named, say, told
from sale_sofia.buyer.searches import list_searches
from sale_sofia.history.drift.store import DRIFT
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind

Row = dict[str, Any]


def rule_rows(file: AlertsFile, since: Mapping[str, float]) -> list[Row]:
    """One row for each rule."""
    return [
        {
            say("alerts.rule"): formatting.plain(rule.name),
            say("alerts.on"): say("alerts.is_on" if rule.enabled else "alerts.is_off"),
            say("alerts.of"): _about(rule)[0],
            say("alerts.tells"): _about(rule)[1],
            say("alerts.channels"): ", ".join(rule.channels),
            say("alerts.when"): _when(rule),
            say("alerts.since"): shown.moment(since.get(rule.name)),
        }
        for rule in file.rules
    ]


def _when(rule: Rule) -> str:
    return say("alerts.digest", time=f"{rule.digest:%H:%M}") if rule.digest else say("alerts.at_once")


def _about(rule: Rule) -> tuple[str, str]:
    if isinstance(rule, OperatorRule):
        kinds = [named("incident", kind) for kind in rule.incidents]
        return say("alerts.incidents"), ", ".join(kinds) or say("alerts.all")
    if not isinstance(rule, BuyerRule):
        return "", ""
    told = ", ".join(say(f"alerts.kind.{kind}") for kind in rule.tell)
    if rule.shortlist:
        return say("alerts.shortlist"), told
    of = say("alerts.search", name=rule.search) if rule.search else say("alerts.profile", name=rule.profile)
    return formatting.plain(of), told


def channel_line(channel: Channel, file: AlertsFile) -> str:
    """A channel without its address, as Markdown."""
    rules = [rule.name for rule in file.rules if channel.name in rule.channels]
    used = formatting.markdown(", ".join(rules)) if rules else say("alerts.unused")
    return f"**{formatting.markdown(channel.name)}** · `{formatting.plain(channel.service)}://***` · {used}"


def log_rows(entries: Sequence[Entry]) -> list[Row]:
    """What was sent and what waits, the newest first."""
    return [
        {
            say("alerts.state"): say(f"alerts.state.{one.state}"),
            say("alerts.at"): shown.moment(one.sent_at if one.state == SENT else one.not_before),
            say("alerts.channel"): formatting.plain(one.channel),
            say("alerts.why"): ", ".join(sorted({rule for item in one.items for rule in item.rules})),
            say("alerts.message"): formatting.plain(
                word_message(one.items, language()).subject, LONGEST_MESSAGE
            ),
            say("alerts.tries"): one.attempts,
            say("alerts.error"): formatting.plain(told(one.last_error or ""), LONGEST_MESSAGE),
        }
        for one in entries
    ]


def try_channel(channel: Channel) -> Said | None:
    """Send a test message now; what went wrong, without any secret, or None."""
    try:
        seconds = state.settings().alert_send_seconds
        Sender(seconds).send(channel, word_test(language()), uuid4().hex)
    except (NotSent, AlertsError) as error:
        return Said.of(error)
    return None


# A rule of alerts as a form: its fields, what stands in them, and the rule that they make.

Source = tuple[str, str]
"""What a rule is of: `profile` or `search` with a name, or `shortlist`."""
_SHORTLIST: Final[Source] = ("shortlist", "")
_SAID: Final = "alerts.said"
_WRONG: Final = "alerts.wrong"
_USUAL_DIGEST: Final = time(8, 30)
POINTS: Final = (0.0, 5.0, 0.5)
"""Points of a profile: from, to, step."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of one rule, new or as it stands in the file."""

    file: AlertsFile
    kind: RuleKind
    before: Written | None = None

    @property
    def rule(self) -> Written:
        """What stands in the fields at first."""
        return self.before or {}

    def key(self, field: str) -> str:
        """Another rule, or the same after a change, has fields of its own."""
        stands = sha256(repr(sorted(self.rule.items())).encode()).hexdigest()[:12]
        return f"rule:{self.kind}:{stands}:{field}"


def rule_file() -> RuleFile:
    """The file that the commands edit too."""
    return RuleFile(state.settings(), state.database())


def draw(form: Form) -> None:
    """The fields with a button that keeps them."""
    with st.form(form.key("form")):
        name = st.text_input(
            say("alerts.rule"), form.rule.get("name", ""), max_chars=LONGEST_NAME, key=form.key("name")
        )
        own = _buyer_fields(form) if form.kind == "buyer" else _operator_fields(form)
        shared = _shared_fields(form)
        if st.form_submit_button(say("alerts.keep")):
            rule = {"name": name.strip(), **own, **shared}
            _keep(form, rule | _untouched(form.rule))


def draw_switches(before: Written) -> None:
    """Whether the rule tells anything, and a way to be rid of it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        is_on = before.get("enabled", True)
        st.button(
            say("alerts.switch_off" if is_on else "alerts.switch_on"),
            key="rule-switch",
            on_click=_edit,
            args=("switch", before["name"]),
            kwargs={"enabled": not is_on},
        )
        with st.popover(say("alerts.remove")):
            st.markdown(say("alerts.remove_sure", name=formatting.markdown(before["name"])))
            st.button(say("alerts.remove_do"), key="rule-remove", on_click=_edit, args=("remove", before))


def tell_what_happened() -> None:
    """What came of the last press of a button."""
    if wrong := st.session_state.pop(_WRONG, None):
        st.error(refusal(wrong))
    if st.session_state.pop(_SAID, False):
        st.success(say("alerts.kept"))


def begin() -> None:
    """Write a file to begin with."""
    _edit("begin")


def _keep(form: Form, rule: Written) -> None:
    if form.before is None:
        _edit("add", form.kind, rule)
    else:
        _edit("change", form.before, rule)
    st.rerun()


def _edit(what: str, *values: object, **named_values: object) -> None:
    try:
        getattr(rule_file(), what)(*values, **named_values)
    except AlertsError as error:
        st.session_state[_WRONG] = Said.of(error)
    else:
        st.session_state[_SAID] = True


def _untouched(rule: Mapping[str, Any]) -> Written:
    """Keys that have no field here stay as they are."""
    return {key: rule[key] for key in ("enabled", "cheaper_percent") if key in rule}


def _buyer_fields(form: Form) -> Written:
    sources = _sources(form.rule)
    of = st.selectbox(
        say("alerts.of"),
        sources,
        index=sources.index(_source_of(form.rule)) if form.before else 0,
        format_func=_source_name,
        key=form.key("of"),
    )
    tell = st.multiselect(
        say("alerts.tells"),
        BUYER_KINDS,
        form.rule.get("tell", BUYER_KINDS),
        format_func=lambda kind: say(f"alerts.kind.{kind}"),
        key=form.key("tell"),
    )
    with st.container(horizontal=True):
        least = st.selectbox(
            say("alerts.min_score"),
            steps(POINTS, form.rule.get("min_score") or POINTS[0]),
            index=_place(form.rule.get("min_score")),
            format_func=lambda points: number(points, 1),
            placeholder=say("alerts.any_score"),
            key=form.key("score"),
        )
        cut = st.number_input(
            say("alerts.cut_percent"), 0, 100, round(form.rule.get("cut_percent", 3)), key=form.key("cut")
        )
    unknown = st.checkbox(say("alerts.unknown"), form.rule.get("unknown", True), key=form.key("unknown"))
    source: Written = {"shortlist": True} if of == _SHORTLIST else {of[0]: of[1]}
    told = [kind for kind in tell if of != _SHORTLIST or kind != "new"]
    scored = {"min_score": least} if least is not None and of[0] == "profile" else {}
    return {**source, "tell": told, **scored, "cut_percent": cut, "unknown": unknown}


def _place(points: float | None) -> int | None:
    return None if points is None else steps(POINTS, points).index(points)


def _operator_fields(form: Form) -> Written:
    incidents = st.multiselect(
        say("alerts.incidents"),
        [*map(str, IncidentKind), DRIFT],
        form.rule.get("incidents", []),
        format_func=lambda kind: named("incident", kind),
        placeholder=say("alerts.all"),
        key=form.key("incidents"),
    )
    urgent = st.checkbox(say("alerts.urgent"), form.rule.get("urgent", False), key=form.key("urgent"))
    ends = st.checkbox(say("alerts.ends"), form.rule.get("ends", True), key=form.key("ends"))
    return {"incidents": incidents, "urgent": urgent, "ends": ends}


def _shared_fields(form: Form) -> Written:
    channels = st.multiselect(
        say("alerts.channels"),
        list(form.file.channels),
        form.rule.get("channels", list(form.file.channels)[:1]),
        placeholder=say("alerts.choose_channels"),
        key=form.key("channels"),
    )
    given = form.rule.get("digest")
    daily = st.checkbox(say("alerts.daily"), given is not None, key=form.key("daily"))
    at = st.time_input(
        say("alerts.daily_at"), time.fromisoformat(given) if given else _USUAL_DIGEST, key=form.key("digest")
    )
    return {"channels": channels, **({"digest": f"{at:%H:%M}"} if daily and at else {})}


def _sources(rule: Mapping[str, Any]) -> Sequence[Source]:
    profiles = [("profile", name) for name in profile_names(state.settings().data_dir)]
    searches = [("search", one.name) for one in state.database().run_read(list_searches)]
    known = [*profiles, *searches, _SHORTLIST]
    return known if not rule or _source_of(rule) in known else [*known, _source_of(rule)]


def _source_of(rule: Mapping[str, Any]) -> Source:
    for kind in ("profile", "search"):
        if rule.get(kind):
            return kind, rule[kind]
    return _SHORTLIST


def _source_name(of: Source) -> str:
    return (
        say("alerts.shortlist") if of == _SHORTLIST else formatting.plain(say(f"alerts.{of[0]}", name=of[1]))
    )
