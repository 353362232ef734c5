"""Addresses of a portal."""

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from sale_sofia.listings.page import LayoutChanged
from sale_sofia.listings.settings import LONGEST_ADDRESS, LONGEST_ID, REMEMBERED_HOSTS
from sale_sofia.websites.site_file import PagingTable

_ORIGIN = re.compile(r"https?://([a-z0-9.-]+)(?::\d+)?(?=[/?#]|$)")
_PLAIN = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[\w.~-]++)++/?")
"""A path that needs no change; most of a portal's links are such."""
_WHOLE = re.compile(rf"https?://[A-Za-z0-9.-]+(?::(?!(?:80|443)/)[1-9]\d*+)?{_PLAIN.pattern}")
_USUAL_PORTS = {"https": ":443", "http": ":80"}


def absolute(base: str, address: str) -> str:
    """Resolve an address as a browser would; one without a scheme means https.

    A default port is left out. An invalid address gives an empty text.
    """
    if address.startswith("//"):
        address = f"https:{address}"
    elif address.startswith("/") and (origin := _ORIGIN.match(base)) and _PLAIN.fullmatch(address):
        return origin[0] + address
    if _WHOLE.fullmatch(address):
        return address
    try:
        parts = urlsplit(urljoin(base, address))
        usual = _USUAL_PORTS.get(parts.scheme, "")
        return urlunsplit(parts._replace(netloc=parts.netloc.removesuffix(usual) if usual else parts.netloc))
    except ValueError:
        return ""


def refuse_long_id(external_id: str) -> None:
    """Raise `LayoutChanged` for an advert's id that not every database stores."""
    if len(external_id) > LONGEST_ID:
        raise LayoutChanged(
            f"the advert's id {external_id[:LONGEST_ID]}… has {len(external_id)} characters; "
            f"at most {LONGEST_ID} are stored: a pattern for ids may match less of the address"
        )


def refuse_long_address(url: str) -> str:
    """Return the address, or raise `LayoutChanged` for one that not every database looks up."""
    if (length := len(url.encode(errors="replace"))) > LONGEST_ADDRESS:
        raise LayoutChanged(
            f"the page leads to an address of {length} bytes, {url[:LONGEST_ID]}…; "
            f"at most {LONGEST_ADDRESS} are followed"
        )
    return url


def host_of(url: str) -> str:
    """Return the host of an address, empty where it has none."""
    if origin := _ORIGIN.match(url):
        return origin[1]
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def origin(url: str) -> str:
    """Return the host of a valid address with its port, without the usual one; this machine has one name."""
    parts = urlsplit(url)
    host = "127.0.0.1" if parts.hostname == "localhost" else parts.hostname or ""
    usual = _USUAL_PORTS.get(parts.scheme)
    return host if parts.port is None or f":{parts.port}" == usual else f"{host}:{parts.port}"


def is_on_this_machine(url: str) -> bool:
    """Whether the host of an address is this machine's own (loopback)."""
    host = host_of(url)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def path_of(url: str) -> str:
    """Return the path of an address."""
    if (origin := _ORIGIN.match(url)) and _PLAIN.fullmatch(url, origin.end()):
        return url[origin.end() :]
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


@lru_cache(REMEMBERED_HOSTS)
def is_of(host: str, hosts: tuple[str, ...], site: str) -> bool:
    """Whether a host is the portal's: one of its own, a firm's subdomain, or the IP address of a copy."""
    if host in hosts or host.endswith(f".{site}") or host in {"", "localhost"}:
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def following(url: str, paging: PagingTable, last: int | None) -> str | None:
    """Return the address of the next page; None after the last one."""
    parts = urlsplit(url)
    if paging.path is not None:
        head, mark, number = parts.path.rpartition(paging.path)
        numbered = bool(mark) and number.isdecimal()
        page = int(number) if numbered else 1
        if last is not None and page >= last:
            return None
        path = head if numbered else parts.path.rstrip("/")
        return urlunsplit(parts._replace(path=f"{path}{paging.path}{page + 1}"))
    query = parse_qsl(parts.query, keep_blank_values=True)
    numbers = {key: int(value) for key, value in query if value.isdecimal()}
    if paging.window is not None:
        first_key, last_key = paging.window
        first = numbers.get(first_key, 0)
        size = numbers.get(last_key, -1) - first + 1
        if size < 1:
            return None  # an address without its window
        moved = {first_key: first + size, last_key: first + 2 * size - 1}
    else:
        now = {key: numbers.get(key, start) for key, (start, _) in paging.query.items()}
        pages = [(now[key] - start) // step + 1 for key, (start, step) in paging.query.items() if step]
        if last is not None and max(pages, default=last) >= last:
            return None
        moved = {key: now[key] + step for key, (_, step) in paging.query.items()}
    others = [(key, value) for key, value in query if key not in moved]
    return with_query(parts, [*others, *((key, str(number)) for key, number in moved.items())])


def with_query(parts: SplitResult, query: Sequence[tuple[str, str]]) -> str:
    """Return the address with this query, without escaping the brackets and colons of portals' filters."""
    return urlunsplit(parts._replace(query=urlencode(query, safe="[]:~,", quote_via=quote)))
