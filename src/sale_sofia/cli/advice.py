"""Commands about what flats are worth to a buyer: scores, profiles, the market, fair prices."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
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

from sale_sofia.advice.lessons import learn
from sale_sofia.advice.market.market import LABEL, VAT_RULE, Deal, Figures, Market, read_market
from sale_sofia.advice.scoring import profile as profile_files
from sale_sofia.advice.scoring.explaining import Language, explain_flat, name_of
from sale_sofia.advice.scoring.profile import DEFAULT, Loaded, Profile, ProfileError
from sale_sofia.advice.scoring.runs import score_all
from sale_sofia.advice.scoring.store import count_verdicts, ranked, read_yardsticks
from sale_sofia.advice.settings import MARKET_LISTED, SCORES_SHOWN
from sale_sofia.advice.valuation.model import Error
from sale_sofia.advice.valuation.trial import ModelTrial, try_file
from sale_sofia.advice.valuation.valuation import BASIS, ComparableFlat, Valuation, value_property
from sale_sofia.buyer.changes import What, note_change
from sale_sofia.cli.console import (
    BAD_INPUT,
    AsJson,
    counted,
    has_subcommand,
    log,
    out,
    plain_table,
    print_answer,
    print_json,
    refuse,
    tell,
)
from sale_sofia.cli.evaluation import me
from sale_sofia.cli.progress import NO_FLATS, merge_flats, moment, number
from sale_sofia.flats.prices import asked_eur_sqm, price_band
from sale_sofia.flats.rows import find_flat, read_flats
from sale_sofia.installation import open_database, open_ready
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.settings.files import read_yaml
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database

View = Mapping[str, Any]
_UNKNOWN = "?"
_STYLES = {"pass": "green", "fail": "red", "unknown": "yellow"}
_SIGNS = {"pass": "+", "fail": "–", "unknown": "?"}
"""A sign beside each colour, for those who do not see it."""
_RANKED_FACTS = (
    "title", "price_eur", "area_sqm", "rooms", "floor", "floors_total", "neighbourhood",
)  # fmt: skip


def score(
    property_id: Annotated[
        int | None, typer.Argument(metavar="PROPERTY", help="Explain this property. Default: rank all.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="A profile of `sale-sofia profiles`. Default: the first of your own.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show this many.")] = SCORES_SHOWN,
    passing: Annotated[bool, typer.Option("--passing", help="Only flats that pass every condition.")] = False,
    lang: Annotated[Language, typer.Option(help="The language of explanations.")] = "en",
    as_json: AsJson = False,
) -> None:
    """Rank the offered flats for a profile, the best first; or explain the score of one, fact by fact."""
    refuse(property_id is not None and passing, "--passing is for the list; leave it out with a property")
    settings = load_settings()
    profile = _or_usual(settings, profile)
    chosen = profile_files.load_profile(settings.data_dir, profile)
    database = _score_flats(settings)
    if remark := chosen.remark():
        tell(remark)
    if property_id is not None:
        view = database.run_read(partial(_explain, number=property_id, profile=chosen, lang=lang))
        print_answer(view, *_explanation(view, lang), as_json=as_json)
        return
    found = database.run_read(partial(_ranking, profile=profile, passing=passing, limit=limit))
    table, note = _ranking_table(profile, found["scores"], lang), _count_sentence(found, lang)
    print_answer({"profile": profile, **found}, table, as_json=as_json, note=note)


def _or_usual(settings: Settings, name: str | None) -> str:
    """This profile, or the one that is meant where none is named."""
    return name or profile_files.usual_profile(profile_files.profile_names(settings.data_dir))


def _ranking(connection: Connection, profile: str, *, passing: bool, limit: int) -> dict[str, Any]:
    rows = ranked(connection, profile, passing=passing, limit=limit)
    flats = {flat.property_id: flat for flat in read_flats(connection, [row["property_id"] for row in rows])}
    lines: list[dict[str, Any]] = []
    for row in rows:
        flat = flats[row["property_id"]]
        facts = {name: getattr(flat, name) for name in _RANKED_FACTS}
        stored = {name: value for name, value in row.items() if name not in {"digest", "profile"}}
        facts |= {"price_per_sqm_eur": asked_eur_sqm(flat), "url": flat.adverts[0].url}
        lines.append({**stored, **facts})
    return {"scores": lines, "verdicts": count_verdicts(connection, profile)}


def _ranking_table(profile: str, lines: Sequence[View], language: Language) -> Table:
    """A row for each flat, the best first."""
    numbers = ("rooms", "area", "floor", "price", "eur_sqm", "value", "known", "points")
    title = Said("score.table.title", profile=profile).in_words(language)
    conditions = Said("score.conditions").in_words(language)
    table = plain_table(title, _headings(language, "id", "place"), _headings(language, *numbers), conditions)
    for line in lines:
        place = line["neighbourhood"] or _UNKNOWN
        facts = (line["rooms"], line["area_sqm"], line["floor"], line["price_eur"], line["price_per_sqm_eur"])
        verdict = _state(line["verdict"], language)
        for key, sign in (("failed", _SIGNS["fail"]), ("unknown", _SIGNS["unknown"])):
            if line[key]:
                names = ", ".join(name_of(name, language) for name in line[key])
                verdict.append(f"; {sign} {names}", "default")
        table.add_row(str(line["property_id"]), place, *map(number, facts), *_score_cells(line), verdict)
    return table


def _headings(language: Language, *names: str) -> list[str]:
    return [Said(f"score.table.{name}").in_words(language) for name in names]


def _state(state: str, language: Language) -> Text:
    return Text(f"{_SIGNS[state]} {name_of(state, language)}", _STYLES[state])


def _score_cells(view: View) -> tuple[str, str, str]:
    return _worth(view["value"]), f"{view['known']:.0%}", f"{view['points']:.2f}"


def _worth(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.1f}"


def _count_sentence(found: View, language: Language) -> str:
    verdicts, shown = found["verdicts"], len(found["scores"])
    if not verdicts:
        return Said("score.nothing").in_words(language)
    names = {"passing": "pass", "unknown": "unknown", "failing": "fail"}
    counts = {name: verdicts.get(verdict, 0) for name, verdict in names.items()}
    return Said("score.shown", shown=shown, all=sum(verdicts.values()), **counts).in_words(language)


def _explain(connection: Connection, number: int, profile: Profile, lang: Language) -> dict[str, Any]:
    return explain_flat(find_flat(connection, number), profile, read_yardsticks(connection), lang)


def _explanation(view: View, language: Language) -> Iterator[Table | Text]:
    """One flat: its score fact by fact, its deal breakers, its costs."""
    score, known, points = _score_cells(view)
    summary = Said("score.summary", id=view["property_id"], score=score, known=known, points=points)
    yield Text(summary.in_words(language))
    headings = partial(_headings, language)
    numbers = headings("weight", "value", "known", "points")
    (title,), why = headings("criteria"), headings("why")
    table = plain_table(title, headings("criterion"), numbers, *why)
    for criterion in view["criteria"]:
        weight = f"{criterion['weight']:.0%}"
        table.add_row(criterion["name"], weight, *_score_cells(criterion), "", style="bold")
        for part in criterion["parts"]:
            table.add_row("", "", _worth(part["value"]), "", f"{part['points']:.2f}", part["why"])
    yield table
    title = Said("score.conditions").in_words(language)
    table = plain_table(title, headings("criterion", "state"), (), *why)
    for breaker in view["breakers"]:
        quote = f" – “{breaker['quote']}”" if breaker["quote"] else ""
        table.add_row(breaker["name"], _state(breaker["state"], language), breaker["why"] + quote)
    yield table
    if view["costs"]:
        costs = (
            (cost["name"], number(cost["least_eur"]), number(cost["most_eur"])) for cost in view["costs"]
        )
        (title,) = headings("costs")
        yield plain_table(title, headings("item"), headings("least", "most"), rows=costs)


# `sale-sofia profiles`: what buyers look for.

app = typer.Typer()
Name = Annotated[str, typer.Argument(help="The name of a profile.")]
AnyName = Annotated[
    str | None, typer.Argument(help="The name of a profile; the first of your own without it.")
]


@app.callback(invoke_without_command=True)
def profiles(context: typer.Context, as_json: AsJson = False) -> None:
    """List the profiles: what each buyer is looking for. Each is a file in DATA_DIR/profiles."""
    if has_subcommand(context):
        return
    loaded = profile_files.load_profiles(load_settings().data_dir)
    if as_json:
        _print_profiles(loaded)
        return
    table = Table("name", "title", "budget €", "looks for", title="Profiles", box=box.SIMPLE)
    for name, profile in loaded.profiles.items():
        table.add_row(name, profile.title, number(profile.budget_eur), ", ".join(profile.property_types))
    out.print(table)
    _warn(loaded)


def _print_profiles(loaded: Loaded) -> None:
    lines: list[dict[str, Any]] = []
    for name in sorted({*loaded.profiles, *loaded.mistakes}):
        if name in loaded.mistakes:
            lines.append({"name": name, "error": str(loaded.mistakes[name])})
            continue
        profile = loaded.profiles[name]
        summary = {"title": profile.title, "budget_eur": profile.budget_eur, "remark": profile.remark()}
        lines.append({"name": name, **summary})
    print_json({"profiles": lines})


def _warn(loaded: Loaded) -> None:
    for mistake in loaded.mistakes.values():
        tell(str(mistake), style="red")
    for name, profile in loaded.profiles.items():
        if remark := profile.remark():
            tell(f"{name}: {remark}")


@app.command()
def show(name: AnyName = None, as_json: AsJson = False) -> None:
    """Show a profile with every key, including those that its file leaves out."""
    settings = load_settings()
    name = _or_usual(settings, name)
    path, values = profile_files.read_profile(settings.data_dir, name)
    profile = profile_files.check_profile(path, values)
    complete = profile.model_dump(mode="json")
    record = {"name": name, "path": str(path), "remark": profile.remark(), "profile": complete}
    text = yaml.safe_dump(complete, allow_unicode=True, sort_keys=False, default_flow_style=None, width=100)
    print_answer(record, f"# {path}", text.rstrip(), as_json=as_json, note=profile.remark() or "")


@app.command()
def new(
    name: Name, like: Annotated[str, typer.Option(help="Start from a copy of this profile.")] = DEFAULT
) -> None:
    """Make a profile of your own; `sale-sofia score --profile NAME` ranks the flats for it."""
    path = profile_files.new_profile(load_settings().data_dir, name, like)
    _note(name, "made")
    tell(f"{path} is there; change it there, or with `sale-sofia profiles edit {name} key=value`")


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
    folder = load_settings().data_dir
    path, profile = profile_files.edit_profile(folder, name, [_change(text) for text in changes])
    _note(name, "changed")
    tell(f"{path} is changed")
    if remark := profile.remark():
        tell(remark)


def _note(name: str, change: What) -> None:
    """Record who changed the profile, if there is a database."""
    settings = load_settings()
    if open_database(settings).exists():
        open_ready(settings).run_write(partial(note_change, about="profile", name=name, what=change, by=me()))


def _score_flats(settings: Settings) -> Database:
    """Merge and score what changed; returns the database."""
    database = open_ready(settings)
    try:
        merge_flats(database)
        score_all(settings, database)
    except ProfileError as error:  # of a profile other than the requested one
        tell(str(error), style="yellow")
    return database


@app.command()
def learnt(name: AnyName = None, as_json: AsJson = False) -> None:
    """Count why flats were rejected, and say which change of a profile would have kept them away."""
    settings = load_settings()
    name = _or_usual(settings, name)
    profile = profile_files.load_profile(settings.data_dir, name)
    found = _score_flats(settings).run_read(lambda connection: learn(connection, name, profile))
    if as_json:
        print_json({"profile": name, **asdict(found)})
        return
    for lesson in found.lessons:
        out.print(f"{lesson.flats} of {found.rejected} rejected: {lesson.reason}")
        if lesson.offer is None:
            left_out = lesson.out == lesson.flats
            out.print(f"  {'left out already' if left_out else 'no filter for it yet'}")
            continue
        leaves = f"of {found.fitting} that fit {lesson.offer.leaves} stay"
        out.print(f"  {lesson.offer.caught} of them would not have been shown; {leaves}")
        change = f"{lesson.offer.key}={json.dumps(lesson.offer.value)}"
        out.print(f"  sale-sofia profiles edit {name} '{change}'", soft_wrap=True)
    log.print(f"{counted(found.rejected, 'flat')} rejected")


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
    loaded = profile_files.load_profiles(load_settings().data_dir)
    if as_json:
        _print_profiles(loaded)
    else:
        _warn(loaded)
        tell(f"{len(loaded.profiles)} of {len(loaded.profiles) + len(loaded.mistakes)} profiles are right")
    if loaded.mistakes:
        raise typer.Exit(BAD_INPUT)


# The market by neighbourhood.

_HIDDEN = "–"


def market(
    neighbourhood: Annotated[
        str | None, typer.Option(help="Only of this neighbourhood, by kind of flat.")
    ] = None,
    deal: Annotated[Deal, typer.Option(help="Prices of sales, or rents per month.")] = "sale",
    limit: Annotated[int, typer.Option(min=1, help="Show this many lines.")] = MARKET_LISTED,
    as_json: AsJson = False,
) -> None:
    """Show the market by neighbourhood: what is asked for a m², how many come and go, how long they stay."""
    place = find_neighbourhood(neighbourhood) if neighbourhood is not None else None
    if neighbourhood is not None and place is None:
        raise typer.BadParameter(
            f"no neighbourhood {neighbourhood!r} in Sofia is known; write it as the portals do"
        )
    settings = load_settings()
    database = open_ready(settings)
    merge_flats(database)
    found = read_market(database, settings, now=time.time(), deal=deal)
    if place is not None:
        cells = {cell: figures for cell, figures in found.cells.items() if cell.neighbourhood == place.name}
        found = Market(found.deal, found.now, found.least, cells)
    note = f"{LABEL}; {VAT_RULE}; what fewer than {found.least} flats make is not shown"
    # A line for each neighbourhood, or for each kind of flat of one; new and gone are for a week.
    by_rooms = place is not None
    headings = ("stock", "€/m²", "quartiles", "change", "new", "gone", "days", "cut", "by")
    rows = (
        (cell.neighbourhood or "all of Sofia", cell.rooms or "all", *_market_cells(figures))
        for cell, figures in found.cells.items()
        if by_rooms or cell.rooms is None or cell.neighbourhood is None
    )
    title, words = f"The market ({LABEL})", ("neighbourhood", "rooms")
    table = plain_table(title, words, headings, rows=islice(rows, limit))
    print_answer(found.as_json(), table, as_json=as_json, note=note, empty=NO_FLATS)


def _market_cells(found: Figures) -> tuple[str, ...]:
    def cell(value: float | None, form: str) -> str:
        return _HIDDEN if value is None else form.format(value)

    quartiles = found.eur_sqm
    return (
        str(found.stock),
        number(quartiles.median) if quartiles else _HIDDEN,
        f"{number(quartiles.low)}–{number(quartiles.high)}" if quartiles else _HIDDEN,
        cell(found.change_percent, "{:+.1f} %"),
        cell(found.new_per_week, "{:.1f}"),
        cell(found.gone_per_week, "{:.1f}"),
        cell(found.days.median, "{:.0f}"),
        cell(found.cuts.share, "{:.0%}"),
        cell(found.cuts.median_percent, "{:.1f} %"),
    )


# The fair price of a property, and how well such prices are estimated.


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
        typer.Option(
            help="A Parquet table of adverts: instead, measure how well their prices can be estimated."
        ),
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit the model again, even if it is recent.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Estimate the fair price of a property: an interval, the flats behind it, and where its price lies."""
    refuse((property_id is None) == (adverts is None), "give the id of a property, or --adverts FILE")
    refuse(refit and adverts is not None, "--refit is for the stored model; leave it out with --adverts")
    settings = load_settings()
    if property_id is not None:
        valued = value_property(open_ready(settings), settings, property_id, refit=refit)
        print_answer(valued.as_json(), *_valuation_parts(valued), as_json=as_json)
    elif adverts is not None:
        tried = try_file(adverts, settings)
        note = f"{counted(tried.flats, 'flat')} in {adverts}, {tried.seconds:.1f} s"
        print_answer(tried.as_json(), *_error_tables(tried), as_json=as_json, note=note)


