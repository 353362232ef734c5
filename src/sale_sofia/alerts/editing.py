"""Edits rules in their file, atomically and with its comments kept; and explains what a rule means."""

import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from sqlalchemy import Connection, select
from yaml.nodes import MappingNode, SequenceNode

from sale_sofia.alerts.channels import Channel, channels_of, open_service
from sale_sofia.alerts.deciding import FITS_NOT, View, check_kinds, decide, profiles_of, sources_of
from sale_sofia.alerts.kept import ChannelFile
from sale_sofia.alerts.outbox import drop_waiting
from sale_sofia.alerts.rules import (
    NONE,
    RULE_KINDS,
    AlertRule,
    AlertsError,
    AlertsFile,
    BuyerRule,
    OperatorRule,
    QuietHours,
    RuleKind,
    check_alerts,
    read_alerts,
)
from sale_sofia.alerts.settings import ALERTS_FILE, ALERTS_FILE_SECONDS, FLATS_AT_ONCE, PREVIEW_SECONDS
from sale_sofia.alerts.store import Item, as_of, matched
from sale_sofia.alerts.wording import Words, harmless, pointed, words_of
from sale_sofia.buyer.changes import What, note_change
from sale_sofia.buyer.evaluations import By, statuses
from sale_sofia.buyer.people import Person, all_people
from sale_sofia.flats.projection import load_flats
from sale_sofia.flats.rows import current_properties
from sale_sofia.history.tables import listings, market_events, price_points
from sale_sofia.operations.services.ownership import ALONE, StillLocked, lock_file, take
from sale_sofia.settings.files import (
    atomic_write,
    compose_yaml,
    end_of,
    line_end,
    read_yaml,
    write_new,
)
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Language, Said
from sale_sofia.storage.database import Database
from sale_sofia.websites.site_file import parse_yaml

# Everything that can be wrong with a file of rules, checked before anything is done.


def check_rules(settings: Settings, database: Database, file: AlertsFile) -> None:
    """Raise AlertsError when a rule names an incident, a profile or a search that does not exist."""
    check_kinds(file.operator)
    profiles = profiles_of(file.buyer, settings.data_dir)
    database.run_read(partial(sources_of, rules=file.buyer, profiles=profiles, now=time.time()))


def check_channels(settings: Settings, channels: Mapping[str, Channel]) -> None:
    """Raise AlertsError when a channel's address cannot be used."""
    for channel in channels.values():
        open_service(channel, settings.alert_send_seconds)


def check_file(settings: Settings, database: Database, file: AlertsFile) -> None:
    """Raise AlertsError when anything in the file cannot be used."""
    check_rules(settings, database, file)
    check_channels(settings, channels_of(file))


# Changes, adds or removes one item of a list in a YAML text; all other lines stay as written.

Written = dict[str, Any]
"""A rule as it stands in the file."""
_INDENT = 2


class CannotEdit(ValueError):
    """The text is written in a style whose lists cannot be edited."""


def add_item(text: str, key: str, item: Written) -> str:
    """The text with this item at the end of the list of that key; the list is made if it is missing."""
    _, found = _find_list(text, key)
    if found is None:
        return f"{text.rstrip()}\n\n{key}:\n{_list_item(item, _INDENT)}\n".lstrip("\n")
    start, end = found.start_mark.index, found.end_mark.index
    if found.flow_style:
        items = [*read_yaml(text[start:end]), item]
        remark, ending, below = text[end:].partition("\n")
        written = "\n".join(_list_item(entry, _INDENT) for entry in items)
        return f"{text[:start].rstrip(' ')}{remark}\n{written}{ending}{below}"
    place = line_end(text, end_of(found))
    return f"{text[:place]}\n{_list_item(item, found.start_mark.column)}{text[place:]}"


def change_item(text: str, key: str, place: int, item: Written) -> str:
    """The text with this item instead of the one at that place; comments inside the old one are lost."""
    _, _, node = _find_item(text, key, place)
    written = ("\n" + " " * node.start_mark.column).join(_lines_of(item))
    return f"{text[: node.start_mark.index]}{written}{text[end_of(node) :]}"


