"""The merged flats as a table, so that searches and pages read rows and never hold all flats in memory.

The table follows the numbers of changes (`history/revisions.py`): what was touched is merged again. Each
transaction merges what it reads itself, so a row is never replaced by an older one; the last transaction
records the number. If a run is killed, the next one repeats it.
"""

import marshal
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache, partial
from hashlib import blake2b
from importlib.metadata import version as version_of
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter
from sqlalchemy import BindParameter, Connection, Row, bindparam, delete, func, select, text

from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.prices import eur_sqm_of, find_cheaper, price_band
from sale_sofia.flats.rows import ADVERT_NAMES, Group, current_properties, no_collecting, read_groups
from sale_sofia.flats.settings import (
    FLATS_SAVED_AT_ONCE,
    FLATS_VERSION,
    METRES_PER_MINUTE,
    PHOTOS_REMEMBERED,
    PLACES_REMEMBERED,
    ROWS_AT_ONCE,
    TRIES,
)
from sale_sofia.flats.store import portions, rows_of
from sale_sofia.flats.tables import flat_contents, flats, listing_sources
from sale_sofia.geography.imported import stamp
from sale_sofia.geography.settings import WALK_METRES_PER_MINUTE
from sale_sofia.geography.surroundings import Nearby
from sale_sofia.history.revisions import Changes, advance, changes_since, is_at, position, touch
from sale_sofia.history.tables import listings
from sale_sofia.storage.database import Database
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import replace_rows

FOLLOWER: Final = "flats"
NOBODY: Final = "?"
"""Among the sellers: an advert without a kind of seller."""
_CONTENT: Final = TypeAdapter(Flat)
_SEEN, _GONE, _CLOSED = (ADVERT_NAMES.index(name) for name in ("last_seen_at", "gone_at", "closed_at"))
Progress = Callable[[int, int], None]
"""Called with the number of flats done, and of all."""


class FlatsBusy(ValueError):
    """Other processes kept merging flats; the last of them has done the work."""


class _Work(NamedTuple):
    changes: Changes
    property_ids: Sequence[int]


def refresh_flats(database: Database, progress: Progress = lambda _done, _all: None) -> int:
    """Bring the table up to date; returns the number of changed flats. Safe to call concurrently.

    Reads only two rows if nothing was touched.

    Raises:
        FlatsBusy: other processes were always first.
    """
    for _ in range(TRIES):
        work = database.run_read(_find_work)
        if work.changes.upto == work.changes.since and not work.property_ids:
            return 0
        with no_collecting():
            changed = _follow(database, work, progress)
        if changed is not None:
            return changed
    raise FlatsBusy("others were merging flats all the time; try again when they have ended")


def _find_work(connection: Connection) -> _Work:
    changes = changes_since(connection, position(connection, FOLLOWER, _version()), scores=False)
    if changes.since:
        return _Work(changes, sorted(current_properties(connection, changes.listing_ids)))
    every = select(func.coalesce(listing_sources.c.property_id, listings.c.id)).outerjoin(
        listing_sources, listing_sources.c.listing_id == listings.c.id
    )
    stored = connection.scalars(select(flats.c.property_id))
    return _Work(changes, sorted({*connection.scalars(every), *stored}))


def _follow(database: Database, work: _Work, progress: Progress) -> int | None:
    """The number of changed flats; None if another process was first."""
    changed, total = 0, len(work.property_ids)
    for begin in range(0, max(total, 1), FLATS_SAVED_AT_ONCE):
        end = min(begin + FLATS_SAVED_AT_ONCE, total)
        save = partial(_save, changes=work.changes, some=work.property_ids[begin:end], last=end == total)
        done = database.run_write(save)
        if done is None:
            return None
        changed += done
        progress(end, total)
    return changed


