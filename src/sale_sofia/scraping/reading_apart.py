"""Saved pages read one after the other, each portal's in a process of its own that can be ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Generic, TypeVar

from sale_sofia.config.settings import Settings
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import HostilePage
from sale_sofia.scraping.judging_apart import page_bounds
from sale_sofia.services.apart import Apart, EndedApart
from sale_sofia.websites.base import Site

Found = TypeVar("Found")


class ReadersApart(Generic[Found]):
    """Reads pages by `read`; one that takes too long, or too much memory, is a `HostilePage`."""

    def __init__(self, read: Callable[[Site, Page], Found], settings: Settings) -> None:
        self._read = read
        self._bounds = page_bounds(settings)
        self._largest = settings.max_page_bytes
        self._readers: dict[str, Apart] = {}

    def read(self, site: Site, page: Page) -> Found:
        """What the page says; what `read` raises is raised here."""
        if len(page.body) > self._largest:
            return self._read(site, page)  # refused for its size, unread
        if site.name not in self._readers:
            self._readers[site.name] = Apart(partial(_read, self._read, site), self._bounds)
        try:
            found: Found = self._readers[site.name].do_now((page.url, page.content_type), page.body)
        except EndedApart as why:
            raise HostilePage(f"reading the page was ended: {why}") from None
        return found

    def close(self) -> None:
        """Read no more."""
        for reader in self._readers.values():
            reader.close()


@contextmanager
def readers_apart(read: Callable[[Site, Page], Found], settings: Settings) -> Iterator[ReadersApart[Found]]:
    """Readers that are gone when the block ends."""
    readers = ReadersApart(read, settings)
    try:
        yield readers
    finally:
        readers.close()


def _read(
    read: Callable[[Site, Page], Found], site: Site, told: tuple[str, str | None], body: bytes
) -> Found:
    url, content_type = told
    return read(site, Page(url, body, content_type))