def drop_item(text: str, key: str, place: int) -> str:
    """The text without the item at that place."""
    key_end, count, node = _find_item(text, key, place)
    start = text.rfind("\n", 0, node.start_mark.index) + 1
    left = text[:start] + text[line_end(text, end_of(node)) + 1 :]
    if count > 1:
        return left
    colon = left.index(":", key_end) + 1
    return f"{left[:colon]} []{left[colon:]}"


def _find_list(text: str, key: str) -> tuple[int, SequenceNode | None]:
    """Where the key ends, and its list; None where there is no such key."""
    root = compose_yaml(text)
    if root is None:
        return 0, None
    if not isinstance(root, MappingNode):
        raise CannotEdit("the file holds no keys")
    for name, node in root.value:
        if name.value == key:
            if not isinstance(node, SequenceNode):
                raise CannotEdit(f"{key} is no list")
            return name.end_mark.index, node
    return 0, None


def _find_item(text: str, key: str, place: int) -> tuple[int, int, MappingNode]:
    """Where the key ends, how many items its list has, and this one, which has lines of its own."""
    key_end, found = _find_list(text, key)
    if found is None or found.flow_style:
        raise CannotEdit(f"{key} is written in one line")
    node = found.value[place]
    if not isinstance(node, MappingNode) or node.flow_style:
        raise CannotEdit(f"{key}.{place} is written in one line")
    return key_end, len(found.value), node


def _list_item(item: Written, column: int) -> str:
    """The item as lines of a list that begins at this column."""
    first, *more = _lines_of(item)
    indent = " " * column
    return "\n".join([f"{indent}- {first}", *(f"{indent}  {line}" for line in more)])


def _lines_of(item: Written) -> list[str]:
    """The item as YAML: lists of words in one line, a key and its word as they are written everywhere."""
    lines = []
    for name, value in item.items():
        flow = None if isinstance(value, list | dict) else False
        dumped = yaml.safe_dump({name: value}, allow_unicode=True, default_flow_style=flow, width=10_000)
        lines += dumped.strip().splitlines()
    return lines


