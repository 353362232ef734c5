"""What both Scrapy crawls share: how pages lead to adverts, and how items are kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.http import Response

import crawler
import peers


class ImotPages:
    """Search pages lead to adverts and to the next search page."""

    def parse(self, response: Response, **_: Any) -> Iterator[Request]:  # noqa: ANN401 - Scrapy's own signature
        """Follow the cards of a search page, then the next page."""
        for link in response.css(crawler.CARDS):
            yield response.follow(link, callback=self.parse_advert)
        for url in response.css(f"{crawler.NEXT_PAGE}::attr(href)").getall():
            yield response.follow(url, callback=self.parse)

    def parse_advert(self, response: Response) -> Iterator[dict[str, Any]]:
        """The item of an advert."""
        yield peers.only_fields(peers.read_imot(peers.Parsel(response.selector)))


class Keeping:
    """An item pipeline: one commit per item."""

    def __init__(self, folder: Path) -> None:
        self._store = crawler.ItemStore(folder)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Store one."""
        self._store.save(item)
        return item

    def close_spider(self) -> None:
        """The crawl is over."""
        self._store.close()