def _save(connection: Connection, changes: Changes, some: Sequence[int], *, last: bool) -> int | None:
    if connection.dialect.name == "postgresql":  # SQLite has one writer; here the second waits
        connection.execute(text("LOCK TABLE flats IN SHARE ROW EXCLUSIVE MODE"))
    if not is_at(connection, FOLLOWER, _version(), changes.since):
        return None
    if last and not advance(connection, FOLLOWER, _version(), changes):
        return None
    stored_digests = select(flats.c.property_id, flats.c.digest)
    digests = {row[0]: row[1] for row in rows_of(connection, stored_digests, flats.c.property_id, some)}
    there, rows, contents = set(), [], []
    for group in read_groups(connection, some, photos=True):
        there.add(group.property_id)
        if (digest := _digest(group)) != digests.get(group.property_id):
            flat = group.merged(PHOTOS_REMEMBERED)
            rows.append((flat.property_id, digest, changes.upto, *searched(flat)))
            stored = _CONTENT.dump_json(flat, exclude_defaults=True).decode()
            contents.append((flat.property_id, stored))
    replace_rows(connection, flats, rows)
    replace_rows(connection, flat_contents, contents)
    if not changes.since:  # other rules: nobody touched these flats, and scores and alerts follow touches
        touch(connection, [row[0] for row in rows if row[0] in digests])
    gone = sorted(digests.keys() - there)
    for table in (flats, flat_contents):
        for ids in portions(gone):
            connection.execute(delete(table).where(table.c.property_id.in_(ids)))
    return len(rows) + len(gone)


@cache
def _version() -> str:
    """A digest of everything but the adverts that a row depends on; each release merges all flats again."""
    names = ([field.name for field in fields(Flat)], [field.name for field in fields(Advert)], ADVERT_NAMES)
    by = (FLATS_VERSION, version_of("sale-sofia"), names, flats.c.keys())
    return blake2b(repr(by).encode(), digest_size=16).hexdigest()


def _digest(group: Group) -> str:
    """A digest of all that the flat is made of, of the rules and of the imported places.

    Seeing an offered advert again in the same year does not change it.
    """
    adverts = sorted(map(_without_sight, (row["stored"] for row in group.rows)))
    outliers = [group.beside.outliers.get(row[0]) for row in adverts]
    beside = repr((_version(), outliers, group.beside.corrected, stamp()))
    # Rows of plain values: much faster than repr, and equal for equal values in this version of the format.
    content = marshal.dumps((adverts, beside), 2)
    return blake2b(content, digest_size=16).hexdigest()


def _without_sight(row: Row[Any]) -> tuple[Any, ...]:
    columns = tuple(row)
    if columns[_GONE] is not None or columns[_CLOSED] is not None:
        return columns
    return (*columns[:_SEEN], time.gmtime(columns[_SEEN]).tm_year, *columns[_SEEN + 1 :])


# The columns by which flats are searched and sorted.


def searched(flat: Flat) -> tuple[Any, ...]:
    """The values of the columns of `flats` after the first three, in order."""
    price, cheaper, counting = price_band(flat), find_cheaper(flat), flat.counting
    found = {
        **dict(zip(_ALIKE, _ALIKE_OF(flat), strict=True)),
        **dict(zip(("price_least", "price_most"), price or (None, None), strict=True)),
        **_walk(flat),
        **_nearby(flat.nearby),
        "eur_sqm": eur_sqm_of(price, flat.area_sqm),
        "heating": barred(flat.heating),
        "orientation": barred(flat.orientation),
        "act": flat.act,
        "balcony": True if flat.balconies else flat.has_balcony,
        "parking": set(flat.parking) != {"street"} if flat.parking else None,
        "since_at": flat.since.at,
        "gone_at": None if flat.offered else flat.last_seen_at,
        "without_vat": "price_without_vat" in flat.traps,
        "saving_eur": cheaper.saving_eur if cheaper else None,
        "sites": barred(sorted({advert.site for advert in counting})),
        "sellers": barred(sorted({advert.seller_kind or NOBODY for advert in counting})),
        "flags": barred(sorted(flat.flags)),
        "contradicted": bool(flat.contradictions),
        "traps": barred(sorted(flat.traps)) if flat.traps else None,
    }
    return _IN_ORDER(found)


