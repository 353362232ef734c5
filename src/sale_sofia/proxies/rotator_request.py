"""What a tool asks of the rotator: where to, and which proxy."""

import re
from base64 import b64decode
from binascii import Error as Undecodable
from dataclasses import dataclass
from typing import Final

from sale_sofia.proxies.address import NotAProxy, parse_host

_FIRST: Final = re.compile(
    r"CONNECT (?P<host>[^\s:\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5}) HTTP/1\.[01]"
)
_OFFSET: Final = re.compile(r"[0-9]{1,9}")
_SESSION: Final = re.compile(r"session-(?P<name>[\w.-]{1,64})(?:;domain=(?P<domain>[\w.:-]{1,255}))?")
_MOST_PORT: Final = 65_535


class BadRequest(ValueError):
    """No request that a rotator can serve; `status` is the answer it gets."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class TunnelRequest:
    """One tunnel that was asked for."""

    host: str
    port: int
    offset: int | None = None
    """The same number, the same proxy."""
    session: str | None = None
    domain: str | None = None
    """The portal, where the host does not say it."""


def read_request(head: str) -> TunnelRequest:
    """The tunnel that a request's head asks for.

    Raises:
        BadRequest: it asks for something else.
    """
    first, *lines = head.split("\r\n")
    found = _FIRST.fullmatch(first)
    if found is None:
        told = first.partition(" ")[0]
        raise BadRequest(
            405 if told.isupper() and told != "CONNECT" else 400, "only CONNECT host:port is served"
        )
    port = int(found["port"])
    if not 0 < port <= _MOST_PORT:
        raise BadRequest(400, f"no port {port}")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)
    }
    session = _session(headers.get("proxy-authorization", ""))
    return TunnelRequest(
        _host(found["host"]),
        port,
        _offset(headers.get("x-proxy-offset")),
        session["name"] if session else None,
        session["domain"] if session else None,
    )


def _host(told: str) -> str:
    try:
        return parse_host(told.lower())
    except NotAProxy as error:
        raise BadRequest(400, str(error)) from None


def _offset(told: str | None) -> int | None:
    if told is None:
        return None
    if not _OFFSET.fullmatch(told):
        raise BadRequest(400, "X-Proxy-Offset: a whole number is wanted")
    return int(told)


def _session(told: str) -> re.Match[str] | None:
    """`session-NAME[;domain=PORTAL]`, as it is or as the user of a basic login, as tools send it."""
    kind, _, value = told.partition(" ")
    if kind.lower() == "basic":
        try:
            told = b64decode(value, validate=True).decode("utf-8").partition(":")[0]
        except (Undecodable, UnicodeDecodeError):
            return None
    return _SESSION.fullmatch(told)
