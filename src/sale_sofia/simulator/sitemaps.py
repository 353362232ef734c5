"""A portal's sitemap: an index of shards, and in each shard the addresses of adverts."""

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sale_sofia.simulator.answers import OK, Answer
from sale_sofia.simulator.portal_options import PortalOptions

_XML = "application/xml"
_GZIP = "application/gzip"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class SitemapPaths(NamedTuple):
    """Where a portal keeps it; `shard` names the `group` of adverts and the `number` of the shard."""

    overview: str
    shard: str
    first: int = 1
    """The number of the first shard."""


class Row(NamedTuple):
    """One advert."""

    url: str
    updated: datetime


class Sitemap:
    """The adverts of each group by their numbers; `row` tells what a shard says of one."""

    def __init__(
        self,
        paths: SitemapPaths,
        groups: Mapping[str, Sequence[int]],
        row: Callable[[int], Row],
        options: PortalOptions,
    ) -> None:
        self._paths = paths
        self._row = row
        self._options = options
        self._shards = dict(self._cut(groups))

    def answer(self, path: str, base_url: str) -> Answer | None:
        """The index or a shard, packed where its name says so; nothing at any other address."""
        if path == self._paths.overview:
            places = "".join(f"<sitemap><loc>{base_url}{shard}</loc></sitemap>\n" for shard in self._shards)
            return _xml(f"<sitemapindex {_NAMESPACE}>\n{places}</sitemapindex>\n")
        if path not in self._shards:
            return None
        found = _xml(f"<urlset {_NAMESPACE}>\n{''.join(map(self._line, self._shards[path]))}</urlset>\n")
        packed = gzip.compress(found.body, mtime=0) if path.endswith(".gz") else None
        return found._replace(body=packed, content_type=_GZIP) if packed else found

    def _cut(self, groups: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, Sequence[int]]]:
        size = self._options.sitemap_rows
        own = round(size * (1 - self._options.sitemap_overlap))
        for group, numbers in groups.items():
            shards = [numbers[start : start + size] for start in range(0, len(numbers), size)]
            for place, shard in enumerate(shards):
                path = self._paths.shard.format(group=group, number=self._paths.first + place)
                yield path, [*shard[:own], *shards[place - 1][: max(0, len(shard) - own)]]

    def _line(self, number: int) -> str:
        row = self._row(number)
        changed = f"<lastmod>{row.updated.isoformat()}</lastmod>" if self._options.sitemap_lastmod else ""
        return f"<url><loc>{row.url}</loc>{changed}</url>\n"


def _xml(text: str) -> Answer:
    return Answer(OK, (_HEAD + text).encode(), _XML)
