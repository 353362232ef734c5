"""The fair-price model tried on a table of adverts in a file: how accurate it would be."""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sale_sofia.advice.valuation.flats import comparable_flats
from sale_sofia.advice.valuation.model import JudgedModel, fit_and_judge, judge_apart, neighbourhood_of
from sale_sofia.advice.valuation.valuation import enough
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.flats.contradictions import merge_flat
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.matching.clustering import Bands, Matcher
from sale_sofia.flats.matching.files import read_adverts
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter
from sale_sofia.flats.merging import MERGED, NO_LIST, AdvertRow
from sale_sofia.settings.model import Settings

# Flats from a table of adverts in a file (Parquet): matched, descriptions read, each flat once.

NOWHERE: Final[Mapping[str, Any]] = {
    **dict.fromkeys(MERGED), **dict.fromkeys(("heating", "orientation", "parking"), ()),
    **dict.fromkeys(("features", "flags"), frozenset()),
    "title": None, "vat": None, "seller_kind": None, "lat": None, "lon": None, "gone_at": None,
    "closed_at": None, "first_seen_at": 0.0, "last_seen_at": 0.0, "photo_urls": NO_LIST,
    "new_at": 0.0, "generation": 1, "family_id": None, "posted_at": None, "closed_reason": None,
}  # fmt: skip
"""Values for the columns that such a table does not have."""


def read_file(path: Path, settings: Settings) -> list[Flat]:
    """Every flat of the table, its adverts matched as those of the database are."""
    adverts = list(read_adverts(path))
    records = PropertyFingerprinter(b"").fingerprints(adverts)
    bands = Bands(settings.match_link_probability, settings.match_review_probability)
    matched: list[int] = Matcher.of(bands).match(Adverts.of(range(len(adverts)), records)).groups.tolist()
    groups: dict[int, list[AdvertRow]] = defaultdict(list)
    for number, (fields, group) in enumerate(zip(adverts, matched, strict=True), 1):
        attributes = {  # as the database stores it: only what the description states for sure
            field: attribute.as_json()
            for field, attribute in read_description(fields["description"]).items()
            if attribute.value is not None and attribute.status != "conflict"
        }
        row = {**NOWHERE, **fields, "id": number, "said": attributes, "described": bool(attributes)}
        groups[group].append(row)
    return [merge_flat(rows[0]["id"], rows) for rows in groups.values()]


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """The result of a trial."""

    flats: int
    """Flats in the file; those with a price, an area and a place are judged."""
    judged: JudgedModel
    elsewhere: JudgedModel | None
    """With whole neighbourhoods left out; None where the file has too few of them."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "flats": self.flats,
            **self.judged.as_json(),
            "neighbourhoods_left_out": self.elsewhere and self.elsewhere.as_json(),
            "seconds": round(self.seconds, 1),
        }


def try_file(path: Path, settings: Settings) -> ModelTrial:
    """Match the adverts, fit and judge, each flat by a forest that has not seen it.

    Raises:
        AdvertsFileError: the file is no table of adverts.
        TooFewFlats: it has too few flats with a price, an area and a place.
    """
    started = time.perf_counter()
    flats = read_file(path, settings)
    usable = enough(comparable_flats(flats, seen_since=0.0, most=settings.valuation_most_flats), settings)
    judged, elsewhere = fit_and_judge(usable), judge_apart(usable, neighbourhood_of)
    return ModelTrial(len(flats), judged, elsewhere, time.perf_counter() - started)
