"""Addresses of a crawl: which hosts it may ask, and when two addresses are the same page."""

from typing import NamedTuple
from urllib.parse import urlsplit

from sale_sofia.websites.base import Site
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper


class BadAddress(ValueError):
    """An address a crawl cannot begin with: what is wrong, and what is allowed."""


class Target(NamedTuple):
    """One address of the frontier. Two with the same key are the same page and are fetched once."""

    kind: str
    url: str
    key: str


def target(site: Site, url: str) -> Target:
    """An advert is its id, however its address is spelled; a search is its address without the fragment."""
    if advert := site.listing_id(url):
        return Target("listing", url, f"listing:{advert}")
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return Target("search", url, f"search:{parts.netloc.lower()}{parts.path.rstrip('/')}{query}")


def check_start_url(site: Site, url: str) -> str:
    """The address, when a crawl of this portal can begin there."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadAddress(f"{url!r} is not an address; allowed: http:// or https://, a host and a path")
    if site.kind_of(url) not in {"search", "listing"}:
        raise BadAddress(f"{url} leads to no search and no advert of {site.name}")
    return url


def allowed_hosts(site_hosts: tuple[str, ...], start_urls: tuple[str, ...]) -> frozenset[str]:
    """The hosts a crawl may talk to: those its start URLs name, and if one is the portal's, all of its."""
    named = {urlsplit(url).netloc.lower() for url in start_urls}
    return frozenset(named | set(site_hosts) if named & set(site_hosts) else named)


# Which advert a person means: by its address, or by its portal and id.


class UnknownAdvert(ValueError):
    """A text that names no advert we know, and what is allowed."""


def advert_of(text: str) -> tuple[str, str]:
    """The portal and the id of the advert a text names. Raises `UnknownAdvert`: it names none."""
    if "://" in text:
        # The portal whose host it is; a portal served elsewhere is known by the form of its addresses.
        named = {site: get_scraper(site).listing_id(text) for site in AVAILABLE_SITES}
        found = {site: advert for site, advert in named.items() if advert}
        host = urlsplit(text).hostname
        own = {site: advert for site, advert in found.items() if host in get_scraper(site).config.hosts}
        chosen = own or found
        if len(chosen) != 1:
            raise UnknownAdvert(f"{text} is the address of no advert of {', '.join(AVAILABLE_SITES)}")
        return next(iter(chosen.items()))
    site, _, external_id = text.partition("/")
    if site not in AVAILABLE_SITES or not external_id:
        allowed = ", ".join(AVAILABLE_SITES)
        raise UnknownAdvert(
            f"{text!r} names no advert; allowed: its address, or SITE/ID with SITE one of {allowed}"
        )
    return site, external_id
