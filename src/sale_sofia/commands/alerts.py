"""Commands about alerts: run a round, try a channel, see what was sent, see the rules."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import Annotated, Any
from uuid import uuid4

import typer

from sale_sofia.alerts.channels import Channel, channels_of, open_service
from sale_sofia.alerts.judging import profiles_of, sources_of
from sale_sofia.alerts.operator import check_kinds
from sale_sofia.alerts.running import Alerts
from sale_sofia.alerts.sending import NotSent, Sender
from sale_sofia.alerts.wording import word_message, word_test
from sale_sofia.commands.alert_tables import channels_table, log_table, rules_table
from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, out, print_json
from sale_sofia.config.alert_file import AlertsError, AlertsFile, load_alerts
from sale_sofia.config.alerts import ALERTS_FILE, SHOWN_MESSAGES
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.alert_outbox import SENDING, SENT, WAITING, Entry, count_messages, read_log
from sale_sofia.data.alerts import read_rules
from sale_sofia.data.database import Database
from sale_sofia.data.migrate import initialize_database
from sale_sofia.scraping.store import open_database

app = typer.Typer(help="Alerts: tell buyers and operators what is new.", no_args_is_help=True)


@app.command()
def run(as_json: AsJson = False) -> None:
    """Look what is new, decide what is told, and send what is due; as often as you like."""
    settings = load_settings()
    database = _database(settings)
    file = _file(settings)
    _check(settings, database, file)
    done = Alerts(settings, database).run(settings.alert_run_seconds)
    counts = database.run_read(count_messages)
    answer = {**asdict(done.looked), **done.delivered.as_json(), "waiting": counts[WAITING] + counts[SENDING]}
    if as_json:
        print_json(answer)
    else:
        _tell_round(answer)
    if done.delivered.failed:
        raise typer.Exit(NOT_ALL_RIGHT)


def _tell_round(answer: Mapping[str, Any]) -> None:
    out.print(
        f"{answer['flats']} flats looked at, {answer['items']} news in {answer['messages']} messages; "
        f"{answer['sent']} sent, {answer['failed']} failed, {answer['waiting']} waiting",
        highlight=False,
    )
    for channel, error in answer["errors"].items():
        log.print(f"{channel}: {error}", style="red", markup=False, highlight=False, soft_wrap=True)


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
        print_json(
            {"channels": {name: {"taken": not error, "error": error} for name, error in results.items()}}
        )
    else:
        for name, error in results.items():
            told = f"{name}: {error or 'the message was taken'}"
            out.print(told, style="red" if error else None, markup=False, highlight=False, soft_wrap=True)
    if any(results.values()):
        raise typer.Exit(NOT_ALL_RIGHT)


def _try(channel: Channel, settings: Settings) -> str | None:
    try:
        Sender(settings.alert_send_seconds).send(channel, word_test(settings.alert_language), uuid4().hex)
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
    found = _database(settings).run_read(partial(read_log, limit=limit, state=state))
    if as_json:
        print_json({"messages": [_record(one, settings.alert_language) for one in found]})
    elif not found:
        log.print("no message yet; `sale-sofia alerts run` looks what there is to tell")
    else:
        out.print(log_table(found, settings.alert_language))


def _record(entry: Entry, language: str) -> dict[str, Any]:
    text = word_message(entry.items, language)
    return {**asdict(entry), "subject": text.subject, "body": text.body}


@app.command()
def rules(as_json: AsJson = False) -> None:
    """Show the rules: of what they tell, since when they watch, and through which channels."""
    settings = load_settings()
    database, file = _database(settings), _file(settings)
    _check(settings, database, file)
    since = {name: state.since for name, state in database.run_read(read_rules).items()}
    if as_json:
        found = {kind: [_rule(one, since) for one in getattr(file, kind)] for kind in ("buyer", "operator")}
        quiet = file.quiet_hours and file.quiet_hours.model_dump(mode="json", by_alias=True)
        print_json({**found, "quiet_hours": quiet})
    else:
        out.print(rules_table(file, since))


def _rule(rule: Any, since: Mapping[str, float]) -> dict[str, Any]:  # noqa: ANN401 - a rule of either kind
    return {**rule.model_dump(mode="json"), "since": since.get(rule.name)}


@app.command()
def channels(as_json: AsJson = False) -> None:
    """Show the channels: their names and services, never their addresses."""
    settings = load_settings()
    file = _file(settings)
    found = channels_of(file)
    _check_urls(settings, found)
    if as_json:
        print_json({"channels": [{"name": one.name, "service": one.service} for one in found.values()]})
    else:
        out.print(channels_table(found, file))


@app.command()
def init() -> None:
    """Write a file of rules to begin with; one that is there is left as it is."""
    path = load_settings().data_dir / ALERTS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write((files("sale_sofia.alerts") / "starting.yaml").read_text("utf-8"))
    except FileExistsError:
        raise AlertsError(f"{path} is there already; edit it, or move it away") from None
    path.chmod(0o600)  # whoever writes a secret into it all the same shows it to nobody else
    log.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)


def _file(settings: Settings) -> AlertsFile:
    file = load_alerts(settings.data_dir)
    if file is None:
        place = settings.data_dir / ALERTS_FILE
        raise AlertsError(f"there is no {place}; `sale-sofia alerts init` writes one to begin with")
    return file


def _check(settings: Settings, database: Database, file: AlertsFile) -> None:
    """All that can be wrong with the file, before anything is done."""
    check_kinds(file.operator)
    profiles = profiles_of(file.buyer, settings.data_dir)
    database.run_read(partial(sources_of, rules=file.buyer, profiles=profiles, now=time.time()))
    _check_urls(settings, channels_of(file))


def _check_urls(settings: Settings, found: Mapping[str, Channel]) -> None:
    for channel in found.values():
        open_service(channel, settings.alert_send_seconds)


def _database(settings: Settings) -> Database:
    database = open_database(settings)
    initialize_database(database)
    return database
