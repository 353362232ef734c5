"""`sale-sofia db copy`: a whole installation from one database into another."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import typer
from pydantic import SecretStr, TypeAdapter, ValidationError
from rich.progress import Progress
from sqlalchemy import Connection, make_url

from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, print_json
from sale_sofia.config.settings import load_settings
from sale_sofia.config.settings_urls import DATABASE_ALLOWED, DatabaseUrl, with_password
from sale_sofia.data import copying
from sale_sofia.data.copying import CopyFailed, CopyRefused, copy_database
from sale_sofia.data.database import Database, is_server
from sale_sofia.data.errors import DatabaseError
from sale_sofia.data.jobs import unfinished_jobs
from sale_sofia.scraping.runners import running_job
from sale_sofia.scraping.store import open_database

T = TypeVar("T")
_PASSES = 3
"""Every row is read, written and compared."""


def copy(
    source_url: Annotated[str, typer.Option("--from", metavar="URL", help="The database that is copied.")],
    target_url: Annotated[str, typer.Option("--to", metavar="URL", help="The empty one it goes into.")],
    as_json: AsJson = False,
) -> None:
    """Copy a whole database, SQLite or PostgreSQL, into an empty one; stopped, the same command goes on.

    For example: sale-sofia db copy --from sqlite:///data/sale_sofia.db --to postgresql://me@localhost/flats

    Leave a server's password out of the URL: DATABASE_PASSWORD_FILE or ~/.pgpass can say it unseen.
    """
    source, target = database_at("--from", source_url), database_at("--to", target_url)
    _refuse_running_crawl(source)
    try:
        with _shown(source) as progress:
            copied = copy_database(source, target, progress)
    except CopyFailed as error:
        log.print(f"sale-sofia: {error}", style="red", highlight=False, soft_wrap=True)
        raise typer.Exit(NOT_ALL_RIGHT) from None
    rows = sum(copied.rows.values())
    if as_json:
        answer = {"from": source.name, "to": target.name, "rows": rows, "resumed": copied.resumed}
        print_json({**answer, "tables": dict(copied.rows)})
    log.print(f"{rows} rows of {len(copied.rows)} tables copied and compared; {target.name} is ready")
    _warn_of_crawl(source)


def database_at(option: str, url: str) -> Database:
    """The database of a URL that was given as an option; its password may stand in a file."""
    settings = load_settings()
    secret = _checked(option, url)
    if settings.database_password_file and is_server(url) and make_url(url).password is None:
        secret = SecretStr(with_password(url, settings.database_password_file))
    return open_database(settings.model_copy(update={"database_url": secret}))


def _checked(option: str, url: str) -> SecretStr:
    try:
        return TypeAdapter[SecretStr](DatabaseUrl).validate_python(url)
    except ValidationError:
        raise typer.BadParameter(
            f"not a database; allowed is {DATABASE_ALLOWED}", param_hint=option
        ) from None


def _refuse_running_crawl(source: Database) -> None:
    if job := _ask(source, _running_job):
        raise CopyRefused(
            f"{source.name} is being written to by job {job}; "
            f"wait for it, or end it with `sale-sofia cancel {job}`."
        )


def _warn_of_crawl(source: Database) -> None:
    if job := _ask(source, _running_job):
        log.print(
            f"job {job} began in {source.name} after the copy did: what it brings is not in the copy",
            style="yellow",
        )


def _ask(source: Database, question: Callable[[Connection], T]) -> T | None:
    try:
        return source.run_read(question)
    except DatabaseError:
        return None  # a source that cannot be read is named by the copy itself


def _running_job(connection: Connection) -> str | None:
    now = time.time()
    found = (running_job(connection, job.site, now=now) for job in unfinished_jobs(connection))
    return next((job.id for job in found if job), None)


@contextmanager
def _shown(source: Database) -> Iterator[copying.Progress]:
    """A bar on standard error, when somebody looks."""
    with Progress(console=log, transient=True, disable=not log.is_terminal) as bars:
        rows = _ask(source, copying.row_count)
        task = bars.add_task("copying", total=None if rows is None else _PASSES * rows)
        yield lambda table, more: bars.update(task, advance=more, description=table)
