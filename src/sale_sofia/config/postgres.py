"""How PostgreSQL is used; what no environment variable sets says its unit and why."""

from dataclasses import dataclass
from typing import Final

LEAST_SERVER_VERSION: Final = 130_000
LEAST_SERVER_NAME: Final = "13"
"""The oldest server that is used, as it and as people number it: older ones get no repairs any more."""
ENCODING: Final = "UTF8"
"""What a database must hold its texts in: adverts are in Cyrillic."""

KEEPALIVE_IDLE_SECONDS: Final = 10
KEEPALIVE_INTERVAL_SECONDS: Final = 5
KEEPALIVE_COUNT: Final = 3
"""A connection whose other end is gone without a word is noticed after 25 s, on both ends."""

FIRST_OUTAGE_PAUSE_SECONDS: Final = 0.1
LONGEST_OUTAGE_PAUSE_SECONDS: Final = 2.0
"""Pauses between two looks whether a server that went away is back; they double, and chance shortens them."""

MARK_SECONDS: Final = 86_400.0
"""A connection that wrote nothing for a day needs its mark no more: nobody asks for it that late."""

LOCK_SPACE: Final = 0x5A1E
"""First half of our advisory locks' keys, so that another program in the same database has others."""
MIGRATION_LOCK: Final = "migrations"
"""The advisory lock of whoever changes the tables."""
SITE_LOCK_LOOK_SECONDS: Final = 2.0
"""How often a local crawl looks whether its lock of a portal still holds: a lost connection loses it."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How long a database server may take; seconds."""

    connect_seconds: float = 10.0
    statement_seconds: float = 120.0
    idle_seconds: float = 600.0
    silence_seconds: float = 30.0
    outage_seconds: float = 300.0
