"""Makes sellers: agencies, developers and private people."""

from random import Random

from sale_sofia.simulator import names
from sale_sofia.simulator.homes import chance, pick
from sale_sofia.simulator.model import Seller

_FIRMS = 60
_SHARE_BROKER = 0.4


def make_seller(rng: Random, seed: int) -> Seller:
    """One of the world's firms, or a private person seen once."""
    kind = pick(rng, ("agency", "developer", "private"), (78, 10, 12))
    if kind == "private":
        return Seller(kind, None, None, _phones(rng), 2020, "", None, rng.randint(100_000, 4_999_999))
    return _firm(rng, seed, kind)


def _firm(rng: Random, seed: int, kind: str) -> Seller:
    number = rng.randrange(_FIRMS)
    same = Random(f"{seed}:{kind}:{number}")
    name = names.firm(same, builder=kind == "developer")
    return Seller(
        kind=kind,
        name=name,
        handle=names.handle(name),
        since=same.randint(2004, 2025),
        address=f"гр. София, {names.street(same)} {same.randint(1, 150)}",
        user=same.randint(100_000, 4_999_999),
        phones=_phones(rng),
        broker=names.person(rng) if chance(rng, _SHARE_BROKER) else None,
    )


def _phones(rng: Random) -> tuple[str, ...]:
    phones = {names.mobile(rng): None for _ in range(2 if chance(rng, 0.1) else 1)}
    return tuple(phones)