class RuleChanged(AlertsError):
    """The rule was changed meanwhile; nothing was written."""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The rules file of an installation. Concurrent edits run one after the other."""

    settings: Settings
    database: Database
    by: By | None = None
    """Who edits it; stored with each change."""

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.settings.data_dir / ALERTS_FILE

    def begin(self) -> None:
        """Write the first file, which has no rules yet.

        Raises:
            AlertsError: there is one already; it is left as it is.
        """
        # Only its owner can read it, in case somebody writes a secret into it.
        if not write_new(self.path, (files("sale_sofia.alerts") / "starting.yaml").read_text("utf-8")):
            raise AlertsError(Said("wrong_rule.file_there", path=str(self.path)))

    def add(self, kind: RuleKind, rule: Written) -> None:
        """Add a rule at the end. Raises AlertsError if it cannot be added; nothing was written."""

        def edit(text: str, rules: dict[RuleKind, list[Written]]) -> str:
            rules[kind].append(rule)
            return add_item(text, kind, rule)

        self._edit(edit)
        self._note(rule, "made")

    def change(self, before: Written, rule: Written) -> None:
        """Write this rule instead of the one that stood there.

        Raises:
            RuleChanged: that one is no longer there.
            AlertsError: the rule cannot be written; nothing was changed.
        """

        def edit(text: str, rules: dict[RuleKind, list[Written]]) -> str:
            kind, place = _place(rules, before)
            rules[kind][place] = rule
            return change_item(text, kind, place, rule)

        self._edit(edit)
        self._note(rule, "changed")

    def remove(self, before: Written) -> None:
        """Remove the rule.

        Raises:
            RuleChanged: it is no longer there as it was.
            AlertsError: it cannot be removed; nothing was changed.
        """

        def edit(text: str, rules: dict[RuleKind, list[Written]]) -> str:
            kind, place = _place(rules, before)
            del rules[kind][place]
            return drop_item(text, kind, place)

        self._edit(edit)
        self._note(before, "removed")

    def _note(self, rule: Written, what: What) -> None:
        if self.by is not None:
            noted = partial(note_change, about="rule", name=str(rule["name"]), what=what, by=self.by)
            self.database.run_write(noted)

    def drop_channel(self, name: str) -> None:
        """Remove this channel from all rules; a rule that has no other channel is removed.

        What waits for it is dropped. Where the rules file has a channel of the same name, that one is meant.

        Raises:
            AlertsError: the rules cannot be edited.
        """
        if self.path.exists():
            written, rest = self._read(read_alerts(self.path))
            if name in (rest.get("channels") or {}):
                return
            for rule in [rule for rules in written.values() for rule in rules]:
                if name in rule["channels"]:
                    if left := [channel for channel in rule["channels"] if channel != name]:
                        self.change(rule, {**rule, "channels": left})
                    else:
                        self.remove(rule)
        self.database.run_write(partial(drop_waiting, channel=name))

    def forget_person(self, person: Person) -> None:
        """Remove the channels of a removed person, from the rules too; what waits for them is dropped.

        Those of the last person stay, as the household's: the single buyer goes on with them.

        Raises:
            AlertsError, SiteConfigError: the files cannot be edited.
        """
        file = ChannelFile(self.settings.data_dir)
        names = file.of_person(person.stamp)
        if not names:
            return
        if not self.database.run_read(all_people):
            file.hand_over(person.stamp)
            return
        for name in names:
            self.drop_channel(name)
        file.forget_person(person.stamp)

    def switch(self, name: str, *, enabled: bool) -> None:
        """Switch the rule of this name on or off; one that is switched on starts afresh.

        Raises:
            AlertsError: there is no such rule.
        """
        before = self.find_rule(name)
        rest = {key: value for key, value in before.items() if key != "enabled"}
        self.change(before, rest if enabled else {**rest, "enabled": False})

    def find_rule(self, name: str) -> Written:
        """The rule of this name as it stands in the file. Raises AlertsError if there is none."""
        by_name = {rule["name"]: rule for some in self.written().values() for rule in some}
        if name in by_name:
            return by_name[name]
        raise AlertsError(Said("wrong_rule.unknown", name=name, there=[*map(str, by_name)] or NONE))

    def written(self) -> dict[RuleKind, list[Written]]:
        """All rules as they stand in the file. Raises AlertsError if it is not there or cannot be read."""
        return self._read(read_alerts(self.path))[0]

    def _read(self, text: str) -> tuple[dict[RuleKind, list[Written]], dict[str, Any]]:
        """The rules in a text of the file, and its other keys."""
        check_alerts(self.path, text)
        rest = dict(parse_yaml(self.path, text))
        return {kind: list(rest.pop(kind, [])) for kind in RULE_KINDS}, rest

    def _edit(self, edit: Callable[[str, dict[RuleKind, list[Written]]], str]) -> None:
        """Edit text and rules; written only if the new text holds exactly these rules and can be used."""
        with lock_file(self.path.with_suffix(".lock")) as lock:
            try:
                take(lock, ALONE, ALERTS_FILE_SECONDS)
            except StillLocked:
                raise AlertsError(Said("wrong_rule.busy")) from None
            text = read_alerts(self.path)
            expected = self._read(text)
            try:
                new = edit(text, expected[0])
            except CannotEdit as error:
                why = Said("wrong_rule.by_hand", path=str(self.path), why=Said.of(error))
                raise AlertsError(why) from None
            if self._read(new) != expected:
                raise AlertsError(Said("wrong_rule.only_you", path=str(self.path)))
            check_rules(self.settings, self.database, check_alerts(self.path, new))
            mode = self.path.stat().st_mode & 0o777
            with atomic_write(self.path) as unfinished:
                unfinished.touch(mode)
                unfinished.chmod(mode)
                unfinished.write_text(new, "utf-8")


def _place(rules: Mapping[RuleKind, list[Written]], rule: Written) -> tuple[RuleKind, int]:
    for kind in RULE_KINDS:
        if rule in rules[kind]:
            return kind, rules[kind].index(rule)
    raise RuleChanged(Said("wrong_rule.changed", name=rule["name"]))


# What a rule means, as a sentence.


def sentence_of(rule: AlertRule, file: AlertsFile, language: Language) -> str:
    """When the rule tells what, through which channels, and when not."""
    words = words_of(language)
    say = words["rule"]
    when = say["daily"].format(time=f"{rule.digest:%H:%M}") if rule.digest else say["at_once"]
    parts = [f"{when}, {_operator(rule, words) if isinstance(rule, OperatorRule) else _buyer(rule, words)}"]
    if isinstance(rule, OperatorRule) and rule.urgent:
        parts.append(say["urgent"])
    elif file.quiet_hours:
        parts.append(_quiet(file.quiet_hours, words))
    parts.append(say["through"].format(channels=", ".join(map(harmless, rule.channels))))
    return ", ".join(parts)


def _operator(rule: OperatorRule, words: Words) -> str:
    names = ", ".join(words["incident"].get(kind, kind) for kind in rule.incidents)
    return str(words["rule"]["incidents" if names else "any_incident"].format(names=names))


def _buyer(rule: AlertRule, words: Words) -> str:
    if not isinstance(rule, BuyerRule):
        return ""
    say = words["rule"]
    source = next((kind for kind in ("profile", "search", "flat") if getattr(rule, kind)), "shortlist")
    flats = say[f"of_{source}"].format(name=harmless(getattr(rule, source)))
    points = say["points"].format(points=pointed(f"{rule.min_score:g}", words)) if rule.min_score else ""
    percents = {"cut": rule.cut_percent, "cheaper": rule.cheaper_percent}
    *events, last = [
        say["any_cut" if kind == "cut" and not rule.cut_percent else kind].format(
            percent=pointed(f"{percents.get(kind, 0.0):g}", words)
        )
        for kind in rule.tell
    ]
    any_event = f"{', '.join(events)} {say['or']} {last}" if events else last
    only_known = "" if rule.unknown else f", {say['known']}"
    return f"{say['when'].format(what=flats + points, events=any_event)}{only_known}"


def _quiet(quiet: QuietHours, words: Words) -> str:
    return str(words["rule"]["not_between"].format(start=_hour(quiet.from_), end=_hour(quiet.to)))


def _hour(at: dt.time) -> str:
    return f"{at:%H:%M}" if at.minute else f"{at.hour}"


# What a rule would have told lately.


def preview(connection: Connection, rule: BuyerRule, data_dir: Path, *, now: float) -> list[Item]:
    """What the rule would have told, had it begun PREVIEW_SECONDS ago: one item per flat, the best first.

    Flats and scores are read as they are stored: the caller brings them up to date.

    Raises:
        AlertsError: the rule names something that does not exist.
    """
    since = now - PREVIEW_SECONDS
    source = sources_of(connection, [rule], profiles_of([rule], data_dir), now=now)[rule.name]
    all_statuses = statuses(connection)
    found: list[Item] = []
    changed = matched(connection, current_properties(connection, set(_changed(connection, since))))
    for first in range(0, len(changed), FLATS_AT_ONCE):
        flats = list(load_flats(connection, changed[first : first + FLATS_AT_ONCE]))
        judged = source.judge(flats)
        fitting = [flat for flat in flats if flat.property_id in judged]
        then = as_of(connection, {advert.listing_id: since for flat in fitting for advert in flat.adverts})
        for flat in fitting:
            ids = (advert.listing_id for advert in flat.adverts)
            watched = {listing_id: then[listing_id] for listing_id in ids if listing_id in then}
            status = all_statuses.get(flat.property_id, "new")
            view = View(flat, judged.get(flat.property_id, FITS_NOT), status, watched, silent=False)
            found += decide(rule, view).items
    return sorted(found, key=lambda item: (-(item.facts["points"] or 0.0), item.property_id or 0))


def _changed(connection: Connection, since: float) -> Iterator[int]:
    """Adverts that are new or have changed since."""
    queries = (
        select(listings.c.id).where(listings.c.first_seen_at >= since),
        select(price_points.c.listing_id).where(price_points.c.seen_at >= since),
        select(market_events.c.listing_id).where(market_events.c.noted_at >= since),
    )
    for query in queries:
        yield from connection.scalars(query)