def _valuation_parts(found: Valuation) -> Iterator[Table | Text]:
    """The asking price, the fair price, the verdict, and the comparable flats."""
    yield Text(f"Property {found.flat.property_id}: {_price_sentence(found)}")
    if found.fair is not None:
        low, middle, high = (value * (found.flat.area_sqm or 0.0) for value in found.fair)
        each = f"{number(found.fair.low)}–{number(found.fair.high)} €/m²"
        whole = f"{number(low)}–{number(high)} €, the middle {number(middle)} €"
        yield Text(f"Fair: {whole}; {each} ({BASIS})")
    yield Text(f"{found.verdict}: {found.explanation}")
    if found.comparables:
        yield plain_table(
            f"The first of {found.rests_on} flats that it rests on",
            ("property", "neighbourhood"),
            ("€", "€/m²", "m²", "floor", "year", "km", "share"),
            "condition",
            "alike and not",
            rows=map(_comparable_cells, found.comparables),
        )
    if found.current is not None:
        report = found.current.report
        error, median = report["error"], report["neighbourhood_median"]
        yield Text(
            f"Model of {moment(found.current.made_at)}, {report['flats']} flats; on flats not seen: "
            f"median error {error['median']:.1%} (the neighbourhood's median {median['median']:.1%}), "
            f"{error['coverage']:.1%} of asking prices inside the interval."
        )


