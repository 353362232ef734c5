"""The searches of a job, each from its first page to its last, and what was learnt of a portal's limits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from sale_sofia.config.history import LEARNT_SECONDS
from sale_sofia.data.history_schema import learnt, searches, shown_adverts
from sale_sofia.data.upserts import insert_into


class Ended(StrEnum):
    """How a search came to its end."""

    READ = "read"
    """All it announced was shown, or its last page was read."""
    SPLIT = "split"
    """It was cut into smaller ones."""
    WAITING = "waiting"
    """It will be cut when the page is read that lists the ids of its parts."""
    CAPPED = "capped"
    """The portal shows no more of it, and it cannot be cut."""
    SHORT = "short"
    """It came to its end before it showed what it announced."""
    EXCEEDED = "exceeded"
    """It showed far more than it announced, and went on."""
    ENDLESS = "endless"
    """It went on after as many pages, or parts, as are read of any search."""
    ABSENT = "absent"
    """The portal has no such search."""
    USELESS = "useless"
    """A part by a filter that changes nothing."""
    FORBIDDEN = "forbidden"
    """robots.txt forbids it, and another start was taken."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a job."""

    id: int
    job_id: str
    url: str
    """Its first page."""
    parent_id: int | None = None
    way: str | None = None
    """How its parent was cut."""
    announced: int | None = None
    """How many adverts the portal says it has."""
    exact: bool = False
    """Whether that is the number itself: of "1000+", or of a number of pages, it is not."""
    pages: int = 0
    shown: int = 0
    """Adverts on its pages, each page counted once."""
    different: int = 0
    """Different adverts on those of its pages that are followed by another."""
    stale: int = 0
    """How many of its last pages brought nothing new."""
    first_digest: str | None = None
    last_digest: str | None = None
    next_url: str | None = None
    """The page after the last one read."""
    ended: Ended | None = None


def add_search(
    connection: Connection, job_id: str, url: str, *, parent_id: int | None = None, way: str | None = None
) -> int:
    """A search of the job, of which nothing is read yet; its number."""
    row = {"job_id": job_id, "url": url, "parent_id": parent_id, "way": way}
    return int(connection.execute(insert(searches).values(row).returning(searches.c.id)).scalar_one())


def get_search(connection: Connection, search_id: int | None) -> Search | None:
    """The search of this number."""
    found = connection.execute(select(searches).where(searches.c.id == search_id)).mappings().first()
    return None if found is None else _search(found)


def keep_search(connection: Connection, search: Search) -> None:
    """Store the search as it is now."""
    connection.execute(update(searches).where(searches.c.id == search.id).values(asdict(search)))


def note_shown(connection: Connection, search_id: int, external_ids: Iterable[str]) -> int:
    """These adverts stand on a page of the search; how many of them no page of it has shown before."""
    rows = [{"search_id": search_id, "external_id": one} for one in dict.fromkeys(external_ids)]
    if not rows:
        return 0
    new = insert_into(connection, shown_adverts).on_conflict_do_nothing()
    return connection.execute(new, rows, execution_options={"preserve_rowcount": True}).rowcount


def forget_shown(connection: Connection, search_id: int) -> None:
    """The search has ended: which adverts it has shown is not asked any more."""
    connection.execute(delete(shown_adverts).where(shown_adverts.c.search_id == search_id))


def count_searches(connection: Connection, job_id: str) -> int:
    """How many searches a job has."""
    own = select(func.count()).select_from(searches).where(searches.c.job_id == job_id)
    return int(connection.execute(own).scalar_one())


def searches_of(connection: Connection, job_id: str) -> list[Search]:
    """All searches of a job, in the order in which they were found."""
    own = select(searches).where(searches.c.job_id == job_id).order_by(searches.c.id)
    return [_search(row) for row in connection.execute(own).mappings()]


def parts_of(connection: Connection, search: Search) -> list[Search]:
    """What a search was cut into."""
    own = select(searches).where(searches.c.parent_id == search.id).order_by(searches.c.id)
    return [_search(row) for row in connection.execute(own).mappings()]


def _search(row: RowMapping) -> Search:
    return Search(**{**row, "ended": Ended(row["ended"]) if row["ended"] else None})


@dataclass(frozen=True, slots=True)
class Learnt:
    """What crawls learnt of a portal, as far as it is not too old to be believed."""

    most: int | None = None
    """How many adverts of one search it was seen to show."""
    ids: Mapping[str, tuple[str, ...]] | None = None
    """The ids of its filters, by the key of their query."""
    useless: frozenset[str] = frozenset()
    """Ways to cut a search that were seen to change nothing."""


_MOST, _IDS, _USELESS = "most", "ids:", "useless:"


def read_learnt(connection: Connection, site: str, *, now: float) -> Learnt:
    """What is known of the portal."""
    own = select(learnt.c.name, learnt.c.value).where(
        learnt.c.site == site, learnt.c.learnt_at > now - LEARNT_SECONDS
    )
    known = {row.name: row.value for row in connection.execute(own)}
    return Learnt(
        known.get(_MOST),
        {name.removeprefix(_IDS): tuple(ids) for name, ids in known.items() if name.startswith(_IDS)},
        frozenset(name.removeprefix(_USELESS) for name in known if name.startswith(_USELESS)),
    )


def learn_most(connection: Connection, site: str, most: int, *, now: float) -> None:
    """The portal showed so many adverts of a search that has more."""
    _learn(connection, site, _MOST, most, now)


def learn_ids(connection: Connection, site: str, query: str, ids: Sequence[str], *, now: float) -> None:
    """The portal named the ids of one of its filters."""
    _learn(connection, site, f"{_IDS}{query}", list(ids), now)


def learn_useless(connection: Connection, site: str, way: str, *, now: float) -> None:
    """A way to cut searches changes nothing."""
    _learn(connection, site, f"{_USELESS}{way}", way, now)


def learnt_rows(connection: Connection, site: str | None = None) -> list[dict[str, Any]]:
    """All that was learnt of a portal, or of all, for people."""
    chosen = select(learnt).order_by(learnt.c.site, learnt.c.name)
    rows = connection.execute(chosen.where(learnt.c.site == site) if site else chosen).mappings()
    return [dict(row) for row in rows]


def forget_learnt(connection: Connection, site: str) -> int:
    """Let the next crawl of the portal learn anew; how many things were forgotten."""
    return connection.execute(delete(learnt).where(learnt.c.site == site)).rowcount


def _learn(connection: Connection, site: str, name: str, value: object, now: float) -> None:
    new = insert_into(connection, learnt).values(site=site, name=name, value=value, learnt_at=now)
    told = {"value": new.excluded.value, "learnt_at": new.excluded.learnt_at}
    connection.execute(new.on_conflict_do_update(index_elements=["site", "name"], set_=told))
