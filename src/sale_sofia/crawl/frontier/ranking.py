"""Which advert is worth its turn next: one whose card may be what the buyer looks for.

A rank is a number, the smallest first: pages of results, what may fit a profile or a saved search,
shortlisted flats that are due, then all others, place by place in turns: the first advert of each
neighbourhood before the second of any. Adverts that wait for a relative on another portal to be opened come
last of their kind, those first that the other portal comes to last.
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

if TYPE_CHECKING:  # large, and a crawl that nobody has told a wish needs neither
    from sale_sofia.advice.scoring.profile import Profile
    from sale_sofia.advice.search.query import SearchQuery

MAY_FIT: Final = 1_000_000
SHORTLISTED: Final = 2_000_000
_OLDEST_DAY: Final = 999_999
_CLASS: Final = 1_000_000
"""So far are the kinds of ranks apart."""
TOLD: Final = (
    "deal", "property_type", "rooms", "price_eur", "area_sqm", "city", "district", "neighbourhood",
)  # fmt: skip
_DATED: Final = ("first_seen_at", "posted_at", "generation", "family_id")
_LONGEST_PLACE: Final = 120
Told = Mapping[Any, Any]
# Put together once, as all that is run for every page: that took longer than the database does to run it.
_SELECT_KNOWN = Quick(
    select(*(listings.c[name] for name in ("id", "external_id", "opened_at", *TOLD, *_DATED))).where(
        listings.c.site == bindparam("of_site"),
        listings.c.external_id.in_(bindparam("ids", expanding=True)),
        listings.c.closed_at.is_(None),
    )
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What of a profile, or of a saved search, the card of an advert can tell. What is empty is not asked."""

    allowed: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Of these facts, the values that are looked for."""
    unwanted: Sequence[str] = ()
    """Neighbourhoods where nothing is looked for."""
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)

    def may_be(self, told: Told) -> bool:
        """Whether nothing that is known of an advert speaks against it."""
        if told["neighbourhood"] in self.unwanted:
            return False
        # Five rooms are five or more, as in searches.
        one_of = {**told, "rooms": told["rooms"] and min(told["rooms"], MANY_ROOMS)}
        if any(one_of[name] not in (None, *values) for name, values in self.allowed.items()):
            return False
        if any(told[name] is not None and told[name] < bound for name, bound in self.least.items()):
            return False
        return not any(told[name] is not None and told[name] > bound for name, bound in self.most.items())


def wish_of_profile(profile: "Profile") -> Wish:
    """What a profile can ask of a card: kind, budget, rooms, area, and no place of those it calls poor."""
    tiers = profile.neighbourhoods
    named = (*tiers.best, *tiers.good, *tiers.fair)
    allowed: dict[str, Sequence[object]] = {"deal": ("sale",), "city": (SOFIA,)}
    allowed["property_type"] = profile.property_types
    if tiers.others == "poor":
        allowed["neighbourhood"] = named
    # A card tells five rooms of all that have more.
    rooms = profile.must.rooms_least and min(profile.must.rooms_least, MANY_ROOMS)
    least = {"rooms": rooms, "area_sqm": profile.must.area_least_sqm}
    most = {"price_eur": profile.budget_eur}
    return Wish(allowed, tiers.poor, {name: one for name, one in least.items() if one}, most)


def wish_of_search(query: "SearchQuery") -> Wish:
    """What a saved search can ask of a card."""
    allowed: dict[str, Sequence[object]] = {
        "deal": (query.deal,) if query.deal else (),
        "city": (query.city,) if query.city else (),
        "property_type": query.property_type,
        "rooms": query.rooms,
        "neighbourhood": query.neighbourhood,
        "district": query.district,
    }
    # VAT may come on top of what a card says.
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
    """What is looked for now: the buyer's own profiles and saved searches; a wrong one asks for nothing."""
    folder = get_settings().data_dir / PROFILES_FOLDER
    found = []
    for path in sorted(folder.glob("*.yaml")):
        with suppress(OSError):  # it may be gone by now, or not be ours to read
            found.append((path, path.stat().st_mtime_ns, path.stat().st_size))
    wishes = list(_profiles(tuple(found))) if found else []
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
def _profiles(found: tuple[tuple[Path, int, int], ...]) -> tuple[Wish, ...]:
    """Read again only when a file is another one than it was."""
    from sale_sofia.advice.scoring.profile import ProfileError, load_profile  # noqa: PLC0415 - large

    wishes = []
    for path, _, _ in found:
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
    """The rank of each of these adverts by what is known of it; those that are not known have none.

    Of what may not fit, each takes the next turn of its place in this job, in the order given; those that
    have one already keep it (`placed`). Adverts that are `waiting` for a relative come last of their kind.
    """
    asked = {"of_site": site, "ids": external_ids}
    found = {row["external_id"]: row for row in _SELECT_KNOWN.mappings(connection, asked)}
    rows = [found[name] for name in external_ids if name in found]
    opened = any(row["opened_at"] is not None for row in rows)
    liked = _shortlisted(connection) if opened else frozenset()
    ranks = {row["external_id"]: rank_of(row, wishes, liked, now=now) for row in rows}
    had = {name: turn for name, turn in (placed or {}).items() if ranks.get(name) == REST}
    others = [row for row in rows if ranks[row["external_id"]] == REST and row["external_id"] not in had]
    ranks |= zip((row["external_id"] for row in others), _turns(connection, job_id, others), strict=True)
    return {name: turned(rank) if name in waiting else rank for name, rank in ranks.items()} | had


