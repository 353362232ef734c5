"""`sale-sofia restore`: a backup back into a data folder, and into a database server if one is named."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sale_sofia.commands.backup import shown, tell_lacking
from sale_sofia.commands.console import AsJson, log, print_json
from sale_sofia.commands.copying import database_at
from sale_sofia.config.backup import SITES_FOLDER
from sale_sofia.config.settings import DATABASE_FILE, Settings, load_settings
from sale_sofia.data.backup_snapshot import Progress, copy_rows, open_file
from sale_sofia.data.database import Database
from sale_sofia.data.restore_place import check_target, is_filled
from sale_sofia.data.restoring import Restored
from sale_sofia.data.restoring import restore as restore_backup
from sale_sofia.scraping.standstill import standstill


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.", exists=True, dir_okay=False)],
    into: Annotated[
        Path | None, typer.Option(metavar="DATA_DIR", help="The folder it becomes; DATA_DIR without it.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="In the place of what is there, which stays beside.")
    ] = False,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Put the tables into this empty database instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of a DATA_DIR: checked first, then in one step; nothing may run there.

    For example: sale-sofia restore FILE --into /srv/flats, with a FILE of `sale-sofia backup list`.
    """
    settings = load_settings()
    target = (into or settings.data_dir).resolve()
    server = database_at("--database", database) if database else None
    check_target(target, replace=replace)
    with _alone(target):
        pass  # who is at work is told before hours of unpacking, too
    with shown() as progress:
        frame = partial(_ready, target=target, server=server, progress=progress)
        done = restore_backup(file, target, progress, frame)
    if as_json:
        before = None if done.before is None else str(done.before)
        told = {"folder": str(done.folder), "before": before, "about": done.about.model_dump()}
        print_json({**told, "lacking": list(done.lacking)} if done.lacking else told)
    _tell(done, settings, server)
    tell_lacking(done.lacking, "all else was restored")


@contextmanager
def _ready(folder: Path, target: Path, server: Database | None, progress: Progress) -> Iterator[None]:
    """The tables are where they belong, and nobody is at work in the folder that is replaced."""
    if server:
        _move_tables(folder, server, progress)
    with _alone(target):
        yield


def _alone(target: Path) -> AbstractContextManager[None]:
    return standstill(target) if is_filled(target) else nullcontext()


def _move_tables(folder: Path, target: Database, progress: Progress) -> None:
    """Into the server instead of the file; killed on the way, the same command goes on."""
    source = open_file(folder / DATABASE_FILE)
    try:
        copy_rows(source, target, progress)
    finally:
        source.dispose()
        target.dispose()
    for path in folder.glob(f"{DATABASE_FILE}*"):
        path.unlink()


def _tell(done: Restored, settings: Settings, server: Database | None) -> None:
    adverts = done.about.rows.get("listings", 0)
    where = f"{done.folder} and {server.name}" if server else str(done.folder)
    _say(f"{adverts} adverts restored into {where}; go on with `sale-sofia resume`")
    if done.before:
        _say(f"what was there is in {done.before}, with all that no backup holds; delete it when you like")
    if (done.folder / SITES_FOLDER).is_dir():
        _say(f"your own site files are in {done.folder / SITES_FOLDER}; set SITES_DIR to it")
    if server is None and settings.database_url.get_secret_value() != _own_url(settings):
        _say("DATABASE_URL names another database, which is as it was; --database fills an empty one")


def _own_url(settings: Settings) -> str:
    return f"sqlite:///{settings.data_dir / DATABASE_FILE}"


def _say(sentence: str) -> None:
    log.print(sentence, highlight=False, soft_wrap=True)
