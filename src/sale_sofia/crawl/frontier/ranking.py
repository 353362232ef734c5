"""The order in which adverts are opened: first those that may fit what the buyer looks for.

A rank is a number, the smallest first: pages of results, adverts that may fit a profile or a saved search,
shortlisted flats that are due, then all others in turns by place: the first advert of each neighbourhood
before the second of any. Adverts that wait for a relative on another portal to be opened come last within
their kind, in reverse order: those first that the other portal opens last.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, bindparam, select, update

from sale_sofia.advice.scoring.settings import PROFILES_FOLDER
from sale_sofia.buyer.evaluations import statuses
from sale_sofia.buyer.tables import saved_searches
from sale_sofia.crawl.frontier.frontier import REST, lock_job
from sale_sofia.crawl.settings import RANKED_AT_ONCE, REMEMBERED_PROFILES
from sale_sofia.crawl.tables import Kin, frontier, frontier_places, jobs
from sale_sofia.flats.settings import MANY_ROOMS
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.market_events import SECONDS_PER_DAY, listed_since
from sale_sofia.history.settings import VAT_RATE
from sale_sofia.history.sightings import listing_key
from sale_sofia.history.tables import listings
from sale_sofia.listings.places import SOFIA
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_for

if TYPE_CHECKING:  # large, and a crawl without wishes needs neither
    from sale_sofia.advice.scoring.profile import Profile
    from sale_sofia.advice.search.query import SearchQuery

MAY_FIT: Final = 1_000_000
SHORTLISTED: Final = 2_000_000
_OLDEST_DAY: Final = 999_999
_CLASS: Final = 1_000_000
"""The distance between the kinds of ranks."""
CARD_FIELDS: Final = (
    "deal", "property_type", "rooms", "price_eur", "area_sqm", "city", "district", "neighbourhood",
)  # fmt: skip
_DATED: Final = ("first_seen_at", "posted_at", "generation", "family_id")
_LONGEST_PLACE: Final = 120
Facts = Mapping[Any, Any]
# Built once, like everything that runs for every page: building it takes longer than running it.
_SELECT_KNOWN = Quick(
    select(*(listings.c[name] for name in ("id", "external_id", "opened_at", *CARD_FIELDS, *_DATED))).where(
        listings.c.site == bindparam("of_site"),
        listings.c.external_id.in_(bindparam("ids", expanding=True)),
        listings.c.closed_at.is_(None),
    )
)


@dataclass(frozen=True, slots=True)
class Wish:
    """The conditions of a profile or saved search that a card can answer. Empty ones are not checked."""

    allowed: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """The allowed values of each field."""
    unwanted: Sequence[str] = ()
    """Excluded neighbourhoods."""
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)

    def may_be(self, facts: Facts) -> bool:
        """Whether no known fact of an advert rules it out."""
        if facts["neighbourhood"] in self.unwanted:
            return False
        # Five rooms mean five or more, as in searches.
        comparable = {**facts, "rooms": facts["rooms"] and min(facts["rooms"], MANY_ROOMS)}
        if any(comparable[name] not in (None, *values) for name, values in self.allowed.items()):
            return False
        if any(facts[name] is not None and facts[name] < bound for name, bound in self.least.items()):
            return False
        return not any(facts[name] is not None and facts[name] > bound for name, bound in self.most.items())


def wish_of_profile(profile: "Profile") -> Wish:
    """The wish of a profile: kind, budget, rooms, area, and no place that it calls poor."""
    tiers = profile.neighbourhoods
    neighbourhoods = (*tiers.best, *tiers.good, *tiers.fair)
    allowed: dict[str, Sequence[object]] = {"deal": ("sale",), "city": (SOFIA,)}
    allowed["property_type"] = profile.property_types
    if tiers.others == "poor":
        allowed["neighbourhood"] = neighbourhoods
    # A card says five rooms for all that have more.
    rooms = profile.must.rooms_least and min(profile.must.rooms_least, MANY_ROOMS)
    least = {"rooms": rooms, "area_sqm": profile.must.area_least_sqm}
    most = {"price_eur": profile.budget_eur}
    return Wish(allowed, tiers.poor, {name: bound for name, bound in least.items() if bound}, most)


def wish_of_search(query: "SearchQuery") -> Wish:
    """The wish of a saved search."""
    allowed: dict[str, Sequence[object]] = {
        "deal": (query.deal,) if query.deal else (),
        "city": (query.city,) if query.city else (),
        "property_type": query.property_type,
        "rooms": query.rooms,
        "neighbourhood": query.neighbourhood,
        "district": query.district,
    }
    # VAT may be added to the price on a card.
    price_min = None if query.price_min is None else query.price_min / (1 + VAT_RATE)
    least = {"price_eur": price_min, "area_sqm": query.area_min}
    most = {"price_eur": query.price_max, "area_sqm": query.area_max}
    return Wish(
        {name: values for name, values in allowed.items() if values},
        query.not_neighbourhood,
        {name: bound for name, bound in least.items() if bound is not None},
        {name: bound for name, bound in most.items() if bound is not None},
    )


_SELECT_QUERIES = Quick(select(saved_searches.c.query).order_by(saved_searches.c.name))


def current_wishes(connection: Connection) -> tuple[Wish, ...]:
    """What is looked for now: the buyer's own profiles and saved searches; invalid ones are skipped."""
    folder = get_settings().data_dir / PROFILES_FOLDER
    files = []
    for path in sorted(folder.glob("*.yaml")):
        with suppress(OSError):  # it may be deleted by now, or unreadable
            files.append((path, path.stat().st_mtime_ns, path.stat().st_size))
    wishes = list(_profiles(tuple(files))) if files else []
    queries = _SELECT_QUERIES.rows(connection)
    if queries:
        from sale_sofia.advice.search.query import SearchQuery, WrongSearch  # noqa: PLC0415 - large
    for (query,) in queries:
        try:
            wishes.append(wish_of_search(SearchQuery.of(query)))
        except WrongSearch:
            continue
    return tuple(wishes)


