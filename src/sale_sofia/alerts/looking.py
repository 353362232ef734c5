"""A look: what became of flats and incidents since the last one, and what of it is to be told."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.runs import ScoreRun
from sale_sofia.alerts.deciding import FITS_NOT, Decision, Source, View, decide, profiles_of, sources_of
from sale_sofia.alerts.operator import check_kinds, incident_items
from sale_sofia.alerts.outbox import Looked, NewMessage, add_message, message_of
from sale_sofia.alerts.rules import AlertsFile, OperatorRule, Rule, next_time, not_quiet
from sale_sofia.alerts.settings import FLATS_AT_ONCE, LOOKS_MOST
from sale_sofia.alerts.store import (
    Item,
    RuleState,
    Seen,
    Watched,
    begin_look,
    look_number,
    properties_on,
    property_digests,
    read_digests,
    read_rules,
    read_watched,
    save_items,
    save_seen,
)
from sale_sofia.buyer.evaluations import statuses
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.drift.store import open_drift
from sale_sofia.history.jobs import unfinished_jobs
from sale_sofia.history.news import held_properties
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents

# Which messages tell what was decided: at once or in a digest, through which channels, and when.

Post = tuple[str, float, bool, bool]
"""A channel, from when on, whether as a digest, and whether quiet hours do not hold it back."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes messages of items, in the transaction that decides to tell them."""

    file: AlertsFile
    settings: Settings
    now: float

    def tell(self, connection: Connection, items: Iterable[Item], audience: str) -> tuple[int, int]:
        """Store what was not told before, and its messages; how many of both."""
        merged = merge_items(items)
        numbers = save_items(connection, merged, now=self.now)
        messages = [
            message
            for post, some in self._posts(item for item in merged if item.key in numbers).items()
            for message in self._messages(connection, post, some, numbers, audience)
        ]
        for message in messages:
            add_message(connection, message, now=self.now)
        return len(numbers), len(messages)

    def _posts(self, items: Iterable[Item]) -> Mapping[Post, list[Item]]:
        posts: dict[Post, list[Item]] = {}
        for item in items:
            for channel, when in self._channels(item).items():
                posts.setdefault((channel, *when), []).append(item)
        return posts

    def _channels(self, item: Item) -> dict[str, tuple[float, bool, bool]]:
        """The channels of all rules that want it told; where two name one channel, the sooner counts."""
        rules = [rule for rule in self.file.rules if rule.name in item.rules]
        soonest: dict[str, tuple[float, bool, bool]] = {}
        for channel, when in ((channel, self._when(rule)) for rule in rules for channel in rule.channels):
            soonest[channel] = min(soonest.get(channel, when), when, key=_haste)
        return soonest

    def _when(self, rule: Rule) -> tuple[float, bool, bool]:
        urgent = isinstance(rule, OperatorRule) and rule.urgent
        moment = self.now if rule.digest is None else next_time(self.now, rule.digest)
        allowed = moment if urgent else not_quiet(moment, self.file.quiet_hours)
        return allowed, rule.digest is not None, urgent

    def _messages(
        self,
        connection: Connection,
        post: Post,
        items: Sequence[Item],
        numbers: Mapping[str, int],
        audience: str,
    ) -> list[NewMessage]:
        """One for each item; one for all of them in a digest, and where they are too many."""
        channel, not_before, digest, urgent = post
        together = digest or len(items) > self.settings.alert_burst
        groups = [list(items)] if together else [[item] for item in items]
        return [
            NewMessage(
                channel=channel,
                audience=audience,
                items=tuple(numbers[item.key] for item in group),
                not_before=not_before,
                urgent=urgent,
                digest=digest,
                after_id=None if together else _beginning(connection, group[0], channel),
            )
            for group in groups
        ]


def _haste(when: tuple[float, bool, bool]) -> tuple[float, bool, bool]:
    """The sooner comes first; at one moment what is no digest, then what is urgent."""
    moment, digest, urgent = when
    return moment, digest, not urgent


def _beginning(connection: Connection, item: Item, channel: str) -> int | None:
    """The message of an incident's beginning, which its end must not overtake."""
    if item.kind != "incident_end" or item.incident_id is None:
        return None
    return message_of(connection, item.incident_id, channel)


def merge_items(items: Iterable[Item]) -> list[Item]:
    """What several rules tell of one flat for one reason is one item, with all their names."""
    merged: dict[tuple[str, object], Item] = {}
    for item in items:
        same = (item.kind, item.property_id if item.kind == "new" else item.key)
        known = merged.get(same)
        merged[same] = item if known is None else _joined(known, item)
    return list(merged.values())


def _joined(one: Item, other: Item) -> Item:
    facts = one.facts if one.facts.get("points") is not None else other.facts
    return replace(one, rules=(*one.rules, *other.rules), facts=facts)


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a look has read and decided, before anything is written."""

    number: int
    seen: Seen
    items: tuple[Item, ...]
    flats: int


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a look knows of its rules."""

    sources: Mapping[str, Source]
    learning: frozenset[str]
    """Rules that begin now, or are others than before."""
    held: frozenset[int]
    """Properties of which nothing is told now."""


