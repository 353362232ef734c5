"""`sale-sofia profiles`: what buyers look for."""

from typing import Annotated, Any

import typer
import yaml
from rich import box
from rich.table import Table

from sale_sofia.commands.console import BAD_INPUT, AsJson, log, out, print_json
from sale_sofia.config.settings import load_settings
from sale_sofia.config.yaml_text import read_yaml
from sale_sofia.insights.profiles import (
    DEFAULT,
    Loaded,
    check_profile,
    edit_profile,
    load_profiles,
    new_profile,
    read_profile,
)

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
