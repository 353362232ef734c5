"""Commands about alerts: run a round, try a channel, see what was sent, see and change the rules."""

from dataclasses import asdict
from functools import partial
from typing import Annotated
from uuid import uuid4

import typer
from rich.text import Text

from sale_sofia.alerts.channels import Channel, NotSent, Sender, channels_of
from sale_sofia.alerts.editing import RuleFile, check_channels, check_file
from sale_sofia.alerts.outbox import SENDING, SENT, WAITING, count_messages, read_log
from sale_sofia.alerts.rules import AlertsError, AlertsFile, BuyerRule, OperatorRule, Rule, load_alerts
from sale_sofia.alerts.running import Alerts
from sale_sofia.alerts.settings import ALERTS_FILE, SHOWN_MESSAGES
from sale_sofia.alerts.store import read_rules
from sale_sofia.alerts.wording import word_message, word_test
from sale_sofia.cli.console import NOT_ALL_RIGHT, AsJson, log, out, plain_table, print_json, tell
from sale_sofia.cli.progress import moment
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.telemetry.logs import log_to_file

app = typer.Typer(
    help="Alerts: tell buyers and operators what is new. `alerts init` begins; docs/alerts.md says how.",
    no_args_is_help=True,
)
RuleName = Annotated[str, typer.Argument(help="The name of the rule.")]


def _file(settings: Settings) -> AlertsFile:
    file = load_alerts(settings.data_dir)
    if file is None:
        place = settings.data_dir / ALERTS_FILE
        raise AlertsError(f"there is no {place}; `sale-sofia alerts init` writes one to begin with")
    return file


def _rule_file() -> RuleFile:
    settings = load_settings()
    return RuleFile(settings, open_ready(settings))


@app.command()
def run(as_json: AsJson = False) -> None:
    """Look what is new, decide what is told, and send what is due; as often as you like."""
    settings = load_settings()
    database = open_ready(settings)
    file = _file(settings)
    check_file(settings, database, file)
    log_to_file(settings, "alerts")
    done = Alerts(settings, database).run(settings.alert_run_seconds)
    counts = database.run_read(count_messages)
    answer = {**asdict(done.looked), **asdict(done.delivered), "waiting": counts[WAITING] + counts[SENDING]}
    if as_json:
        print_json(answer)
    else:
        out.print(
            f"{answer['flats']} flats looked at, {answer['items']} news in {answer['messages']} messages; "
            f"{answer['sent']} sent, {answer['failed']} failed, {answer['waiting']} waiting",
            highlight=False,
        )
        for channel, error in answer["errors"].items():
            tell(f"{channel}: {error}", style="red")
    if done.delivered.failed:
        raise typer.Exit(NOT_ALL_RIGHT)


