"""Finds moments in the future: rows written while a clock was ahead."""

from typing import Final

from sqlalchemy import Connection, func, literal, select, union_all

from sale_sofia.alerts.tables import alert_messages
from sale_sofia.crawl.tables import jobs, schedule_slots
from sale_sofia.history.settings import CLOCK_FAULT_SECONDS, SECONDS_PER_HOUR
from sale_sofia.history.tables import listings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.tables import incidents

_MOMENTS: Final = (
    ("jobs", jobs.c.created_at),
    ("jobs", jobs.c.finished_at),
    ("adverts", listings.c.last_seen_at),
    ("incidents", incidents.c.seen_at),
    ("scheduled crawls", schedule_slots.c.taken_at),
    ("alerts", alert_messages.c.made_at),
)
_NEWEST: Final = union_all(*(select(literal(name), func.max(column)) for name, column in _MOMENTS))


def future_sentence(connection: Connection, *, now: float) -> Said | None:
    """A sentence on what in the database is dated in the future; None where nothing is."""
    ahead: dict[str, float] = {}
    for name, newest in connection.execute(_NEWEST):
        if newest is not None and newest > now + CLOCK_FAULT_SECONDS:
            ahead[name] = max(ahead.get(name, 0.0), newest - now)
    if not ahead:
        return None
    hours = max(ahead.values()) / SECONDS_PER_HOUR
    return Said("trouble.clock_ahead", what=list(ahead), hours=hours)
