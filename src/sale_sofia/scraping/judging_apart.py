"""A portal's answers judged in a process of their own: one that cannot be read costs its row and no more."""

from datetime import datetime
from functools import partial
from typing import Any

from sale_sofia.config.reading import DESK_SLACK_BYTES, PAGE_PATIENCE
from sale_sofia.config.settings import Settings
from sale_sofia.fetching.base import Response
from sale_sofia.resilience.errors import ParseHostile, ServiceError
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.judging import Judge
from sale_sofia.scraping.outcomes import Found, Gone, NotModified, Read
from sale_sofia.services.apart import Apart, EndedApart
from sale_sofia.services.apart_process import Bounds
from sale_sofia.websites.base import Site

_MEGABYTE = 1_000_000
_Told = tuple[Claim, str, int, dict[str, str], float, datetime]


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

    async def outcome(
        self, claim: Claim, response: Response, now: datetime
    ) -> Found | Read | NotModified | Gone:
        """What the answer says.

        Raises:
            ParseHostile: to read it took longer, or more memory, than a page may.
            CrawlError: it is not the page asked for, or cannot be read.
        """
        if not response.body:  # nothing to read, as of a page that was not modified
            return self._judge.outcome(claim, response, now)
        try:
            outcome: Found | Read | NotModified | Gone = await self._apart.do(
                _told(claim, response, now), response.body
            )
        except EndedApart as why:
            error = ParseHostile(f"reading the page was ended: {why}")
            error.status = response.status
            raise error from None
        except OSError as problem:
            raise ServiceError(f"no process to read pages in: {problem}") from problem
        return outcome

    def close(self) -> None:
        """Read no more; a page in hand is left."""
        self._apart.close()


def _told(claim: Claim, response: Response, now: datetime) -> _Told:
    return claim, response.url, response.status, dict(response.headers), response.seconds, now


def _judged(judge: Judge, told: _Told, body: bytes) -> Any:  # noqa: ANN401 - goes through a pickle
    claim, url, status, headers, seconds, now = told
    return judge.outcome(claim, Response(url, status, headers, body, seconds), now)