def _price_sentence(found: Valuation) -> str:
    flat = found.flat
    if flat.price_eur is None:
        return "no price is asked"
    band = price_band(flat)
    vat = f", {number(band.least)} € with VAT" if band and band.least != flat.price_eur else ""
    return f"{number(flat.price_eur)} € asked{vat}, {number(asked_eur_sqm(flat))} €/m²"


def _comparable_cells(comparable: ComparableFlat) -> tuple[str, ...]:
    flat = comparable.flat
    return (
        str(flat.property_id),
        flat.neighbourhood or "?",
        number(flat.price_eur),
        number(asked_eur_sqm(flat)),
        number(flat.area_sqm),
        number(flat.floor) + (f"/{flat.floors_total}" if flat.floors_total else ""),
        "?" if flat.year_built is None else str(flat.year_built),
        number(comparable.kilometres, 1),
        f"{comparable.weight:.1%}",
        flat.condition or "?",
        ", ".join(comparable.why),
    )


def _error_tables(found: ModelTrial) -> Iterator[Table]:
    """The model beside the neighbourhood's median, and where it is worst."""
    rows = [("fair price", found.judged.error), ("neighbourhood's median", found.judged.by_median)]
    if found.elsewhere is not None:
        rows += [
            ("fair price, neighbourhood left out", found.elsewhere.error),
            ("median of all others", found.elsewhere.by_median),
        ]
    title = "Asking prices of flats not seen: median error, and how many the interval holds"
    yield _error_table(title, "told by", rows)
    worst = list(found.judged.neighbourhoods.items())
    yield _error_table("Where the error is largest", "neighbourhood", worst)


def _error_table(title: str, heading: str, rows: Sequence[tuple[str, Error]]) -> Table:
    table = plain_table(title, (heading,), ("flats", "error", "≤ 10 %", "held", "width"))
    for name, error in rows:
        shares = (error.median, error.within_near, error.coverage, error.width)
        table.add_row(name, str(error.flats), *("" if share is None else f"{share:.1%}" for share in shares))
    return table
