"""The cookies of one browser profile, shared by all its handles: a portal sees one visitor, not many."""

from collections.abc import Iterable, Mapping

from sale_sofia.config.fetching import MOST_COOKIES

_NAME_FIELDS = (0, 2, 5)  # curl's cookie lines: domain, subdomains, path, secure, expires, name, value


class CookieJar:
    """What the portals set, as curl's own lines. Each handle gives back only what it changed itself."""

    def __init__(self) -> None:
        self._lines: dict[tuple[bytes, ...], bytes] = {}

    @property
    def lines(self) -> Mapping[tuple[bytes, ...], bytes]:
        """Every cookie by its domain, path and name; never changed in place, so the same are equal."""
        return self._lines

    def take(self, before: Mapping[tuple[bytes, ...], bytes], after: Iterable[bytes]) -> None:
        """Add what is new or changed since `before`, and drop what the portal took back."""
        now = {_key(line): line for line in after}
        kept = {key: line for key, line in self._lines.items() if key in now or key not in before}
        changed = {key: line for key, line in now.items() if before.get(key) != line}
        # Of a portal that sets ever new ones the newest are kept, or its pages would fill our memory.
        self._lines = dict([*kept.items(), *changed.items()][-MOST_COOKIES:])


def _key(line: bytes) -> tuple[bytes, ...]:
    fields = line.split(b"\t")
    return tuple(fields[number] for number in _NAME_FIELDS if number < len(fields))
