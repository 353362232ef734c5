"""Addresses as a portal writes them."""

import ipaddress
import re
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from sale_sofia.websites.site_file import PagingTable

_ORIGIN = re.compile(r"https?://[\w.:-]+(?=[/?#]|$)")
_PLAIN = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[\w.~-]++)++/?")
"""A path that needs nothing done to it; most of a portal's links are such."""
_WHOLE = re.compile(rf"https?://[A-Za-z0-9.-]+{_PLAIN.pattern}")
_USUAL_PORTS = {"https": ":443", "http": ":80"}


def absolute(base: str, address: str) -> str:
    """An address as a browser would follow it; a portal that leaves out the scheme means https.

    A port that goes without saying is left out. What is no address at all is empty.
    """
    if address.startswith("/") and (origin := _ORIGIN.match(base)) and _PLAIN.fullmatch(address):
        return origin[0] + address
    if _WHOLE.fullmatch(address):
        return address
    try:
        parts = urlsplit(f"https:{address}" if address.startswith("//") else urljoin(base, address))
        usual = _USUAL_PORTS.get(parts.scheme, "")
        return urlunsplit(parts._replace(netloc=parts.netloc.removesuffix(usual) if usual else parts.netloc))
    except ValueError:
        return ""


def host_of(url: str) -> str:
    """The host an address names, empty where it names none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def path_of(url: str) -> str:
    """The path of an address."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def is_of(host: str, hosts: tuple[str, ...], site: str) -> bool:
    """Whether a host is the portal's: one of its own, a firm's under it, or the bare address of a copy."""
    return host in hosts or host.endswith(f".{site}") or host in {"", "localhost"} or _is_number(host)


def following(url: str, paging: PagingTable, last: int | None) -> str | None:
    """The address of the next page; None after the last one."""
    parts = urlsplit(url)
    if paging.path is not None:
        return _next_in_path(parts, paging.path, last)
    if paging.window is not None:
        return _next_window(parts, *paging.window)
    return _next_in_query(parts, paging, last)


def _next_window(parts: SplitResult, first: str, last: str) -> str | None:
    query = parse_qsl(parts.query, keep_blank_values=True)
    asked = {key: int(value) for key, value in query if key in {first, last} and value.isdecimal()}
    size = asked.get(last, -1) - asked.get(first, 0) + 1
    if size < 1:
        return None  # an address that does not say how much it asks for
    moved = [(first, asked.get(first, 0) + size), (last, asked[last] + size)]
    kept = [(key, value) for key, value in query if key not in {first, last}]
    return urlunsplit(parts._replace(query=_query([*kept, *((key, str(to)) for key, to in moved)])))


def _next_in_path(parts: SplitResult, mark: str, last: int | None) -> str | None:
    head, found, number = parts.path.rpartition(mark)
    page = int(number) if found and number.isdecimal() else 1
    if last is not None and page >= last:
        return None
    path = head if found and number.isdecimal() else parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=f"{path}{mark}{page + 1}"))


def _next_in_query(parts: SplitResult, paging: PagingTable, last: int | None) -> str | None:
    query = parse_qsl(parts.query, keep_blank_values=True)
    given = {key: int(value) for key, value in query if key in paging.query and value.isdecimal()}
    now = {key: given.get(key, first) for key, (first, _) in paging.query.items()}
    if last is not None and max(now.values()) >= last:
        return None
    grown = {key: now[key] + step for key, (_, step) in paging.query.items()}
    kept = [(key, value) for key, value in query if key not in grown]
    return urlunsplit(parts._replace(query=_query([*kept, *((key, str(to)) for key, to in grown.items())])))


def _query(pairs: list[tuple[str, str]]) -> str:
    """A query that keeps the brackets and colons in which portals write their filters."""
    return urlencode(pairs, safe="[]:~,", quote_via=quote)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
