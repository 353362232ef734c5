"""A portal's answers judged in a process of their own: one that cannot be read costs its row and no more."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sale_sofia.config.reading import DESK_SLACK_BYTES, PAGE_PATIENCE
from sale_sofia.config.settings import Settings
from sale_sofia.fetching.base import Response
from sale_sofia.listings.raw import FieldSeen
from sale_sofia.resilience.errors import ParseHostile, ServiceError
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.judging import Judge
from sale_sofia.scraping.outcomes import Found, Gone, NotModified, Read
from sale_sofia.services.apart import Apart, EndedApart
from sale_sofia.services.apart_process import Bounds
from sale_sofia.websites.base import Site

_MEGABYTE = 1_000_000
_Told = tuple[str, str, str, int, dict[str, str], datetime]
_Outcome = Found | Read | NotModified | Gone


def page_bounds(settings: Settings) -> Bounds:
    """What the settings let the reading of one page cost."""
    return Bounds(
        seconds=settings.page_seconds,
        patience=settings.page_seconds * PAGE_PATIENCE,
        memory=settings.page_memory_mb * _MEGABYTE,
        desk=settings.max_page_bytes + DESK_SLACK_BYTES,
    )


class JudgeApart:
    """A `Judge` whose work can be ended: a page never holds up another portal, nor a signal."""

    def __init__(self, judge: Judge, bounds: Bounds) -> None:
        self._judge = judge
        self._apart = Apart(partial(_judged, judge), bounds)

    @property
    def site(self) -> Site:
        """The portal."""
        return self._judge.site

    async def outcome(self, claim: Claim, response: Response, now: datetime) -> _Outcome:
        """What the answer says.

        Raises:
            ParseHostile: to read it took longer, or more memory, than a page may.
            CrawlError: it is not the page asked for, or cannot be read.
        """
        if not response.body:  # nothing to read, as of a page that was not modified
            return self._judge.outcome(claim, response, now)
        try:
            return _unpacked(claim, await self._apart.do(_told(claim, response, now), response.body))
        except EndedApart as why:
            error = ParseHostile(f"reading the page was ended: {why}")
            error.status = response.status
            raise error from None
        except OSError as problem:
            raise ServiceError(f"no process to read pages in: {problem}") from problem

    def close(self) -> None:
        """Read no more; a page in hand is left."""
        self._apart.close()


# What goes to and fro is plain, for it is packed and unpacked with every page: the claim stays here.


def _told(claim: Claim, response: Response, now: datetime) -> _Told:
    return claim.kind, claim.url, response.url, response.status, dict(response.headers), now


def _judged(judge: Judge, told: _Told, body: bytes) -> tuple[Any, ...] | _Outcome:
    kind, asked, url, status, headers, now = told
    outcome = judge.outcome(Claim(0, kind, asked, 0, 0), Response(url, status, headers, body, 0.0), now)
    if isinstance(outcome, Read):
        return outcome.listing, outcome.etag, outcome.last_modified, _alike(outcome.seen)
    return outcome


def _alike(seen: Mapping[str, FieldSeen]) -> dict[str, FieldSeen]:
    """The same with one object for all that are equal: a pickle holds it once."""
    known: dict[FieldSeen, FieldSeen] = {}
    return {name: known.setdefault(one, one) for name, one in seen.items()}


def _unpacked(claim: Claim, packed: tuple[Any, ...] | _Outcome) -> _Outcome:
    return Read(claim, *packed) if isinstance(packed, tuple) else replace(packed, claim=claim)
