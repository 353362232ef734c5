"""What the commands about proxies are told, and the pool they look at."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import cast, get_args

import typer

from sale_sofia.config.settings import Settings
from sale_sofia.proxies.address import Scheme
from sale_sofia.proxies.factory import get_pool
from sale_sofia.proxies.model import TIERS, Tier
from sale_sofia.proxies.pool import ScoredProxyPool
from sale_sofia.services.errors import RedisUnreachable
from sale_sofia.services.running_redis import known_redis_url

_STDIN = "-"
_MOST_COLONS = 2  # in scheme://host:port; a third one stands before a user


@asynccontextmanager
async def open_pool(settings: Settings) -> AsyncIterator[ScoredProxyPool]:
    """The pool that all share; without Redis, what the last check found."""
    pool = await get_pool(settings, shared_redis_url(settings))
    try:
        yield pool
    finally:
        await pool.close()


def shared_redis_url(settings: Settings) -> str | None:
    """That of the pool all share; None where this process is alone."""
    try:
        return known_redis_url(settings)
    except RedisUnreachable:
        return None


def given_places(places: Sequence[str]) -> list[str]:
    """The places named, those on standard input too; a password among the arguments is refused."""
    if any("@" in place or (place.count(":") > _MOST_COLONS and "[" not in place) for place in places):
        raise typer.BadParameter(
            "a password on the command line can be read by every user of this machine: "
            "put the line into a file, or send it to `proxies add -`"
        )
    named = [place for place in places if place != _STDIN]
    lines = sys.stdin.read().splitlines() if _STDIN in places else []
    return [*named, *(line.strip() for line in lines if line.strip())]


def read_tier(given: str) -> Tier:
    """One of the tiers."""
    if given not in TIERS:
        raise typer.BadParameter(f"no tier {given!r}; allowed: {', '.join(TIERS)}")
    return given


def read_scheme(given: str) -> Scheme:
    """One of the schemes."""
    if given not in get_args(Scheme):
        raise typer.BadParameter(f"no scheme {given!r}; allowed: {', '.join(get_args(Scheme))}")
    return cast("Scheme", given)
