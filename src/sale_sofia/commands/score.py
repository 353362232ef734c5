"""`sale-sofia score`: flats ranked for a profile, or one flat explained."""

from functools import partial
from typing import Annotated, Any

import typer
from sqlalchemy import Connection

from sale_sofia.commands.console import AsJson, log, out, print_json, refuse
from sale_sofia.commands.score_tables import explanation_parts, ranking_table
from sale_sofia.config.insights import SCORES_SHOWN
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.scores import count_verdicts, ranked
from sale_sofia.insights.explaining import Language, explain_flat
from sale_sofia.insights.flat_rows import find_flat, read_flats
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.profiles import DEFAULT, ProfileError, load_profile
from sale_sofia.insights.score_runs import score_all
from sale_sofia.insights.yardstick_rows import kept_yardsticks
from sale_sofia.scraping.store import open_ready

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
