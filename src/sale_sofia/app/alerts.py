"""Alerts as rows: channels without their secrets, rules, and what was sent and why."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from sale_sofia.alerts.channels import Channel
from sale_sofia.alerts.sending import NotSent, Sender
from sale_sofia.alerts.wording import word_message, word_test
from sale_sofia.app import formatting as shown
from sale_sofia.app import safe, state
from sale_sofia.app.sentences import translated
from sale_sofia.app.words import language, named, say
from sale_sofia.config.alert_file import AlertsError, AlertsFile, BuyerRule, OperatorRule, Rule
from sale_sofia.config.screens import LONGEST_MESSAGE
from sale_sofia.data.alert_outbox import SENT, Entry

Row = dict[str, Any]


def rule_rows(file: AlertsFile, since: Mapping[str, float]) -> list[Row]:
    """One row for each rule."""
    return [
        {
            say("alerts.rule"): safe.plain(rule.name),
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
    return safe.plain(of), told


def channel_line(channel: Channel, file: AlertsFile) -> str:
    """A channel without its address, as Markdown."""
    rules = [rule.name for rule in file.rules if channel.name in rule.channels]
    used = safe.markdown(", ".join(rules)) if rules else say("alerts.unused")
    return f"**{safe.markdown(channel.name)}** · `{safe.plain(channel.service)}://***` · {used}"


def log_rows(entries: Sequence[Entry]) -> list[Row]:
    """What was sent and what waits, the newest first."""
    return [
        {
            say("alerts.state"): say(f"alerts.state.{one.state}"),
            say("alerts.at"): shown.moment(one.sent_at if one.state == SENT else one.not_before),
            say("alerts.channel"): safe.plain(one.channel),
            say("alerts.why"): ", ".join(sorted({rule for item in one.items for rule in item.rules})),
            say("alerts.message"): safe.plain(word_message(one.items, language()).subject, LONGEST_MESSAGE),
            say("alerts.tries"): one.attempts,
            say("alerts.error"): safe.plain(translated(one.last_error or ""), LONGEST_MESSAGE),
        }
        for one in entries
    ]


def try_channel(channel: Channel) -> str | None:
    """Send a test message now; what went wrong, without any secret, or None."""
    try:
        seconds = state.settings().alert_send_seconds
        Sender(seconds).send(channel, word_test(language()), uuid4().hex)
    except (NotSent, AlertsError) as error:
        return str(error)
    return None
