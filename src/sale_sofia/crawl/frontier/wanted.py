"""What a crawl is for: profiles and saved searches by name, and which searches and adverts that leaves."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import Connection, bindparam, select

from sale_sofia.buyer.searches import list_searches
from sale_sofia.crawl.frontier.ranking import TOLD, Told, Wish, wish_of_profile, wish_of_search
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.tables import listings
from sale_sofia.listings.places import SOFIA, Neighbourhood
from sale_sofia.settings.words import Said
from sale_sofia.storage.quick import Quick
from sale_sofia.websites.base import Site
from sale_sofia.websites.narrowing import Kind, SearchFilter, narrow_search
from sale_sofia.websites.registry import get_scraper

NARROWED: Final = "looks_for"
"""How a search was cut of which only a part is looked for."""
_NOTHING_KNOWN: Final = dict.fromkeys(TOLD)


class UnknownWish(ValueError):
    """No profile and no saved search has this name; the text says which there are."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: by whose names, and what it asks of a card. Several are a union."""

    names: tuple[str, ...]
    wishes: tuple[Wish, ...]

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """As it was stored with its job, whatever became of the profile since."""
        return cls(tuple(stored["names"]), tuple(Wish(**one) for one in stored["wishes"]))

    def stored(self) -> dict[str, Any]:
        """What is kept of it, as JSON; `of` is the way back."""
        kept: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return kept

    def may_be(self, told: Told) -> bool:
        """Whether what is known of an advert leaves it open that somebody looks for it."""
        return any(wish.may_be(told) for wish in self.wishes)

    def may_hold(self, kind: Kind, place: Neighbourhood | None) -> bool:
        """Whether somebody may look for something of this kind in this place."""
        where = {"neighbourhood": place.name, "district": place.district, "city": SOFIA} if place else {}
        return self.may_be({**_NOTHING_KNOWN, "property_type": kind[0], "rooms": kind[1], **where})

    def narrow(self, site: Site, url: str) -> tuple[str, ...]:
        """The searches that can hold it of this one, which may be the search itself, or none."""
        least = [wish.least.get("price_eur") for wish in self.wishes]
        most = [wish.most.get("price_eur") for wish in self.wishes]
        bounds = (
            min((one for one in least if one is not None), default=None) if None not in least else None,
            max((one for one in most if one is not None), default=None) if None not in most else None,
        )
        return narrow_search(url, get_scraper(site.name).config.split, SearchFilter(self.may_hold, *bounds))

    def leaves(self, site: Site, start_urls: Sequence[str]) -> bool:
        """Whether anything of these starts can be looked for; single adverts always."""
        return any(site.kind_of(url) != "search" or self.narrow(site, url) for url in start_urls)


def find_wanted(connection: Connection, data_dir: Path, names: Sequence[str]) -> Wanted:
    """What the profiles and saved searches of these names look for; where both have a name, both.

    Raises:
        UnknownWish: neither has one of them.
        ProfileError, WrongSearch: one of them cannot be used.
    """
    given = tuple(dict.fromkeys(" ".join(name.split()) for name in names))
    return Wanted(given, tuple(wish for name in given for wish in _wishes(connection, data_dir, name)))


def _wishes(connection: Connection, data_dir: Path, name: str) -> Iterator[Wish]:
    from sale_sofia.advice.scoring.profile import load_profile, profile_names  # noqa: PLC0415 - large, as the next
    from sale_sofia.advice.search.query import SearchQuery  # noqa: PLC0415

    profiles, saved = profile_names(data_dir), {one.name: one for one in list_searches(connection)}
    if name not in profiles and name not in saved:
        raise UnknownWish(
            Said("wrong_wish.unknown", name=name, profiles=profiles, searches=sorted(saved) or "-")
        )
    if name in profiles:
        yield wish_of_profile(load_profile(data_dir, name))
    if name in saved:
        yield wish_of_search(SearchQuery.of(saved[name].query))


_LOOKS_FOR = Quick(select(jobs.c.looks_for).where(jobs.c.id == bindparam("of_job")))


def wanted_of(connection: Connection, job_id: str) -> Wanted | None:
    """What a job is for; None for one that is for everything."""
    stored = next((row[0] for row in _LOOKS_FOR.rows(connection, {"of_job": job_id})), None)
    return None if stored is None else Wanted.of(stored)


def unwanted(connection: Connection, job_id: str, site: str, shown: Sequence[SeenCard]) -> set[str]:
    """Of the adverts on these cards, those that the job has no reason to open.

    One that was opened before is wanted by what its page said, too: a card may be another advert's.
    """
    wanted = wanted_of(connection, job_id)
    if wanted is None:
        return set()
    known = select(listings.c.external_id, *(listings.c[name] for name in TOLD)).where(
        listings.c.site == site,
        listings.c.external_id.in_(sorted(card.external_id for card in shown)),
        listings.c.closed_at.is_(None),
    )
    rows = {row["external_id"]: row for row in connection.execute(known).mappings()}
    return {card.external_id for card in shown if not _may_be(wanted, card, rows.get(card.external_id, {}))}


def _may_be(wanted: Wanted, card: SeenCard, row: Told) -> bool:
    stored = {**_NOTHING_KNOWN, **row}
    said = {name: value for name, value in card.said.items() if name in TOLD and value is not None}
    return wanted.may_be({**stored, **said}) or (bool(row) and wanted.may_be(stored))
