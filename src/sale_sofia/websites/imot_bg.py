"""imot.bg: what its table cannot say."""

from urllib.parse import urlsplit, urlunsplit

from sale_sofia.listings.places import neighbourhoods
from sale_sofia.websites.table_site import TableSite


class ImotBg(TableSite):
    """imot.bg shows at most 1000 results of a search, so a large one is cut into smaller ones."""

    def split(self, url: str) -> tuple[str, ...]:
        """By neighbourhood, then by type; a search that names both cannot be cut further."""
        parts = urlsplit(url)
        scope = self._scope(parts.path)
        if scope is None:
            return ()
        base, neighbourhood, kind = scope
        return tuple(
            urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
            for path in self._smaller(base, neighbourhood, kind)
        )

    def _smaller(self, base: str, neighbourhood: str | None, kind: str | None) -> list[str]:
        table = self.config.split
        if table is None or (neighbourhood and kind):
            return []
        if neighbourhood:
            return [f"{base}/{neighbourhood}/{one}" for one in table.types]
        tail = f"/{kind}" if kind else ""
        return [f"{base}/{one.slug}{tail}" for one in neighbourhoods()]

    def _scope(self, path: str) -> tuple[str, str | None, str | None] | None:
        """The search's base path, its neighbourhood and its type; None for another city's search."""
        table = self.config.split
        rubric, deal, city, *rest = [*path.strip("/").split("/"), "", "", ""][:6]
        rest = [part for part in rest if part and not part.startswith("p-")]
        if table is None or rubric != "obiavi" or city != table.city:
            return None
        kinds = [part for part in rest if part in table.types]
        places = [part for part in rest if part not in table.types]
        base = f"/{rubric}/{deal}/{city}"
        return base, places[0] if places else None, kinds[0] if kinds else None
