"""The crawl as a Scrapy user writes it: a spider, an item pipeline with one commit per item, JOBDIR.

Scrapy's own selectors read the page; the values go through the same parsers as sale-sofia's.
"""

from scrapy import Spider
from scrapy.crawler import Crawler, CrawlerProcess

import crawler
from scrapy_parts import ImotPages, Keeping

OPTIONS = crawler.arguments()


class ImotSpider(ImotPages, Spider):  # type: ignore[misc]
    """Search pages lead to adverts and to the next search page."""

    name = "imot"
    start_urls = OPTIONS.urls


class SqlitePipeline(Keeping):
    """Keeps the items."""

    @classmethod
    def from_crawler(cls, _crawler: Crawler) -> "SqlitePipeline":
        """Scrapy's way of making a pipeline."""
        return cls(OPTIONS.folder)


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