def _walk(flat: Flat) -> dict[str, float | None]:
    """The walk to the metro in minutes and metres; metres that an advert states stay as stated."""
    walk = flat.metro_walk
    if walk is None:
        return dict.fromkeys(("metro_least", "metro_most", "metro_metres_least", "metro_metres_most"))
    metres = [walk.least * WALK_METRES_PER_MINUTE, walk.most * WALK_METRES_PER_MINUTE]
    if walk.source == "advert":
        stated = flat.metro_distance_m
        metres = [walk.most * METRES_PER_MINUTE if stated is None else stated] * 2
    return {
        "metro_least": walk.least,
        "metro_most": walk.most,
        "metro_metres_least": metres[0],
        "metro_metres_most": metres[1],
    }


@lru_cache(maxsize=PLACES_REMEMBERED)
def _nearby(near: Nearby) -> Mapping[str, int | str | None]:
    """Ranges of the minutes to what is near, the school's rank and the road's class; and lines.

    The flats of a neighbourhood share them.
    """
    ranges: dict[str, tuple[int, int] | None] = {
        "school": near.school and near.school[:2],
        "rank": near.school and near.school.ranks,
        "shop": near.shop and near.shop[:2],
        "stop": near.stop and near.stop[:2],
        "road": near.road,
    }
    return {
        **{
            f"{name}_{end}": found[place] if found else None
            for name, found in ranges.items()
            for place, end in enumerate(("least", "most"))
        },
        "lines": barred(near.stop.lines) if near.stop else None,
        "some_lines": barred(near.stop.some_lines) if near.stop else None,
    }


def barred(values: Iterable[str]) -> str:
    """Several values as one text that can be searched for each."""
    return "|".join(("", *values, ""))


_SEARCHED: Final = flats.c.keys()[3:]
_IN_ORDER: Final[Callable[[Mapping[str, Any]], tuple[Any, ...]]] = itemgetter(*_SEARCHED)
_ALIKE: Final = tuple(field.name for field in fields(Flat) if field.name in _SEARCHED)
_ALIKE_OF: Final[Callable[[Flat], tuple[Any, ...]]] = attrgetter(*_ALIKE)


# Reading flats from the table.


def flat_changes(connection: Connection, since: int, *, scores: bool = True) -> Changes:
    """What was touched after this number, as far as the table includes it: for followers of the table."""
    changes = changes_since(connection, since, scores=scores)
    return changes._replace(upto=max(since, position(connection, FOLLOWER, _version())))


def load_flats(connection: Connection, property_ids: Collection[int] | None = None) -> Iterator[Flat]:
    """Every flat, or these, from the table, with one photo; `last_seen_at` is current."""
    if property_ids is None:
        chosen = select(flat_contents.c.content).order_by(flat_contents.c.property_id)
        stream = chosen.execution_options(yield_per=ROWS_AT_ONCE)
        for some in connection.scalars(stream).partitions():
            yield from _decoded(connection, some)
        return
    for ids in portions(sorted(property_ids)):
        yield from _decoded(connection, [row[0] for row in _CONTENTS.rows(connection, {"ids": ids})])


def _decoded(connection: Connection, contents: Sequence[str]) -> list[Flat]:
    found = [_CONTENT.validate_json(content) for content in contents]
    adverts = {advert.listing_id: advert for flat in found for advert in flat.adverts}
    for ids in portions(sorted(adverts)):
        for listing_id, last_seen_at in _SEEN_AT.rows(connection, {"ids": ids}):
            adverts[listing_id].last_seen_at = last_seen_at
    for flat in found:
        flat.last_seen_at = max([advert.last_seen_at for advert in flat.adverts])
    return found


_IDS: Final[BindParameter[Any]] = bindparam("ids", expanding=True)
_CONTENTS: Final = Quick(select(flat_contents.c.content).where(flat_contents.c.property_id.in_(_IDS)))
_SEEN_AT: Final = Quick(select(listings.c.id, listings.c.last_seen_at).where(listings.c.id.in_(_IDS)))
