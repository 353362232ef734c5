"""What flats are worth to a buyer: scores and profiles, the market, the fair price of one."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich import box
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from sale_sofia.advice.costs import price_band
from sale_sofia.advice.market.market import LABEL, VAT_RULE, Cell, Deal, Figures, Market, read_market
from sale_sofia.advice.market.settings import MARKET_LISTED
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
from sale_sofia.advice.valuation.error import Error
from sale_sofia.advice.valuation.flats import asked_eur_sqm
from sale_sofia.advice.valuation.trial import Trial, try_file
from sale_sofia.advice.valuation.valuation import BASIS, Comparable, Valuation, value_property
from sale_sofia.cli.console import BAD_INPUT, AsJson, log, out, plain_table, print_json, refuse
from sale_sofia.cli.progress import moment, number
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import find_flat, read_flats
from sale_sofia.installation import open_ready
from sale_sofia.listings.places import find_neighbourhood
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


# The command about the market.

# The market for people.

_HEADINGS = ("stock", "€/m²", "quartiles", "change", "new", "gone", "days", "cut", "by")
_HIDDEN = "–"


def market_table(found: Market, limit: int, *, by_rooms: bool) -> Table:
    """A line for each neighbourhood, or for each kind of flat of one; new and gone are for a week."""
    table = plain_table(f"The market ({LABEL})", ("neighbourhood", "rooms"), _HEADINGS)
    shown = (one for one in found.cells.items() if by_rooms or _is_whole(one[0]))
    for cell, figures in islice(shown, limit):
        place = cell.neighbourhood or "all of Sofia"
        table.add_row(place, cell.rooms or "all", *_market_line(figures))
    return table


def _is_whole(cell: Cell) -> bool:
    return cell.rooms is None or cell.neighbourhood is None


def _market_line(found: Figures) -> tuple[str, ...]:
    quartiles = found.eur_sqm
    return (
        str(found.stock),
        _told(quartiles and quartiles.median),
        f"{number(quartiles.low)}–{number(quartiles.high)}" if quartiles else _HIDDEN,
        _told(found.change_percent, "{:+.1f} %"),
        _told(found.new_per_week, "{:.1f}"),
        _told(found.gone_per_week, "{:.1f}"),
        _told(found.days.median, "{:.0f}"),
        _told(found.cuts.share, "{:.0%}"),
        _told(found.cuts.median_percent, "{:.1f} %"),
    )


def _told(value: float | None, form: str | None = None) -> str:
    if value is None:
        return _HIDDEN
    return form.format(value) if form else number(value)


def market(
    neighbourhood: Annotated[
        str | None, typer.Option(help="Only of this neighbourhood, by kind of flat.")
    ] = None,
    deal: Annotated[Deal, typer.Option(help="What flats cost, or what they are let for a month.")] = "sale",
    limit: Annotated[int, typer.Option(min=1, help="Show so many lines.")] = MARKET_LISTED,
    as_json: AsJson = False,
) -> None:
    """Show the market by neighbourhood: what is asked for a m², how many come and go, how long they stay."""
    name = _known(neighbourhood)
    settings = load_settings()
    database = open_ready(settings)
    found = database.run_read(partial(read_market, settings=settings, now=time.time(), deal=deal))
    chosen = _chosen(found, name)
    if as_json:
        print_json(chosen.as_json())
        return
    out.print(market_table(chosen, limit, by_rooms=name is not None), highlight=False)
    log.print(_said(chosen), highlight=False, soft_wrap=True)


def _known(name: str | None) -> str | None:
    if name is None:
        return None
    found = find_neighbourhood(name)
    if found is None:
        raise typer.BadParameter(f"no neighbourhood {name!r} in Sofia is known; write it as the portals do")
    return found.name


def _chosen(found: Market, name: str | None) -> Market:
    if name is None:
        return found
    cells = {cell: one for cell, one in found.cells.items() if cell.neighbourhood == name}
    return Market(found.deal, found.now, found.least, cells)


def _said(found: Market) -> str:
    if not found.cells:
        return "no flat yet; adverts come with `sale-sofia crawl`"
    return f"{LABEL}; {VAT_RULE}; what fewer than {found.least} flats make is not shown"


# Fair prices for people.

_COMPARED = ("€", "€/m²", "m²", "floor", "year", "km", "share")


def valuation_tables(found: Valuation) -> Iterator[Table | Text]:
    """What is asked, what is fair, the verdict, and the flats that it rests on."""
    yield Text(f"Property {found.flat.property_id}: {_asked(found)}")
    if found.fair is not None:
        yield Text(f"Fair: {_fair(found)} ({BASIS})")
    yield Text(f"{found.verdict}: {found.explanation}")
    if found.comparables:
        yield _comparables_table(found)
    if found.current is not None:
        yield Text(_model_sentence(found))


def error_tables(found: Trial) -> Iterator[Table]:
    """The model beside the neighbourhood's median, and where it is worst."""
    rows = [
        ("fair price", found.judged.error),
        ("neighbourhood's median", found.judged.by_median),
    ]
    if found.elsewhere is not None:
        rows += [
            ("fair price, neighbourhood left out", found.elsewhere.error),
            ("median of all others", found.elsewhere.by_median),
        ]
    yield _error_table(
        "Asking prices of flats not seen: median error, and how many the interval holds", "told by", rows
    )
    yield _error_table(
        "Where the error is largest", "neighbourhood", list(found.judged.neighbourhoods.items())
    )


