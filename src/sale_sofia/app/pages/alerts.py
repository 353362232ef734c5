"""Alerts: channels to try, rules to switch, change and remove, what was sent and why; and "tell me"."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from sale_sofia.advice.scoring.profile import profile_names
from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.editing import RuleChanged, RuleFile, Written, preview, sentence_of
from sale_sofia.alerts.kept import free_name, kept_channels
from sale_sofia.alerts.outbox import SENT, LogEntry, read_log
from sale_sofia.alerts.rules import (
    BUYER_KINDS,
    RULE_KINDS,
    USUAL_KINDS,
    AlertRule,
    AlertsError,
    AlertsFile,
    BuyerRule,
    RuleKind,
    load_alerts,
)
from sale_sofia.alerts.settings import ALERTS_FILE, LONGEST_NAME, PREVIEW_SHOWN, SHOWN_MESSAGES
from sale_sofia.alerts.store import read_rules
from sale_sofia.alerts.wording import headline, word_message
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page, own_address
from sale_sofia.app.filters import Choice
from sale_sofia.app.pages.channels import BACK, THEN, WRONG, all_channels, may_change, try_out, who
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import Values, Visit, changed_lines
from sale_sofia.app.words import language, mistakes, named, say, told
from sale_sofia.buyer.searches import list_searches
from sale_sofia.history.drift.store import DRIFT
from sale_sofia.listings.text import plain
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind

_SHORTLIST: Final = "shortlist"
_NAMED: Final = ("profile", "search", "flat")
"""What a rule can be of by its name or number."""
_USUAL_DIGEST: Final = "08:30"
_USUAL_CUT: Final = 3
_POINTS: Final = tuple(half / 2 for half in range(11))
"""Points of a profile that a rule may ask for, from 0 to 5."""


# What the forms do. What a form is about is told by what was shown there: a rule that is another by now is
# left as it is.


def begin(visit: Visit) -> Done:
    """Write a file to begin with."""
    return _edit(lambda: _rules(visit).begin())


def keep(visit: Visit) -> Page | Done:
    """Keep a rule, a new one or instead of the one that was shown; why it cannot be is told beside it."""
    rules, kind = _rules(visit), _kind(visit.form.get("kind"))
    if kind is None:
        return _conflict()
    # The rule that the fields make.
    form = visit.form
    daily = {"digest": form.get("digest", "").strip().zfill(len("00:00"))} if "daily" in form else {}
    own = _read_buyer(form) if kind == "buyer" else _read_operator(form)
    rule = {"name": form.get("name", "").strip(), **own, "channels": _ticked(form, "channels"), **daily}
    try:
        before = _shown(visit, rules) if visit.form.get("stamp") else None
        rule |= _untouched(before or {})
        if before is None:
            rules.add(kind, rule)
        else:
            rules.change(before, rule)
    except RuleChanged:
        return _conflict()
    except AlertsError as error:
        return page(visit, (kind, rule, visit.form.get("stamp", ""), mistakes(error)))
    return Done(say("alerts.kept"), back="/alerts#rules")


def switch(visit: Visit) -> Done:
    """Let a rule tell things, or not."""
    rules, on = _rules(visit), visit.form.get("enabled") == "true"
    return _edit(lambda: rules.switch(_shown(visit, rules)["name"], enabled=on))


def remove(visit: Visit) -> Done:
    """Take a rule out."""
    rules = _rules(visit)
    return _edit(lambda: rules.remove(_shown(visit, rules)))


def try_channel(visit: Visit) -> Done:
    """Send a test message now, and tell what its channel said to it; without any secret."""
    name = visit.form.get("channel", "")
    try:
        channel = all_channels(visit).get(name)
        if channel is None:
            return _conflict()
        if not may_change(visit, channel):
            return Done(say("channels.not_yours"), back="/alerts", wrong=True)
        try_out(visit, channel)
    except WRONG as error:
        return Done(f"{plain(name)}: {plain(mistakes(error), LONGEST_MESSAGE)}", back="/alerts", wrong=True)
    return Done(f"{plain(name)}: {say('alerts.taken')}", back="/alerts#channels")


def _edit(work: Callable[[], None]) -> Done:
    try:
        work()
    except RuleChanged:
        return _conflict()
    except AlertsError as error:
        return Done(plain(mistakes(error), LONGEST_MESSAGE), back="/alerts", wrong=True)
    return Done(say("alerts.kept"), back="/alerts#rules")


def _conflict() -> Done:
    return Done(say("conflict"), back="/alerts", wrong=True)


def _rules(visit: Visit) -> RuleFile:
    """The file that the commands edit too."""
    return RuleFile(visit.site.settings, visit.database, visit.by)


def stamp_of(rule: Written) -> str:
    """Another one when anything in the rule is another."""
    return sha256(json.dumps(rule, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _shown(visit: Visit, rules: RuleFile) -> Written:
    """The rule that the form is about, as it was shown there.

    Raises:
        RuleChanged: there is none such any more.
    """
    given = visit.form.get("stamp")
    for some in rules.written().values():
        for rule in some:
            if stamp_of(rule) == given:
                return rule
    raise RuleChanged(Said("conflict"))


def _kind(text: str | None) -> RuleKind | None:
    return next((one for one in RULE_KINDS if one == text), None)


# A rule as the fields of a form.


def _read_buyer(form: Mapping[str, str]) -> Written:
    source, _, name = form.get("of", "").partition(":")
    about = int(name) if source == "flat" and name.isascii() and name.isdigit() else name
    own: Written = {_SHORTLIST: True} if source == _SHORTLIST else {source: about} if name else {}
    told_of = [kind for kind in _ticked(form, "tell") if source != _SHORTLIST or kind != "new"]
    points = shown.typed(form.get("min_score", ""))
    scored = {"min_score": points} if points is not None and source == "profile" else {}
    cut = shown.typed(form.get("cut_percent", ""))
    share = {} if cut is None else {"cut_percent": cut}
    return {**own, "tell": told_of, **scored, **share, "unknown": "unknown" in form}


def _read_operator(form: Mapping[str, str]) -> Written:
    return {"incidents": _ticked(form, "incidents"), "urgent": "urgent" in form, "ends": "ends" in form}


def _ticked(form: Mapping[str, str], name: str) -> list[str]:
    return [one for one in form.get(name, "").split("\n") if one]


def _untouched(rule: Written) -> Written:
    """Keys that have no field here stay as they are."""
    return {key: rule[key] for key in ("enabled", "cheaper_percent") if key in rule}


Open = tuple[RuleKind, Written, str, str]
"""The rule in the form: its kind, itself, the stamp of the one it stands for, and what is wrong with it."""


def _opened(visit: Visit, rules: Mapping[str, tuple[RuleKind, Written]]) -> Open | None:
    """As the address asks: a rule by its name, or a new one, of a saved search where one is named."""
    if (found := rules.get(visit.asked("rule") or "")) is not None:
        return (*found, stamp_of(found[1]), "")
    kind = _kind(visit.asked("new"))
    search = visit.asked("search")
    return None if kind is None else (kind, {"name": search, "search": search} if search else {}, "", "")


def _form(visit: Visit, file: AlertsFile, opened: Open) -> Values:
    kind, rule, stamp, wrong = opened
    digest = rule.get("digest")
    return {
        "kind": kind,
        "stamp": stamp,
        "wrong": wrong,
        "title": plain(rule.get("name", "")) if stamp else say(f"web.alerts.new.{kind}"),
        "name": rule.get("name", ""),
        "longest": LONGEST_NAME,
        "channels": _choices(file.channels, rule.get("channels", list(file.channels)[:1])),
        "daily": digest is not None,
        "digest": digest or _USUAL_DIGEST,
    } | (_buyer_form(visit, rule) if kind == "buyer" else _operator_form(rule))


def _buyer_form(visit: Visit, rule: Written) -> Values:
    points = rule.get("min_score")
    offered = sorted({*_POINTS, *([points] if isinstance(points, int | float) else [])})
    return {
        "of": _sources(visit, rule),
        "tell": _choices(BUYER_KINDS, rule.get("tell", USUAL_KINDS), lambda kind: say(f"alerts.kind.{kind}")),
        "points": [Choice(f"{one:g}", shown.number(one, 1), one == points) for one in offered],
        "cut_percent": shown.written(rule.get("cut_percent", _USUAL_CUT)),
        "unknown": rule.get("unknown", True),
    }


def _operator_form(rule: Written) -> Values:
    kinds = [*map(str, IncidentKind), DRIFT]
    return {
        "incidents": _choices(kinds, rule.get("incidents", []), partial(named, "incident")),
        "urgent": rule.get("urgent", False),
        "ends": rule.get("ends", True),
    }


def _choices(
    offered: Iterable[str], chosen: Sequence[str], name: Callable[[str], str] = plain
) -> list[Choice]:
    return [Choice(one, name(one), one in chosen) for one in offered]


def _sources(visit: Visit, rule: Written) -> list[Choice]:
    """What a rule can be of; what this one is of is among them, also when that is there no more."""
    searches = visit.database.run_read(list_searches)
    known = [
        *(f"profile:{name}" for name in profile_names(visit.site.settings.data_dir)),
        *(f"search:{one.name}" for one in searches),
        _SHORTLIST,
    ]
    own = _source(rule)
    return [
        Choice(one, _source_name(one), one == own) for one in dict.fromkeys([*known, *filter(None, [own])])
    ]


def _source(rule: Written) -> str | None:
    if rule.get(_SHORTLIST):
        return _SHORTLIST
    return next((f"{kind}:{rule[kind]}" for kind in _NAMED if rule.get(kind)), None)


def _source_name(source: str) -> str:
    kind, _, name = source.partition(":")
    return plain(say(f"alerts.{kind}", name=name)) if name else say("alerts.shortlist")


# What is shown.


def page(visit: Visit, refused: Open | None = None) -> Page:
    """The page; with a rule that was refused, its fields as they were sent."""
    title, status = say("page.alerts"), 400 if refused else 200
    log = visit.database.run_read(partial(read_log, limit=SHOWN_MESSAGES, state=None))
    values: Values = {"file_name": f"DATA_DIR/{ALERTS_FILE}", "there": False, "form": None}
    values["error"] = refused[3] if refused else None  # unless it is told beside the fields
    values |= {"log": log_rows(log), "channels": [], "rules": [], "quiet": None, "kinds": RULE_KINDS}
    try:
        file = load_alerts(visit.site.settings.data_dir)
        written = _rules(visit).written() if file else {}
    except AlertsError as error:
        values["error"] = told(error)
        return Page("alerts.html", title, values, lambda: _data(values, log, {}), status)
    by_name = {rule["name"]: (kind, rule) for kind, some in written.items() for rule in some}
    if file is not None:
        opened = refused or _opened(visit, by_name)
        hours = file.quiet_hours
        values |= {
            "error": None if file.channels else values["error"],
            "there": True,
            "channels": _channels(visit, file),
            "quiet": (
                say("alerts.quiet", start=f"{hours.from_:%H:%M}", end=f"{hours.to:%H:%M}") if hours else None
            ),
            "rules": _rule_rows(visit, file, by_name),
            "form": _form(visit, file, opened) if opened and file.channels else None,
        }
    return Page("alerts.html", title, values, lambda: _data(values, log, written), status)


def _channels(visit: Visit, file: AlertsFile) -> list[Values]:
    """Each without its address."""
    there = channels_of(file, kept_channels(visit.site.settings.data_dir))
    return [
        {
            "name": plain(name),
            "service": plain(channel.service),
            "rules": [plain(rule.name) for rule in file.rules if name in rule.channels],
            "may_try": may_change(visit, channel),
        }
        for name, channel in there.items()
    ]


def _rule_rows(
    visit: Visit, file: AlertsFile, written: Mapping[str, tuple[RuleKind, Written]]
) -> list[Values]:
    since = {name: one.since for name, one in visit.database.run_read(read_rules).items()}
    changed = changed_lines(visit, "rule")
    return [
        {
            "name": rule.name,
            "on": rule.enabled,
            "stamp": stamp_of(written[rule.name][1]),
            "of_flats": isinstance(rule, BuyerRule),
            "sentence": sentence_of(rule, file, language()),
            "since": shown.moment(since[rule.name]) if rule.name in since else None,
            "changed": changed.get(rule.name, ""),
            "preview": _previewed(visit, rule),
        }
        for rule in file.rules
        if rule.name in written
    ]


def _previewed(visit: Visit, rule: AlertRule) -> Values | None:
    """What the rule would have told lately, where the address asks for it."""
    if rule.name != visit.asked("preview") or not isinstance(rule, BuyerRule):
        return None
    visit.site.refresh(visit.profiles)
    folder = visit.site.settings.data_dir
    try:
        items = visit.database.run_read(partial(preview, rule=rule, data_dir=folder, now=visit.now))
    except AlertsError as error:
        return {"count": mistakes(error), "flats": []}
    flats = [(one.property_id, headline(one, language())) for one in items[:PREVIEW_SHOWN]]
    return {"count": say("alerts.preview.count", n=shown.number(len(items))), "flats": flats}


def log_rows(entries: Sequence[LogEntry]) -> list[dict[str, str]]:
    """What was sent and what waits, the newest first."""
    return [
        {
            say("alerts.at"): shown.moment(_moment(one)),
            say("alerts.state"): say(f"alerts.state.{one.state}"),
            say("alerts.channel"): plain(one.channel),
            say("alerts.why"): ", ".join(_why(one)),
            say("alerts.message"): _subject(one),
            say("alerts.tries"): shown.number(one.attempts),
            say("alerts.error"): plain(told(one.last_error or ""), LONGEST_MESSAGE),
        }
        for one in entries
    ]


def _moment(one: LogEntry) -> float | None:
    return one.sent_at if one.state == SENT else one.not_before


def _why(one: LogEntry) -> list[str]:
    """The rules by which it is told."""
    return sorted({plain(rule) for item in one.items for rule in item.rules})


def _subject(one: LogEntry) -> str:
    return plain(word_message(one.items, language()).subject, LONGEST_MESSAGE)


def _data(values: Values, log: Sequence[LogEntry], written: Mapping[RuleKind, Sequence[Written]]) -> Values:
    sent: list[dict[str, Any]] = [
        {
            "state": one.state,
            "at": _moment(one),
            "channel": one.channel,
            "rules": _why(one),
            "message": _subject(one),
            "attempts": one.attempts,
            "error": told(one.last_error) if one.last_error else None,
        }
        for one in log
    ]
    channels = [{name: one[name] for name in ("name", "service", "rules")} for one in values["channels"]]
    return {
        "error": values["error"],
        "channels": channels,
        "rules": {kind: list(some) for kind, some in written.items()},
        "log": sent,
    }


# Tell me: a tap on a search, on a flat or on Today makes the rule that tells of it. Who has no channel yet is
# led to the screen of channels, with what they want to be told (`THEN`): the rule is made when their channel
# is kept, without another tap.


def tell(visit: Visit, called: str, **source: Any) -> Done:  # noqa: ANN401 - as it stands in the file
    """Tell who asks of this source, through their own channels; where there are none they set one up first.

    A rule that tells of it already gets their channels too.
    """
    try:
        own = own_channels(visit)
        if not own:
            asked = {BACK: own_address(visit.form.get("back", "/")), THEN: json.dumps([called, source])}
            return Done(say("tell.channel_first"), back=f"/channels?{urlencode(asked)}")
        rules = RuleFile(visit.site.settings, visit.database, visit.by)
        if not rules.path.exists():
            rules.begin()
        there = [one for some in rules.written().values() for one in some]
        told = ", ".join(map(plain, own))
        for rule in there:
            if source.items() <= rule.items() and rule.get("enabled", True):
                more = [name for name in own if name not in rule["channels"]]
                if not more:
                    return Done(say("tell.already", channels=told))
                changed = {**rule, "channels": [*rule["channels"], *more]}
                rules.change(rule, changed)
                return Done(say("tell.kept", channels=told))
        rule = {"name": free_name(called, [one["name"] for one in there]), **source, "channels": own}
        rules.add("buyer", rule)
        undo = {"action": "/alerts/remove", "stamp": stamp_of(rule)}
        return Done(say("tell.kept", channels=told), undo=undo)
    except WRONG as error:
        return Done(plain(mistakes(error), LONGEST_MESSAGE), wrong=True)


_SOURCES: Final = frozenset({"profile", "search", "flat", "tell", "cut_percent"})
"""What `tell` is given; whatever else stands in an address is no wish of ours."""


def then_tell(work: Callable[[Visit], Done]) -> Callable[[Visit], Done]:
    """The form keeps a channel; where it came from "tell me", what was wanted is told through it at once."""

    def both(visit: Visit) -> Done:
        done = work(visit)
        wanted = None if done.wrong else _wanted(visit.form.get(THEN, ""))
        if wanted is None:
            return done
        told = tell(visit, wanted[0], **wanted[1])
        return replace(told, said=f"{done.said} {told.said}", back=done.back)

    return both


def _wanted(text: str) -> tuple[str, Written] | None:
    """What is to be told, and its name; None where nobody of ours wrote that."""
    try:
        called, source = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    ours = isinstance(called, str) and isinstance(source, dict) and source.keys() <= _SOURCES
    return (called, source) if ours else None


def own_channels(visit: Visit) -> list[str]:
    """Those of who asks; else those that are nobody's own. Raises what is in WRONG."""
    found = all_channels(visit).values()
    own = [one.name for one in found if one.person is not None and one.person == who(visit)]
    return own or [one.name for one in found if one.person is None]
