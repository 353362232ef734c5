"""`sale-sofia score`: flats ranked for a profile, or one flat explained."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import typer
import yaml
from rich import box
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from sale_sofia.advice.scoring.explaining import Language, explain_flat, name_of
from sale_sofia.advice.scoring.profile import (
    DEFAULT,
    Loaded,
    Profile,
    ProfileError,
    check_profile,
    edit_profile,
    load_profile,
    load_profiles,
    new_profile,
    read_profile,
)
from sale_sofia.advice.scoring.runs import score_all
from sale_sofia.advice.scoring.store import count_verdicts, ranked
from sale_sofia.advice.scoring.yardsticks import kept_yardsticks
from sale_sofia.advice.settings import SCORES_SHOWN
from sale_sofia.cli.console import BAD_INPUT, AsJson, log, out, plain_table, print_json, refuse
from sale_sofia.cli.progress import number
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import find_flat, read_flats
from sale_sofia.installation import open_ready
from sale_sofia.settings.files import read_yaml
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database

# Scores as tables for people.

View = Mapping[str, Any]
_UNKNOWN = "?"
_STYLES = {"pass": "green", "fail": "red", "unknown": "yellow"}
_SIGNS = {"pass": "+", "fail": "–", "unknown": "?"}
"""A sign beside each colour, for those who do not see it."""


def ranking_table(profile: str, lines: Sequence[View], language: Language) -> Table:
    """A line for each flat, the best first."""
    numbers = ("rooms", "m²", "floor", "€", "€/m²", "score", "known", "points")
    table = plain_table(f"Scores for {profile}", ("id", "neighbourhood"), numbers, "conditions")
    for line in lines:
        facts = (line["rooms"], line["area_sqm"], line["floor"], line["price_eur"], line["price_per_sqm_eur"])
        table.add_row(
            str(line["property_id"]),
            line["neighbourhood"] or _UNKNOWN,
            *map(number, facts),
            *_score_cells(line),
            _conditions(line, language),
        )
    return table


def _score_cells(view: View) -> tuple[str, str, str]:
    return _worth(view["value"]), f"{view['known']:.0%}", f"{view['points']:.2f}"


def _worth(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.1f}"


def _conditions(line: View, language: Language) -> Text:
    told = Text(f"{_SIGNS[line['verdict']]} {name_of(line['verdict'], language)}", _STYLES[line["verdict"]])
    for state in ("failed", "unknown"):
        if line[state]:
            names = ", ".join(name_of(name, language) for name in line[state])
            told.append(f"; {_SIGNS['fail' if state == 'failed' else 'unknown']} {names}", "default")
    return told


def explanation_parts(view: View, language: Language) -> Iterator[Table | Text]:
    """One flat: its score fact by fact, its deal breakers, its costs."""
    known = f"{view['known']:.0%} known, {view['points']:.2f} points"
    yield Text(f"Property {view['property_id']}: {_worth(view['value'])} of 5, {known}")
    yield _criteria_table(view["criteria"])
    yield _breakers_table(view["breakers"], language)
    if view["costs"]:
        yield _costs_table(view["costs"])


def _criteria_table(criteria: Sequence[View]) -> Table:
    table = plain_table("Criteria", ("criterion",), ("weight", "worth", "known", "points"), "why")
    for one in criteria:
        table.add_row(one["name"], f"{one['weight']:.0%}", *_score_cells(one), "", style="bold")
        for part in one["parts"]:
            table.add_row("", "", _worth(part["value"]), "", f"{part['points']:.2f}", part["why"])
    return table


def _breakers_table(breakers: Sequence[View], language: Language) -> Table:
    table = plain_table("Conditions", ("condition", "state"), (), "why")
    for one in breakers:
        state = Text(f"{_SIGNS[one['state']]} {name_of(one['state'], language)}", _STYLES[one["state"]])
        quote = f" – “{one['quote']}”" if one["quote"] else ""
        table.add_row(one["name"], state, one["why"] + quote)
    return table


def _costs_table(costs: Sequence[View]) -> Table:
    table = plain_table("Costs", ("item",), ("from €", "to €"))
    for one in costs:
        most = _UNKNOWN if one["most_eur"] is None else number(one["most_eur"])
        table.add_row(one["name"], number(one["least_eur"]), most)
    return table


_SHOWN = (
    "title", "price_eur", "area_sqm", "price_per_sqm_eur", "rooms", "floor", "floors_total", "neighbourhood",
)  # fmt: skip


def score(
    property_id: Annotated[
        int | None,
        typer.Argument(metavar="PROPERTY", help="Explain this one; all without it."),
    ] = None,
    profile: Annotated[str, typer.Option(help="For this one of `sale-sofia profiles`.")] = DEFAULT,
    limit: Annotated[int, typer.Option(min=1, help="Show so many.")] = SCORES_SHOWN,
    passing: Annotated[bool, typer.Option("--passing", help="Only flats that pass every condition.")] = False,
    lang: Annotated[Language, typer.Option(help="The language of explanations.")] = "en",
    as_json: AsJson = False,
) -> None:
    """Rank the offered flats for a profile, the best first; or explain the score of one, fact by fact."""
    refuse(property_id is not None and passing, "--passing is for the list; leave it out with a property")
    settings = load_settings()
    wanted = load_profile(settings.data_dir, profile)
    database = _scored(settings)
    if remark := wanted.remark():
        log.print(remark, highlight=False, soft_wrap=True)
    if property_id is None:
        _show_list(database, profile, lang, passing=passing, limit=limit, as_json=as_json)
    else:
        view = database.run_read(partial(_explained, number=property_id, profile=wanted, lang=lang))
        _show_one(view, lang, as_json=as_json)


def _scored(settings: Settings) -> Database:
    """The database, with every score as it has to be."""
    database = open_ready(settings)
    try:
        score_all(settings, database)
    except ProfileError as error:  # of another profile than the one asked for
        log.print(str(error), style="yellow", highlight=False, soft_wrap=True)
    return database


def _show_list(
    database: Database, profile: str, lang: Language, *, passing: bool, limit: int, as_json: bool
) -> None:
    found = database.run_read(partial(_listed, profile=profile, passing=passing, limit=limit))
    if as_json:
        print_json({"profile": profile, **found})
        return
    out.print(ranking_table(profile, found["scores"], lang))
    log.print(_counted(found["verdicts"], len(found["scores"])), highlight=False)


def _listed(connection: Connection, profile: str, *, passing: bool, limit: int) -> dict[str, Any]:
    rows = ranked(connection, profile, passing=passing, limit=limit)
    flats = {flat.property_id: flat for flat in read_flats(connection, [row["property_id"] for row in rows])}
    lines = [{**row, **_facts(flats[row["property_id"]])} for row in rows]
    for line in lines:
        del line["digest"], line["profile"]
    return {"scores": lines, "verdicts": count_verdicts(connection, profile)}


def _facts(flat: Flat) -> dict[str, Any]:
    return {**{name: getattr(flat, name) for name in _SHOWN}, "url": flat.adverts[0].url}


def _counted(verdicts: dict[str, int], shown: int) -> str:
    if not verdicts:
        return "nothing to score yet; adverts come with `sale-sofia crawl`"
    told = ", ".join(
        f"{verdicts.get(verdict, 0)} {words}"
        for verdict, words in (("pass", "pass"), ("unknown", "may pass"), ("fail", "fail"))
    )
    return f"{shown} of {sum(verdicts.values())} flats shown: {told}"


def _explained(connection: Connection, number: int, profile: Profile, lang: Language) -> dict[str, Any]:
    return explain_flat(find_flat(connection, number), profile, kept_yardsticks(connection), lang)


def _show_one(view: dict[str, Any], lang: Language, *, as_json: bool) -> None:
    if as_json:
        print_json(view)
        return
    for part in explanation_parts(view, lang):
        out.print(part, highlight=False)


# `sale-sofia profiles`: what buyers look for.

app = typer.Typer()
Name = Annotated[str, typer.Argument(help="The name of a profile.")]


@app.callback(invoke_without_command=True)
def profiles(context: typer.Context, as_json: AsJson = False) -> None:
    """List the profiles: what each buyer looks for. One is one file in DATA_DIR/profiles."""
    if context.invoked_subcommand is not None:
        return
    loaded = load_profiles(load_settings().data_dir)
    if as_json:
        _print(loaded)
        return
    table = Table("name", "title", "budget €", "looks for", title="Profiles", box=box.SIMPLE)
    for name, profile in loaded.profiles.items():
        budget = f"{profile.budget_eur:,.0f}".replace(",", " ")
        table.add_row(name, profile.title, budget, ", ".join(profile.property_types))
    out.print(table)
    _warn(loaded)


def _print(loaded: Loaded) -> None:
    names = sorted({*loaded.profiles, *loaded.mistakes})
    print_json({"profiles": [_line(name, loaded) for name in names]})


def _line(name: str, loaded: Loaded) -> dict[str, Any]:
    if name in loaded.mistakes:
        return {"name": name, "error": str(loaded.mistakes[name])}
    profile = loaded.profiles[name]
    told = {"title": profile.title, "budget_eur": profile.budget_eur, "remark": profile.remark()}
    return {"name": name, **told}


def _warn(loaded: Loaded) -> None:
    for mistake in loaded.mistakes.values():
        log.print(str(mistake), style="red", highlight=False, soft_wrap=True)
    for name, profile in loaded.profiles.items():
        if remark := profile.remark():
            _say(f"{name}: {remark}")


def _say(sentence: str) -> None:
    log.print(sentence, highlight=False, soft_wrap=True)


@app.command()
def show(name: Name = DEFAULT, as_json: AsJson = False) -> None:
    """Show a profile with every key, those too that its file leaves as they are."""
    path, values = read_profile(load_settings().data_dir, name)
    profile = check_profile(path, values)
    shown = profile.model_dump(mode="json")
    if as_json:
        print_json({"name": name, "path": str(path), "remark": profile.remark(), "profile": shown})
        return
    out.print(f"# {path}", highlight=False, soft_wrap=True)
    text = yaml.safe_dump(shown, allow_unicode=True, sort_keys=False, default_flow_style=None, width=100)
    out.print(text, highlight=False, soft_wrap=True, end="")
    if remark := profile.remark():
        _say(remark)


@app.command()
def new(
    name: Name,
    like: Annotated[str, typer.Option(help="Begin with what stands in this one.")] = DEFAULT,
) -> None:
    """Make a profile of your own; `sale-sofia score --profile NAME` ranks the flats for it."""
    path = new_profile(load_settings().data_dir, name, like)
    _say(f"{path} is there; change it there, or with `sale-sofia profiles edit {name} key=value`")


@app.command()
def edit(
    name: Name,
    changes: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE…", help="Such as must.rooms_least=3; values are YAML.")
    ],
) -> None:
    """Change keys of a profile; nothing is written unless all of it is right.

    For example: sale-sofia profiles edit mine budget_eur=250000 must.rooms_least=3
    """
    path, profile = edit_profile(load_settings().data_dir, name, [_change(one) for one in changes])
    _say(f"{path} is changed")
    if remark := profile.remark():
        _say(remark)


def _change(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise typer.BadParameter(f"{text!r} is no change; write it as key=value, such as budget_eur=250000")
    try:
        return key, read_yaml(value)
    except yaml.YAMLError:
        raise typer.BadParameter(f"{key}: {value!r} is no value in YAML") from None


@app.command()
def check(as_json: AsJson = False) -> None:
    """Check every profile: what is wrong, in which file, and what is allowed."""
    loaded = load_profiles(load_settings().data_dir)
    if as_json:
        _print(loaded)
    else:
        _warn(loaded)
        _say(f"{len(loaded.profiles)} of {len(loaded.profiles) + len(loaded.mistakes)} profiles are right")
    if loaded.mistakes:
        raise typer.Exit(BAD_INPUT)
