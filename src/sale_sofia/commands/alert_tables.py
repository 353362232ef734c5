"""Alerts as tables."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from sale_sofia.alerts.channels import Channel
from sale_sofia.alerts.wording import word_message
from sale_sofia.commands.crawl_tables import moment
from sale_sofia.config.alert_file import AlertsFile, BuyerRule, OperatorRule, Rule
from sale_sofia.data.alert_outbox import WAITING, Entry


def log_table(found: Sequence[Entry], language: str) -> Table:
    """One line for each message, the newest first."""
    table = _table("Messages", "state", "when", "channel", "tries", "why", "message")
    for one in found:
        when = one.sent_at or (one.not_before if one.state == WAITING else one.made_at)
        why = ", ".join(sorted({rule for item in one.items for rule in item.rules}))
        told = word_message(one.items, language).subject + _remarks(one)
        table.add_row(*map(Text, (one.state, moment(when), one.channel, str(one.attempts), why, told)))
    return table


def _remarks(one: Entry) -> str:
    broken = f" (may have come {one.breaks} times more: its sender died)" if one.breaks else ""
    return broken + (f" (last error: {one.last_error})" if one.last_error else "")


def rules_table(file: AlertsFile, since: Mapping[str, float]) -> Table:
    """One line for each rule."""
    table = _table("Rules", "rule", "of", "tells", "through", "when", "since")
    for rule in file.rules:
        begun = moment(since[rule.name]) if rule.name in since else "not yet"
        when = (f"at {rule.digest:%H:%M}" if rule.digest else "at once") if rule.enabled else "off"
        cells = (rule.name, *_about(rule), ", ".join(rule.channels), when, begun)
        table.add_row(*map(Text, cells))
    return table


def _about(rule: Rule) -> tuple[str, str]:
    if isinstance(rule, OperatorRule):
        return "incidents", ", ".join(rule.incidents) or "all of them"
    if not isinstance(rule, BuyerRule):
        return "", ""
    of = f"search {rule.search}" if rule.search else f"profile {rule.profile}"
    return "the shortlist" if rule.shortlist else of, ", ".join(rule.tell)


def channels_table(found: Mapping[str, Channel], file: AlertsFile) -> Table:
    """One line for each channel, without its address."""
    table = _table("Channels", "channel", "service", "rules")
    for name, channel in found.items():
        rules = [rule.name for rule in file.rules if name in rule.channels]
        table.add_row(*map(Text, (name, f"{channel.service}://***", ", ".join(rules) or "none")))
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading)
    return table
