"""Pairs of adverts that may be one flat and are not linked: of these photos are worth asking for."""

from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from sale_sofia.flats.matching.candidates import find_candidates
from sale_sofia.flats.matching.comparison import Comparison, load_weights
from sale_sofia.flats.matching.fingerprint import Adverts
from sale_sofia.flats.matching.links import evidence_families
from sale_sofia.flats.settings import PAIRS_AT_ONCE
from sale_sofia.flats.store import read_decisions, read_fingerprints, sources_of
from sale_sofia.history.tables import listings


class Doubt(NamedTuple):
    """Two adverts of two properties, and how likely they are one."""

    low: int
    high: int
    probability: float


def find_doubts(connection: Connection, least: float) -> list[Doubt]:
    """All of this probability or more, the likeliest first; none of which the buyer has spoken.

    Of adverts that are offered and whose building stands: others have no photos of their own.
    More than the review queue holds: there a person looks, and only at what two kinds of evidence speak for.
    """
    adverts = Adverts.of_bytes(*read_fingerprints(connection))
    adverts = adverts.take(np.flatnonzero(np.isin(adverts.ids, _with_photos(connection))))
    found = find_candidates(adverts)
    likely: list[Doubt] = []
    for begin in range(0, len(found.one), PAIRS_AT_ONCE):
        rows = (side[begin : begin + PAIRS_AT_ONCE] for side in (found.one, found.two))
        likely += _likely(Comparison(adverts, *rows), least)
    spoken = read_decisions(connection)
    ids = sorted({one for doubt in likely for one in (doubt.low, doubt.high)})
    homes = {source.listing_id: source.property_id for source in sources_of(connection, ids)}
    open_ones = (
        doubt
        for doubt in likely
        if homes.get(doubt.low) != homes.get(doubt.high) and (doubt.low, doubt.high) not in spoken
    )
    return sorted(open_ones, key=lambda doubt: (-doubt.probability, doubt.low, doubt.high))


def _with_photos(connection: Connection) -> list[int]:
    offered = (listings.c.gone_at.is_(None), listings.c.closed_at.is_(None))
    stands = listings.c.under_construction.is_not(True)
    return list(connection.scalars(select(listings.c.id).where(*offered, stands)))


def _likely(pairs: Comparison, least: float) -> list[Doubt]:
    allowed = ~pairs.vetoed
    pairs = Comparison(pairs.adverts, pairs.one[allowed], pairs.two[allowed])
    probability = 1.0 / (1.0 + np.exp(-load_weights().log_odds(pairs)))
    chosen = (probability >= least) & (evidence_families(pairs) > 0)
    ids = pairs.adverts.ids
    columns = (ids[pairs.one[chosen]], ids[pairs.two[chosen]], probability[chosen])
    return [Doubt(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
