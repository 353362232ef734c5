"""How the searches of a simulated portal behave, where a test wants them otherwise than they really are."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalOptions:
    """The defaults are what is known of the real portals. What a portal does not have, it ignores."""

    most_results: int | None = None
    """How many results of one search are shown; by default as many as the portal itself shows."""
    filters_ignored: bool = False
    """Whether every filter beside the place in the path is without effect."""
    total_follows_filter: bool = True
    """Whether the announced total is that of the filtered search; else that of the search without filters."""
    parts_redirect: bool = False
    """Whether imot.bg leads a neighbourhood that it does not have to its city, instead of a 404."""
    redirects: int = 0
    """How often an advert's address leads on, on the portal's own host, before the advert is shown."""
    interface_forbidden: bool = False
    """Whether robots.txt closes the JSON interface."""
    sitemap_rows: int = 5000
    """How many addresses a shard of the sitemap holds."""
    sitemap_overlap: float = 0.0
    """The share of each shard's rows that stand in another shard, in place of adverts that stand nowhere."""
    sitemap_lastmod: bool = True

    def __post_init__(self) -> None:
        if self.most_results is not None and self.most_results < 1:
            raise ValueError("most_results is at least 1")
        if self.sitemap_rows < 1 or not 0 <= self.sitemap_overlap < 1:
            raise ValueError("a shard has at least one row, and some of its own")


AS_REAL = PortalOptions()
