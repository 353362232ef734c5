"""One proxy's address. Its password stands in the field of that name alone: whatever prints it masks it."""

import hashlib
import ipaddress
import re
from dataclasses import dataclass, field
from typing import Final, Literal, cast, get_args
from urllib.parse import quote, unquote

from sale_sofia.config.proxies import LINE_MAX_CHARACTERS

Scheme = Literal["http", "https", "socks5"]
MASK: Final = "***"
_SCHEMES: Final = {**{name: name for name in get_args(Scheme)}, "socks5h": "socks5"}
_ADDRESS: Final = re.compile(
    r"(?:(?P<scheme>[a-z0-9]+)://)?"
    r"(?:(?P<user>[^:@/\s]+):(?P<password>[^@/\s]*)@)?"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:@/\s\[\]]+):(?P<port>[0-9]{1,5})/?"
)
_FOUR_PARTS: Final = re.compile(
    r"(?P<host>[^:@/\s]+):(?P<port>[0-9]{1,5}):(?P<user>[^:@/\s]+):(?P<password>\S+)"
)
_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_LAST_LABEL: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_MOST_PORT: Final = 65_535


class NotAProxy(ValueError):
    """A text that names no proxy; the sentence never repeats a password."""


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """Where a proxy is, how it is spoken to, and as whom. It looks up the portals' names itself."""

    scheme: Scheme
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def place(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def masked(self) -> str:
        """The address for people and logs, without its password."""
        login = f"{quote(self.user, safe='')}:{MASK}@" if self.user else ""
        return f"{self.scheme}://{login}{self.place}"

    @property
    def secret_url(self) -> str:
        """The whole address; only for the pool's own store and files that only their owner can read."""
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if self.user else ""
        return f"{self.scheme}://{login}{self.place}"

    @property
    def id(self) -> str:
        """A short name that says nothing of the password; another user of the same place is another proxy."""
        named = f"{self.scheme}://{self.user}@{self.place}"
        return hashlib.sha1(named.encode(), usedforsecurity=False).hexdigest()[:12]

    def __str__(self) -> str:
        return self.masked


def parse_proxy(text: str, default: Scheme = "http") -> ProxyAddress:
    """The proxy that a line names: `[scheme://][user:password@]host:port` or `host:port:user:password`.

    Raises:
        NotAProxy: it names none.
    """
    line = text.strip()
    if len(line) > LINE_MAX_CHARACTERS:
        raise NotAProxy("the line is too long for a proxy")
    parts = _ADDRESS.fullmatch(line) or _FOUR_PARTS.fullmatch(line)
    if parts is None:
        raise NotAProxy("expected [scheme://][user:password@]host:port")
    named = parts.groupdict()
    port = int(named["port"])
    if not 0 < port <= _MOST_PORT:
        raise NotAProxy(f"no port {port}; allowed are 1 to {_MOST_PORT}")
    return ProxyAddress(
        _scheme(named.get("scheme"), default),
        parse_host(named["host"].lower()),
        port,
        unquote(named["user"] or ""),
        unquote(named["password"] or ""),
    )


def _scheme(given: str | None, default: Scheme) -> Scheme:
    found = _SCHEMES.get(given or default)
    if found is None:
        raise NotAProxy(f"no scheme {given}; allowed are {', '.join(sorted(_SCHEMES))}")
    return cast("Scheme", found)


def parse_host(host: str) -> str:
    """An IP address or a name in small letters; what is only nearly an IP address is none.

    Parsers disagree on such a one.

    Raises:
        NotAProxy: it is neither.
    """
    if _IPV4.fullmatch(host):  # nearly all are, and this is ten times faster
        return host
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    if not _NAME.fullmatch(host) or _LAST_LABEL.fullmatch(host.rpartition(".")[2]):
        raise NotAProxy("no host name and no IP address")
    return host
