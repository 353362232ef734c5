"""Addresses of a crawl: which hosts it may contact, and when two addresses are the same page."""

from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from sale_sofia.listings.settings import LONGEST_ADDRESS
from sale_sofia.websites.addresses import host_of, is_on_this_machine, origin
from sale_sofia.websites.base import Site
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.site_file import SiteConfigError, known_starts, load_site_config, may_name

_THIS_MACHINE: Final = ("127.0.0.1", "localhost")


class BadAddress(ValueError):
    """An address a crawl cannot begin with; the message says what is wrong and what is allowed."""


class Target(NamedTuple):
    """One address of the frontier. Two with the same key are the same page and are fetched once."""

    kind: str
    url: str
    key: str


def target(site: Site, url: str) -> Target:
    """The target of an address: an advert's key is its id, a search's is its address without the fragment."""
    if advert := site.listing_id(url):
        return Target("listing", url, f"listing:{advert}")
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return Target("search", url, f"search:{parts.netloc.lower()}{parts.path.rstrip('/')}{query}")


def check_start_url(site: Site, url: str) -> str:
    """The address, when a crawl of this portal can begin there."""
    if not _is_address(url):
        raise BadAddress(f"{url!r} is not an address; allowed: http:// or https://, a host and a path")
    if (length := len(url.encode(errors="replace"))) > LONGEST_ADDRESS:
        raise BadAddress(f"an address to begin with has {length} bytes; allowed: at most {LONGEST_ADDRESS}")
    if site.kind_of(url) not in {"search", "listing"}:
        raise BadAddress(f"{url} leads to no search and no advert of {site.name}")
    check_host(site.name, url)
    return url


def check_host(site: str, url: str) -> None:
    """Refuse another portal's address, and for a portal served on this machine any other machine's.

    A simulated portal's crawl so never asks the real one. A real portal may be tried as a copy served here.
    """
    if site not in AVAILABLE_SITES:  # without a file it has no address of its own
        return
    starts, host = known_starts(site), origin(url)
    here = bool(starts) and all(map(is_on_this_machine, starts))
    own = list(dict.fromkeys([*map(origin, starts), *(() if here else load_site_config(site).hosts)]))
    if host in own:
        return
    if here and not is_on_this_machine(url):
        raise BadAddress(
            f"{url} is on another machine, and {site} is served on this one; "
            f"allowed: addresses at {', '.join(own)}"
        )
    name = host.partition(":")[0]
    names = _THIS_MACHINE if name in _THIS_MACHINE else (name,)
    for other in AVAILABLE_SITES:
        with suppress(SiteConfigError):  # whoever crawls that portal is told
            if other == site or not may_name(other, names):
                continue
            if host in {*load_site_config(other).hosts, *map(origin, known_starts(other))}:
                raise BadAddress(
                    f"{url} is an address of {other}; allowed for {site}: addresses at {', '.join(own)}"
                )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half a bracket, or a port that is none
        return False


def allowed_hosts(site_hosts: tuple[str, ...], start_urls: tuple[str, ...]) -> frozenset[str]:
    """The hosts a crawl may contact: those of its start URLs; if one is the portal's, all of the portal's."""
    hosts = {urlsplit(url).netloc.lower() for url in start_urls}
    return frozenset(hosts | set(site_hosts) if hosts & set(site_hosts) else hosts)


# Adverts as people name them: by address, or by portal and id.


class UnknownAdvert(ValueError):
    """A text that names no advert; the message says what is allowed."""


def advert_of(text: str) -> tuple[str, str]:
    """The portal and the id of the advert a text names. Raises `UnknownAdvert`: it names none."""
    if "://" in text:
        # By the portal's host, or else by the form of the address, for a portal served elsewhere.
        ids = {site: get_scraper(site).listing_id(text) for site in AVAILABLE_SITES}
        matches = {site: advert for site, advert in ids.items() if advert}
        host = host_of(text)
        own = {site: advert for site, advert in matches.items() if host in get_scraper(site).config.hosts}
        candidates = own or matches
        if len(candidates) != 1:
            raise UnknownAdvert(f"{text} is the address of no advert of {', '.join(AVAILABLE_SITES)}")
        return next(iter(candidates.items()))
    site, _, external_id = text.partition("/")
    if site not in AVAILABLE_SITES or not external_id:
        allowed = ", ".join(AVAILABLE_SITES)
        raise UnknownAdvert(
            f"{text!r} names no advert; allowed: its address, or SITE/ID with SITE one of {allowed}"
        )
    return site, external_id
