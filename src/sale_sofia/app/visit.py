"""What every page needs: what the server keeps for all, and who asks for what in this request."""

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
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from sqlalchemy import Connection
from starlette.requests import Request

from sale_sofia.advice.market.market import Deal, Market, read_market
from sale_sofia.advice.scoring.profile import Profile, load_profiles
from sale_sofia.advice.scoring.runs import ScoreRun, ScoringBusy
from sale_sofia.advice.settings import MODEL_FILE
from sale_sofia.advice.valuation.flats import why_not_valued
from sale_sofia.advice.valuation.model import Current, FairBand, stored_model
from sale_sofia.advice.valuation.valuation import Valuation, Verdict, value_flat, verdicts
from sale_sofia.app import formatting as shown
from sale_sofia.app.errands import Errands
from sale_sofia.app.settings import ANSWERS_KEPT, CHANGES_SHOWN, COMPARED_MOST
from sale_sofia.app.words import say
from sale_sofia.buyer.changes import About, SharedChange, changes_of, latest_changes
from sale_sofia.buyer.evaluations import By
from sale_sofia.buyer.people import Person
from sale_sofia.buyer.visitors import visitor_of
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import FlatsBusy
from sale_sofia.flats.rows import no_collecting
from sale_sofia.history.revisions import latest
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.installation import open_ready
from sale_sofia.listings.text import plain
from sale_sofia.operations.portals import Stored, count_stored
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import LANGUAGES, Language
from sale_sofia.storage.database import Database, DataVersion

WRITER: Final = "dashboard"
"""The name under which the pages write what the buyer says while there are no people."""
VISITOR: Final = "sale_sofia_visitor"
LANGUAGE: Final = "sale_sofia_language"
PROFILE: Final = "sale_sofia_profile"
TICKED: Final = "sale_sofia_compare"
SAID: Final = "sale_sofia_said"
"""Cookies: who looks, in which language, by which profile, what is ticked for the
comparison, and what came of the last form."""
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")
_Answer = TypeVar("_Answer")


class NoProfile(LookupError):
    """No profile can be used; `mistakes` says why."""

    def __init__(self, mistakes: list[object]) -> None:
        super().__init__("no profile")
        self.mistakes = mistakes


