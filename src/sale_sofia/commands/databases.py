"""Commands about the database: upgrade, check, copy."""

import typer

from sale_sofia.commands.console import NOT_ALL_RIGHT, out
from sale_sofia.commands.copying import copy
from sale_sofia.config.settings import load_settings
from sale_sofia.data.migrate import check as check_database
from sale_sofia.data.migrate import current_revision
from sale_sofia.scraping.store import open_database, open_ready

app = typer.Typer(no_args_is_help=True, help="The database: bring it up to date, check it, copy it.")
app.command()(copy)


@app.command()
def upgrade() -> None:
    """Make the database, or bring it to the newest version; safe to run at any time."""
    database = open_ready(load_settings())
    out.print(f"{database.name}: version {current_revision(database)}", highlight=False)


@app.command()
def check() -> None:
    """Check that the database is sound and has the tables it should have; exit code 1 where it is not."""
    database = open_database(load_settings())
    problems = check_database(database)
    for problem in problems:
        out.print(problem, highlight=False)
    if problems:
        raise typer.Exit(NOT_ALL_RIGHT)
    out.print(f"{database.name}: sound", highlight=False)
