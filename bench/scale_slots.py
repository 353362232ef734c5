"""Redis Cluster: the slots of our keys, by the CRC16 of its specification, and how portals spread."""

from binascii import crc_hqx
from collections import Counter
from collections.abc import Sequence

from sale_sofia.crawl.resilience.redis_parts import circuit_key, pace_key, places_key

SLOTS = 16_384


def crc16(data: bytes) -> int:
    """CRC16-XMODEM, by which a cluster finds the slot of a key."""
    return crc_hqx(data, 0)


def slot_of(key: str) -> int:
    """The slot of a key: of what stands in its first braces, where anything does."""
    _, opened, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    return crc16((tag if opened and closed and tag else key).encode()) % SLOTS


def keys_of(domain: str) -> tuple[str, ...]:
    """All keys that the gate's scripts touch for one portal."""
    return circuit_key(domain), places_key(domain), pace_key(domain), f"{pace_key(domain)}:askers"


def spread(domains: Sequence[str], nodes: int) -> dict[str, float]:
    """How evenly the portals lie on the nodes of a cluster whose slots are dealt out evenly."""
    slots = [slot_of(circuit_key(one)) for one in domains]
    on = Counter(slot * nodes // SLOTS for slot in slots)
    most, least = max(on.values()), min(on.get(node, 0) for node in range(nodes))
    return {
        "nodes": nodes,
        "slots_used": len(set(slots)),
        "most": most,
        "least": least,
        "of_mean": round(most * nodes / len(slots), 3),
    }


def torn(domains: Sequence[str]) -> int:
    """Portals whose keys do not all lie in one slot."""
    return sum(len({slot_of(key) for key in keys_of(domain)}) > 1 for domain in domains)