def _asked(found: Valuation) -> str:
    flat = found.flat
    if flat.price_eur is None:
        return "no price is asked"
    band, eur_sqm = price_band(flat), asked_eur_sqm(flat)
    vat = f", {number(band.least)} € with VAT" if band and band.least != flat.price_eur else ""
    return f"{number(flat.price_eur)} € asked{vat}, {number(eur_sqm)} €/m²"


def _fair(found: Valuation) -> str:
    if found.fair is None:
        return "?"
    low, middle, high = (value * (found.flat.area_sqm or 0.0) for value in found.fair)
    each = "–".join(number(value) for value in (found.fair.low, found.fair.high))
    return f"{number(low)}–{number(high)} €, the middle {number(middle)} €; {each} €/m²"


def _comparables_table(found: Valuation) -> Table:
    title = f"The first of {found.rests_on} flats that it rests on"
    table = plain_table(title, ("property", "neighbourhood"), _COMPARED)
    for heading in ("condition", "alike and not"):
        table.add_column(heading)
    for one in found.comparables:
        table.add_row(*_compared(one))
    return table


def _compared(one: Comparable) -> tuple[str, ...]:
    flat = one.flat
    floor = number(flat.floor) + (f"/{flat.floors_total}" if flat.floors_total else "")
    return (
        str(flat.property_id),
        flat.neighbourhood or "?",
        number(flat.price_eur),
        number(asked_eur_sqm(flat)),
        number(flat.area_sqm),
        floor,
        "?" if flat.year_built is None else str(flat.year_built),
        number(one.kilometres, 1),
        f"{one.weight:.1%}",
        flat.condition or "?",
        ", ".join(one.why),
    )


def _model_sentence(found: Valuation) -> str:
    if found.current is None:
        return ""
    report = found.current.report
    error, median = report["error"], report["neighbourhood_median"]
    return (
        f"Model of {moment(found.current.made_at)}, {report['flats']} flats; on flats not seen: median error "
        f"{error['median']:.1%} (the neighbourhood's median {median['median']:.1%}), "
        f"{error['coverage']:.1%} of asking prices inside the interval."
    )


def _error_table(title: str, heading: str, rows: Sequence[tuple[str, Error]]) -> Table:
    table = plain_table(title, (heading,), ("flats", "error", "≤ 10 %", "held", "width"))
    for name, one in rows:
        shares = (one.median, one.within_near, one.coverage, one.width)
        table.add_row(name, str(one.flats), *("" if share is None else f"{share:.1%}" for share in shares))
    return table


# The command about the fair price of a property, and of how well such prices are told.


def value(
    property_id: Annotated[
        int | None,
        typer.Argument(
            metavar="PROPERTY",
            help="The id of a property, as `sale-sofia search` shows it.",
            show_default=False,
        ),
    ] = None,
    adverts: Annotated[
        Path | None,
        typer.Option(help="A Parquet table of adverts: tell how well their prices can be told instead."),
    ] = None,
    refit: Annotated[bool, typer.Option("--refit", help="Fit the model anew, though it is not old.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell the fair price of a property: an interval, the flats it rests on, and where its price lies."""
    refuse((property_id is None) == (adverts is None), "give the id of a property, or --adverts FILE")
    refuse(refit and adverts is not None, "--refit is for the stored model; leave it out with --adverts")
    if adverts is not None:
        _try_file(adverts, as_json=as_json)
    elif property_id is not None:
        _value(property_id, refit=refit, as_json=as_json)


def _value(property_id: int, *, refit: bool, as_json: bool) -> None:
    settings = load_settings()
    database = open_ready(settings)
    found = value_property(database, settings, property_id, refit=refit)
    if as_json:
        print_json(found.as_json())
        return
    for part in valuation_tables(found):
        out.print(part, highlight=False)


def _try_file(path: Path, *, as_json: bool) -> None:
    found = try_file(path, load_settings())
    if as_json:
        print_json(found.as_json())
        return
    for part in error_tables(found):
        out.print(part, highlight=False)
    log.print(f"{found.flats} flats in {path}, {found.seconds:.1f} s", highlight=False)
