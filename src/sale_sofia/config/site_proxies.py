"""What a portal's file says of proxies: without a word none is used."""

from typing import Annotated, Literal

from pydantic import Field

from sale_sofia.config.site_links import Table

SiteTier = Literal["own", "free", "paid"]


class ProxyTable(Table):
    """Whether a portal is asked through proxies, through which, and what is done when none helps."""

    use: bool = False
    tiers: Annotated[tuple[SiteTier, ...], Field(min_length=1)] = ("own", "free", "paid")
    """In the order in which they are tried; the next one only when the ones before do not help."""
    direct_allowed: bool = False
    """Whether, at the very end, the portal may be asked from our own address."""
    canary: Annotated[str, Field(pattern=r"^/")] = "/robots.txt"
    """A small page by which a check learns whether the portal lets a proxy in."""
