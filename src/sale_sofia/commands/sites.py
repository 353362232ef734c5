"""Commands about portals: which there are, how a page of one is read, and a new one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, out, print_json
from sale_sofia.commands.drift import drift, repair
from sale_sofia.commands.hostile import try_hostile
from sale_sofia.commands.learnt import learnt
from sale_sofia.commands.new_site import write_site
from sale_sofia.commands.one_page import fetch_page, simulated_pages
from sale_sofia.commands.probe import probe
from sale_sofia.config.site_config import load_site_config, load_start_urls
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import PageError
from sale_sofia.websites.checking import check_page
from sale_sofia.websites.reading import Answer, error_answer
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.table_site import TableSite

app = typer.Typer(no_args_is_help=True, help="The portals sale-sofia can read.")
app.command()(drift)
app.command()(repair)
app.command()(learnt)
app.command()(probe)
SiteName = Annotated[str, typer.Argument(help="The portal, as `sale-sofia sites list` names it.")]


@app.command("list")
def list_sites(as_json: AsJson = False) -> None:
    """List the portals, how gently each is read and where a crawl of it begins."""
    rows = list(_site_rows())
    if as_json:
        print_json({"sites": rows})
        return
    table = Table("site", "hosts", "a request every", "at once", "start URLs")
    for row in rows:
        cells = (
            ", ".join(row["hosts"]),
            f"{row['delay_seconds']:g} s",
            row["concurrency"],
            len(row["start_urls"]),
        )
        table.add_row(row["site"], *map(str, cells))
    out.print(table)


def _site_rows() -> Iterator[dict[str, Any]]:
    for name in AVAILABLE_SITES:
        config = load_site_config(name)
        politeness = config.politeness.model_dump(include={"delay_seconds", "concurrency"})
        start_urls = list(config.start_urls or load_start_urls().get(name, ()))
        yield {"site": name, "hosts": list(config.hosts), **politeness, "start_urls": start_urls}


@app.command()
def check(
    site: SiteName,
    file: Annotated[Path | None, typer.Option(help="A saved page.", exists=True, dir_okay=False)] = None,
    url: Annotated[
        str | None, typer.Option(help="Where it was saved from; without --file it is fetched, politely.")
    ] = None,
    hostile: Annotated[
        bool, typer.Option("--hostile", help="Try the site file on pages and texts made to be slow to read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how a page is read: which link of each field's chain found a text, and what is missing.

    A saved page:  sale-sofia sites check imot.bg --file page.html --url https://www.imot.bg/obiava-…

    The portal itself, one request, robots.txt obeyed:  sale-sofia sites check imot.bg --url https://…

    Without both, pages of the simulated portal are read; nothing is ever asked of a real one.

    With --hostile no page is shown. Every pattern and selector of the site file reads texts and pages made
    for it, up to 2 MB: twice as much may take at most 2.5 times as long, and a megabyte two seconds.
    """
    scraper = get_scraper(site)
    if hostile:
        try_hostile(scraper, as_json=as_json)
        return
    answers = [_checked(scraper, page) for page in _pages(scraper, file, url)]
    for answer in answers:
        print_json(answer) if as_json else _show(answer)
    if any(answer["kind"] == "error" for answer in answers):
        raise typer.Exit(NOT_ALL_RIGHT)


def _pages(site: TableSite, file: Path | None, url: str | None) -> list[Page]:
    if file is not None and url is None:
        raise typer.BadParameter("with --file give --url too: the address the page was saved from")
    if file is not None:
        return [Page(url or "", file.read_bytes())]
    return [asyncio.run(fetch_page(site, url))] if url else simulated_pages(site.name)


def _checked(site: TableSite, page: Page) -> Answer:
    try:
        return check_page(site, page)
    except PageError as error:
        return error_answer(site.name, page.url, error.code, str(error))


def _show(answer: Answer) -> None:
    out.print(f"\n{answer['kind']} {answer['url']}", style="bold", highlight=False, soft_wrap=True)
    if answer["kind"] == "error":
        error = answer["error"]
        log.print(f"{error['type']}: {error['message']}", style="red", soft_wrap=True)
        return
    table = Table("field", "link", "selector", "text", "value")
    for row in answer["fields"]:
        table.add_row(row["field"], _link(row), row["selector"] or "", _text(row), _value(row))
    if answer["fields"]:
        out.print(table)
    out.print(_summary(answer), highlight=False, soft_wrap=True)


def _link(row: Answer) -> str | Text:
    if row["link"] is None:
        return Text(f"none of {row['links']}", "yellow")
    if "filled" in row:
        return ", ".join(f"{link} on {count}" for link, count in row["matched"].items())
    return f"{row['link']} of {row['links']}"


def _text(row: Answer) -> str | Text:
    if row["unmatched"] is not None:
        return Text(f"match missed in: {row['unmatched']}", "yellow")
    return str(row["text"] or "")


def _value(row: Answer) -> str:
    return ", ".join(f"{name} {value}" for name, value in row["value"].items())


def _summary(answer: Answer) -> str:
    if "list" in answer:
        return (
            f"{answer['list']}: {answer['cards']} adverts, {answer['sitemaps']} sitemaps, {answer['ids']} ids"
        )
    said = _search_summary(answer) if answer["kind"] == "search" else _listing_summary(answer)
    unproven = "; none of the marks of proof stands on this page" if answer["proven"] is False else ""
    return said + unproven


def _search_summary(answer: Answer) -> str:
    paging = f"total {answer['total']}, next {answer['next_url']}"
    return f"layout {answer['layout']}, {answer['cards']} cards, {paging}; missing: {_missing(answer)}"


def _listing_summary(answer: Answer) -> str:
    unread = f"; found but not understood: {', '.join(answer['unread'])}" if answer["unread"] else ""
    flags = f"; flags: {', '.join(answer['flags'])}" if answer["flags"] else ""
    return f"advert {answer['external_id']}; missing: {_missing(answer)}{unread}{flags}"


def _missing(answer: Answer) -> str:
    return ", ".join(answer["missing"]) or "nothing"


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The portal's domain, like flats.example.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to write; by default SITES_DIR, else ./sites.", file_okay=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Begin a portal: write its commented site file and a test of it, ready to be filled in.

    Nothing is overwritten. Then save a page of results and one of an advert, fill in the file, and look at
    it with `sale-sofia sites check NAME --file PAGE --url URL`. docs/adding-a-portal.md goes through it.
    """
    written = write_site(name, folder)
    if as_json:
        print_json({"site": name, "written": [str(path) for path in written]})
        return
    for path in written:
        out.print(f"wrote {path}", highlight=False, soft_wrap=True)
    out.print(
        f"set SITES_DIR={written[0].parent} and run: sale-sofia sites check {name} --file PAGE --url URL"
    )
