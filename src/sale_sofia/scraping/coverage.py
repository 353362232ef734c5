"""Coverage: how much of what a portal announced its searches showed, and why some fell short."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sale_sofia.config.history import SITEMAP_LEAST_UNIQUE
from sale_sofia.data.searches import Ended, Search
from sale_sofia.data.sweeps import spaced
from sale_sofia.scraping.searches import SITEMAP, is_enough

_WITHOUT_END = frozenset({Ended.EXCEEDED, Ended.ENDLESS})
_FELL_SHORT = frozenset({Ended.CAPPED, Ended.SHORT, Ended.WAITING, None})


@dataclass(frozen=True)
class Coverage:
    """What the searches of a job announced and gave."""

    searches: Sequence[Search]

    @cached_property
    def _parts(self) -> Mapping[int | None, Sequence[Search]]:
        parts: dict[int | None, list[Search]] = {}
        for one in self.searches:
            if one.ended is not Ended.USELESS:
                parts.setdefault(one.parent_id, []).append(one)
        return parts

    @cached_property
    def _endless(self) -> Search | None:
        """One of which nobody knows how many adverts it has."""
        return next((one for one in self.searches if one.ended in _WITHOUT_END), None)

    @property
    def _starts(self) -> list[Search]:
        return [one for one in self._parts.get(None, ()) if one.ended is not Ended.FORBIDDEN]

    @cached_property
    def announced(self) -> int | None:
        """How many adverts the portal says there are; None where it does not say."""
        known = [self._announced(one) for one in self._starts]
        return None if not known or None in known or self._endless else sum(one or 0 for one in known)

    @cached_property
    def reachable(self) -> int:
        """How many of them it lets one see, by the caps that are known or were met."""
        return sum(self._reachable(one) for one in self._starts)

    def _announced(self, search: Search) -> int | None:
        if search.ended is Ended.ABSENT:
            return 0
        if search.ended is Ended.SPLIT and not search.exact:
            parts = sum(self._announced(one) or one.shown for one in self._parts.get(search.id, ()))
            return max(parts, search.announced or 0)
        # A bound that was reached, as of "1000+", says only that there are more.
        return None if _is_reached_bound(search) else search.announced

    def _reachable(self, search: Search) -> int:
        if search.ended is Ended.SPLIT:
            return sum(self._reachable(one) for one in self._parts.get(search.id, ()))
        return max(search.shown, search.announced or 0) if search.ended is Ended.READ else search.shown

    def shortfall(self, seen: int) -> str | None:
        """In one line why adverts are missing, when this many were seen; None when these are all."""
        if self._endless:
            return f"{self.figures(seen)}, {_went_on(self._endless)}"
        if any(one.way == SITEMAP for one in self.searches):
            return self._repeats(seen)
        if self.announced is not None and is_enough(seen, self.announced):
            return None
        why = next(self._reasons(), None)
        return why and f"{self.figures(seen)}, {why}"

    def figures(self, seen: int) -> str:
        """So many of so many were seen."""
        if self.announced is None:
            return f"{spaced(seen)} seen of an unknown number"
        return f"{spaced(seen)} of {spaced(self.announced)} seen"

    def _repeats(self, seen: int) -> str | None:
        """A sitemap that lists adverts twice is being rebuilt, and leaves out others meanwhile."""
        listed = self.announced or 0
        if seen >= listed * SITEMAP_LEAST_UNIQUE:
            return None
        return f"{spaced(seen)} different adverts among {spaced(listed)} of the sitemap: it is being rebuilt"

    def _reasons(self) -> Iterator[str]:
        leaves = [one for one in self.searches if one.ended in _FELL_SHORT]
        yield from self._caps([one for one in leaves if one.ended is Ended.CAPPED])
        yield from (_ended_early(one) for one in leaves if one.ended is not Ended.CAPPED and one.pages)
        yield from (f"{one.url} was not read" for one in leaves if not one.pages)
        yield from self._gaps()

    def _caps(self, capped: Sequence[Search]) -> Iterator[str]:
        if capped:
            most = Counter(one.shown for one in capped).most_common(1)[0][0]
            which = "" if len(capped) == 1 else f", and {len(capped)} searches have more"
            yield f"the portal shows {spaced(most)} of a query{which}{self._useless()}"

    def _useless(self) -> str:
        ways = sorted({one.way or "" for one in self.searches if one.ended is Ended.USELESS})
        return f"; its filter {', '.join(ways)} changes nothing" if ways else ""

    def _gaps(self) -> Iterator[str]:
        """Searches whose parts have less than the whole: some adverts are in none of them."""
        for one in self.searches:
            parts = self._parts.get(one.id, ())
            if one.ended is not Ended.SPLIT or one.announced is None:
                continue
            together = sum(self._announced(part) or part.shown for part in parts)
            if not is_enough(together, one.announced):
                absent = sum(part.ended is Ended.ABSENT for part in parts)
                gone = f", {absent} of them are not there" if absent else ""
                of_whole = f"{spaced(together)} of its {spaced(one.announced)}"
                yield f"the {len(parts)} parts of {one.url} have {of_whole}{gone}"


def _is_reached_bound(search: Search) -> bool:
    return not search.exact and search.announced is not None and search.announced <= search.shown


def _ended_early(search: Search) -> str:
    of = "" if search.announced is None else f" of {spaced(search.announced)}"
    stale = f": its last {search.stale} pages brought nothing new" if search.stale else ""
    return f"{search.url} ended after {spaced(search.shown)}{of}{stale}"


def _went_on(search: Search) -> str:
    if not search.different:
        return f"{search.url} leads to sitemaps without an end"
    announced = f", where it announced {spaced(search.announced)}" if search.ended is Ended.EXCEEDED else ""
    shown = f"{spaced(search.different)} adverts on {spaced(search.pages)} pages{announced}"
    return f"{search.url} went on without an end after {shown}"
