"""Moves pages and truths from a portal's real address to the one that serves them."""

import re
from itertools import pairwise
from typing import Final

from sale_sofia.simulator.truth import Truth

REAL: Final = {
    "imot.bg": "https://www.imot.bg",
    "bazar.bg": "https://bazar.bg",
    "alo.bg": "https://www.alo.bg",
    "homes.bg": "https://www.homes.bg",
    "imoti.com": "https://www.imoti.com",
    "imoti.net": "https://www.imoti.net",
    "luximmo.bg": "https://www.luximmo.bg",
    "olx.bg": "https://www.olx.bg",
    "suprimmo.bg": "https://www.suprimmo.bg",
}
_LEAD = re.compile(rb"(?:https?:)?(\\?/)\1(?:www\.|m\.)?\Z")
_LONGEST_LEAD = 16
_NAME_GOES_ON = re.compile(rb"[\w.-]")


class Origin:
    """Where a portal is served: after `body` no link leads to the portal's own hosts any more.

    Photos, the subdomains of firms and all other hosts stay as they are.
    """

    def __init__(self, site: str, base_url: str) -> None:
        self._name = site.encode()
        self._real = REAL[site]
        self.base_url = base_url
        self._host = base_url.partition("//")[2].encode()

    def url(self, url: str) -> str:
        """The served address of a real one."""
        return self.base_url + url.removeprefix(self._real)

    def body(self, page: bytes) -> bytes:
        """The page with every link to the portal's hosts turned to this origin, in JSON too."""
        pieces = page.split(self._name)
        moved = [self._moved(piece, after) for piece, after in pairwise(pieces)]
        return b"".join([*moved, pieces[-1]])

    def _moved(self, piece: bytes, after: bytes) -> bytes:
        """What stands before one naming of the portal, and that name: an address, or only the word."""
        lead = _LEAD.search(piece, max(0, len(piece) - _LONGEST_LEAD))
        if lead is None or _NAME_GOES_ON.match(after):
            return piece + self._name
        return piece[: lead.start()] + b"http:" + lead[1] * 2 + self._host

    def truth(self, truth: Truth) -> Truth:
        """The truth of a page as it is served."""
        return truth | {"url": self.url(truth["url"])}
