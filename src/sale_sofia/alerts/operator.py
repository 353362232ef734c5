"""What operators are told: each incident when it begins and when it is over."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from sale_sofia.alerts.rules import AlertsError, OperatorRule
from sale_sofia.alerts.settings import ALERTS_FILE
from sale_sofia.alerts.store import Item, RuleState, incident_news
from sale_sofia.history.drift.store import DRIFT
from sale_sofia.telemetry.incidents import IncidentKind


def check_kinds(rules: Sequence[OperatorRule]) -> None:
    """Raises AlertsError when a rule names a kind of incident that is none."""
    for place, rule in enumerate(rules):
        if unknown := sorted(name for name in rule.incidents if not any(map(_is(name), IncidentKind))):
            where = f"{ALERTS_FILE}: operator.{place}.incidents"
            allowed = ", ".join([*IncidentKind, DRIFT])
            raise AlertsError(f"{where}: no incident {', '.join(unknown)}; allowed: {allowed}")


def _is(name: str) -> Callable[[str], bool]:
    """Whether a kind is the one of this name, or one of a family of that name: drift."""
    return lambda kind: kind == name or (name == DRIFT and kind.startswith(f"{DRIFT}_"))


def incident_items(
    connection: Connection, rules: Sequence[OperatorRule], states: Mapping[str, RuleState]
) -> list[Item]:
    """What was not told yet. Incidents that were over before a rule began are past for it."""
    if not rules:
        return []
    since = min(states[rule.name].since for rule in rules)
    return [
        item
        for row, told, at_once in incident_news(connection, since)
        if (interested := [rule for rule in rules if _wants(rule, row, states[rule.name].since)])
        for item in _parts(row, told, interested, ended_at_once=at_once)
    ]


def _wants(rule: OperatorRule, row: Mapping[str, Any], since: float) -> bool:
    past = row["closed_at"] is not None and row["closed_at"] < since
    return not past and (not rule.incidents or any(_is(name)(row["kind"]) for name in rule.incidents))


def _parts(
    row: Mapping[str, Any], told: set[str], rules: Sequence[OperatorRule], *, ended_at_once: bool
) -> Iterator[Item]:
    """The beginning; then the end, unless the incident was over when its beginning was told."""
    if "incident" not in told:
        yield _item(row, "incident", rules)
    elif row["closed_at"] is not None and "incident_end" not in told and not ended_at_once:
        ends = [rule for rule in rules if rule.ends]
        if ends:
            yield _item(row, "incident_end", ends)


def _item(row: Mapping[str, Any], kind: str, rules: Sequence[OperatorRule]) -> Item:
    facts = {name: row[name] for name in ("kind", "site", "job_id", "opened_at", "closed_at", "message")}
    return Item(f"{kind}|{row['id']}", kind, tuple(rule.name for rule in rules), facts, incident_id=row["id"])
