"""`sale-sofia backup`: a whole installation in one file, made while it works."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr, TypeAdapter, ValidationError
from rich import box
from rich.progress import Progress as Bars
from rich.table import Table
from sqlalchemy import Connection, make_url

from sale_sofia.cli.console import NOT_ALL_RIGHT, AsJson, counted, has_subcommand, log, out, print_json, tell
from sale_sofia.cli.progress import moment, number
from sale_sofia.crawl.runners.runners import running_job
from sale_sofia.history.jobs import unfinished_jobs
from sale_sofia.installation import open_database
from sale_sofia.operations.backup.making import BackupRequest, copy_rows, examine, make_backup, open_file
from sale_sofia.operations.backup.reading import (
    BACKUPS_FOLDER,
    SHOWN_PAGES,
    SITES_FOLDER,
    BackupError,
    BackupFile,
    BackupProgress,
    list_backups,
    remove_old,
    unpack,
)
from sale_sofia.operations.backup.restoring import check_target, is_filled, standstill
from sale_sofia.operations.backup.restoring import restore as restore_backup
from sale_sofia.operations.copying import CopyFailed, CopyRefused
from sale_sofia.settings.model import DATABASE_FILE, Settings, load_settings
from sale_sofia.settings.types import DATABASE_ALLOWED, DatabaseUrl, with_password
from sale_sofia.storage.database import Database, is_on_server
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.migrate import HEAD, current_revision, initialize_database
from sale_sofia.storage.migrate import check as check_database

app = typer.Typer()
To = Annotated[
    Path | None, typer.Option("--to", metavar="DIR", help="The folder of the backups. Default: BACKUP_DIR.")
]
_MB = 1_000_000


@contextmanager
def progress_bar() -> Iterator[BackupProgress]:
    """Show a bar on standard error if that is a terminal; yields the callback that moves it."""
    with Bars(console=log, transient=True, disable=not log.is_terminal) as bars:
        task = bars.add_task("", total=None)
        yield lambda label, done, total: bars.update(task, description=label, completed=done, total=total)


@app.callback(invoke_without_command=True)
def backup(
    context: typer.Context,
    to: To = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="How many to keep; older ones are removed. Default: BACKUP_KEEP."),
    ] = None,
    no_pages: Annotated[bool, typer.Option("--no-pages", help="Leave out the page archive.")] = False,
    as_json: AsJson = False,
) -> None:
    """Back up the database and all that belongs to it into one file, also while crawls run.

    For example: sale-sofia backup --to /mnt/backups --keep 7
    """
    if has_subcommand(context):
        return
    settings = load_settings()
    folder = _folder(settings, to)
    order = BackupRequest(settings.data_dir, settings.sites_dir, folder, pages=not no_pages)
    with progress_bar() as progress:
        made = make_backup(open_database(settings), order, progress)
    removed = [] if made.lacking else remove_old(folder, made, keep or settings.backup_keep)
    if as_json:
        print_json({**_record(made), "removed": [str(path) for path in removed]})
    tell(f"{made.path}: {_contents(made)}; checked")
    if removed:
        log.print(f"{counted(len(removed), 'older backup')} removed")
    _tell_lacking(made.lacking, "older backups may still hold them, so none was removed")


@app.command("list")
def list_command(to: To = None, as_json: AsJson = False) -> None:
    """List the backups of the folder, the oldest first."""
    folder = _folder(load_settings(), to)
    listed = list_backups(folder)
    if as_json:
        damaged = [{"file": str(path), "error": error} for path, error in listed.damaged.items()]
        print_json({"backups": [_record(backup) for backup in listed.backups], "damaged": damaged})
    elif listed.backups:
        out.print(_table(listed.backups))
    else:
        tell(f"no backup in {folder} yet")
    for error in listed.damaged.values():
        tell(error, style="red")
    if listed.damaged:
        raise typer.Exit(NOT_ALL_RIGHT)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A backup.", exists=True, dir_okay=False)],
    as_json: AsJson = False,
) -> None:
    """Read a backup to its last byte: every checksum, every archived page, all of its database."""
    try:
        with progress_bar() as progress, tempfile.TemporaryDirectory() as folder:
            found = unpack(file, Path(folder), lambda name: name == DATABASE_FILE, progress)
            examine(Path(folder) / DATABASE_FILE, str(file))
    except BackupError as error:
        if as_json:
            print_json({"file": str(file), "sound": False, "error": str(error)})
        tell(f"sale-sofia: {error}", style="red")
        raise typer.Exit(NOT_ALL_RIGHT) from None
    backup = BackupFile(file, found.about, file.stat().st_size, found.lacking)
    if as_json:
        print_json({**_record(backup), "sound": not backup.lacking})
    sound = "all else is sound" if backup.lacking else "sound"
    tell(f"{file}: {_contents(backup)}; {sound}")
    _tell_lacking(backup.lacking, "all else can be restored from it")


def _tell_lacking(names: Sequence[str], advice: str) -> None:
    """Name the pages that a backup lacks and exit with 1; does nothing where none is lacking."""
    if not names:
        return
    more = f" and {len(names) - SHOWN_PAGES} more" if len(names) > SHOWN_PAGES else ""
    tell(
        f"sale-sofia: {len(names)} archived pages are damaged or gone, and not in the backup: "
        f"{', '.join(names[:SHOWN_PAGES])}{more}; {advice}; `sale-sofia prune --lost` forgets them, "
        "and the next crawl archives anew what is still offered.",
        style="red",
    )
    raise typer.Exit(NOT_ALL_RIGHT)


def _folder(settings: Settings, option: Path | None) -> Path:
    return (option or settings.backup_dir or settings.data_dir / BACKUPS_FOLDER).absolute()


def _record(backup: BackupFile) -> dict[str, Any]:
    record = {"file": str(backup.path), "bytes": backup.bytes, "about": backup.about.model_dump()}
    return {**record, "lacking": list(backup.lacking)} if backup.lacking else record


def _contents(backup: BackupFile) -> str:
    adverts = backup.about.rows.get("listings", 0)
    pages = "with" if backup.about.pages else "without"
    return f"{counted(adverts, 'advert')}, {pages} pages, {backup.bytes / _MB:.1f} MB"


def _table(backups: list[BackupFile]) -> Table:
    table = Table(box=box.SIMPLE)
    for heading in ("made", "adverts", "pages", "MB", "revision", "file"):
        table.add_column(heading, justify="right" if heading in ("adverts", "MB") else "left")
    for backup in backups:
        cells = (number(backup.about.rows.get("listings")), "yes" if backup.about.pages else "no")
        size = number(backup.bytes / _MB, 1)
        table.add_row(moment(backup.about.made_at), *cells, size, backup.about.revision, backup.path.name)
    return table


# `sale-sofia db copy`: a whole installation from one database into another.


def copy(
    source_url: Annotated[str, typer.Option("--from", metavar="URL", help="The database that is copied.")],
    target_url: Annotated[str, typer.Option("--to", metavar="URL", help="The empty one it goes into.")],
    as_json: AsJson = False,
) -> None:
    """Copy a whole database, SQLite or PostgreSQL, into an empty one; stopped, the same command goes on.

    For example: sale-sofia db copy --from sqlite:///data/sale_sofia.db --to postgresql://me@localhost/flats

    Leave a server's password out of the URL: DATABASE_PASSWORD_FILE or ~/.pgpass can say it unseen.
    """
    source, target = _database_at("--from", source_url), _database_at("--to", target_url)
    if job := _running_job(source):
        raise CopyRefused(
            f"{source.name} is being written to by job {job}; "
            f"wait for it, or end it with `sale-sofia cancel {job}`."
        )
    try:
        with progress_bar() as progress:
            copied = copy_rows(source, target, progress)
    except CopyFailed as error:
        tell(f"sale-sofia: {error}", style="red")
        raise typer.Exit(NOT_ALL_RIGHT) from None
    rows = sum(copied.rows.values())
    if as_json:
        answer = {"from": source.name, "to": target.name, "rows": rows, "resumed": copied.resumed}
        print_json({**answer, "tables": dict(copied.rows)})
    log.print(f"{rows} rows of {len(copied.rows)} tables copied and compared; {target.name} is ready")
    if job := _running_job(source):
        log.print(
            f"job {job} began in {source.name} after the copy did: what it brings is not in the copy",
            style="yellow",
        )


def _database_at(option: str, url: str) -> Database:
    """The database of an option's URL, with the password of DATABASE_PASSWORD_FILE if it has none."""
    settings = load_settings()
    try:
        secret = TypeAdapter[SecretStr](DatabaseUrl).validate_python(url)
    except ValidationError:
        raise typer.BadParameter(
            f"not a database; allowed is {DATABASE_ALLOWED}", param_hint=option
        ) from None
    if settings.database_password_file and is_on_server(url) and make_url(url).password is None:
        secret = SecretStr(with_password(url, settings.database_password_file))
    return open_database(settings.model_copy(update={"database_url": secret}))


