"""`sale-sofia start`: from a few answers to a page with flats that fit. All it does, other commands do."""

import os
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import typer
from sqlalchemy import Connection

from sale_sofia.advice.scoring.profile import DEFAULT, edit_profile, new_profile, profile_path
from sale_sofia.cli import crawl as crawling
from sale_sofia.cli import demo, sites
from sale_sofia.cli.console import INTERRUPTED, NOT_ALL_RIGHT, out, tell
from sale_sofia.crawl.frontier.estimate import sentences
from sale_sofia.crawl.probe import Reading
from sale_sofia.installation import open_ready
from sale_sofia.listings.places import find_neighbourhood, neighbourhoods, place_key
from sale_sofia.listings.vocabulary import meaning
from sale_sofia.operations.services.processes import StopSignals
from sale_sofia.operations.settings import LEAST_BUDGET_EUR, LONGEST_METRO_MINUTES, MOST_BUDGET_EUR
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.words import Language, Said
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia.websites.site_file import enabled_sites

# What a buyer looks for, asked in a terminal or given by options, as people write it.

T = TypeVar("T")
_MONEY: Final = re.compile(r"\d{1,12}")
_MOST_ROOMS: Final = 5
_TELLING: Final = 4
"""Letters with which the name that was meant begins."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What is looked for. What is empty does not matter."""

    budget_eur: int
    kinds: tuple[str, ...]
    """Types of property."""
    rooms: tuple[int, ...]
    neighbourhoods: tuple[str, ...]
    metro_minutes: int | None

    def changes(self) -> dict[str, object]:
        """The keys of a profile that say it. Nothing else is a condition: nobody asked for it."""
        must = {"rooms_least": min(self.rooms, default=None), "metro_most_minutes": self.metro_minutes}
        others = "poor" if self.neighbourhoods else "fair"
        return {
            "title": "",
            "budget_eur": self.budget_eur,
            "renovation_eur": 0,
            "property_types": list(self.kinds),
            "neighbourhoods": {"best": list(self.neighbourhoods), "others": others},
            "must": {name: value for name, value in must.items() if value is not None},
            **({"wishes.rooms": max(self.rooms)} if self.rooms else {}),
        }


def read_budget(text: str) -> int:
    """Euros for the whole flat: 180000, 180 000, 180 000 €, 180.000."""
    plain = re.sub(r"[\s.,'’]|€|eur|евро", "", text.casefold())
    if not _MONEY.fullmatch(plain) or not LEAST_BUDGET_EUR <= int(plain) <= MOST_BUDGET_EUR:
        raise ValueError(Said("start.wrong_budget", given=text, least=LEAST_BUDGET_EUR, most=MOST_BUDGET_EUR))
    return int(plain)


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
    exact, key = find_neighbourhood(word), place_key(word)
    numbered = [one.name for one in neighbourhoods() if place_key(one.name).startswith(f"{key} ")]
    if exact is None and not numbered:
        begins = key[:_TELLING]
        like = [one.name for one in neighbourhoods() if begins and place_key(one.name).startswith(begins)]
        hint = Said("start.like", names=like) if like else None
        raise ValueError(Said("start.wrong_place", given=word, hint=hint))
    return [*([exact.name] if exact else []), *numbered]


def read_metro(text: str) -> int | None:
    """Minutes on foot; None for an empty text."""
    plain = text.strip()
    if not plain:
        return None
    if not plain.isdecimal() or not 1 <= int(plain) <= LONGEST_METRO_MINUTES:
        raise ValueError(Said("start.wrong_metro", given=text, most=LONGEST_METRO_MINUTES))
    return int(plain)


@dataclass(frozen=True, slots=True)
class Asker:
    """Takes what was given, and asks for the rest where somebody can answer."""

    language: Language
    can_ask: bool

    def answer(self, code: str, option: str, given: str | None, read: Callable[[str], T]) -> T:
        """What the option gives, else what a person says to the question, asked again until it is right.

        Raises:
            typer.BadParameter: what was given is wrong, or nothing was and nobody can be asked.
        """
        if given is not None or not self.can_ask:
            try:
                return read(given or "")
            except ValueError as error:
                raise typer.BadParameter(f"{option}: {self.say(error)}") from None
        while True:
            try:
                return read(typer.prompt(self.say(Said(code)), default="", show_default=False))
            except ValueError as error:
                tell(self.say(error), style="red")

    def say(self, what: ValueError | Said) -> str:
        """In the language of the person."""
        return Said.of(what).in_words(self.language)


def ask(
    asker: Asker, *, budget: str | None, kinds: str | None, places: str | None, metro: str | None
) -> Answers:
    """All answers."""
    most = asker.answer("start.budget", "--budget", budget, read_budget)
    types, rooms = asker.answer("start.kinds", "--kinds", kinds, read_kinds)
    named = asker.answer("start.places", "--neighbourhoods", places, read_places)
    minutes = asker.answer("start.metro", "--metro", metro, read_metro)
    return Answers(most, types, rooms, named, minutes)


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
            out.print(asker.say(Said("start.address", address=address)), soft_wrap=True)
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
