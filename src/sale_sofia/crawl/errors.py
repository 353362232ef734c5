"""What keeps a crawl from beginning."""


class SiteBusy(RuntimeError):
    """Another crawl of this portal is running."""
