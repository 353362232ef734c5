"""Alerts: channels to test, rules to switch, change and remove, what was sent and why; and "tell me"."""

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
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, WebPage, own_address
from sale_sofia.app.filters import Choice
from sale_sofia.app.pages.channels import BACK, THEN, WRONG, all_channels, may_change, owner_of, try_out
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import PageVisit, Values, changed_lines
from sale_sofia.app.words import language, mistakes, say, translate, word_for
from sale_sofia.buyer.searches import list_searches
from sale_sofia.history.drift.store import DRIFT
from sale_sofia.listings.text import plain
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind

_SHORTLIST: Final = "shortlist"
_NAMED: Final = ("profile", "search", "flat")
"""Sources of a rule that have a name or a number."""
_USUAL_DIGEST: Final = "08:30"
_USUAL_CUT: Final = 3
_POINTS: Final = tuple(half / 2 for half in range(11))
"""The least points of a profile that a rule may require, from 0 to 5."""


# Forms. A form names its rule by the stamp of what was shown: a rule that was changed meanwhile is
# left as it is.


def begin(visit: PageVisit) -> Done:
    """Create the file of rules."""
    return _edit(lambda: _rules(visit).begin())


def keep(visit: PageVisit) -> WebPage | Done:
    """Save a rule, new or in place of the one that was shown; a mistake is shown beside it."""
    rules, kind = _rules(visit), _kind(visit.form.get("kind"))
    if kind is None:
        return _conflict()
    # The rule of the fields.
    form = visit.form
    daily = {"digest": form.get("digest", "").strip().zfill(len("00:00"))} if "daily" in form else {}
    own = _read_buyer(form) if kind == "buyer" else _read_operator(form)
    rule = {"name": form.get("name", "").strip(), **own, "channels": _ticked(form, "channels"), **daily}
    try:
        before = _rule_in_form(visit, rules) if visit.form.get("stamp") else None
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


def switch(visit: PageVisit) -> Done:
    """Switch a rule on or off."""
    rules, on = _rules(visit), visit.form.get("enabled") == "true"
    return _edit(lambda: rules.switch(_rule_in_form(visit, rules)["name"], enabled=on))


def remove(visit: PageVisit) -> Done:
    """Remove a rule."""
    rules = _rules(visit)
    return _edit(lambda: rules.remove(_rule_in_form(visit, rules)))


def try_channel(visit: PageVisit) -> Done:
    """Send a test message now, and report the channel's answer without any secret."""
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


def _rules(visit: PageVisit) -> RuleFile:
    """The file of rules, which the commands edit too."""
    return RuleFile(visit.state.settings, visit.database, visit.by)