def _running_job(source: Database) -> str | None:
    """The job that writes to it; None for a source that cannot be read, which the copy reports."""

    def read(connection: Connection) -> str | None:
        now = time.time()
        found = (running_job(connection, job.site, now=now) for job in unfinished_jobs(connection))
        return next((job.id for job in found if job), None)

    with suppress(DatabaseError):
        return source.run_read(read)
    return None


# `sale-sofia restore`: a backup back into a data folder, and into a database server if one is named.


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.", exists=True, dir_okay=False)],
    into: Annotated[
        Path | None, typer.Option(metavar="DATA_DIR", help="The folder to restore into. Default: DATA_DIR.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace what is there, which is kept beside it.")
    ] = False,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="Put the tables into this empty database instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a backup in place of a DATA_DIR: checked first, then in one step; nothing may run there.

    For example: sale-sofia restore FILE --into /srv/flats, with a FILE of `sale-sofia backup list`.
    """
    settings = load_settings()
    target = (into or settings.data_dir).resolve()
    server = _database_at("--database", database) if database else None
    check_target(target, replace=replace)
    with _alone(target):
        pass  # also checked before hours of unpacking
    with progress_bar() as progress:
        frame = partial(_ready, target=target, server=server, progress=progress)
        done = restore_backup(file, target, progress, frame)
    if as_json:
        before = None if done.before is None else str(done.before)
        record = {"folder": str(done.folder), "before": before, "about": done.about.model_dump()}
        print_json({**record, "lacking": list(done.lacking)} if done.lacking else record)
    adverts = done.about.rows.get("listings", 0)
    where = f"{done.folder} and {server.name}" if server else str(done.folder)
    tell(f"{counted(adverts, 'advert')} restored into {where}; go on with `sale-sofia resume`")
    if done.before:
        tell(f"what was there is in {done.before}, with all that no backup holds; delete it when you like")
    if (done.folder / SITES_FOLDER).is_dir():
        tell(f"your own site files are in {done.folder / SITES_FOLDER}; set SITES_DIR to it")
    own_url = f"sqlite:///{settings.data_dir / DATABASE_FILE}"
    if server is None and settings.database_url.get_secret_value() != own_url:
        tell("DATABASE_URL names another database, which is as it was; --database fills an empty one")
    _tell_lacking(done.lacking, "all else was restored")


@contextmanager
def _ready(folder: Path, target: Path, server: Database | None, progress: BackupProgress) -> Iterator[None]:
    """Fill the server's tables if there is one; meanwhile and inside, nobody works in the folder replaced.

    A crawl begun during the copy would end this restore, and the filled tables the next one.
    """
    with _alone(target):
        if server:
            # Into the server instead of the file; if it is killed, the same command continues.
            try:
                with open_file(folder / DATABASE_FILE) as source:
                    copy_rows(source, server, progress)
            finally:
                server.dispose()
            for path in folder.glob(f"{DATABASE_FILE}*"):
                path.unlink()
        yield


def _alone(target: Path) -> AbstractContextManager[None]:
    return standstill(target) if is_filled(target) else nullcontext()


# Commands about the database: upgrade, check, copy.

database_app = typer.Typer(no_args_is_help=True, help="The database: bring it up to date, check it, copy it.")
database_app.command()(copy)


@database_app.command()
def upgrade() -> None:
    """Make the database, or bring it to the newest version; safe to run at any time."""
    database = open_database(load_settings())
    before = current_revision(database)
    initialize_database(database)
    if before is None:
        said = f"made, version {HEAD}"
    elif before == HEAD:
        said = f"already the newest version, {HEAD}"
    else:
        said = f"upgraded from version {before} to {HEAD}"
    out.print(f"{database.name}: {said}", soft_wrap=True)


@database_app.command()
def check() -> None:
    """Check that the database is sound and has the tables it should have; exit code 1 where it is not."""
    database = open_database(load_settings())
    problems = check_database(database)
    for problem in problems:
        out.print(problem)
    if problems:
        raise typer.Exit(NOT_ALL_RIGHT)
    out.print(f"{database.name}: sound")
