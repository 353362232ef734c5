"""Which advert a person means: by its address, or by its portal and id."""

from urllib.parse import urlsplit

from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper


class UnknownAdvert(ValueError):
    """A text that names no advert we know, and what is allowed."""


def advert_of(text: str) -> tuple[str, str]:
    """The portal and the id of the advert a text names.

    Raises:
        UnknownAdvert: it names none.
    """
    if "://" in text:
        return _by_address(text)
    site, _, external_id = text.partition("/")
    if site not in AVAILABLE_SITES or not external_id:
        allowed = ", ".join(AVAILABLE_SITES)
        raise UnknownAdvert(
            f"{text!r} names no advert; allowed: its address, or SITE/ID with SITE one of {allowed}"
        )
    return site, external_id


def _by_address(url: str) -> tuple[str, str]:
    """The portal whose host it is; a portal served elsewhere is known by the form of its addresses."""
    named = {site: get_scraper(site).listing_id(url) for site in AVAILABLE_SITES}
    found = {site: advert for site, advert in named.items() if advert}
    host = urlsplit(url).hostname
    own = {site: advert for site, advert in found.items() if host in get_scraper(site).config.hosts}
    chosen = own or found
    if len(chosen) != 1:
        raise UnknownAdvert(f"{url} is the address of no advert of {', '.join(AVAILABLE_SITES)}")
    return next(iter(chosen.items()))
