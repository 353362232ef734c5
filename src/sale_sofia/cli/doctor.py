"""Commands about this installation: is it ready, and which places does it know?"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.table import Table
from sqlalchemy import Connection, inspect, select

from sale_sofia.cli.backup import progress_bar
from sale_sofia.cli.console import (
    NOT_ALL_RIGHT,
    AsJson,
    log,
    one_of,
    out,
    plain_table,
    print_answer,
    print_json,
    refuse,
    tell,
)
from sale_sofia.cli.progress import moment
from sale_sofia.geography import imported
from sale_sofia.geography.geojson import (
    Feature,
    are_points,
    read_areas,
    read_features,
    read_schools,
    read_stations,
)
from sale_sofia.geography.gtfs import read_timetable
from sale_sofia.geography.metro import keep_walks
from sale_sofia.geography.nearby import keep_nearby
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.installation import open_database, open_ready
from sale_sofia.listings.places import district_key, districts, find_neighbourhood
from sale_sofia.operations.doctor import CheckResult, run_checks
from sale_sofia.settings.model import Settings, load_settings


def doctor(
    robots: Annotated[
        bool,
        typer.Option("--robots", help="Also ask every portal for its robots.txt; this uses the network."),
    ] = False,
    site: Annotated[
        list[str] | None, typer.Option(help="With --robots: only this portal; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine: versions, settings, your files, disk, the whole database, Redis, clock, browser."""
    refuse(site and not robots, "--site goes with --robots")
    with progress_bar() as progress:
        checks = run_checks(
            on_progress=lambda done, most: progress("looking at the database", int(done), int(most))
        )
    # Slow to import. Files and portals are checked only if the settings, which name them, are right.
    from sale_sofia.operations.checks import check_files, check_robots  # noqa: PLC0415

    if not any(check.name == "settings" and not check.ok for check in checks):
        checks += check_files(load_settings())
        if robots:
            checks += check_robots(load_settings(), site or ())
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        _print_table(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(NOT_ALL_RIGHT)
    if not as_json and not _has_adverts(load_settings()):
        log.print("before the first crawl: sale-sofia sites probe")


def _has_adverts(settings: Settings) -> bool:
    def read(connection: Connection) -> bool:
        if not inspect(connection).has_table(listings.name):  # made by the first command that needs it
            return False
        return connection.scalar(select(listings.c.id).limit(1)) is not None

    database = open_database(settings)
    return database.exists() and database.run_read(read)


def _print_table(checks: Sequence[CheckResult]) -> None:
    """Print the checks, with a column of advice only if there is any."""
    advised = any(check.advice for check in checks)
    table = Table("", "check", "found", *(["what to do"] if advised else []))
    for check in checks:
        advice = [check.advice or ""] if advised else []
        table.add_row("✓" if check.ok else "✗", check.name, check.detail, *advice)
    out.print(table)


# Places of the user's own.

places_app = typer.Typer(no_args_is_help=True)
_SHIPPED: Final[Mapping[str, str]] = {
    "timetable": "shipped: Център за градска мобилност (CC BY 4.0)",
    "stations": "shipped: OpenStreetMap (ODbL), Център за градска мобилност (CC BY 4.0)",
    "neighbourhoods": "shipped: OpenStreetMap (ODbL)",
    "districts": "none: no licence is stated at the source",
    "parks": "none: no licence is stated at the source",
    "schools": "none: no licence is stated at the source",
}
_FOR_FLATS: Final = frozenset({"stations", "neighbourhoods", "timetable", "schools"})
"""Sets of places from which facts of flats follow."""


@places_app.callback()
def places() -> None:
    """Show which stations, borders and timetable are used, and put your own in their place."""


@places_app.command("import")
def import_places(
    gtfs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A timetable, as a GTFS ZIP; of it a weekday morning is kept."),
    ] = None,
    geojson: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Areas, or points (metro stations, schools), each with its `name`."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="KIND",
            help="What it has: neighbourhoods, districts, parks; schools, with their `exam` points. Unset: "
            "points are stations, areas districts where all names are theirs, else neighbourhoods.",
        ),
    ] = None,
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Leave out neighbourhoods that we do not know, and say which.")
    ] = False,
) -> None:
    """Use your own timetable, metro stations or areas instead of the shipped ones.

    A neighbourhood that the file does not name keeps its borders. The dashboard uses new places at once,
    workers that run when they are started anew.
    """
    refuse((gtfs is None) == (geojson is None), "give either --gtfs FILE or --geojson FILE")
    kinds = ("neighbourhoods", "districts", "parks", "schools")
    kind = kind and one_of(kind, "kind of places", kinds)
    refuse(gtfs and (kind or leave_out), "--as and --leave-out go with --geojson")
    if gtfs is not None:
        found = read_timetable(gtfs)
        _store_places("timetable", gtfs, found, len(found["patterns"]))
    elif geojson is not None:
        _import_features(geojson, read_features(geojson), kind, leave_out=leave_out)


