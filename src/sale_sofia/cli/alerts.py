"""Commands about alerts: run a round, try a channel, see what was sent, see and change the rules."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final
from uuid import uuid4

import typer
from rich.text import Text

from sale_sofia.advice.scoring.profile import load_profiles
from sale_sofia.advice.scoring.runs import ScoreRun
from sale_sofia.alerts.channels import Channel, ChannelSender, NotSent, channels_of
from sale_sofia.alerts.editing import RuleFile, check_channels, check_file, preview, sentence_of
from sale_sofia.alerts.outbox import DROPPED, SENDING, SENT, WAITING, count_messages, read_log
from sale_sofia.alerts.rules import BUYER_KINDS, AlertRule, AlertsError, AlertsFile, load_alerts
from sale_sofia.alerts.running import Alerts
from sale_sofia.alerts.settings import ALERTS_FILE, PREVIEW_SHOWN, SHOWN_MESSAGES
from sale_sofia.alerts.store import Item, read_rules
from sale_sofia.alerts.wording import headline, word_message, word_test
from sale_sofia.cli.console import (
    NOT_ALL_RIGHT,
    AsJson,
    counted,
    one_of,
    out,
    plain_table,
    print_answer,
    print_json,
    tell,
)
from sale_sofia.cli.evaluation import me
from sale_sofia.cli.progress import moment
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.words import LANGUAGES
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.logs import log_to_file

app = typer.Typer(
    help="Alerts: tell buyers and operators what is new. `alerts init` begins; docs/alerts.md says how.",
    no_args_is_help=True,
)
RuleName = Annotated[str, typer.Argument(help="The name of the rule.")]


def _load_file(settings: Settings) -> AlertsFile:
    file = load_alerts(settings.data_dir)
    if file is None:
        place = settings.data_dir / ALERTS_FILE
        raise AlertsError(f"there is no {place}; `sale-sofia alerts init` writes one to begin with")
    return file


def _rule_file() -> RuleFile:
    settings = load_settings()
    return RuleFile(settings, open_ready(settings), me())


@app.command()
def run(as_json: AsJson = False) -> None:
    """Look for what is new, and send the messages that are due; run it as often as you like."""
    settings = load_settings()
    database = open_ready(settings)
    file = _load_file(settings)
    check_file(settings, database, file)
    log_to_file(settings, "alerts")
    done = Alerts(settings, database).run(settings.alert_run_seconds)
    counts = database.run_read(count_messages)
    answer = {**asdict(done.looked), **asdict(done.delivered), "waiting": counts[WAITING] + counts[SENDING]}
    if as_json:
        print_json(answer)
    else:
        out.print(
            f"{counted(answer['flats'], 'flat')} looked at, {answer['items']} news in "
            f"{counted(answer['messages'], 'message')}; "
            f"{answer['sent']} sent, {answer['failed']} failed, {answer['waiting']} waiting"
        )
        for channel, error in answer["errors"].items():
            tell(f"{channel}: {error}", style="red")
    if done.delivered.failed:
        raise typer.Exit(NOT_ALL_RIGHT)


@app.command("test")
def try_channels(
    channel: Annotated[str | None, typer.Argument(help="The channel. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send a test message through a channel now, and say whether it was accepted."""
    settings = load_settings()
    channels = channels_of(_load_file(settings))
    if channel is not None and channel not in channels:
        raise typer.BadParameter(f"no channel {channel!r}; there are: {', '.join(channels) or 'none'}")
    chosen = channels.values() if channel is None else [channels[channel]]
    results = {target.name: _send_test(target, settings) for target in chosen}
    answers = {name: {"taken": not error, "error": error} for name, error in results.items()}
    lines = [
        Text(f"{name}: {error or 'the message was taken'}", "red" if error else "")
        for name, error in results.items()
    ]
    print_answer({"channels": answers}, *lines, as_json=as_json)
    if any(results.values()):
        raise typer.Exit(NOT_ALL_RIGHT)


def _send_test(channel: Channel, settings: Settings) -> str | None:
    try:
        ChannelSender(settings.alert_send_seconds, settings.alert_telegram_url).send(
            channel, word_test(settings.alert_language), uuid4().hex
        )
    except (NotSent, AlertsError) as error:
        return str(error)
    return None


_STATES: Final = (WAITING, SENDING, SENT, DROPPED)


