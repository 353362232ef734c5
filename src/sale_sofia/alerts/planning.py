"""Which messages tell what was decided: at once or in a digest, through which channels, and when."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from sale_sofia.alerts.timing import next_time, not_quiet
from sale_sofia.config.alert_file import AlertsFile, OperatorRule, Rule
from sale_sofia.config.settings import Settings
from sale_sofia.data.alert_outbox import NewMessage, add_message, message_of
from sale_sofia.data.alerts import Item, save_items

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
