"""`sale-sofia backup`: a whole installation in one file, made while it works."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.progress import Progress as Bars
from rich.table import Table

from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, out, print_json, refuse
from sale_sofia.commands.crawl_tables import moment, number
from sale_sofia.config.backup import BACKUPS_FOLDER, SHOWN_PAGES
from sale_sofia.config.settings import DATABASE_FILE, Settings, load_settings
from sale_sofia.data.backup_errors import BackupError
from sale_sofia.data.backup_folder import Kept, list_backups, remove_old
from sale_sofia.data.backup_making import Order, make_backup
from sale_sofia.data.backup_reading import Contents, unpack
from sale_sofia.data.backup_snapshot import Progress, examined
from sale_sofia.scraping.store import open_database

app = typer.Typer()
To = Annotated[
    Path | None, typer.Option("--to", metavar="DIR", help="The folder of the backups; BACKUP_DIR without it.")
]
_MB = 1_000_000


@app.callback(invoke_without_command=True)
def backup(
    context: typer.Context,
    to: To = None,
    keep: Annotated[
        int | None, typer.Option(min=1, help="So many stay, older ones go; BACKUP_KEEP without it.")
    ] = None,
    no_pages: Annotated[bool, typer.Option("--no-pages", help="Leave out the page archive.")] = False,
    as_json: AsJson = False,
) -> None:
    """Back up the database and all that belongs to it into one file, also while crawls run.

    For example: sale-sofia backup --to /mnt/backups --keep 7
    """
    if context.invoked_subcommand is not None:
        given = to or keep or no_pages or as_json
        refuse(given, f"options go after the word: `sale-sofia backup {context.invoked_subcommand} …`")
        return
    settings = load_settings()
    folder = _folder(settings, to)
    order = Order(settings.data_dir, settings.sites_dir, folder, pages=not no_pages)
    with shown() as progress:
        made = make_backup(open_database(settings), order, progress)
    removed = [] if made.lacking else remove_old(folder, made, keep or settings.backup_keep)
    if as_json:
        print_json({**_record(made), "removed": [str(path) for path in removed]})
    log.print(f"{made.path}: {_told(made)}; checked", highlight=False, soft_wrap=True)
    if removed:
        log.print(f"{len(removed)} older backups removed", highlight=False)
    tell_lacking(made.lacking, "older backups may still hold them, so none was removed")


@app.command("list")
def list_command(to: To = None, as_json: AsJson = False) -> None:
    """List the backups of the folder, the oldest first."""
    folder = _folder(load_settings(), to)
    listed = list_backups(folder)
    if as_json:
        damaged = [{"file": str(path), "error": error} for path, error in listed.damaged.items()]
        print_json({"backups": [_record(one) for one in listed.kept], "damaged": damaged})
    elif listed.kept:
        out.print(_table(listed.kept))
    else:
        log.print(f"no backup in {folder} yet", highlight=False, soft_wrap=True)
    for error in listed.damaged.values():
        log.print(error, style="red", highlight=False, soft_wrap=True)
    if listed.damaged:
        raise typer.Exit(NOT_ALL_RIGHT)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A backup.", exists=True, dir_okay=False)],
    as_json: AsJson = False,
) -> None:
    """Read a backup to its last byte: every checksum, every archived page, all of its database."""
    try:
        with shown() as progress:
            found = _verified(file, progress)
    except BackupError as error:
        if as_json:
            print_json({"file": str(file), "sound": False, "error": str(error)})
        log.print(f"sale-sofia: {error}", style="red", highlight=False, soft_wrap=True)
        raise typer.Exit(NOT_ALL_RIGHT) from None
    kept = Kept(file, found.about, file.stat().st_size, found.lacking)
    if as_json:
        print_json({**_record(kept), "sound": not kept.lacking})
    sound = "all else is sound" if kept.lacking else "sound"
    log.print(f"{file}: {_told(kept)}; {sound}", highlight=False, soft_wrap=True)
    tell_lacking(kept.lacking, "all else can be restored from it")


def tell_lacking(names: Sequence[str], what_now: str) -> None:
    """End with 1 where pages are not in a backup that should be; which they are, and what to do."""
    if not names:
        return
    more = f" and {len(names) - SHOWN_PAGES} more" if len(names) > SHOWN_PAGES else ""
    log.print(
        f"sale-sofia: {len(names)} archived pages are damaged or gone, and not in the backup: "
        f"{', '.join(names[:SHOWN_PAGES])}{more}; {what_now}; `sale-sofia prune --lost` forgets them, "
        "and the next crawl archives anew what is still offered.",
        style="red", highlight=False, soft_wrap=True,
    )  # fmt: skip
    raise typer.Exit(NOT_ALL_RIGHT)


def _verified(file: Path, progress: Progress) -> Contents:
    with tempfile.TemporaryDirectory() as folder:
        found = unpack(file, Path(folder), lambda name: name == DATABASE_FILE, progress)
        examined(Path(folder) / DATABASE_FILE, str(file))
    return found


def _folder(settings: Settings, given: Path | None) -> Path:
    return (given or settings.backup_dir or settings.data_dir / BACKUPS_FOLDER).absolute()


def _record(one: Kept) -> dict[str, Any]:
    told = {"file": str(one.path), "bytes": one.bytes, "about": one.about.model_dump()}
    return {**told, "lacking": list(one.lacking)} if one.lacking else told


def _told(one: Kept) -> str:
    adverts = one.about.rows.get("listings", 0)
    return f"{adverts} adverts, {'with' if one.about.pages else 'without'} pages, {one.bytes / _MB:.1f} MB"


def _table(kept: list[Kept]) -> Table:
    table = Table(box=box.SIMPLE)
    for heading in ("made", "adverts", "pages", "MB", "revision", "file"):
        table.add_column(heading, justify="right" if heading in ("adverts", "MB") else "left")
    for one in kept:
        cells = (number(one.about.rows.get("listings")), "yes" if one.about.pages else "no")
        size = number(one.bytes / _MB, 1)
        table.add_row(moment(one.about.made_at), *cells, size, one.about.revision, one.path.name)
    return table


@contextmanager
def shown() -> Iterator[Progress]:
    """A bar on standard error, when somebody looks."""
    with Bars(console=log, transient=True, disable=not log.is_terminal) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, total: bars.update(task, description=what, completed=done, total=total)