@dataclass(frozen=True, slots=True)
class Looking:
    """Decides what is to be told. Reading goes on beside any crawl; deciding is one short transaction."""

    settings: Settings
    database: Database
    file: AlertsFile
    clock: Callable[[], float] = time.time

    def look(self) -> Looked:
        """Tell what is new: the fact that it is told and its messages are stored together, or not at all.

        Of two looks at once the later begins anew, and finds what is left.

        Raises:
            AlertsError: a rule names what is not there.
        """
        check_kinds(self.file.operator)
        profiles = profiles_of(self.file.buyer, self.settings.data_dir)
        if profiles:
            ScoreRun(self.settings, self.database, profiles).run(self.clock)
        for _ in range(LOOKS_MOST):
            now = self.clock()
            sight = self.database.run_read(partial(self._see, profiles=profiles, now=now))
            looked = self.database.run_write(partial(self._write, sight=sight, now=now))
            if looked is not None:
                return looked
        return Looked()

    def _see(self, connection: Connection, profiles: Mapping[str, Profile], now: float) -> _Sight:
        number, before = look_number(connection), read_rules(connection)
        sources = sources_of(connection, self.file.buyer, profiles, now=now)
        prints = {rule.name: "operator" for rule in self.file.operator}
        prints |= {name: source.fingerprint for name, source in sources.items()}
        rules = {name: _state(before.get(name), text, now) for name, text in prints.items()}
        silent = frozenset(name for name, state in rules.items() if before.get(name) != state)
        digests, known = self._digests(connection, sources), read_digests(connection)
        held = properties_on(connection, held_back_sites(connection)) | held_properties(connection)
        learning = silent & sources.keys()
        changed = [one for one in digests if learning or (known.get(one) != digests[one] and one not in held)]
        decisions = list(self._decisions(connection, _Rules(sources, learning, held), changed))
        seen = Seen(
            rules=rules,
            digests={one: digests[one] for one in changed if one not in held},
            vanished=_vanished(connection, known),
            watched=_watched(decisions),
        )
        items = tuple(item for _, decision in decisions for item in decision.items)
        return _Sight(number, seen, items, len(changed))

    def _digests(self, connection: Connection, sources: Mapping[str, Source]) -> dict[int, str]:
        if not sources:
            return {}
        beside = {one for source in sources.values() for one in source.beside(connection)}
        return property_digests(connection, beside)

    def _decisions(
        self, connection: Connection, rules: _Rules, property_ids: Sequence[int]
    ) -> Iterator[tuple[str, Decision]]:
        """What each rule makes of each of these flats, some of them at a time."""
        spoken = statuses(connection)
        for first in range(0, len(property_ids), FLATS_AT_ONCE):
            flats = list(read_flats(connection, property_ids[first : first + FLATS_AT_ONCE]))
            adverts = [advert.listing_id for flat in flats for advert in flat.adverts]
            watched = read_watched(connection, adverts)
            for rule in self.file.buyer:
                source, silent = rules.sources[rule.name], rule.name in rules.learning
                # What is held back is told by nobody, but a rule that begins has to learn that it is there.
                some = [flat for flat in flats if silent or flat.property_id not in rules.held]
                judged = source.judge(connection, some)
                known = {} if silent else source.known(connection, some)
                for flat in some:
                    view = View(
                        flat=flat,
                        judgement=judged.get(flat.property_id, FITS_NOT),
                        status=spoken.get(flat.property_id, "new"),
                        watched=_of(flat, watched.get(rule.name, {})) or _of(flat, known),
                        silent=silent,
                    )
                    yield rule.name, decide(rule, view)

    def _write(self, connection: Connection, sight: _Sight, now: float) -> Looked | None:
        if not begin_look(connection, sight.number, now=now):
            return None
        save_seen(connection, sight.seen)
        planner = Planner(self.file, self.settings, now)
        items, messages = planner.tell(connection, sight.items, "buyer")
        incidents = incident_items(connection, self.file.operator, sight.seen.rules)
        more_items, more_messages = planner.tell(connection, incidents, "operator")
        return Looked(sight.flats, items + more_items, messages + more_messages)


def held_back_sites(connection: Connection) -> frozenset[str]:
    """Portals of which nothing is told now: their pages changed, or a crawl goes on and may yet say so.

    A crawl that stands still holds nothing back.
    """
    still = {one.site for one in open_incidents(connection) if one.kind is IncidentKind.STUCK_JOB}
    crawled = {job.site for job in unfinished_jobs(connection) if job.runner is not None and job.started_at}
    return frozenset((crawled - still) | {one.site for one in open_drift(connection)})


def _state(before: RuleState | None, text: str, now: float) -> RuleState:
    return before if before is not None and before.fingerprint == text else RuleState(text, now)


def _vanished(connection: Connection, known: Mapping[int, str]) -> set[int]:
    """Ids that properties had and have no more."""
    return set(known) - set(connection.scalars(select(listing_sources.c.property_id).distinct()))


def _watched(decisions: Sequence[tuple[str, Decision]]) -> dict[str, list[Watched]]:
    found: dict[str, list[Watched]] = {}
    for name, decision in decisions:
        found.setdefault(name, []).extend(decision.watched)
    return found


def _of(flat: Flat, known: Mapping[int, Watched]) -> dict[int, Watched]:
    ids = (advert.listing_id for advert in flat.adverts)
    return {one: known[one] for one in ids if one in known}
