"""Settings of the proxies; where no portal's file asks for one, none is used."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, Field

from sale_sofia.config.settings_types import decimal, notes, whole

_JUDGE_ALLOWED: Final = "https://host[:port]"
_PLAIN_JUDGE_ALLOWED: Final = "http://host[:port]"


def _https(url: str | None) -> str | None:
    return _origin(url, "https://", _JUDGE_ALLOWED)


def _http(url: str | None) -> str | None:
    return _origin(url, "http://", _PLAIN_JUDGE_ALLOWED)


def _origin(url: str | None, scheme: str, allowed: str) -> str | None:
    if url is None:
        return None
    place = url.removeprefix(scheme).rstrip("/")
    if not url.startswith(scheme) or not place or any(mark in place for mark in "/?#@ "):
        raise ValueError(allowed)
    return scheme + place


class ProxySettings(BaseModel):
    """How many proxies are wanted, how patient we are with them, and who judges them."""

    min_proxies_to_start: int = whole(5, 0, 10_000, "proxies", "Live proxies to wait for before a crawl.")
    min_proxies_for_scraping: int = whole(
        10, 0, 10_000, "proxies", "Live proxies below which the pool is refreshed."
    )
    max_proxy_retries: int = whole(3, 0, 100, "retries", "Further proxies tried for one request.")
    proxy_timeout: float = decimal(15.0, 0.1, 300, "seconds", "Longest wait for an answer through a proxy.")
    proxy_spacing: float = decimal(
        5.0, 0, 3600, "seconds", "Rest of a proxy between two requests to the same portal."
    )
    proxy_check_concurrency: int = whole(256, 1, 4096, "proxies", "Proxies that are checked at once.")
    proxy_rotate_budget: int = whole(
        6, 0, 1000, "tries", "Other proxies tried for a portal before more is done."
    )
    proxy_restart_budget: int = whole(
        3, 0, 1000, "tries", "Restarts of the way out before the pool is refreshed."
    )
    proxy_refresh_budget: int = whole(
        3, 0, 1000, "tries", "Refreshes of the pool before the next tier is used."
    )
    proxy_judge_url: Annotated[str | None, AfterValidator(_https)] = Field(
        default=None,
        description="The judge that proxies are checked with; unset: exit address and leaks stay unknown.",
        json_schema_extra=notes(_JUDGE_ALLOWED, "URL"),
    )
    proxy_judge_http_url: Annotated[str | None, AfterValidator(_http)] = Field(
        default=None,
        description="The same judge without TLS, where a proxy can add headers; unset: leaks stay unknown.",
        json_schema_extra=notes(_PLAIN_JUDGE_ALLOWED, "URL"),
    )
    proxy_judge_ca: Path | None = Field(
        default=None,
        description="Certificate authority of the judge; unset: the ones everybody trusts.",
        json_schema_extra=notes("a file in PEM form", "file"),
    )
    rotator_port: int = whole(8089, 1, 65_535, "port", "Where the rotator listens, on 127.0.0.1 alone.")
    mubeng_path: Path | None = Field(
        default=None,
        description="A mubeng binary of yours to use as the rotator instead of our own; see docs/proxies.md.",
        json_schema_extra=notes("a program's path", "file"),
    )
