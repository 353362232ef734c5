"""A look: what changed in flats and incidents since the last one, and what of it to tell."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from sqlalchemy import Connection

from sale_sofia.advice.scoring.profile import Profile, load_profiles
from sale_sofia.advice.scoring.runs import ScoreRun
from sale_sofia.alerts.deciding import (
    FITS_NOT,
    Decision,
    RuleSource,
    View,
    check_kinds,
    decide,
    incident_items,
    profiles_of,
    sources_of,
    viewing_items,
)
from sale_sofia.alerts.outbox import Looked, NewMessage, add_message, message_of
from sale_sofia.alerts.rules import AlertsFile, OperatorRule, next_time, not_quiet
from sale_sofia.alerts.settings import FLATS_AT_ONCE, LOOKS_MOST
from sale_sofia.alerts.store import (
    VIEWING,
    Item,
    LookRecord,
    RuleState,
    Watched,
    begin_look,
    dated,
    look_number,
    matched,
    properties_on,
    read_rules,
    read_waiting,
    read_watched,
    save_items,
    save_seen,
)
from sale_sofia.buyer.evaluations import statuses
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import flat_changes, load_flats, refresh_flats
from sale_sofia.flats.rows import current_properties
from sale_sofia.history.drift.store import open_drift
from sale_sofia.history.jobs import unfinished_jobs
from sale_sofia.history.news import held_properties
from sale_sofia.history.revisions import advance, changes_since, position
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents

FOLLOWER: Final = "alerts"


class _When(NamedTuple):
    """When a message may be sent. Sorts by moment; at the same moment digests and patient ones come last."""

    not_before: float
    digest: bool
    patient: bool
    """Quiet hours hold it back."""


@dataclass(frozen=True, slots=True)
class Looking:
    """Decides what to tell. Reading runs beside any crawl; the decision is one short transaction."""

    settings: Settings
    database: Database
    file: AlertsFile
    clock: Callable[[], float] = time.time

    def look(self) -> Looked:
        """Decide what is new: items and their messages are stored in one transaction.

        Of two concurrent looks the later starts again and finds what is left.

        Raises:
            AlertsError: a rule names something that does not exist.
        """
        check_kinds(self.file.operator)
        profiles = profiles_of(self.file.buyer, self.settings.data_dir)
        if profiles:
            all_profiles = load_profiles(self.settings.data_dir).profiles
            ScoreRun(self.settings, self.database, all_profiles).run(self.clock)
        for _ in range(LOOKS_MOST):
            if self.file.buyer:
                refresh_flats(self.database)
            now = self.clock()
            seen = self.database.run_read(partial(self._see, profiles=profiles, now=now))
            looked = self.database.run_write(partial(self._write, seen=seen, now=now))
            if looked is not None:
                return looked
        return Looked()

    def _see(self, connection: Connection, profiles: Mapping[str, Profile], now: float) -> LookRecord:
        """What changed since the last look, or waited; all flats, when a rule is new or changed."""
        number, before = look_number(connection), read_rules(connection)
        sources = sources_of(connection, self.file.buyer, profiles, now=now)
        prints = {rule.name: "operator" for rule in self.file.operator}
        prints |= {name: source.fingerprint for name, source in sources.items()}
        same = {name: state for name, state in before.items() if prints.get(name) == state.fingerprint}
        rules = {name: same.get(name) or RuleState(text, now) for name, text in prints.items()}
        since = position(connection, FOLLOWER, "")
        if not sources:
            return LookRecord(number, rules, changes_since(connection, since))
        changes = flat_changes(connection, since)
        learning = sources.keys() - same.keys()
        held = properties_on(connection, _held_back_sites(connection)) | held_properties(connection)
        touched = current_properties(connection, changes.listing_ids) | read_waiting(connection)
        changed = matched(connection, None if learning else touched - held)
        items: list[Item] = []
        watched: dict[str, list[Watched]] = defaultdict(list)
        for name, decision in self._decisions(connection, sources, learning, held, changed):
            items += decision.items
            watched[name] += decision.watched
        return LookRecord(
            number,
            rules,
            changes,
            touched - held,
            touched & held,
            watched,
            dated(connection, items),
            len(changed),
        )

    def _decisions(
        self,
        connection: Connection,
        sources: Mapping[str, RuleSource],
        learning: set[str],
        held: frozenset[int],
        property_ids: Sequence[int],
    ) -> Iterator[tuple[str, Decision]]:
        """The decision of each rule on each of these flats, read in portions.

        `learning` are the rules that are new or changed; nothing is told now about the flats in `held`.
        """
        status = statuses(connection) if property_ids else {}
        for first in range(0, len(property_ids), FLATS_AT_ONCE):
            flats = list(load_flats(connection, property_ids[first : first + FLATS_AT_ONCE]))
            adverts = [advert.listing_id for flat in flats for advert in flat.adverts]
            watched = read_watched(connection, adverts)
            for rule in self.file.buyer:
                source, silent = sources[rule.name], rule.name in learning
                # Nothing is told about held flats, but a new rule has to learn that they are there.
                some = [flat for flat in flats if silent or flat.property_id not in held]
                judged = source.judge(some)
                baseline = {} if silent else source.baseline(some)
                for flat in some:
                    view = View(
                        flat=flat,
                        judgement=judged.get(flat.property_id, FITS_NOT),
                        status=status.get(flat.property_id, "new"),
                        watched=_of(flat, watched.get(rule.name, {})) or _of(flat, baseline),
                        silent=silent,
                    )
                    if flat.property_id not in held or not view.watched:
                        yield rule.name, decide(rule, view)

    def _write(self, connection: Connection, seen: LookRecord, now: float) -> Looked | None:
        if not begin_look(connection, seen.number, now=now):
            return None
        if seen.changes.listing_ids:
            advance(connection, FOLLOWER, "", seen.changes)
        save_seen(connection, seen)
        reminding = self.file.buyer if self.settings.alert_viewings else ()
        near = viewing_items(connection, reminding, self.file.quiet_hours, now=now)
        items, messages = self._tell(connection, [*seen.items, *near], "buyer", now)
        incidents = incident_items(connection, self.file.operator, seen.rules)
        more_items, more_messages = self._tell(connection, incidents, "operator", now)
        return Looked(seen.flats, items + more_items, messages + more_messages)

    def _tell(
        self, connection: Connection, items: Iterable[Item], audience: str, now: float
    ) -> tuple[int, int]:
        """Store the items that are new, and their messages; the numbers of both.

        One message for each item; one for all of them in a digest, and where they are too many.
        """
        merged = _merge(items)
        numbers = save_items(connection, merged, now=now)
        posts: dict[tuple[str, _When], list[Item]] = defaultdict(list)
        for item in merged:
            if item.key in numbers:
                for post in self._channels(item, now).items():
                    posts[post].append(item)
        messages = 0
        for (channel, when), some in posts.items():
            together = when.digest or len(some) > self.settings.alert_burst
            for group in [some] if together else [[item] for item in some]:
                message = NewMessage(
                    channel=channel,
                    audience=audience,
                    items=tuple(numbers[item.key] for item in group),
                    not_before=when.not_before,
                    urgent=not when.patient,
                    digest=when.digest,
                    after_id=None if together else _beginning(connection, group[0], channel),
                )
                add_message(connection, message, now=now)
                messages += 1
        return len(numbers), messages

    def _channels(self, item: Item, now: float) -> dict[str, _When]:
        """The channels of all rules that tell the item; where two name one channel, the sooner counts."""
        soonest: dict[str, _When] = {}
        for rule in self.file.rules:
            if rule.name in item.rules:
                patient = not (isinstance(rule, OperatorRule) and rule.urgent)
                # A digest may come when the viewing is over.
                digest = None if item.kind == VIEWING else rule.digest
                moment = now if digest is None else next_time(now, digest)
                allowed = not_quiet(moment, self.file.quiet_hours) if patient else moment
                when = _When(allowed, digest is not None, patient)
                soonest |= {channel: min(soonest.get(channel, when), when) for channel in rule.channels}
        return soonest


def _merge(items: Iterable[Item]) -> list[Item]:
    """Merge what several rules tell about one flat for one reason into one item with all their names."""
    merged: dict[tuple[str, object], Item] = {}
    for item in items:
        same = (item.kind, item.property_id if item.kind == "new" else item.key)
        first = merged.setdefault(same, item)
        if first is not item:
            facts = item.facts if first.facts.get("points") is None else first.facts
            merged[same] = replace(first, rules=(*first.rules, *item.rules), facts=facts)
    return list(merged.values())


def _beginning(connection: Connection, item: Item, channel: str) -> int | None:
    """The message of an incident's beginning, which must be sent before that of its end."""
    if item.kind != "incident_end" or item.incident_id is None:
        return None
    return message_of(connection, item.incident_id, channel)


def _held_back_sites(connection: Connection) -> frozenset[str]:
    """Portals about which nothing is told now: their pages drifted, or a running crawl may yet find that.

    A stuck crawl holds nothing back.
    """
    incidents = open_incidents(connection)
    stuck = {incident.site for incident in incidents if incident.kind is IncidentKind.STUCK_JOB}
    crawled = {job.site for job in unfinished_jobs(connection) if job.runner is not None and job.started_at}
    return frozenset((crawled - stuck) | {drift.site for drift in open_drift(connection)})


def _of(flat: Flat, watched: Mapping[int, Watched]) -> dict[int, Watched]:
    ids = (advert.listing_id for advert in flat.adverts)
    return {listing_id: watched[listing_id] for listing_id in ids if listing_id in watched}
