"""Flats out of a table of adverts in a file (Parquet): matched, their words read, each flat once."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sale_sofia.config.settings import Settings
from sale_sofia.insights.flat_merging import NO_LIST, AdvertRow, merge_flat
from sale_sofia.insights.flats import Flat
from sale_sofia.llm.dictionary import read_description
from sale_sofia.properties.adverts_file import read_adverts
from sale_sofia.properties.fingerprint import PropertyFingerprinter
from sale_sofia.properties.links import Bands
from sale_sofia.properties.matcher import Matcher
from sale_sofia.properties.merger import MERGED
from sale_sofia.properties.records import Adverts

_NOWHERE: Final = {
    "title": None, "vat": None, "seller_kind": None, "lat": None, "lon": None, "gone_at": None,
    "closed_at": None, "first_seen_at": 0.0, "last_seen_at": 0.0, "photo_urls": NO_LIST,
    "new_at": 0.0,
}  # fmt: skip
"""What such a table does not say."""
_LISTS: Final = ("heating", "orientation", "parking", "features", "flags")


def read_file(path: Path, settings: Settings) -> list[Flat]:
    """Every flat of the table, its adverts matched as those of the database are."""
    adverts = list(read_adverts(path))
    groups: dict[int, list[AdvertRow]] = defaultdict(list)
    for number, (fields, group) in enumerate(zip(adverts, _groups(adverts, settings), strict=True), 1):
        groups[group].append(_row(number, fields))
    return [merge_flat(rows[0]["id"], rows) for rows in groups.values()]


def _groups(adverts: list[dict[str, Any]], settings: Settings) -> list[int]:
    records = PropertyFingerprinter(b"").fingerprints(adverts)
    bands = Bands(settings.match_link_probability, settings.match_review_probability)
    found: list[int] = Matcher.of(bands).match(Adverts.of(range(len(adverts)), records)).groups.tolist()
    return found


def _row(number: int, fields: Mapping[str, Any]) -> AdvertRow:
    said = _said(fields["description"])
    empty = {**dict.fromkeys(MERGED), **dict.fromkeys(_LISTS, ())}
    return {**empty, **_NOWHERE, **fields, "id": number, "said": said, "described": bool(said)}


def _said(text: str) -> dict[str, dict[str, Any]]:
    """As the database keeps it: only what is said for sure."""
    return {
        field: one.as_json()
        for field, one in read_description(text).items()
        if one.value is not None and one.status != "conflict"
    }