def _import_features(path: Path, features: list[Feature], kind: str | None, *, leave_out: bool) -> None:
    refuse(kind == "schools" and not are_points(features), "schools are points, and the file has others")
    if kind == "schools":
        found = read_schools(features)
        _store_places("schools", path, {"schools": found}, len(found))
        return
    if are_points(features):
        refuse(kind, "the file has points, which are stations or --as schools; other kinds are areas")
        found = read_stations(features)
        _store_places("stations", path, {"stations": found}, len(found))
        return
    kind = kind or _guess_kind(features)
    if kind == "neighbourhoods" and leave_out:
        unknown = [area.name or "one without a name" for area in features if _place_id(area.name) is None]
        features = [area for area in features if _place_id(area.name) is not None]
        refuse(not features, "no area has the name of a neighbourhood that we know")
        if unknown:
            tell(f"left out, as we know no such neighbourhood: {', '.join(unknown)}")
    areas = read_areas(
        features, nameless=kind == "parks", number_of=_place_id if kind == "neighbourhoods" else None
    )
    _store_places(kind, path, {"type": "FeatureCollection", "features": areas}, len(areas))


def _guess_kind(features: Sequence[Feature]) -> str:
    district_keys = set(map(district_key, districts()))
    if not all(district_key(feature.name) in district_keys for feature in features):
        return "neighbourhoods"
    both = all(_place_id(feature.name) is not None for feature in features)
    refuse(both, "districts and neighbourhoods have these names; say --as districts or --as neighbourhoods")
    return "districts"


def _place_id(name: str) -> int | None:
    found = find_neighbourhood(name)
    return found.id if found else None


def _store_places(kind: str, path: Path, content: dict[str, Any], count: int) -> None:
    settings = load_settings()
    about = {"source": path.name, "imported_at": time.time(), "count": count}
    imported.keep(settings.data_dir, kind, {**content, "meta": {**content.get("meta", {}), **about}})
    _update_flats({kind})
    tell(f"{count} {'patterns of lines' if kind == 'timetable' else kind} imported from {path.name}")


def _update_flats(kinds: set[str]) -> None:
    """Recompute walks and touch all adverts, if facts of flats follow from these sets of places."""
    settings = load_settings()
    if kinds.isdisjoint(_FOR_FLATS):
        return
    tell("working out the walks from all neighbourhoods …")
    keep_walks(settings.data_dir)
    keep_nearby(settings.data_dir)
    if open_database(settings).exists():
        open_ready(settings).run_write(_touch_all)


def _touch_all(connection: Connection) -> None:
    if found := list(connection.scalars(select(listings.c.id))):
        touch(connection, found)


@places_app.command()
def show(as_json: AsJson = False) -> None:
    """Show where each set of places comes from."""
    imported.use(load_settings().data_dir)
    about = {kind: (own["meta"] if (own := imported.own(kind)) else None) for kind in imported.KINDS}
    rows = [(kind, _import_sentence(meta) if meta else _SHIPPED[kind]) for kind, meta in about.items()]
    record = {"places": {kind: meta or {"source": _SHIPPED[kind]} for kind, meta in about.items()}}
    print_answer(record, plain_table("Places", ("set",), (), "from", rows=rows), as_json=as_json)


def _import_sentence(meta: Mapping[str, Any]) -> str:
    return f"{meta['source']}, {meta['count']}, imported {moment(meta['imported_at'])}"


@places_app.command()
def reset(
    kind: Annotated[
        str | None, typer.Argument(help=f"One of {', '.join(imported.KINDS)}; without it all of them.")
    ] = None,
) -> None:
    """Go back to the shipped places."""
    kind = kind and one_of(kind, "set of places", imported.KINDS)
    data_dir = load_settings().data_dir
    gone = [name for name in imported.KINDS if kind in (None, name) and imported.remove(data_dir, name)]
    _update_flats(set(gone))
    tell(f"back to what is shipped: {', '.join(gone)}" if gone else "nothing was imported")
