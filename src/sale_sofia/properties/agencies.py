"""Agencies: one line for each, whatever it calls itself on each portal, and private sellers who are none."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from sale_sofia.config.settings import Settings
from sale_sofia.data.agencies import seller_rows
from sale_sofia.properties.merger import is_offered
from sale_sofia.properties.sellers import agency_of

Row = Mapping[Any, Any]


@dataclass(slots=True)
class Agency:
    """A seller with all its adverts."""

    key: str
    private: bool
    names: Counter[str] = field(default_factory=Counter)
    phones: Counter[str] = field(default_factory=Counter)
    portals: set[str] = field(default_factory=set)
    properties: set[int] = field(default_factory=set)
    adverts: int = 0
    offered: int = 0
    mark: str | None = None
    """Why a private seller is probably none."""

    @property
    def name(self) -> str:
        """As it is printed most often; a private seller has only a phone."""
        return min(self.names, key=lambda name: (-self.names[name], name)) if self.names else self.key

    @property
    def reposts(self) -> int:
        """Adverts beyond the first of each property."""
        return self.adverts - len(self.properties)

    def add(self, row: Row) -> None:
        """One more advert of it."""
        self.names.update([row["seller_name"]] if row["seller_name"] else [])
        self.phones.update(row["phones"])
        self.portals.add(row["site"])
        self.properties.add(row["property_id"])
        self.adverts += 1
        self.offered += is_offered(row)

    def as_json(self) -> dict[str, Any]:
        """All of it, plainly."""
        return {
            "name": self.name,
            "names": sorted(self.names),
            "private": self.private,
            "phones": sorted(self.phones),
            "portals": sorted(self.portals),
            "adverts": self.adverts,
            "offered": self.offered,
            "properties": len(self.properties),
            "reposts": self.reposts,
            "mark": self.mark,
        }


def list_agencies(connection: Connection, settings: Settings) -> list[Agency]:
    """All sellers, those with most adverts first; private ones with too many flats are marked."""
    sellers = gather(seller_rows(connection))
    _mark(sellers, settings.private_seller_flats)
    return sorted(sellers, key=lambda one: (-one.adverts, one.key))


def gather(rows: Iterable[Row]) -> list[Agency]:
    """Adverts by seller: an agency by its name, a private person by the phone; without either by nobody."""
    found: dict[tuple[str, bool], Agency] = {}
    for row in rows:
        for key, private in _sellers(row):
            found.setdefault((key, private), Agency(key, private)).add(row)
    return list(found.values())


def _sellers(row: Row) -> Iterator[tuple[str, bool]]:
    if row["seller_kind"] == "private":
        yield from ((phone, True) for phone in row["phones"])
    elif agency := agency_of(row):
        yield agency, False


def _mark(sellers: Iterable[Agency], many: int) -> None:
    of_agencies: dict[str, list[str]] = defaultdict(list)
    everybody = list(sellers)
    for one in everybody:
        for phone in () if one.private else one.phones:
            of_agencies[phone].append(one.name)
    for one in everybody:
        if one.private and len(one.properties) >= many:
            one.mark = f"sells {len(one.properties)} properties"
        elif one.private and (names := of_agencies.get(one.key)):
            one.mark = f"the phone of {', '.join(sorted(names))}"