@lru_cache(REMEMBERED_PROFILES)
def _profiles(files: tuple[tuple[Path, int, int], ...]) -> tuple[Wish, ...]:
    """Cached until a file changes."""
    from sale_sofia.advice.scoring.profile import ProfileError, load_profile  # noqa: PLC0415 - large

    wishes = []
    for path, _, _ in files:
        try:
            wishes.append(wish_of_profile(load_profile(path.parent.parent, path.stem)))
        except (ProfileError, OSError):
            continue
    return tuple(wishes)


def rank_adverts(  # noqa: PLR0913 - each is a matter of its own
    connection: Connection,
    job_id: str,
    site: str,
    external_ids: Sequence[str],
    wishes: Sequence[Wish],
    *,
    now: float,
    waiting: Collection[str] = (),
    placed: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """The rank of each of these adverts by its stored facts; those that are not stored have none.

    Of those that do not fit, each takes the next turn of its place in this job, in the order given, unless it
    has one already (`placed`). Adverts that are `waiting` for a relative come last of their kind.
    """
    parameters = {"of_site": site, "ids": external_ids}
    by_id = {row["external_id"]: row for row in _SELECT_KNOWN.mappings(connection, parameters)}
    rows = [by_id[name] for name in external_ids if name in by_id]
    opened = any(row["opened_at"] is not None for row in rows)
    liked = _shortlisted(connection) if opened else frozenset()
    ranks = {row["external_id"]: rank_of(row, wishes, liked, now=now) for row in rows}
    turns = {name: turn for name, turn in (placed or {}).items() if ranks.get(name) == REST}
    others = [row for row in rows if ranks[row["external_id"]] == REST and row["external_id"] not in turns]
    ranks |= zip((row["external_id"] for row in others), _turns(connection, job_id, others), strict=True)
    return {name: waiting_rank(rank) if name in waiting else rank for name, rank in ranks.items()} | turns


def rank_of(row: Facts, wishes: Sequence[Wish], liked: frozenset[int], *, now: float) -> int:
    """The rank of one advert; `liked` holds the numbers of adverts of shortlisted flats."""
    if any(wish.may_be(row) for wish in wishes):
        # One that was opened before comes first: it changed, or is due.
        days = 0.0 if row["opened_at"] is not None else 1 + (now - listed_since(row).at) / SECONDS_PER_DAY
        return MAY_FIT + min(_OLDEST_DAY, max(0, int(days)))
    if row["id"] in liked:
        return SHORTLISTED
    return REST


def waiting_rank(rank: int) -> int:
    """The rank of an advert that waits for its relative: behind others of its kind, in reverse order."""
    kind = rank - rank % _CLASS
    return kind + _CLASS - 1 - (rank - kind)


def place_of(row: Facts) -> str:
    """The place by which an advert takes turns."""
    return str(row["neighbourhood"] or row["city"] or "")


def _turns(connection: Connection, job_id: str, adverts: Sequence[Facts]) -> list[int]:
    """The ranks of adverts of the rest: the n-th of each place in this job before the n+1-th of any."""
    places = [place_of(row)[:_LONGEST_PLACE] for row in adverts]
    counted = Counter(places)
    if not counted:
        return []
    added = [{"job_id": job_id, "place": place, "adverts": counted[place]} for place in sorted(counted)]
    _counting(connection.dialect.name).run(connection, added)
    rows = _SELECT_TURNS.rows(connection, {"of_job": job_id, "places": sorted(counted)})
    last_turn = {place: adverts - counted[place] for place, adverts in rows}
    return [REST + turn for turn in _in_turns(places, last_turn)]


@cache
def _counting(dialect: str) -> Quick:
    new = insert_for(dialect, frontier_places)
    more = {"adverts": frontier_places.c.adverts + new.excluded.adverts}
    return Quick(new.on_conflict_do_update(index_elements=["job_id", "place"], set_=more))


_SELECT_TURNS = Quick(
    select(frontier_places.c.place, frontier_places.c.adverts).where(
        frontier_places.c.job_id == bindparam("of_job"),
        frontier_places.c.place.in_(bindparam("places", expanding=True)),
    )
)


def _in_turns(places: Iterable[str], last_turn: dict[str, int]) -> Iterator[int]:
    for place in places:
        last_turn[place] += 1
        yield min(last_turn[place], _CLASS - 1)


def _shortlisted(connection: Connection) -> frozenset[int]:
    """The adverts of the flats on the shortlist."""
    flats = [flat_id for flat_id, status in statuses(connection).items() if status == "shortlist"]
    if not flats:
        return frozenset()
    theirs = select(listing_sources.c.listing_id).where(listing_sources.c.property_id.in_(flats))
    return frozenset(connection.scalars(theirs))


_RANKED_BY = Quick(select(jobs.c.ranked_by).where(jobs.c.id == bindparam("of_job")))
_SET_RANK = update(frontier).where(frontier.c.id == bindparam("row_id")).values(rank=bindparam("new_rank"))


def keep_ranked(connection: Connection, job_id: str, site: str, *, now: float) -> None:
    """Rank the pending adverts again if the wishes have changed since they were ranked.

    The digest of the wishes is stored in the job, so whoever claims next notices, even after a crash.
    """
    wishes = current_wishes(connection)
    text = json.dumps([asdict(wish) for wish in wishes], sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest() if wishes else None
    own = jobs.c.id == job_id
    if [(digest,)] == _RANKED_BY.rows(connection, {"of_job": job_id}):
        return
    lock_job(connection, job_id)  # then rows by id, the lock order of everyone who changes several
    pending = select(frontier.c.id, frontier.c.url_key, frontier.c.rank, frontier.c.kin).where(
        frontier.c.job_id == job_id, frontier.c.state == "pending", frontier.c.kind == "listing"
    )
    rows = connection.execute(pending.order_by(frontier.c.id)).all()
    prefix = len(listing_key(""))
    for first in range(0, len(rows), RANKED_AT_ONCE):
        batch = {row.url_key[prefix:]: row for row in rows[first : first + RANKED_AT_ONCE]}
        waiting = {name for name, row in batch.items() if row.kin == Kin.WAITS}
        placed = {name: row.rank for name, row in batch.items() if row.rank > REST}
        ranks = rank_adverts(
            connection, job_id, site, list(batch), wishes, now=now, waiting=waiting, placed=placed
        )
        new = [{"row_id": batch[name].id, "new_rank": rank} for name, rank in ranks.items()]
        if new:
            connection.execute(_SET_RANK, sorted(new, key=lambda row: row["row_id"]))
    connection.execute(update(jobs).where(own).values(ranked_by=digest))
