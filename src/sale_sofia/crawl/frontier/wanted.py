"""What a crawl is for: profiles and saved searches by name, and which searches and adverts may fit them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import Connection, bindparam, select

from sale_sofia.buyer.searches import list_searches
from sale_sofia.crawl.frontier.ranking import CARD_FIELDS, Facts, Wish, wish_of_profile, wish_of_search
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
"""The `way` of searches that are the wanted parts of a start."""
_NOTHING_KNOWN: Final = dict.fromkeys(CARD_FIELDS)


class UnknownWish(ValueError):
    """No profile and no saved search has this name; the message lists those there are."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: the names of profiles and searches, and their wishes. Several are a union."""

    names: tuple[str, ...]
    wishes: tuple[Wish, ...]

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Read back what was stored with a job, whatever happened to the profile since."""
        return cls(tuple(stored["names"]), tuple(Wish(**wish) for wish in stored["wishes"]))

    def stored(self) -> dict[str, Any]:
        """As JSON for the database; `of` reads it back."""
        fields: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return fields

    def may_be(self, facts: Facts) -> bool:
        """Whether the known facts of an advert do not rule it out."""
        return any(wish.may_be(facts) for wish in self.wishes)

    def may_hold(self, kind: Kind, place: Neighbourhood | None) -> bool:
        """Whether an advert of this kind in this place may fit."""
        where = {"neighbourhood": place.name, "district": place.district, "city": SOFIA} if place else {}
        return self.may_be({**_NOTHING_KNOWN, "property_type": kind[0], "rooms": kind[1], **where})

    def narrow(self, site: Site, url: str) -> tuple[str, ...]:
        """The parts of this search that can hold what is wanted: the search itself, some parts, or none."""
        least = [wish.least.get("price_eur") for wish in self.wishes]
        most = [wish.most.get("price_eur") for wish in self.wishes]
        bounds = (
            min((bound for bound in least if bound is not None), default=None) if None not in least else None,
            max((bound for bound in most if bound is not None), default=None) if None not in most else None,
        )
        return narrow_search(url, get_scraper(site.name).config.split, SearchFilter(self.may_hold, *bounds))

    def leaves(self, site: Site, start_urls: Sequence[str]) -> bool:
        """Whether any of these starts can hold what is wanted; single adverts always can."""
        return any(site.kind_of(url) != "search" or self.narrow(site, url) for url in start_urls)


def find_wanted(connection: Connection, data_dir: Path, names: Sequence[str]) -> Wanted:
    """What the profiles and saved searches of these names look for; a name of both means both.

    Raises:
        UnknownWish: neither has one of them.
        ProfileError, WrongSearch: one of them cannot be used.
    """
    cleaned = tuple(dict.fromkeys(" ".join(name.split()) for name in names))
    return Wanted(cleaned, tuple(wish for name in cleaned for wish in _wishes(connection, data_dir, name)))


def _wishes(connection: Connection, data_dir: Path, name: str) -> Iterator[Wish]:
    from sale_sofia.advice.scoring.profile import load_profile, profile_names  # noqa: PLC0415 - large, as the next
    from sale_sofia.advice.search.query import SearchQuery  # noqa: PLC0415

    profiles, saved = profile_names(data_dir), {search.name: search for search in list_searches(connection)}
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


def find_unwanted(connection: Connection, job_id: str, site: str, cards: Sequence[SeenCard]) -> set[str]:
    """The ids of the adverts on these cards that the job has no reason to open.

    For one that was opened before, its page's facts count too: a card may be another advert's.
    """
    wanted = wanted_of(connection, job_id)
    if wanted is None:
        return set()
    query = select(listings.c.external_id, *(listings.c[name] for name in CARD_FIELDS)).where(
        listings.c.site == site,
        listings.c.external_id.in_(sorted(card.external_id for card in cards)),
        listings.c.closed_at.is_(None),
    )
    rows = {row["external_id"]: row for row in connection.execute(query).mappings()}
    return {card.external_id for card in cards if not _may_be(wanted, card, rows.get(card.external_id, {}))}


def _may_be(wanted: Wanted, card: SeenCard, row: Facts) -> bool:
    stored = {**_NOTHING_KNOWN, **row}
    on_card = {name: value for name, value in card.said.items() if name in CARD_FIELDS and value is not None}
    return wanted.may_be({**stored, **on_card}) or (bool(row) and wanted.may_be(stored))
