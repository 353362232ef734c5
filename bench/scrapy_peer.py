"""The crawl as a Scrapy user writes it: a spider, an item pipeline with one commit per item, JOBDIR.

Scrapy's own selectors read the page; the values go through the same parsers as sale-sofia's.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import Response

import crawler
import peers

OPTIONS = crawler.arguments()


class ImotSpider(Spider):  # type: ignore[misc]
    """Search pages lead to adverts and to the next search page."""

    name = "imot"
    start_urls = OPTIONS.urls

    def parse(self, response: Response, **_: Any) -> Iterator[Request]:  # noqa: ANN401 - Scrapy's own signature
        """Follow the cards of a search page, then the next page."""
        for link in response.css(crawler.CARDS):
            yield response.follow(link, callback=self.parse_advert)
        for url in response.css(f"{crawler.NEXT_PAGE}::attr(href)").getall():
            yield response.follow(url, callback=self.parse)

    def parse_advert(self, response: Response) -> Iterator[dict[str, Any]]:
        """The item of an advert."""
        yield peers.only_fields(peers.read_imot(peers.Parsel(response.selector)))


class SqlitePipeline:
    """Keeps the items."""

    def __init__(self, folder: Path) -> None:
        self._store = crawler.ItemStore(folder)

    @classmethod
    def from_crawler(cls, _crawler: Crawler) -> "SqlitePipeline":
        """Scrapy's way of making a pipeline."""
        return cls(OPTIONS.folder)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Store one."""
        self._store.save(item)
        return item

    def close_spider(self) -> None:
        """The crawl is over."""
        self._store.close()


def main() -> None:
    """Crawl to the end."""
    process = CrawlerProcess(
        {
            "JOBDIR": str(OPTIONS.folder / "job"),
            "ITEM_PIPELINES": {SqlitePipeline: 300},
            "CONCURRENT_REQUESTS": OPTIONS.concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": OPTIONS.concurrency,
            "DOWNLOAD_DELAY": 0,
            "AUTOTHROTTLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )

    def crawl() -> None:
        process.crawl(ImotSpider)
        process.start(install_signal_handlers=False)

    crawler.run_measured(crawl)


if __name__ == "__main__":
    main()
