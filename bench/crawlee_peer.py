"""The crawl as a Crawlee user writes it: a parsel crawler, its default queue on disk, one commit per item.

Crawlee's own selectors read the page; the values go through the same parsers as sale-sofia's.
"""

import asyncio
import logging

from crawlee import ConcurrencySettings, Request
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import FileSystemStorageClient

import crawler
import peers

OPTIONS = crawler.arguments()
STORE = crawler.ItemStore(OPTIONS.folder)
ADVERT = "advert"


async def read_search(context: ParselCrawlingContext) -> None:
    """Follow the cards of a search page, then the next page."""
    cards = context.selector.css(f"{crawler.CARDS}::attr(href)").getall()
    further = context.selector.css(f"{crawler.NEXT_PAGE}::attr(href)").getall()
    adverts = [Request.from_url(url, label=ADVERT) for url in cards]
    await context.add_requests([*adverts, *(Request.from_url(url) for url in further)])


async def read_advert(context: ParselCrawlingContext) -> None:
    """Store an advert."""
    STORE.save(peers.only_fields(peers.read_imot(peers.Parsel(context.selector))))


def make_crawler() -> ParselCrawler:
    """A crawler over the queue in the folder, which is kept between runs."""
    logging.disable(logging.CRITICAL)
    at_once = OPTIONS.concurrency
    made = ParselCrawler(
        configuration=Configuration(storage_dir=str(OPTIONS.folder / "storage"), purge_on_start=False),
        storage_client=FileSystemStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=at_once, max_concurrency=at_once, desired_concurrency=at_once
        ),
        respect_robots_txt_file=False,
        configure_logging=False,
    )
    made.router.default_handler(read_search)
    made.router.handler(ADVERT)(read_advert)
    return made


async def crawl() -> None:
    """Crawl to the end."""
    await make_crawler().run(OPTIONS.urls)


if __name__ == "__main__":
    crawler.run_measured(lambda: asyncio.run(crawl()))
    STORE.close()
