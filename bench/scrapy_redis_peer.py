"""The crawl as a scrapy-redis user writes it: a queue in Redis, any number of processes, a delay for each.

Started with the same folder and Redis again, it goes on with what is in the queue.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import Response
from scrapy_redis.spiders import RedisSpider

import crawler
import peers

FOLDER = Path(os.environ["PEER_FOLDER"])
IDLE_SECONDS = 3


class ImotSpider(RedisSpider):  # type: ignore[misc]
    """Search pages lead to adverts and to the next search page."""

    name = "imot"

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
    """Keeps the items; both processes write to one file."""

    def __init__(self) -> None:
        self._store = crawler.ItemStore(FOLDER)

    @classmethod
    def from_crawler(cls, _crawler: Crawler) -> "SqlitePipeline":
        """Scrapy's way of making a pipeline."""
        return cls()

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Store one."""
        self._store.save(item)
        return item

    def close_spider(self) -> None:
        """The crawl is over."""
        self._store.close()


def main() -> None:
    """Crawl until nothing came for some seconds."""
    process = CrawlerProcess(
        {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": os.environ["PEER_REDIS_URL"],
            "MAX_IDLE_TIME_BEFORE_CLOSE": IDLE_SECONDS,
            "ITEM_PIPELINES": {SqlitePipeline: 300},
            "CONCURRENT_REQUESTS": int(os.environ["PEER_CONCURRENCY"]),
            "CONCURRENT_REQUESTS_PER_DOMAIN": int(os.environ["PEER_CONCURRENCY"]),
            "DOWNLOAD_DELAY": float(os.environ["PEER_DELAY"]),
            "DOWNLOAD_DELAY_JITTER": 0,
            "AUTOTHROTTLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(ImotSpider)
    process.start()


if __name__ == "__main__":
    main()