class Site:
    """What all requests of this server share. Nothing is opened before somebody asks for it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._seen: tuple[str, list[Profile]] | None = None
        self._markets: dict[Deal, tuple[tuple[int, int], Market]] = {}
        self._stored: tuple[int, Stored] | None = None
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._model: tuple[tuple[Path, int], Current | None] | None = None

    @cached_property
    def database(self) -> Database:
        """The database, current in its form."""
        return open_ready(self.settings)

    @cached_property
    def _version(self) -> DataVersion:
        return DataVersion(self.database)

    def refresh(self, profiles: Mapping[str, Profile]) -> None:
        """Afterwards flats and scores are those of the database as it is now.

        Where others merge or score all the time, theirs are shown.
        """
        with self._lock, suppress(FlatsBusy, ScoringBusy):
            seen = (self._version.current(), list(profiles.values()))  # what is committed later is seen next
            if seen != self._seen:
                ScoreRun(self.settings, self.database, profiles).run()
                self._seen = seen

    def kept(
        self, question: Hashable, answer: Callable[[], _Answer], version: Hashable | None = None
    ) -> _Answer:
        """The answer to a question that looks at all flats, worked out once while `version` stays the same.

        The question names all that the answer depends on beside the database; who asks changes nothing in it.
        Without a `version` it is that of the whole database, which anybody's writing makes another.
        """
        # Read before it is worked out: what is written meanwhile is seen next.
        asked = (self._version.current() if version is None else version, question)
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
                found: _Answer = self._kept[asked]
                return found
        found = answer()
        with self._lock:
            self._kept[asked] = found
            while len(self._kept) > ANSWERS_KEPT:
                self._kept.popitem(last=False)
        return found

    @cached_property
    def errands(self) -> Errands:
        """What was started from the pages."""
        return Errands(self.settings)

    def market(self, deal: Deal) -> Market:
        """The market as it is now, worked out again when an advert changed, and each hour for its days."""
        now = time.time()
        with self._lock, no_collecting():
            moment = (self.database.run_read(latest), int(now // SECONDS_PER_HOUR))
            known = self._markets.get(deal)
            if known is None or known[0] != moment:
                found = read_market(self.database, self.settings, now=now, deal=deal)
                known = self._markets[deal] = (moment, found)
            return known[1]

    def stored(self, connection: Connection) -> Stored:
        """What is stored of each portal, counted again when an advert changed."""
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
        """Where the prices of these flats lie, of those that can be judged; without a model of none."""
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


@dataclass(frozen=True)
class Visit:
    """One request: who asks, for what, and when."""

    site: Site
    request: Request
    form: Mapping[str, str] = field(default_factory=dict)
    """The first value of each field of a form that was sent."""
    files: Sequence[bytes] | None = ()
    """The files of a form that has some; None where they were too large together."""
    now: float = field(default_factory=time.time)

    @property
    def person(self) -> Person | None:
        """Who of the household is signed in; None where there are no people."""
        found: Person | None = getattr(self.request.state, "person", None)
        return found

    @property
    def may_operate(self) -> bool:
        """Whether they run the crawl and say who comes in; who is alone does all."""
        return self.person is None or self.person.is_operator

    @cached_property
    def language(self) -> Language:
        """As the address says, else as chosen before, else the person's own, else Bulgarian."""
        asked = self.request.query_params.get("lang", "")
        given = {"English": "en", "Български": "bg"}.get(asked, asked) or self.request.cookies.get(LANGUAGE)
        own = self.person.language if self.person else LANGUAGES[0]
        return next((one for one in LANGUAGES if one == given), own)

    @cached_property
    def visitor(self) -> str:
        """Whose visits these are: the person's on all their devices, else this browser's.

        A browser without a cookie gets a new name.
        """
        if self.person:
            return visitor_of(self.person.id)
        given = self.request.cookies.get(VISITOR, "")
        return given if _TOKEN.fullmatch(given) else token_hex(16)

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """Every profile that can be used, by name.

        Raises:
            NoProfile: there is none.
        """
        loaded = load_profiles(self.site.settings.data_dir)
        if not loaded.profiles:
            raise NoProfile(list(loaded.mistakes.values()))
        return dict(sorted(loaded.profiles.items()))

    @cached_property
    def profile_name(self) -> str:
        """As the address says, else as chosen before, else the first."""
        asked = self.request.query_params.get("profile") or unquote(self.request.cookies.get(PROFILE, ""))
        return asked if asked and asked in self.profiles else next(iter(self.profiles))

    @property
    def profile(self) -> Profile:
        """What the buyer looks for."""
        return self.profiles[self.profile_name]

    @cached_property
    def ticked(self) -> list[int]:
        """The flats that are ticked for the comparison."""
        return numbers(self.request.cookies.get(TICKED, ""))[:COMPARED_MOST]

    @property
    def by(self) -> By:
        """Who writes, now."""
        return By(self.person.name if self.person else WRITER, self.now)

    @property
    def database(self) -> Database:
        """The database."""
        return self.site.database

    @property
    def asks_for_data(self) -> bool:
        """Whether a script sent the form, and reads the answer."""
        return "application/json" in self.request.headers.get("accept", "")

    def asked(self, name: str) -> str | None:
        """What the address says under this name."""
        return self.request.query_params.get(name) or None

    def page_number(self, name: str = "page") -> int:
        """Which page of a list is asked for, from 1."""
        text = self.asked(name) or ""
        return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < len(str(2**31)) else 1

    @property
    def address(self) -> str:
        """Path and parameters of this page, to come back to."""
        query = self.request.url.query
        return self.request.url.path + (f"?{query}" if query else "")


def numbers(text: str) -> list[int]:
    """The whole numbers of `1,2,3`, each once; anything else is left out."""
    parts = (part for part in text.split(",") if part.isascii() and part.isdigit())
    return list(dict.fromkeys(int(part) for part in parts if len(part) < len(str(2**63))))


Values = dict[str, Any]
"""What a template is given."""


# Who changed what the household shares, in words.


def changed_lines(visit: Visit, about: About) -> dict[str, str]:
    """By name: who changed each thing of this kind last, and when, as far as that was done here."""
    found = visit.database.run_read(lambda connection: changes_of(connection, about))
    return {name: changed_line(one.changed_by, one.changed_at, one.what) for name, one in found.items()}


def changed_line(who: str | None, at: float, what: str) -> str:
    """`changed by Ана, 15.11.2026`; without a name where nobody is known."""
    known = who is not None and who != WRITER
    return say(f"changes.{what}.{'by' if known else 'on'}", who=plain(who or ""), day=shown.day(at))


def latest_lines(visit: Visit) -> list[str]:
    """The last changes of all that is shared, the newest first."""
    found = visit.database.run_read(lambda connection: latest_changes(connection, CHANGES_SHOWN))
    return [_line(one) for one in found]


def _line(one: SharedChange) -> str:
    thing = say(f"changes.about.{one.about}", name=plain(one.name))
    return f"{thing}: {changed_line(one.changed_by, one.changed_at, one.what)}"