def rank_of(row: Told, wishes: Sequence[Wish], liked: frozenset[int], *, now: float) -> int:
    """The rank of one advert, of whose numbers `liked` has those of shortlisted flats."""
    if any(wish.may_be(row) for wish in wishes):
        # One that was opened before is asked for again because it changed, or is due.
        days = 0.0 if row["opened_at"] is not None else 1 + (now - listed_since(row).at) / SECONDS_PER_DAY
        return MAY_FIT + min(_OLDEST_DAY, max(0, int(days)))
    if row["id"] in liked:
        return SHORTLISTED
    return REST


def turned(rank: int) -> int:
    """The rank of an advert that waits for its relative: behind others of its kind, the last one first."""
    kind = rank - rank % _CLASS
    return kind + _CLASS - 1 - (rank - kind)


def place_of(row: Told) -> str:
    """Where an advert is, for taking turns."""
    return str(row["neighbourhood"] or row["city"] or "")


def _turns(connection: Connection, job_id: str, adverts: Sequence[Told]) -> list[int]:
    """The ranks of adverts of the rest: the n-th of each place in this job before the n+1-th of any."""
    places = [place_of(row)[:_LONGEST_PLACE] for row in adverts]
    counted = Counter(places)
    if not counted:
        return []
    added = [{"job_id": job_id, "place": place, "adverts": counted[place]} for place in sorted(counted)]
    _counting(connection.dialect.name).run(connection, added)
    told = _SELECT_TURNS.rows(connection, {"of_job": job_id, "places": sorted(counted)})
    next_one = {place: adverts - counted[place] for place, adverts in told}
    return [REST + turn for turn in _in_turns(places, next_one)]


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


def _in_turns(places: Iterable[str], next_one: dict[str, int]) -> Iterator[int]:
    for place in places:
        next_one[place] += 1
        yield min(next_one[place], _CLASS - 1)


def _shortlisted(connection: Connection) -> frozenset[int]:
    """The adverts of the flats on the shortlist."""
    chosen = [own for own, status in statuses(connection).items() if status == "shortlist"]
    if not chosen:
        return frozenset()
    theirs = select(listing_sources.c.listing_id).where(listing_sources.c.property_id.in_(chosen))
    return frozenset(connection.scalars(theirs))


_RANKED_BY = Quick(select(jobs.c.ranked_by).where(jobs.c.id == bindparam("of_job")))
_SET_RANK = update(frontier).where(frontier.c.id == bindparam("row_id")).values(rank=bindparam("new_rank"))


def keep_ranked(connection: Connection, job_id: str, site: str, *, now: float) -> None:
    """Rank the adverts that wait anew, if what is looked for is not what it was when they were ranked.

    Which that was stands in the job, so that it is seen by whoever claims next, also after a crash.
    """
    wishes = current_wishes(connection)
    told = json.dumps([asdict(wish) for wish in wishes], sort_keys=True, default=str)
    digest = hashlib.sha256(told.encode()).hexdigest() if wishes else None
    own = jobs.c.id == job_id
    if [(digest,)] == _RANKED_BY.rows(connection, {"of_job": job_id}):
        return
    lock_job(connection, job_id)  # and then rows by their number, as all do who change several
    pending = select(frontier.c.id, frontier.c.url_key, frontier.c.rank, frontier.c.kin).where(
        frontier.c.job_id == job_id, frontier.c.state == "pending", frontier.c.kind == "listing"
    )
    rows = connection.execute(pending.order_by(frontier.c.id)).all()
    prefix = len(listing_key(""))
    for first in range(0, len(rows), RANKED_AT_ONCE):
        some = {row.url_key[prefix:]: row for row in rows[first : first + RANKED_AT_ONCE]}
        waiting = {name for name, row in some.items() if row.kin == Kin.WAITS}
        placed = {name: row.rank for name, row in some.items() if row.rank > REST}
        ranks = rank_adverts(
            connection, job_id, site, list(some), wishes, now=now, waiting=waiting, placed=placed
        )
        new = [{"row_id": some[one].id, "new_rank": rank} for one, rank in ranks.items()]
        if new:
            connection.execute(_SET_RANK, sorted(new, key=lambda one: one["row_id"]))
    connection.execute(update(jobs).where(own).values(ranked_by=digest))
