"""Requested photos: each is stored at once with the number of its picture; its advert is matched again."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, func, select, update

from sale_sofia.flats.matching.candidates import find_candidates
from sale_sofia.flats.matching.clustering import evidence_families
from sale_sofia.flats.matching.comparison import PairComparison, load_weights
from sale_sofia.flats.matching.fingerprint import Adverts
from sale_sofia.flats.photos.pictures import Hashes, alike, unpacked
from sale_sofia.flats.settings import (
    AREA_TOLERANCE,
    CODE_CHARACTERS,
    MOST_REMEMBERED,
    MOST_TRIES,
    PAIRS_AT_ONCE,
    STOCK_FLATS,
)
from sale_sofia.flats.store import OFFERED, portions, read_decisions, read_fingerprints, rows_of, sources_of
from sale_sofia.flats.tables import advert_photos, match_fingerprints
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.storage.upserts import insert_into


class PhotoResult(NamedTuple):
    """The result of requesting one photo of an advert."""

    listing_id: int
    position: int
    url: str
    requests: int
    """Requests sent this time, redirects included."""
    code: str | None = None
    """Why there is no picture."""
    again: bool = False
    """Whether another try may succeed."""
    signature: bytes | None = None
    thumbnail: bytes | None = None


class StoredPhoto(NamedTuple):
    """A photo as it is stored."""

    url: str
    picture: int | None
    is_settled: bool
    """Whether it need not be requested again."""


@dataclass(slots=True)
class Gallery:
    """The newest stored pictures, with which a new one is compared."""

    numbers: list[int] = field(default_factory=list)
    hashes: list[Hashes] = field(default_factory=list)

    @classmethod
    def read(cls, connection: Connection) -> "Gallery":
        """Load the newest stored pictures."""
        chosen = (
            select(advert_photos.c.picture, advert_photos.c.signature)
            .where(advert_photos.c.picture.is_not(None))
            .order_by(advert_photos.c.id.desc())
            .limit(MOST_REMEMBERED)
        )
        rows = connection.execute(chosen).all()
        return cls([row[0] for row in rows], [unpacked([row[1] for row in rows])] if rows else [])

    def find(self, signature: bytes) -> int | None:
        """The number of the nearest picture that this is a copy of; None: a new one."""
        if not self.numbers:
            return None
        self.hashes = [np.concatenate(self.hashes)]
        bits = alike(unpacked([signature])[0], self.hashes[0])
        copies = np.flatnonzero(bits >= 0)
        return self.numbers[copies[np.argmin(bits[copies])]] if len(copies) else None

    def add(self, number: int, signature: bytes) -> None:
        """Add a picture."""
        self.numbers.append(number)
        self.hashes.append(unpacked([signature]))


_NOT_REPLACED = frozenset({"listing_id", "position", "requests"})


class SavedPicture(NamedTuple):
    """The number of a picture, and whether it is a stock picture, of no particular flat."""

    picture: int
    stock: bool


def save_photo(
    connection: Connection, photo: PhotoResult, number: int | None, *, now: float
) -> SavedPicture | None:
    """Store the result of a request; returns its picture, if any, under this number or a new one.

    Matching treats the advert as changed, and all adverts with this picture if it turns out to be a stock
    picture. All in one transaction: whatever happens next, this photo is not requested again.
    """
    there = (advert_photos.c.listing_id == photo.listing_id, advert_photos.c.position == photo.position)
    before = connection.scalar(select(advert_photos.c.picture).where(*there))
    values = photo._asdict() | {"asked_at": now, "picture": None, "stock": False}
    values["code"] = photo.code and photo.code[:CODE_CHARACTERS]
    new = insert_into(connection, advert_photos).values(**values)
    replaced = {name: new.excluded[name] for name in values if name not in _NOT_REPLACED}
    requests = {"requests": advert_photos.c.requests + photo.requests}
    place = ["listing_id", "position"]
    upsert = new.on_conflict_do_update(index_elements=place, set_={**replaced, **requests})
    photo_id = connection.execute(upsert.returning(advert_photos.c.id)).scalar_one()
    news = set[int]()
    if before is not None:  # another photo was there
        news |= {photo.listing_id, *_judge_stock(connection, before)[1]}
    saved = None
    if photo.signature is not None:
        picture = photo_id if number is None else number
        connection.execute(update(advert_photos).where(*there).values(picture=picture))
        stock, changed = _judge_stock(connection, picture)
        news |= {photo.listing_id, *changed}
        saved = SavedPicture(picture, stock)
    # These adverts are matched again though their content did not change
    for some in portions(sorted(news)):
        stale = update(match_fingerprints).where(match_fingerprints.c.listing_id.in_(some))
        connection.execute(stale.values(content_hash=""))
    touch(connection, news)
    return saved


def _judge_stock(connection: Connection, picture: int) -> tuple[bool, set[int]]:
    """Mark all copies of a picture as stock or not; returns that, and the adverts for which it changed."""
    columns = (advert_photos.c.listing_id, advert_photos.c.stock, listings.c.area_sqm, listings.c.floor)
    chosen = select(*columns).join(listings, listings.c.id == advert_photos.c.listing_id)
    rows = connection.execute(chosen.where(advert_photos.c.picture == picture).order_by(listings.c.id)).all()
    stock = count_flats((row.area_sqm, row.floor) for row in rows) > STOCK_FLATS
    copies = update(advert_photos).where(advert_photos.c.picture == picture)
    connection.execute(copies.values(stock=stock))
    return stock, {row.listing_id for row in rows if row.stock != stock}


def count_flats(facts: Iterable[tuple[float | None, int | None]]) -> int:
    """The least number of flats with these areas and floors: those that contradict each other."""
    flats: list[tuple[float | None, int | None]] = []
    # Those with missing values contradict nobody, so they come last.
    for printed in sorted(facts, key=lambda fact: (fact[1] is None, fact[0] is None)):
        if all(_contradict(printed, other) for other in flats):
            flats.append(printed)
    return len(flats)


def _contradict(facts: tuple[float | None, int | None], others: tuple[float | None, int | None]) -> bool:
    (area, floor), (other_area, other_floor) = facts, others
    if floor is not None and other_floor is not None and floor != other_floor:
        return True
    return bool(area and other_area and abs(area - other_area) > AREA_TOLERANCE * max(area, other_area))


def stored_photos(connection: Connection, listing_ids: Collection[int]) -> dict[int, dict[int, StoredPhoto]]:
    """The stored photos of these adverts, by advert and position."""
    found: dict[int, dict[int, StoredPhoto]] = {}
    for row in rows_of(connection, select(advert_photos), advert_photos.c.listing_id, listing_ids):
        is_settled = not row.again or row.requests >= MOST_TRIES
        photo = StoredPhoto(row.url, row.picture, is_settled)
        found.setdefault(row.listing_id, {})[row.position] = photo
    return found


def pictures_by_advert(connection: Connection, ids: Sequence[int] | None = None) -> dict[int, list[int]]:
    """The numbers of the pictures of these adverts, or of all, without stock pictures."""
    query = select(advert_photos.c.listing_id, advert_photos.c.picture).where(
        advert_photos.c.picture.is_not(None), advert_photos.c.stock.is_(False)
    )
    found: dict[int, list[int]] = {}
    for listing_id, picture in rows_of(connection, query, advert_photos.c.listing_id, ids):
        found.setdefault(listing_id, []).append(picture)
    return found


def stock_pictures(connection: Connection) -> set[int]:
    """The numbers of all stock pictures."""
    query = select(advert_photos.c.picture).where(advert_photos.c.stock.is_(True)).distinct()
    return {int(picture) for picture in connection.scalars(query)}


def requests_left(connection: Connection, share: float) -> int:
    """How many photos may still be requested: `share` for each stored advert, less those sent."""
    adverts = connection.scalar(select(func.count()).select_from(listings)) or 0
    sent = connection.scalar(select(func.sum(advert_photos.c.requests))) or 0
    return max(0, int(share * adverts) - int(sent))


# Pairs of adverts that may be one flat and are not linked: their photos are worth requesting.


class Doubt(NamedTuple):
    """Two adverts of two properties, and how likely they are one."""

    low: int
    high: int
    probability: float


def find_doubts(connection: Connection, least: float) -> list[Doubt]:
    """All pairs of at least this probability that the buyer has not decided, the likeliest first.

    Only adverts on offer in finished buildings: others have no photos of their own. These are more pairs than
    in the review queue, which has only those with two kinds of evidence.
    """
    adverts = Adverts.of_bytes(*read_fingerprints(connection))
    adverts = adverts.take(np.flatnonzero(np.isin(adverts.ids, _with_photos(connection))))
    candidates = find_candidates(adverts)
    likely: list[Doubt] = []
    for begin in range(0, len(candidates.left), PAIRS_AT_ONCE):
        rows = (side[begin : begin + PAIRS_AT_ONCE] for side in (candidates.left, candidates.right))
        likely += _likely(PairComparison(adverts, *rows), least)
    spoken = read_decisions(connection)
    ids = sorted({listing_id for doubt in likely for listing_id in (doubt.low, doubt.high)})
    homes = {source.listing_id: source.property_id for source in sources_of(connection, ids)}
    undecided = (
        doubt
        for doubt in likely
        if homes.get(doubt.low) != homes.get(doubt.high) and (doubt.low, doubt.high) not in spoken
    )
    return sorted(undecided, key=lambda doubt: (-doubt.probability, doubt.low, doubt.high))


def _with_photos(connection: Connection) -> list[int]:
    stands = listings.c.under_construction.is_not(True)
    return list(connection.scalars(select(listings.c.id).where(OFFERED, stands)))


def _likely(pairs: PairComparison, least: float) -> list[Doubt]:
    allowed = ~pairs.vetoed
    pairs = PairComparison(pairs.adverts, pairs.left[allowed], pairs.right[allowed])
    probability = 1.0 / (1.0 + np.exp(-load_weights().log_odds(pairs)))
    chosen = (probability >= least) & (evidence_families(pairs) > 0)
    ids = pairs.adverts.ids
    columns = (ids[pairs.left[chosen]], ids[pairs.right[chosen]], probability[chosen])
    return [Doubt(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
