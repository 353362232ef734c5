"""The crawl as a scrapy-redis user writes it: a queue in Redis, any number of processes, a delay for each.

Started with the same folder and Redis again, it goes on with what is in the queue.
"""

import os
from pathlib import Path

from scrapy.crawler import Crawler, CrawlerProcess
from scrapy_redis.spiders import RedisSpider

from scrapy_parts import ImotPages, Keeping

FOLDER = Path(os.environ["PEER_FOLDER"])
IDLE_SECONDS = 3


class ImotSpider(ImotPages, RedisSpider):  # type: ignore[misc]
    """Search pages lead to adverts and to the next search page."""

    name = "imot"


class SqlitePipeline(Keeping):
    """Keeps the items; both processes write to one file."""

    @classmethod
    def from_crawler(cls, _crawler: Crawler) -> "SqlitePipeline":
        """Scrapy's way of making a pipeline."""
        return cls(FOLDER)


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