@app.command("test")
def try_channels(
    channel: Annotated[str | None, typer.Argument(help="The channel; none: all of them.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send a test message through a channel now, and say whether it was taken."""
    settings = load_settings()
    channels = channels_of(_file(settings))
    if channel is not None and channel not in channels:
        raise typer.BadParameter(f"no channel {channel!r}; there are: {', '.join(channels) or 'none'}")
    chosen = channels.values() if channel is None else [channels[channel]]
    results = {one.name: _try(one, settings) for one in chosen}
    if as_json:
        taken = {name: {"taken": not error, "error": error} for name, error in results.items()}
        print_json({"channels": taken})
    else:
        for name, error in results.items():
            sentence = f"{name}: {error or 'the message was taken'}"
            out.print(sentence, style="red" if error else None, highlight=False, soft_wrap=True)
    if any(results.values()):
        raise typer.Exit(NOT_ALL_RIGHT)


def _try(channel: Channel, settings: Settings) -> str | None:
    try:
        Sender(settings.alert_send_seconds, settings.alert_telegram_url).send(
            channel, word_test(settings.alert_language), uuid4().hex
        )
    except (NotSent, AlertsError) as error:
        return str(error)
    return None


@app.command("log")
def show_log(
    limit: Annotated[int, typer.Option(min=1, help="Show so many, the newest.")] = SHOWN_MESSAGES,
    state: Annotated[str | None, typer.Option(help=f"Only {WAITING}, {SENDING} or {SENT}.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was sent, when, why, through which channel, after how many tries, and what still waits."""
    if state not in {None, WAITING, SENDING, SENT}:
        raise typer.BadParameter(f"no state {state!r}; allowed: {WAITING}, {SENDING}, {SENT}")
    settings = load_settings()
    found = open_ready(settings).run_read(partial(read_log, limit=limit, state=state))
    texts = [word_message(one.items, settings.alert_language) for one in found]
    if as_json:
        records = [
            {**asdict(one), "subject": text.subject, "body": text.body}
            for one, text in zip(found, texts, strict=True)
        ]
        print_json({"messages": records})
        return
    if not found:
        log.print("no message yet; `sale-sofia alerts run` looks what there is to tell")
        return
    table = plain_table("Messages", (), (), "state", "when", "channel", "tries", "why", "message")
    for one, text in zip(found, texts, strict=True):
        when = one.sent_at or (one.not_before if one.state == WAITING else one.made_at)
        why = ", ".join(sorted({rule for item in one.items for rule in item.rules}))
        broken = f" (may have come {one.breaks} times more: its sender died)" if one.breaks else ""
        failed = f" (last error: {one.last_error})" if one.last_error else ""
        message = text.subject + broken + failed
        table.add_row(*map(Text, (one.state, moment(when), one.channel, str(one.attempts), why, message)))
    out.print(table)


@app.command()
def rules(as_json: AsJson = False) -> None:
    """Show the rules: of what they tell, since when they watch, and through which channels."""
    settings = load_settings()
    database, file = open_ready(settings), _file(settings)
    check_file(settings, database, file)
    since = {name: state.since for name, state in database.run_read(read_rules).items()}
    if as_json:
        found = {
            kind: [
                {**rule.model_dump(mode="json"), "since": since.get(rule.name)}
                for rule in getattr(file, kind)
            ]
            for kind in ("buyer", "operator")
        }
        quiet = file.quiet_hours and file.quiet_hours.model_dump(mode="json", by_alias=True)
        print_json({**found, "quiet_hours": quiet})
        return
    table = plain_table("Rules", (), (), "rule", "of", "tells", "through", "when", "since")
    for rule in file.rules:
        begun = moment(since[rule.name]) if rule.name in since else "not yet"
        when = (f"at {rule.digest:%H:%M}" if rule.digest else "at once") if rule.enabled else "off"
        cells = (rule.name, *_about(rule), ", ".join(rule.channels), when, begun)
        table.add_row(*map(Text, cells))
    out.print(table)


def _about(rule: Rule) -> tuple[str, str]:
    if isinstance(rule, OperatorRule):
        return "incidents", ", ".join(rule.incidents) or "all of them"
    if not isinstance(rule, BuyerRule):
        return "", ""
    of = f"search {rule.search}" if rule.search else f"profile {rule.profile}"
    return "the shortlist" if rule.shortlist else of, ", ".join(rule.tell)


@app.command()
def channels(as_json: AsJson = False) -> None:
    """Show the channels: their names and services, never their addresses."""
    settings = load_settings()
    file = _file(settings)
    found = channels_of(file)
    check_channels(settings, found)
    if as_json:
        print_json({"channels": [{"name": one.name, "service": one.service} for one in found.values()]})
        return
    table = plain_table("Channels", (), (), "channel", "service", "rules")
    for name, channel in found.items():
        rules = ", ".join(rule.name for rule in file.rules if name in rule.channels)
        table.add_row(*map(Text, (name, f"{channel.service}://***", rules or "none")))
    out.print(table)


@app.command()
def init() -> None:
    """Write a file of channels and rules to begin with; one that is there is left as it is."""
    rules_file = _rule_file()
    rules_file.begin()
    tell(f"written: {rules_file.path}")


@app.command()
def on(name: RuleName) -> None:
    """Switch a rule on; it begins anew and is silent about what is there already."""
    _rule_file().switch(name, enabled=True)
    tell(f"rule {name} is on")


@app.command()
def off(name: RuleName) -> None:
    """Switch a rule off; it stays in the file and tells nothing."""
    _rule_file().switch(name, enabled=False)
    tell(f"rule {name} is off")


@app.command()
def remove(name: RuleName) -> None:
    """Take a rule out of the file; the rest of it stays as it is written."""
    rules_file = _rule_file()
    rules_file.remove(rules_file.named(name))
    tell(f"rule {name} is removed")


@app.command()
def add(
    name: RuleName,
    channel: Annotated[
        list[str], typer.Option(help="Through this one of `sale-sofia alerts channels`; may be repeated.")
    ],
    profile: Annotated[str | None, typer.Option(help="Of the flats that pass this profile.")] = None,
    search: Annotated[str | None, typer.Option(help="Of the flats of this saved search.")] = None,
    digest: Annotated[str | None, typer.Option(help="Once a day at this time, as 08:30.")] = None,
) -> None:
    """Add a rule for a buyer at the end of the file; without profile and search it is of your shortlist.

    For example: sale-sofia alerts add "My flat" --profile default --channel mail
    """
    of = {"profile": profile, "search": search, "digest": digest}
    given = {key: value for key, value in of.items() if value is not None}
    followed = {} if profile or search else {"shortlist": True}
    _rule_file().add("buyer", {"name": name, **given, **followed, "channels": channel})
    tell(f"rule {name} is added; it is silent about what is there already")
