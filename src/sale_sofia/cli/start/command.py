"""`sale-sofia start`: from a few answers to a page with flats that fit. All it does, other commands do."""

import os
import sys
from contextlib import ExitStack
from typing import Annotated

import typer
from sqlalchemy import Connection

from sale_sofia.advice.scoring.profile import DEFAULT, edit_profile, new_profile, profile_path
from sale_sofia.cli import crawl as crawling
from sale_sofia.cli import demo, sites
from sale_sofia.cli.console import INTERRUPTED, NOT_ALL_RIGHT, out, tell
from sale_sofia.cli.start.questions import Answers, Asker, ask
from sale_sofia.crawl.frontier.estimate import sentences
from sale_sofia.crawl.probe import Reading
from sale_sofia.installation import open_ready
from sale_sofia.operations.services.signals import StopSignals
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.words import Language, Said
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia.websites.site_file import enabled_sites


def start(
    portals: Annotated[
        list[str] | None, typer.Argument(help=f"Portals: {', '.join(AVAILABLE_SITES)}. All without any.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Euros for everything, such as 180000.")] = None,
    kinds: Annotated[
        str | None, typer.Option(help='Rooms or kinds, such as "2, 3" or "тристаен, мезонет".')
    ] = None,
    neighbourhoods: Annotated[
        str | None, typer.Option(help='By name, such as "Лозенец, Младост"; anywhere without.')
    ] = None,
    metro: Annotated[str | None, typer.Option(help="Minutes on foot to the metro, at most.")] = None,
    profile: Annotated[str, typer.Option(help="The profile that is written.")] = "me",
    lang: Annotated[
        Language | None, typer.Option(help="bg or en; without it as LANG says.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: begin with what the options say.")] = False,
    no_crawl: Annotated[bool, typer.Option("--no-crawl", help="Begin no crawl.")] = False,
    no_dashboard: Annotated[bool, typer.Option("--no-dashboard", help="Open no dashboard.")] = False,
) -> None:
    """Say what you look for, and see the flats that fit: a profile, a look at portals, a crawl, the pages.

    In a terminal it asks. Without one: sale-sofia start --budget 180000 --kinds "2, 3" --metro 15 --yes
    """
    settings = load_settings()
    asker = Asker(lang or _language(), can_ask=sys.stdin.isatty() and not yes)
    if not yes and not asker.can_ask:
        raise typer.BadParameter(asker.say(Said("start.nobody")))
    profile_path(settings.data_dir, profile)  # refuses a wrong name before anything is asked
    given = ask(asker, budget=budget, kinds=kinds, places=neighbourhoods, metro=metro)
    _write_profile(settings, asker, profile, given)
    names = _readable(asker, list(dict.fromkeys(portals or enabled_sites())))
    if not no_crawl:
        _tell_estimate(settings, asker, names, profile)
        if not yes and not typer.confirm(asker.say(Said("start.confirm")), default=True):
            tell(asker.say(Said("start.later", profile=profile)))
            return
    _run(settings, asker, names, profile, crawls=not no_crawl, shows=not no_dashboard)


def _language() -> Language:
    spoken = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "bg" if spoken.casefold().startswith("bg") else "en"


def _write_profile(settings: Settings, asker: Asker, name: str, given: Answers) -> None:
    """As `profiles new` and `profiles edit` do; one that is there is changed."""
    if not profile_path(settings.data_dir, name).exists():
        new_profile(settings.data_dir, name, DEFAULT)
    path, _ = edit_profile(settings.data_dir, name, list(given.changes().items()))
    tell(asker.say(Said("start.profile", path=str(path), profile=name)))


def _readable(asker: Asker, names: list[str]) -> list[str]:
    """The portals that can be read, as `sites probe` finds them; the others are left out with a word."""
    tell(asker.say(Said("start.probing", sites=names)))
    probes = sites.look_at(names, ())
    for one in probes:
        well = one.verdict is Reading.WELL
        tell(f"{one.site}: {asker.say(Said('web.probe.well')) if well else one.sentence}")
    left = [one.site for one in probes if one.verdict is not Reading.NOT_AT_ALL]
    if not left:
        tell(asker.say(Said("start.none_reads")), style="red")
        raise typer.Exit(NOT_ALL_RIGHT)
    return left


def _tell_estimate(settings: Settings, asker: Asker, names: list[str], profile: str) -> None:
    """What `crawl --for PROFILE --estimate` says, in the person's language."""
    plans = crawling.plans_for(settings, names, looks_for=[profile])

    def read(connection: Connection) -> list[str]:
        found = crawling.estimates(connection, settings, plans)
        return [asker.say(one) for one in sentences(found, at_once=not settings.one_by_one)]

    tell(asker.say(Said("start.asks", sites=[plan.site.name for plan in plans])))
    for line in open_ready(settings).run_read(read):
        tell(line)


def _run(
    settings: Settings, asker: Asker, names: list[str], profile: str, *, crawls: bool, shows: bool
) -> None:
    """The crawl with the dashboard beside it, which stays until Ctrl-C; ends as the crawl did."""
    with ExitStack() as stack:
        server = None
        if shows:
            signals = stack.enter_context(StopSignals())
            server = stack.enter_context(demo.running_dashboard(settings, signals))
            if server is None:
                raise typer.Exit(INTERRUPTED)
            address = f"{server.url}/search?profile={profile}&passing=true&lang={asker.language}"
            out.print(asker.say(Said("start.address", address=address)), highlight=False, soft_wrap=True)
            out.file.flush()
            demo.show_in_browser(address)
        ended = 0
        if crawls:
            try:
                crawling.crawl(sites=names, looks_for=[profile])
            except typer.Exit as end:
                ended = end.exit_code
        if server and ended != INTERRUPTED:
            tell(asker.say(Said("start.stays", url=server.url)))
            with StopSignals() as waiting:  # the crawl had the signals for itself
                server.wait(waiting)
    if ended:
        raise typer.Exit(ended)
