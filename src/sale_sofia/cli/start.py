"""`start`: from a few answers to flats that fit; `demo`, `simulate`: portals that exist only here."""

import asyncio
import json
import os
import random
import re
import shlex
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Self, TypeVar

import typer
from pydantic import SecretStr
from rich.progress import Progress
from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.profile import DEFAULT, Wishes, edit_profile, new_profile, profile_path
from sale_sofia.advice.valuation.flats import TooFewFlats
from sale_sofia.advice.valuation.valuation import current_model
from sale_sofia.cli import crawl as crawling
from sale_sofia.cli import sites
from sale_sofia.cli.console import (
    INTERRUPTED,
    NOT_ALL_RIGHT,
    as_typed,
    counted,
    has_subcommand,
    log,
    out,
    refuse,
    tell,
)
from sale_sofia.cli.crawl import run_jobs
from sale_sofia.cli.progress import LANGUAGE, conclude
from sale_sofia.crawl.frontier.estimate import sentences
from sale_sofia.crawl.frontier.jobs import SiteReport
from sale_sofia.crawl.frontier.planning import JobPlan, plan_job
from sale_sofia.crawl.probe import Reading
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import JobState
from sale_sofia.installation import open_ready
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.places import find_neighbourhood, neighbourhoods, place_key, spellings, split_name
from sale_sofia.listings.vocabulary import meaning
from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.dashboard import (
    DashboardServer,
    bound_port,
    checked_host,
    free_port,
    start_dashboard,
)
from sale_sofia.operations.services.processes import Interrupted, StopSignals
from sale_sofia.operations.settings import LEAST_BUDGET_EUR, LONGEST_METRO_MINUTES, MOST_BUDGET_EUR
from sale_sofia.settings.files import atomic_write
from sale_sofia.settings.model import DATABASE_FILE, Settings, environment_of, load_settings
from sale_sofia.settings.words import Language, Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.logs import log_to_file
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.site_file import CONFIG_FOLDER, enabled_sites
from sale_sofia_simulator.faults import LAYOUTS
from sale_sofia_simulator.model import NOW
from sale_sofia_simulator.render import write_world
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import FAMILY, SITES, Simulation, SimulatorConfig

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class DemoDays:
    """The days of the demo's world, from its first (0) to today."""

    began: float
    """The moment of day 0, in the past."""
    today: int

    @classmethod
    def load(cls, file: Path, days: int, now: float) -> Self:
        """The days of the existing demo; a new one began `days` days ago."""
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(json.dumps(now - days * DAY_SECONDS), "ascii")
        began = float(json.loads(file.read_text("ascii")))
        return cls(began, int((now - began) // DAY_SECONDS))

    def to_crawl(self, database: Database, sites: list[str]) -> list[int]:
        """Of the days not yet crawled: the first, the last three, and every seventh back from today."""
        done = database.run_read(partial(self._last_done, sites=sites))
        first = max(done + 1, self.today - fixed.DEMO_DAYS_MISSED, 0)
        ago = {self.today - day: day for day in range(first, self.today + 1)}
        return [
            day
            for left, day in ago.items()
            if day == first or left < fixed.DEMO_LAST_DAYS or not left % fixed.DEMO_DAYS_APART
        ]

    def _last_done(self, connection: Connection, sites: list[str]) -> int:
        """The last day before today on which all portals were crawled completely; -1 for none."""
        ended = select(jobs.c.site, jobs.c.created_at).where(jobs.c.state == JobState.COMPLETE.value)
        seen = {
            (row.site, int((row.created_at - self.began) // DAY_SECONDS)) for row in connection.execute(ended)
        }
        whole = [day for day in range(self.today) if all((site, day) in seen for site in sites)]
        return max(whole, default=-1)


def dashboard(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; another than this machine's own needs DASHBOARD_PASSWORD."),
    ] = fixed.DASHBOARD_HOST,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            help=f"Port to listen on; 0: any that is free. Without it {fixed.DASHBOARD_PORT}, or a free one.",
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """Show the flats, the market and the crawls in the browser, until Ctrl-C."""
    serve_dashboard(load_settings(), host, port, may_open=not no_open)


def serve_dashboard(
    settings: Settings, host: str = fixed.DASHBOARD_HOST, port: int | None = None, *, may_open: bool = True
) -> None:
    """Serve until a signal; prints the address once it answers, and opens it in a browser if it may."""
    with StopSignals() as signals, running_dashboard(settings, signals, host, port) as server:
        if server is None:
            return
        out.print(f"dashboard: {server.url}", soft_wrap=True)
        out.file.flush()
        log.print("stop it with Ctrl-C")
        if may_open:
            show_in_browser(server.url)
        server.wait(signals)


@contextmanager
def running_dashboard(
    settings: Settings, signals: StopSignals, host: str = fixed.DASHBOARD_HOST, port: int | None = None
) -> Iterator[DashboardServer | None]:
    """Yield the dashboard once it answers; None if a signal came before that."""
    address = checked_host(host, settings)
    free = free_port(address, port)
    open_ready(settings)
    environ = environment_of(settings, os.environ)
    with start_dashboard(settings, address, free, environ) as server:
        try:
            server.wait_ready(signals)
        except Interrupted:
            yield None
        else:
            yield server


def show_in_browser(url: str) -> None:
    """Open the address if there is a terminal and a screen."""
    screen = sys.platform != "linux" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if _has_terminal() and screen:
        webbrowser.open(url)


def _has_terminal() -> bool:
    """Whether a person runs this command in a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def demo(
    properties: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, help=f"How many adverts the larger portal has; at first {fixed.DEMO_ADVERTS}."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help=f"Another seed gives another city; at first {fixed.DEMO_SEED}.")
    ] = None,
    days: Annotated[
        int, typer.Option(min=0, max=60, help="How many days to crawl before the dashboard is shown.")
    ] = fixed.DEMO_DAYS,
) -> None:
    """Crawl two simulated portals, day after day, and show the flats. Run again, it continues."""
    settings = _demo_settings(load_settings())
    city = demo_city(settings.data_dir, properties, seed)
    log_to_file(settings, "demo")
    database = open_ready(settings)
    passed = DemoDays.load(settings.data_dir / fixed.DEMO_BEGAN, days, time.time())
    config = SimulatorConfig(
        properties=city["properties"],
        seed=city["seed"],
        port=demo_port(settings.data_dir),
        lifelike=True,
        days_later=(datetime.fromtimestamp(passed.began, SOFIA).date() - NOW.date()).days,
    )
    _crawl_days(settings, database, config, passed)
    with suppress(TooFewFlats):  # a small demo shows no fair prices, and says why
        current_model(database, settings)
    if _has_terminal():
        serve_dashboard(settings)
        return
    # Without a terminal nobody could stop it, so only the command is printed.
    command = f"DATA_DIR={shlex.quote(str(settings.data_dir))} {as_typed()} dashboard"
    address = f"http://{fixed.DASHBOARD_HOST}:{fixed.DASHBOARD_PORT}"
    out.print(f"dashboard: {address} once it is started: {command}", soft_wrap=True)


def demo_city(folder: Path, properties: int | None, seed: int | None) -> dict[str, int]:
    """What the demo in this folder was begun with, now or before; refuses to crawl another city into it."""
    file = folder / fixed.DEMO_CITY
    asked = {"properties": properties, "seed": seed}
    given = {name: value for name, value in asked.items() if value is not None}
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        begun = {"properties": fixed.DEMO_ADVERTS, "seed": fixed.DEMO_SEED, **given}
        file.write_text(json.dumps(begun), "ascii")
    city: dict[str, int] = json.loads(file.read_text("ascii"))
    for name, value in given.items():
        refuse(
            value != city[name],
            f"--{name}: the demo in {folder} has {city[name]}, not {value}; leave the option out, "
            "delete that folder, or set DATA_DIR to another one",
        )
    return city


def demo_port(folder: Path) -> int:
    """The first port of this demo's portals, always the same: its adverts keep their addresses.

    Refuses while another program listens there, as all adverts would fail to be read.
    """
    file = folder / "port"
    if not file.exists():
        tried = random.sample(fixed.DEMO_PORTS, len(fixed.DEMO_PORTS))
        found = next(filter(_are_free, tried), None)
        refuse(found is None, "no port is free for the demo's portals; end a program that listens")
        with atomic_write(file) as draft:
            draft.write_text(str(found), "ascii")
    first = int(file.read_text("ascii"))
    refuse(
        not _are_free(first),
        f"another program uses port {first} or {first + 1}, where the portals of the demo in {folder} are; "
        "end it, or delete that folder to begin anew",
    )
    return first


def _crawl_days(settings: Settings, database: Database, config: SimulatorConfig, passed: DemoDays) -> None:
    to_crawl = passed.to_crawl(database, list(config.sites))
    go_on = f"stopped; go on with: {as_typed()} demo"
    with start_in_process(config) as simulator:
        addresses = ", ".join(f"{site} at {address}" for site, address in simulator.urls.items())
        tell(f"simulated portals: {addresses}")
        current = 0
        for day in to_crawl:
            for _ in range(day - current):
                current = simulator.advance()
            if day == passed.today:
                break
            # The time of day at which the demo began.
            behind = time.time() - (passed.began + day * DAY_SECONDS)
            reports, stopped = _crawl_day(settings, database, simulator, behind)
            if stopped or any(report.state != JobState.COMPLETE.value for report in reports):
                conclude(database, reports, stopped=stopped, as_json=False, advice=go_on)
            counts = "; ".join(
                f"{report.site} {report.new} new, {report.changed} changed" for report in reports
            )
            log.print(f"day {day} of {passed.today}: {counts}")
        reports, stopped = _crawl_day(settings, database, simulator)
    conclude(database, reports, stopped=stopped, as_json=False, advice=go_on)


def _crawl_day(
    settings: Settings, database: Database, simulator: RunningSimulator, behind: float = 0.0
) -> tuple[list[SiteReport], bool]:
    """Crawl both portals with a clock that is `behind` seconds late."""

    def clock() -> float:
        return time.time() - behind

    plans = [
        JobPlan(get_scraper(site), tuple(simulator.start_urls(site)), None, fresh=False)
        for site in simulator.urls
    ]
    job_ids = [plan_job(settings, database, plan, clock()) for plan in plans]
    return asyncio.run(run_jobs(settings, database, job_ids, clock))


def _demo_settings(settings: Settings) -> Settings:
    folder = settings.data_dir / "demo"
    rates = {
        "default": fixed.DEMO_REQUESTS_PER_MINUTE,
        **dict.fromkeys(SITES, fixed.DEMO_REQUESTS_PER_MINUTE),
    }
    return settings.model_copy(
        update={
            "data_dir": folder,
            "database_url": SecretStr(f"sqlite:///{folder / DATABASE_FILE}"),
            "domain_rate_limits": rates,
            "archive_enabled": False,  # its portals show their pages again at any time
        }
    )


def _are_free(first: int) -> bool:
    """Whether the demo's portals could listen on the ports from this one on."""
    return all(bound_port(fixed.DASHBOARD_HOST, port) for port in range(first, first + len(FAMILY)))


# Simulated portals: serve them, write their pages to a folder, and site files so that commands crawl them.

_MARK: Final = "# Written by `sale-sofia simulate`: laid over the installed file.\n"


def check_folder(folder: Path) -> None:
    """Refuse a folder with site files that no simulation wrote."""
    for path in sorted(folder.glob("*.yaml")):
        if path.exists() and not path.read_text("utf-8").startswith(_MARK):
            raise typer.BadParameter(f"{path} is a site file of your own; name another folder")


def write_simulated_sites(folder: Path, start_urls: Mapping[str, Sequence[str]]) -> None:
    """Write a site file for each portal with these start URLs; all other portals are switched off."""
    folder.mkdir(parents=True, exist_ok=True)
    for site in (path.stem for path in (CONFIG_FOLDER / "sites").glob("*.yaml")):
        begins = "".join(f"  - {url}\n" for url in start_urls.get(site, ()))
        text = f"start_urls:\n{begins}" if begins else "enabled: false\n"
        (folder / f"{site}.yaml").write_text(_MARK + text, "utf-8")


app = typer.Typer()
Properties = Annotated[int, typer.Option(min=1, max=1_000_000, help="How many adverts each portal has.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same portals.")]


@app.callback(invoke_without_command=True)
def simulate(
    context: typer.Context,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65_535, help="Port of the first portal; the others follow. 0: any free ports."
        ),
    ] = 8701,
    sites: Annotated[str, typer.Option(help="Which portals, with commas between.")] = ",".join(SITES),
    properties: Properties = 100,
    seed: Seed = 1,
    faults: Annotated[
        str,
        typer.Option(help='What goes wrong and how often, e.g. "429:0.02,503:0.01,slow:0.05,reset:0.01".'),
    ] = "",
    layouts: Annotated[
        str, typer.Option(help=f"Changed layouts, with commas between: {', '.join(LAYOUTS)}.")
    ] = "",
    log_file: Annotated[
        Path | None, typer.Option("--log", help="Write each request as a line of JSON.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="Write the true values of every advert, as JSON.")
    ] = None,
    day: Annotated[int, typer.Option(min=0, help="Begin on this day of the simulated world.")] = 0,
    sites_dir: Annotated[
        Path | None,
        typer.Option(
            help="Write site files here; with SITES_DIR set to it, commands crawl these portals alone.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Serve simulated portals on loopback until Ctrl-C, and name the search at which to crawl each."""
    if has_subcommand(context):
        return
    config = SimulatorConfig(
        sites=tuple(sites.split(",")),
        properties=properties,
        seed=seed,
        day=day,
        port=port,
        faults=faults,
        layouts=tuple(filter(None, layouts.split(","))),
        log=log_file,
        truth=truth,
    )
    if sites_dir:
        check_folder(sites_dir)
    from sale_sofia_simulator.server import run_servers  # noqa: PLC0415 - a web server no other command needs

    asyncio.run(run_servers(config, lambda simulation: _announce(simulation, sites_dir)))


def _announce(simulation: Simulation, sites_dir: Path | None) -> None:
    start_urls = {site: portal.start_urls() for site, portal in simulation.portals.items()}
    if sites_dir:
        write_simulated_sites(sites_dir, start_urls)
    for site, urls in start_urls.items():
        out.print(f"{site}: {urls[0]}", soft_wrap=True)
    if sites_dir:
        folder = shlex.quote(str(sites_dir.resolve()))
        tell(f"crawl them, in another terminal: export SITES_DIR={folder}")
    log.print("stop it with Ctrl-C")


@app.command()
def render(
    folder: Annotated[Path, typer.Argument(help="Where to write the pages; an empty or new folder.")],
    properties: Annotated[
        int, typer.Option(min=1, max=100_000, help="How many adverts each portal has.")
    ] = 100,
    seed: Seed = 1,
) -> None:
    """Write portal pages with their truth (truth.json) and a manifest for `parse --manifest`."""
    with Progress(console=log, transient=True) as progress:
        task = progress.add_task("rendering")
        written = write_world(
            folder, properties, seed, lambda done, total: progress.update(task, completed=done, total=total)
        )
    log.print(
        f"{counted(written, 'page')} in {folder}; "
        f"read them: sale-sofia parse --manifest {folder / 'manifest.jsonl'}"
    )


# What a buyer looks for, asked in a terminal or given by options.

T = TypeVar("T")
_MONEY: Final = re.compile(r"\d{1,12}|\d{1,3}(?:[.,'’]\d{3}){1,3}")
"""Whole euros; signs may stand between thousands, as cents after one would make a hundred times as much."""
_MOST_ROOMS: Final = 5
_CONSENT: Final = {
    **dict.fromkeys(("", "y", "yes", "д", "да"), True),
    **dict.fromkeys(("n", "no", "н", "не"), False),
}
_TELLING: Final = 4
"""Letters at the start of a wrong name by which similar names are suggested."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What is looked for; an empty answer means any."""

    budget_eur: int
    kinds: tuple[str, ...]
    """Types of property."""
    rooms: tuple[int, ...]
    neighbourhoods: tuple[str, ...]
    metro_minutes: int | None

    def changes(self, *, anew: bool) -> dict[str, object]:
        """The keys of a profile that say this.

        In a new one nothing else is a condition; one that is there keeps what was not asked.
        """
        must: dict[str, object] = {
            "rooms_least": min(self.rooms, default=None),
            "wanted_neighbourhood": bool(self.neighbourhoods),
            "metro_most_minutes": self.metro_minutes,
        }
        others = "poor" if self.neighbourhoods else "fair"
        answers: dict[str, object] = {
            "budget_eur": self.budget_eur,
            "property_types": list(self.kinds),
            "neighbourhoods": {"best": list(self.neighbourhoods), "others": others},
            "wishes.rooms": max(self.rooms, default=Wishes().rooms),
        }
        if not anew:
            return answers | {f"must.{name}": value for name, value in must.items()}
        asked = {name: value for name, value in must.items() if value}
        return answers | {"title": "", "renovation_eur": 0, "must": asked}


def read_budget(text: str) -> int:
    """Euros for the whole flat: 180000, 180 000, 180 000 €, 180.000."""
    plain = re.sub(r"\s|€|eur|евро", "", text.casefold())
    euros = int(re.sub(r"\D", "", plain)) if _MONEY.fullmatch(plain) else 0
    if not LEAST_BUDGET_EUR <= euros <= MOST_BUDGET_EUR:
        code = "start.wrong_budget" if plain else "start.no_budget"
        raise ValueError(Said(code, given=text, least=LEAST_BUDGET_EUR, most=MOST_BUDGET_EUR))
    return euros


def read_kinds(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Types and numbers of rooms: `2, 3`, `двустаен, мезонет`; of an empty text, all flats."""
    found = [_kind(word) for part in text.split(",") if (word := part.strip())]
    types = tuple(dict.fromkeys(kind for kind, _ in found)) or ("apartment", "maisonette")
    return types, tuple(sorted({rooms for _, rooms in found if rooms}))


def _kind(word: str) -> tuple[str, int | None]:
    if word.isdecimal() and 1 <= int(word) <= _MOST_ROOMS:
        return "apartment", int(word)
    found = meaning("types", word) or meaning("type_slugs", word)
    if found is None:
        raise ValueError(Said("start.wrong_kind", given=word, most=_MOST_ROOMS))
    return found[0], found[1]


def read_places(text: str) -> tuple[str, ...]:
    """Neighbourhoods with commas between them; one without its number is all of that name."""
    words = [word for part in text.split(",") if (word := part.strip())]
    return tuple(dict.fromkeys(place for word in words for place in _places(word)))


def _places(word: str) -> list[str]:
    exact, said = find_neighbourhood(word), split_name(word)
    names = [neighbourhood.name for neighbourhood in neighbourhoods()]
    numbered = [] if said.kind else _beginning(names, f"{said.core} ")
    if exact is None and not numbered:
        begins = said.core[:_TELLING]
        like = _beginning(names, begins) if begins else []
        hint = Said("start.like", names=like) if like else None
        raise ValueError(Said("start.wrong_place", given=word, hint=hint))
    return [*([exact.name] if exact else []), *numbered]


def _beginning(names: Sequence[str], start: str) -> list[str]:
    """Those that begin so in any spelling, Latin ones too."""
    return [name for name in names if any(place_key(way).startswith(start) for way in spellings(name))]


def read_metro(text: str) -> int | None:
    """Minutes on foot; None for an empty text."""
    plain = text.strip()
    if not plain:
        return None
    if not plain.isdecimal() or not 1 <= int(plain) <= LONGEST_METRO_MINUTES:
        raise ValueError(Said("start.wrong_metro", given=text, most=LONGEST_METRO_MINUTES))
    return int(plain)


def read_consent(text: str) -> bool:
    """Yes or no, in either language; an empty text is a yes."""
    plain = text.strip().casefold()
    if plain not in _CONSENT:
        raise ValueError(Said("start.wrong_consent", given=text))
    return _CONSENT[plain]


@dataclass(frozen=True, slots=True)
class Asker:
    """Takes the options, and asks for missing answers if there is a person to ask."""

    language: Language
    can_ask: bool

    def answer(self, code: str, option: str, value: str | None, read: Callable[[str], T]) -> T:
        """The answer of the option, else of the person, asked until it is valid; raises BadParameter."""
        if value is not None or not self.can_ask:
            try:
                return read(value or "")
            except ValueError as error:
                raise typer.BadParameter(f"{option}: {self.say(error)}") from None
        while True:
            try:
                return read(typer.prompt(self.say(Said(code)), default="", show_default=False))
            except typer.Abort:
                raise typer.Exit(INTERRUPTED) from None
            except ValueError as error:
                tell(self.say(error), style="red")

    def say(self, message: ValueError | Said) -> str:
        """The message in the language of the person."""
        return Said.of(message).in_words(self.language)


def ask(
    asker: Asker, *, budget: str | None, kinds: str | None, places: str | None, metro: str | None
) -> Answers:
    """Collect all answers."""
    most = asker.answer("start.budget", "--budget", budget, read_budget)
    types, rooms = asker.answer("start.kinds", "--kinds", kinds, read_kinds)
    names = asker.answer("start.places", "--neighbourhoods", places, read_places)
    minutes = asker.answer("start.metro", "--metro", metro, read_metro)
    return Answers(most, types, rooms, names, minutes)


def start(
    portals: Annotated[
        list[str] | None, typer.Argument(help=f"Portals: {', '.join(AVAILABLE_SITES)}. Default: all.")
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
    """Say what you want, and see the flats that fit: profile, probe of the portals, crawl, dashboard.

    In a terminal it asks. Without one: sale-sofia start --budget 180000 --kinds "2, 3" --metro 15 --yes
    """
    settings = load_settings()
    asker = Asker(lang or _language(), can_ask=sys.stdin.isatty() and not yes)
    if not yes and not asker.can_ask:
        raise typer.BadParameter(asker.say(Said("start.nobody")))
    # Wrong names are refused before anything is asked or written.
    profile_path(settings.data_dir, profile)
    for name in portals or ():
        get_scraper(name)
    answers = ask(asker, budget=budget, kinds=kinds, places=neighbourhoods, metro=metro)
    # As `profiles new` and `profiles edit` do; an existing profile is changed.
    anew = not profile_path(settings.data_dir, profile).exists()
    if anew:
        how = f"made by `sale-sofia start` from your answers; what it did not ask is as in {DEFAULT}"
        new_profile(settings.data_dir, profile, how=how)
    path, _ = edit_profile(settings.data_dir, profile, list(answers.changes(anew=anew).items()))
    tell(asker.say(Said("start.profile", path=str(path), profile=profile)))
    names = list(dict.fromkeys(portals or enabled_sites()))
    if not no_crawl:
        names = _readable(asker, names)
        _tell_estimate(settings, asker, names, profile)
        if not yes and not asker.answer("start.confirm", "--yes", None, read_consent):
            tell(asker.say(Said("start.later", profile=profile)))
            return
    _run(settings, asker, names, profile, crawls=not no_crawl, shows=not no_dashboard)


def _language() -> Language:
    spoken = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "bg" if spoken.casefold().startswith("bg") else "en"


def _readable(asker: Asker, names: list[str]) -> list[str]:
    """Probe the portals as `sites probe` does; those that can be read. Exits with 1 if none can."""
    tell(asker.say(Said("start.probing", sites=names)))
    probes = sites.look_at(names, ())
    for probe in probes:
        well = probe.verdict is Reading.WELL
        tell(f"{probe.site}: {asker.say(Said('web.probe.well')) if well else probe.sentence}")
    readable = [probe.site for probe in probes if probe.verdict is not Reading.NOT_AT_ALL]
    if not readable:
        tell(asker.say(Said("start.none_reads")), style="red")
        raise typer.Exit(NOT_ALL_RIGHT)
    return readable


def _tell_estimate(settings: Settings, asker: Asker, names: list[str], profile: str) -> None:
    """Print what `crawl --for PROFILE --estimate` says, in the person's language."""
    plans = crawling.plans_for(settings, names, looks_for=[profile])

    def read(connection: Connection) -> list[str]:
        found = crawling.estimates(connection, settings, plans)
        return [asker.say(sentence) for sentence in sentences(found, at_once=not settings.one_by_one)]

    tell(asker.say(Said("start.asks", sites=[plan.site.name for plan in plans])))
    for line in open_ready(settings).run_read(read):
        tell(line)


def _run(
    settings: Settings, asker: Asker, names: list[str], profile: str, *, crawls: bool, shows: bool
) -> None:
    """Run the crawl beside the dashboard, which stays until Ctrl-C; exits with the crawl's code."""
    with ExitStack() as stack:
        server = None
        if shows:
            signals = stack.enter_context(StopSignals())
            server = stack.enter_context(running_dashboard(settings, signals))
            if server is None:
                raise typer.Exit(INTERRUPTED)
            address = f"{server.url}/search?profile={profile}&passing=true&lang={asker.language}"
            out.print(asker.say(Said("start.address", address=address)), soft_wrap=True)
            out.file.flush()
            show_in_browser(address)
        ended = 0
        if crawls:
            LANGUAGE.set(asker.language)
            try:
                crawling.crawl(sites=names, looks_for=[profile])
            except typer.Exit as end:
                ended = end.exit_code
        if crawls and not shows and ended != INTERRUPTED:
            tell(asker.say(Said("start.next", profile=profile)))
        if server and ended != INTERRUPTED:
            tell(asker.say(Said("start.stays", url=server.url)))
            with StopSignals() as waiting:  # the crawl had the signals for itself
                server.wait(waiting)
    if ended:
        raise typer.Exit(ended)