def stamp_of(rule: Written) -> str:
    """A digest of the rule, which changes with anything in it."""
    return sha256(json.dumps(rule, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _rule_in_form(visit: PageVisit, rules: RuleFile) -> Written:
    """The rule of the form, as it was shown there.

    Raises:
        RuleChanged: it was changed or removed meanwhile.
    """
    stamp = visit.form.get("stamp")
    for group in rules.written().values():
        for rule in group:
            if stamp_of(rule) == stamp:
                return rule
    raise RuleChanged(Said("conflict"))


def _kind(text: str | None) -> RuleKind | None:
    return next((kind for kind in RULE_KINDS if kind == text), None)


# A rule as fields of a form.


def _read_buyer(form: Mapping[str, str]) -> Written:
    source, _, name = form.get("of", "").partition(":")
    about = int(name) if source == "flat" and name.isascii() and name.isdigit() else name
    own: Written = {_SHORTLIST: True} if source == _SHORTLIST else {source: about} if name else {}
    kinds = [kind for kind in _ticked(form, "tell") if source != _SHORTLIST or kind != "new"]
    points = fmt.parse_number(form.get("min_score", ""))
    scored = {"min_score": points} if points is not None and source == "profile" else {}
    cut = fmt.parse_number(form.get("cut_percent", ""))
    share = {} if cut is None else {"cut_percent": cut}
    return {**own, "tell": kinds, **scored, **share, "unknown": "unknown" in form}


def _read_operator(form: Mapping[str, str]) -> Written:
    return {"incidents": _ticked(form, "incidents"), "urgent": "urgent" in form, "ends": "ends" in form}


def _ticked(form: Mapping[str, str], name: str) -> list[str]:
    return [value for value in form.get(name, "").split("\n") if value]


def _untouched(rule: Written) -> Written:
    """The keys of a rule that have no field in the form: they stay as they are."""
    return {key: rule[key] for key in ("enabled", "cheaper_percent") if key in rule}


Open = tuple[RuleKind, Written, str, str]
"""The rule in the form: its kind, the rule, the stamp of the one it replaces, and its mistake."""


def _opened(visit: PageVisit, rules: Mapping[str, tuple[RuleKind, Written]]) -> Open | None:
    """The rule that the address names, or a new one, of a saved search where it names one."""
    if (existing := rules.get(visit.param("rule") or "")) is not None:
        return (*existing, stamp_of(existing[1]), "")
    kind = _kind(visit.param("new"))
    search = visit.param("search")
    return None if kind is None else (kind, {"name": search, "search": search} if search else {}, "", "")


def _form(visit: PageVisit, file: AlertsFile, opened: Open) -> Values:
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


def _buyer_form(visit: PageVisit, rule: Written) -> Values:
    points = rule.get("min_score")
    offered = sorted({*_POINTS, *([points] if isinstance(points, int | float) else [])})
    return {
        "of": _sources(visit, rule),
        "tell": _choices(BUYER_KINDS, rule.get("tell", USUAL_KINDS), lambda kind: say(f"alerts.kind.{kind}")),
        "points": [Choice(f"{value:g}", fmt.number(value, 1), value == points) for value in offered],
        "cut_percent": fmt.for_input(rule.get("cut_percent", _USUAL_CUT)),
        "unknown": rule.get("unknown", True),
    }


def _operator_form(rule: Written) -> Values:
    kinds = [*map(str, IncidentKind), DRIFT]
    return {
        "incidents": _choices(kinds, rule.get("incidents", []), partial(word_for, "incident")),
        "urgent": rule.get("urgent", False),
        "ends": rule.get("ends", True),
    }


def _choices(
    offered: Iterable[str], chosen: Sequence[str], name: Callable[[str], str] = plain
) -> list[Choice]:
    return [Choice(value, name(value), value in chosen) for value in offered]


def _sources(visit: PageVisit, rule: Written) -> list[Choice]:
    """The sources to choose from; the rule's own is among them even if it no longer exists."""
    searches = visit.database.run_read(list_searches)
    sources = [
        *(f"profile:{name}" for name in profile_names(visit.state.settings.data_dir)),
        *(f"search:{search.name}" for search in searches),
        _SHORTLIST,
    ]
    own = _source(rule)
    return [
        Choice(source, _source_name(source), source == own)
        for source in dict.fromkeys([*sources, *filter(None, [own])])
    ]


def _source(rule: Written) -> str | None:
    if rule.get(_SHORTLIST):
        return _SHORTLIST
    return next((f"{kind}:{rule[kind]}" for kind in _NAMED if rule.get(kind)), None)


def _source_name(source: str) -> str:
    kind, _, name = source.partition(":")
    return plain(say(f"alerts.{kind}", name=name)) if name else say("alerts.shortlist")


# The values of the template.


def page(visit: PageVisit, refused: Open | None = None) -> WebPage:
    """The page; with the fields of a refused rule as they were sent."""
    title, status = say("page.alerts"), 400 if refused else 200
    log = visit.database.run_read(partial(read_log, limit=SHOWN_MESSAGES, state=None))
    values: Values = {"file_name": f"DATA_DIR/{ALERTS_FILE}", "there": False, "form": None}
    values["error"] = refused[3] if refused else None  # unless it is shown beside the fields
    values |= {"log": log_rows(log), "channels": [], "rules": [], "quiet": None, "kinds": RULE_KINDS}
    try:
        file = load_alerts(visit.state.settings.data_dir)
        written = _rules(visit).written() if file else {}
    except AlertsError as error:
        values["error"] = translate(error)
        return WebPage("alerts.html", title, values, lambda: _data(values, log, {}), status)
    by_name = {rule["name"]: (kind, rule) for kind, group in written.items() for rule in group}
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
    return WebPage("alerts.html", title, values, lambda: _data(values, log, written), status)


def _channels(visit: PageVisit, file: AlertsFile) -> list[Values]:
    """The channels, without their addresses."""
    there = channels_of(file, kept_channels(visit.state.settings.data_dir))
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
    visit: PageVisit, file: AlertsFile, written: Mapping[str, tuple[RuleKind, Written]]
) -> list[Values]:
    since = {name: stored.since for name, stored in visit.database.run_read(read_rules).items()}
    changed = changed_lines(visit, "rule")
    return [
        {
            "name": rule.name,
            "on": rule.enabled,
            "stamp": stamp_of(written[rule.name][1]),
            "of_flats": isinstance(rule, BuyerRule),
            "sentence": sentence_of(rule, file, language()),
            "since": fmt.moment(since[rule.name]) if rule.name in since else None,
            "changed": changed.get(rule.name, ""),
            "preview": _previewed(visit, rule),
        }
        for rule in file.rules
        if rule.name in written
    ]


def _previewed(visit: PageVisit, rule: AlertRule) -> Values | None:
    """What the rule would have sent lately, where the address asks for it."""
    if rule.name != visit.param("preview") or not isinstance(rule, BuyerRule):
        return None
    visit.state.refresh(visit.profiles)
    folder = visit.state.settings.data_dir
    try:
        items = visit.database.run_read(partial(preview, rule=rule, data_dir=folder, now=visit.now))
    except AlertsError as error:
        return {"count": mistakes(error), "flats": []}
    flats = [(news.property_id, headline(news, language())) for news in items[:PREVIEW_SHOWN]]
    return {"count": say("alerts.preview.count", n=fmt.number(len(items))), "flats": flats}


def log_rows(entries: Sequence[LogEntry]) -> list[dict[str, str]]:
    """Sent and waiting messages, the newest first."""
    return [
        {
            say("alerts.at"): fmt.moment(_moment(entry)),
            say("alerts.state"): say(f"alerts.state.{entry.state}"),
            say("alerts.channel"): plain(entry.channel),
            say("alerts.why"): ", ".join(_why(entry)),
            say("alerts.message"): _subject(entry),
            say("alerts.tries"): fmt.number(entry.attempts),
            say("alerts.error"): plain(translate(entry.last_error or ""), LONGEST_MESSAGE),
        }
        for entry in entries
    ]


def _moment(entry: LogEntry) -> float | None:
    return entry.sent_at if entry.state == SENT else entry.not_before


def _why(entry: LogEntry) -> list[str]:
    """The rules that sent it."""
    return sorted({plain(rule) for item in entry.items for rule in item.rules})


def _subject(entry: LogEntry) -> str:
    return plain(word_message(entry.items, language()).subject, LONGEST_MESSAGE)


def _data(values: Values, log: Sequence[LogEntry], written: Mapping[RuleKind, Sequence[Written]]) -> Values:
    sent: list[dict[str, Any]] = [
        {
            "state": entry.state,
            "at": _moment(entry),
            "channel": entry.channel,
            "rules": _why(entry),
            "message": _subject(entry),
            "attempts": entry.attempts,
            "error": translate(entry.last_error) if entry.last_error else None,
        }
        for entry in log
    ]
    channels = [
        {name: channel[name] for name in ("name", "service", "rules")} for channel in values["channels"]
    ]
    return {
        "error": values["error"],
        "channels": channels,
        "rules": {kind: list(group) for kind, group in written.items()},
        "log": sent,
    }


# "Tell me": a tap on a search, on a flat or on Today adds a rule for it. A visitor without a channel is led
# to the page of channels with the request (`THEN`): the rule is added when their channel is stored,
# without another tap.


def tell(visit: PageVisit, title: str, **source: Any) -> Done:  # noqa: ANN401 - as it stands in the file
    """Add an alert on this source to the visitor's own channels; without one they set one up first.

    An existing rule for the source gets their channels too.
    """
    try:
        own = own_channels(visit)
        if not own:
            params = {BACK: own_address(visit.form.get("back", "/")), THEN: json.dumps([title, source])}
            return Done(say("tell.channel_first"), back=f"/channels?{urlencode(params)}")
        rules = RuleFile(visit.state.settings, visit.database, visit.by)
        if not rules.path.exists():
            rules.begin()
        there = [rule for group in rules.written().values() for rule in group]
        names = ", ".join(map(plain, own))
        for rule in there:
            if source.items() <= rule.items() and rule.get("enabled", True):
                more = [name for name in own if name not in rule["channels"]]
                if not more:
                    return Done(say("tell.already", channels=names))
                changed = {**rule, "channels": [*rule["channels"], *more]}
                rules.change(rule, changed)
                return Done(say("tell.kept", channels=names))
        rule = {"name": free_name(title, [other["name"] for other in there]), **source, "channels": own}
        rules.add("buyer", rule)
        undo = {"action": "/alerts/remove", "stamp": stamp_of(rule)}
        return Done(say("tell.kept", channels=names), undo=undo)
    except WRONG as error:
        return Done(plain(mistakes(error), LONGEST_MESSAGE), wrong=True)


_SOURCES: Final = frozenset({"profile", "search", "flat", "tell", "cut_percent"})
"""The keywords of `tell`; requests with others were not made by our pages."""


def then_tell(handler: Callable[[PageVisit], Done]) -> Callable[[PageVisit], Done]:
    """The handler of a form that adds a channel, and then the alert that led to it, if one did."""

    def keep_then_tell(visit: PageVisit) -> Done:
        done = handler(visit)
        request = None if done.wrong else _parse_request(visit.form.get(THEN, ""))
        if request is None:
            return done
        outcome = tell(visit, request[0], **request[1])
        return replace(outcome, message=f"{done.message} {outcome.message}", back=done.back)

    return keep_then_tell


def _parse_request(text: str) -> tuple[str, Written] | None:
    """The title and the source of a requested alert; None where our pages did not write it."""
    try:
        title, source = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    ours = isinstance(title, str) and isinstance(source, dict) and source.keys() <= _SOURCES
    return (title, source) if ours else None


def own_channels(visit: PageVisit) -> list[str]:
    """The visitor's own channels; else those without an owner. Raises what is in WRONG."""
    channels, owner = all_channels(visit).values(), owner_of(visit)
    own = [channel.name for channel in channels if owner is not None and channel.person == owner]
    return own or [channel.name for channel in channels if channel.person is None]
