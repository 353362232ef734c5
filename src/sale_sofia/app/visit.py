"""What every page needs: the state that all requests share, and the request itself."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlencode

from sqlalchemy import Connection
from starlette.requests import Request

from sale_sofia.advice.market.market import Deal, Market, read_market
from sale_sofia.advice.scoring.profile import Profile, load_profiles, usual_profile
from sale_sofia.advice.scoring.runs import ScoreRun, ScoringBusy
from sale_sofia.advice.settings import MODEL_FILE
from sale_sofia.advice.valuation.flats import why_not_valued
from sale_sofia.advice.valuation.model import Current, FairBand, stored_model
from sale_sofia.advice.valuation.valuation import Valuation, Verdict, value_flat, verdicts
from sale_sofia.app import formatting as fmt
from sale_sofia.app.errands import Errands
from sale_sofia.app.guard import LANGUAGE
from sale_sofia.app.settings import ANSWERS_KEPT, CHANGES_SHOWN, COMPARED_MOST
from sale_sofia.app.words import say
from sale_sofia.buyer.changes import About, SharedChange, What, changes_of, latest_changes, note_change
from sale_sofia.buyer.evaluations import By, current_property
from sale_sofia.buyer.people import Person
from sale_sofia.buyer.visitors import visitor_of
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import FlatsBusy
from sale_sofia.flats.rows import no_collecting
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.history.revisions import latest
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.installation import open_ready
from sale_sofia.listings.text import plain
from sale_sofia.operations.portals import Stored, count_stored
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import LANGUAGES, Language
from sale_sofia.storage.database import Database, DataVersion

WRITER: Final = "dashboard"
"""Who is recorded as the author of changes while there are no people."""
VISITOR: Final = "sale_sofia_visitor"
PROFILE: Final = "sale_sofia_profile"
TICKED: Final = "sale_sofia_compare"
OUTCOME: Final = "sale_sofia_said"
"""Cookies: visitor, profile, flats ticked for comparison, outcome of the last form."""
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")
_Value = TypeVar("_Value")


class NoProfile(LookupError):
    """No profile can be used; `mistakes` says why."""

    def __init__(self, mistakes: list[object]) -> None:
        super().__init__("no profile")
        self.mistakes = mistakes


class AppState:
    """What all requests of this server share. Everything is opened on first use."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._seen: tuple[str, list[Profile]] | None = None
        self._markets: dict[Deal, tuple[tuple[int, int], Market]] = {}
        self._stored: tuple[int, Stored] | None = None
        self._cache: OrderedDict[Hashable, Any] = OrderedDict()
        self._model: tuple[tuple[Path, int], Current | None] | None = None

    @cached_property
    def database(self) -> Database:
        """The database, migrated to the current schema."""
        return open_ready(self.settings)

    @cached_property
    def _version(self) -> DataVersion:
        return DataVersion(self.database)

    def refresh(self, profiles: Mapping[str, Profile]) -> None:
        """Bring flats and scores up to date with the database; where another process does so, rely on it."""
        with self._lock, suppress(FlatsBusy, ScoringBusy):
            seen = (self._version.current(), list(profiles.values()))  # what is committed later is seen next
            if seen != self._seen:
                ScoreRun(self.settings, self.database, profiles).run()
                self._seen = seen

    def cached(self, key: Hashable, compute: Callable[[], _Value], version: Hashable | None = None) -> _Value:
        """The value of `compute`, computed once while `version` stays the same; callers must not change it.

        The key names all that the value depends on beside the database. Without a `version` it is the one of
        the whole database, which every write changes.
        """
        # Read before computing: what is written meanwhile is seen next time.
        versioned = (self._version.current() if version is None else version, key)
        with self._lock:
            if versioned in self._cache:
                self._cache.move_to_end(versioned)
                value: _Value = self._cache[versioned]
                return value
        value = compute()
        with self._lock:
            self._cache[versioned] = value
            while len(self._cache) > ANSWERS_KEPT:
                self._cache.popitem(last=False)
        return value

    @cached_property
    def errands(self) -> Errands:
        """The crawls and probes started from the pages."""
        return Errands(self.settings)

    def market(self, deal: Deal) -> Market:
        """The market now, computed again when an advert changed, and every hour because days pass."""
        now = time.time()
        with self._lock, no_collecting():
            moment = (self.database.run_read(latest), int(now // SECONDS_PER_HOUR))
            entry = self._markets.get(deal)
            if entry is None or entry[0] != moment:
                market = read_market(self.database, self.settings, now=now, deal=deal)
                entry = self._markets[deal] = (moment, market)
            return entry[1]

    def stored(self, connection: Connection) -> Stored:
        """What is stored of each portal, counted again after an advert changed."""
        with self._lock:
            revision = latest(connection)
            if self._stored is None or self._stored[0] != revision:
                self._stored = (revision, count_stored(connection))
            return self._stored[1]

    def valuation(self, flat: Flat) -> Valuation | None:
        """What the stored model says of the flat; None while there is no model, or it is too old."""
        if reason := why_not_valued(flat):
            return Valuation(flat, None, "unknown", reason)
        current = self._young_model()
        return value_flat(self.database, flat, current) if current else None

    def verdicts(self, flats: Sequence[Flat]) -> Mapping[int, tuple[Verdict, FairBand]]:
        """Where the prices of these flats lie, for those that can be judged; empty without a model."""
        current = self._young_model()
        return verdicts(flats, current) if current else {}

    def _young_model(self) -> Current | None:
        """The stored model, unless it is too old."""
        since = time.time() - self.settings.valuation_model_hours * SECONDS_PER_HOUR
        current = self._current_model()
        return current if current and current.made_at >= since else None

    def _current_model(self) -> Current | None:
        path = self.settings.data_dir / MODEL_FILE
        if not path.exists():
            return None
        key = (path, path.stat().st_mtime_ns)
        with self._lock:
            if self._model is None or self._model[0] != key:
                least = self.settings.valuation_least_flats
                read = partial(stored_model, data_dir=path.parent, made_since=0.0, least_flats=least)
                self._model = (key, self.database.run_read(read))
            return self._model[1]


class RefusedForm(NamedTuple):
    """A form that was refused: its address, its fields, and why."""

    action: str
    fields: Mapping[str, str]
    why: str


@dataclass(frozen=True)
class PageVisit:
    """One request to a page: from whom, for what, and when."""

    state: AppState
    request: Request
    form: Mapping[str, str] = field(default_factory=dict)
    """The first value of each field of a form that was sent."""
    files: Sequence[bytes] | None = ()
    """The files of a form that has some; None where they were too large together."""
    now: float = field(default_factory=time.time)
    refused: RefusedForm | None = None
    """The form that this page gives back with what was typed."""

    def typed(self, action: str, name: str, otherwise: object = "") -> object:
        """What a field of a refused form held; `otherwise` on every other page and in every other form."""
        form = self.refused
        return form.fields.get(name, otherwise) if form and form.action == action else otherwise

    @property
    def person(self) -> Person | None:
        """Who of the household is signed in; None where there are no people."""
        person: Person | None = getattr(self.request.state, "person", None)
        return person

    @property
    def may_operate(self) -> bool:
        """Whether they may run crawls and manage people; without people everyone may."""
        return self.person is None or self.person.is_operator

    @cached_property
    def language(self) -> Language:
        """From the address, else from the cookie, else the person's own, else Bulgarian."""
        text = self.request.query_params.get("lang", "")
        code = {"English": "en", "Български": "bg"}.get(text, text) or self.request.cookies.get(LANGUAGE)
        own = self.person.language if self.person else LANGUAGES[0]
        return next((language for language in LANGUAGES if language == code), own)

    @cached_property
    def visitor(self) -> str:
        """Whose visits these are: the person's on all devices, else this browser's."""
        if self.person:
            return visitor_of(self.person.id)
        token = self.request.cookies.get(VISITOR, "")
        return token if _TOKEN.fullmatch(token) else token_hex(16)

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """Every profile that can be used, by name.

        Raises:
            NoProfile: there is none.
        """
        loaded = load_profiles(self.state.settings.data_dir)
        if not loaded.profiles:
            raise NoProfile(list(loaded.mistakes.values()))
        return dict(sorted(loaded.profiles.items()))

    @cached_property
    def profile_name(self) -> str:
        """From the address, else from the cookie, else the usual one."""
        name = self.request.query_params.get("profile") or unquote(self.request.cookies.get(PROFILE, ""))
        return name if name and name in self.profiles else usual_profile(self.profiles)

    @property
    def profile(self) -> Profile:
        """What the buyer looks for."""
        return self.profiles[self.profile_name]

    @cached_property
    def ticked(self) -> list[int]:
        """The flats that are ticked for the comparison, by the ids they have now."""
        chosen = numbers(self.request.cookies.get(TICKED, ""))[:COMPARED_MOST]

        def read(connection: Connection) -> list[int]:
            found = []
            for number in chosen:
                with suppress(UnknownProperty):
                    found.append(current_property(connection, number))
            return list(dict.fromkeys(found))

        return self.database.run_read(read) if chosen else []

    @property
    def by(self) -> By:
        """The author and moment of changes made by this request."""
        return By(self.person.name if self.person else WRITER, self.now)

    @property
    def database(self) -> Database:
        """The database."""
        return self.state.database

    @property
    def asks_for_data(self) -> bool:
        """Whether a script sent the form and expects JSON."""
        return "application/json" in self.request.headers.get("accept", "")

    def param(self, name: str) -> str | None:
        """A parameter of the address; None where it is absent or empty."""
        return self.request.query_params.get(name) or None

    def page_number(self, name: str = "page") -> int:
        """The requested page of a list, from 1."""
        return whole_number(self.param(name) or "", below=2**31) or 1

    @property
    def property_id(self) -> int:
        """The flat in the path of the address."""
        return int(self.request.path_params["number"])

    @property
    def path(self) -> str:
        """The path of this page; where it answers one of its forms, that of the page and not of the form."""
        path = self.request.url.path
        return path.rpartition("/")[0] or path if self.request.method == "POST" else path

    @property
    def address(self) -> str:
        """Path and parameters of this page, to come back to."""
        query = self.request.url.query
        return self.path + (f"?{query}" if query else "")

    def absolute(self, path: str, language: Language = LANGUAGES[0]) -> str:
        """The full address of a path, for a reader of this language."""
        suffix = "" if language == LANGUAGES[0] else f"?{urlencode({'lang': language})}"
        return f"{str(self.request.base_url).rstrip('/')}{path}{suffix}"

    def note_change(self, about: About, name: str, what: What = "changed") -> None:
        """Store who changed something that the household shares."""
        self.database.run_write(partial(note_change, about=about, name=name, what=what, by=self.by))


def whole_number(text: str, below: int) -> int | None:
    """A number written in digits alone, fewer than `below` has; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < len(str(below)) else None


def numbers(text: str) -> list[int]:
    """The whole numbers of `1,2,3`, each once; anything else is left out."""
    parsed = (whole_number(part, below=2**63) for part in text.split(","))
    return list(dict.fromkeys(number for number in parsed if number is not None))


Values = dict[str, Any]
"""The values of a template."""


# Who changed what the household shares, in words.


def changed_lines(visit: PageVisit, about: About) -> dict[str, str]:
    """By name: who changed each thing of this kind last on these pages, and when."""
    changes = visit.database.run_read(lambda connection: changes_of(connection, about))
    return {
        name: changed_line(change.changed_by, change.changed_at, change.what)
        for name, change in changes.items()
    }


def changed_line(who: str | None, at: float, what: str) -> str:
    """`changed by Ана, 15.11.2026`; without a name where nobody is known."""
    has_name = who is not None and who != WRITER
    return say(f"changes.{what}.{'by' if has_name else 'on'}", who=plain(who or ""), day=fmt.day(at))


def latest_lines(visit: PageVisit) -> list[str]:
    """The last changes of all that is shared, the newest first."""
    changes = visit.database.run_read(lambda connection: latest_changes(connection, CHANGES_SHOWN))
    return [_line(change) for change in changes]


def _line(change: SharedChange) -> str:
    thing = say(f"changes.about.{change.about}", name=plain(change.name))
    return f"{thing}: {changed_line(change.changed_by, change.changed_at, change.what)}"