@app.command("log")
def show_log(
    limit: Annotated[int, typer.Option(min=1, help="Show this many, the newest.")] = SHOWN_MESSAGES,
    state: Annotated[str | None, typer.Option(help=f"One of {', '.join(_STATES)}.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what was sent, when, why, through which channel, after how many tries, and what still waits."""
    if state is not None:
        state = one_of(state, "state", _STATES)
    settings = load_settings()
    found = open_ready(settings).run_read(partial(read_log, limit=limit, state=state))
    texts = [word_message(message.items, settings.alert_language) for message in found]
    records = [
        {**asdict(message), "subject": text.subject, "body": text.body}
        for message, text in zip(found, texts, strict=True)
    ]
    table = plain_table("Messages", (), (), "state", "when", "channel", "tries", "why", "message")
    for message, text in zip(found, texts, strict=True):
        when = message.sent_at or (message.not_before if message.state == WAITING else message.made_at)
        why = ", ".join(sorted({rule for item in message.items for rule in item.rules}))
        broken = f" (may have come {message.breaks} times more: its sender died)" if message.breaks else ""
        failed = f" (last error: {message.last_error})" if message.last_error else ""
        summary = text.subject + broken + failed
        cells = (message.state, moment(when), message.channel, str(message.attempts), why, summary)
        table.add_row(*map(Text, cells))
    none_yet = "no message yet; `sale-sofia alerts run` looks what there is to tell"
    print_answer({"messages": records}, table, as_json=as_json, empty=none_yet)


@app.command()
def rules(
    with_preview: Annotated[
        bool, typer.Option("--preview", help="Also what each would have sent in the last 14 days.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the rules as sentences: what each reports and when, through which channels, and since when."""
    settings = load_settings()
    database, file = open_ready(settings), _load_file(settings)
    check_file(settings, database, file)
    since = {name: state.since for name, state in database.run_read(read_rules).items()}
    previews = _previews(settings, database, file) if with_preview else {}
    if as_json:
        print_json(_rules_record(file, since, previews))
        return
    table = plain_table("Rules", (), (), "rule", "tells", "since")
    for rule in file.rules:
        begun = moment(since[rule.name]) if rule.name in since else "not yet"
        state = "" if rule.enabled else "off: "
        table.add_row(*map(Text, (rule.name, f"{state}{sentence_of(rule, file, 'en')}", begun)))
    out.print(table)
    for name, items in previews.items():
        out.print(Text(f"{name} would have told in 14 days: {len(items)}"))
        for item in items[:PREVIEW_SHOWN]:
            out.print(Text(f"  {item.property_id}  {headline(item, 'en')}"), soft_wrap=True)


def _rules_record(
    file: AlertsFile, since: Mapping[str, float], previews: Mapping[str, list[Item]]
) -> dict[str, Any]:
    def rule_record(rule: AlertRule) -> dict[str, Any]:
        texts = {language: sentence_of(rule, file, language) for language in LANGUAGES}
        record = {**rule.model_dump(mode="json"), "since": since.get(rule.name), "sentence": texts}
        if rule.name not in previews:
            return record
        news = [{"id": item.property_id, "kind": item.kind} for item in previews[rule.name]]
        return {**record, "would_have_told": news}

    quiet = file.quiet_hours and file.quiet_hours.model_dump(mode="json", by_alias=True)
    lists = {
        "buyer": [rule_record(rule) for rule in file.buyer],
        "operator": [rule_record(rule) for rule in file.operator],
    }
    return {**lists, "quiet_hours": quiet}


def _previews(settings: Settings, database: Database, file: AlertsFile) -> dict[str, list[Item]]:
    """What each rule for buyers would have reported lately."""
    ScoreRun(settings, database, load_profiles(settings.data_dir).profiles).run()
    look = partial(preview, data_dir=settings.data_dir, now=time.time())
    return {rule.name: database.run_read(partial(look, rule=rule)) for rule in file.buyer}


@app.command()
def channels(as_json: AsJson = False) -> None:
    """Show the channels: their names and services, never their addresses."""
    settings = load_settings()
    file = _load_file(settings)
    found = channels_of(file)
    check_channels(settings, found)
    table = plain_table("Channels", (), (), "channel", "service", "rules")
    for name, channel in found.items():
        rules = ", ".join(rule.name for rule in file.rules if name in rule.channels)
        table.add_row(*map(Text, (name, f"{channel.service}://***", rules or "none")))
    record = {"channels": [{"name": channel.name, "service": channel.service} for channel in found.values()]}
    print_answer(record, table, as_json=as_json)


@app.command()
def init() -> None:
    """Write a file of channels and rules to start from; an existing file is not changed."""
    rules_file = _rule_file()
    rules_file.begin()
    tell(f"written: {rules_file.path}")


@app.command()
def on(name: RuleName) -> None:
    """Switch a rule on; it stays silent about what is there already."""
    _rule_file().switch(name, enabled=True)
    tell(f"rule {name} is on")


@app.command()
def off(name: RuleName) -> None:
    """Switch a rule off; it stays in the file and sends nothing."""
    _rule_file().switch(name, enabled=False)
    tell(f"rule {name} is off")


@app.command()
def remove(name: RuleName) -> None:
    """Remove a rule from the file; the rest of the file is not changed."""
    rules_file = _rule_file()
    rules_file.remove(rules_file.find_rule(name))
    tell(f"rule {name} is removed")


@app.command()
def add(
    name: RuleName,
    channel: Annotated[
        list[str], typer.Option(help="A channel of `sale-sofia alerts channels`; may be repeated.")
    ],
    profile: Annotated[str | None, typer.Option(help="For the flats that pass this profile.")] = None,
    search: Annotated[str | None, typer.Option(help="For the flats of this saved search.")] = None,
    flat: Annotated[int | None, typer.Option(help="For the flat with this id.")] = None,
    digest: Annotated[str | None, typer.Option(help="Once a day at this time, such as 08:30.")] = None,
) -> None:
    """Add a rule for a buyer at the end of the file; without any source it is for your shortlist.

    For example: sale-sofia alerts add "My flat" --profile default --channel mail
    """
    options = {"profile": profile, "search": search, "flat": flat, "digest": digest}
    chosen = {key: value for key, value in options.items() if value is not None}
    followed = {} if profile or search or flat else {"shortlist": True}
    all_of_it = {"tell": list(BUYER_KINDS), "cut_percent": 0} if flat else {}
    _rule_file().add("buyer", {"name": name, **chosen, **followed, **all_of_it, "channels": channel})
    tell(f"rule {name} is added; it is silent about what is there already")
