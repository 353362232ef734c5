"""How scraping tells what happens, without knowing who listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from sale_sofia.fetching.base import Response
from sale_sofia.monitoring.verdicts import RequestVerdict, verdict_of
from sale_sofia.resilience.errors import CrawlError


class Meter(Protocol):
    """Hears of everything countable. No call waits, fails, or keeps anything of a page."""

    def answered(self, domain: str, verdict: RequestVerdict, size: int, seconds: float) -> None:
        """A request got a whole answer, of `size` bytes after `seconds`."""

    def unanswered(self, domain: str, verdict: RequestVerdict = "no_answer") -> None:
        """A request got no whole answer."""

    def stored(
        self, domain: str, *, new: int = 0, changed: int = 0, unchanged: int = 0, failed: int = 0
    ) -> None:
        """Adverts were committed, or given up."""

    def retried(self, domain: str) -> None:
        """A page was asked for again."""

    def waited(self, domain: str, seconds: float) -> None:
        """A request may go, after it waited for its turn; to be told of every one, also of no wait."""

    def circuit_open(self, domain: str, seconds: float) -> None:
        """A request was refused: the domain's circuit is open, and will be for `seconds`."""


class _NoMeter:
    """Hears of everything and counts nothing."""

    def answered(self, domain: str, verdict: RequestVerdict, size: int, seconds: float) -> None:
        pass

    def unanswered(self, domain: str, verdict: RequestVerdict = "no_answer") -> None:
        pass

    def stored(
        self, domain: str, *, new: int = 0, changed: int = 0, unchanged: int = 0, failed: int = 0
    ) -> None:
        pass

    def retried(self, domain: str) -> None:
        pass

    def waited(self, domain: str, seconds: float) -> None:
        pass

    def circuit_open(self, domain: str, seconds: float) -> None:
        pass


NO_METER: Final[Meter] = _NoMeter()
"""For whoever does not count."""


@dataclass(slots=True)
class Asked:
    """One request under way."""

    verdict: RequestVerdict = "ok"
    """What it is when nothing goes wrong; a removed advert is to be told here."""
    response: Response | None = None
    """To be set as soon as there is one."""


@contextmanager
def measured(meter: Meter, domain: str) -> Iterator[Asked]:
    """Fetch and judge inside: the request is counted once, by its verdict, whatever becomes of it."""
    asked = Asked()
    try:
        yield asked
    except CrawlError as error:
        _count(meter, domain, asked, verdict_of(error))
        raise
    _count(meter, domain, asked, asked.verdict)


def _count(meter: Meter, domain: str, asked: Asked, verdict: RequestVerdict) -> None:
    if asked.response is None:
        meter.unanswered(domain, verdict)
    else:
        meter.answered(domain, verdict, len(asked.response.body), asked.response.seconds)
