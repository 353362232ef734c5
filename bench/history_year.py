"""A simulated year: what is found on which day, beside what the worlds say must be found."""

import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia_simulator.world import advance, make_world
from simulated_days import Days, Mode, stored_changes, stored_events, stored_prices

SEED = 11
TROUBLES: tuple[Mode, ...] = ("partial", "blocked", "collapsed")
SHARE_OF_TROUBLE = 0.08


def run(folder: Path, *, quick: bool) -> tuple[dict[str, Any], bool]:
    """A year of a thousand adverts, or two months of two hundred."""
    days, properties = (60, 200) if quick else (365, 1000)
    started = time.perf_counter()
    swept = _sweep(folder, days, properties)
    seconds = time.perf_counter() - started
    expected = swept.expected()
    with swept.database.read() as connection:
        found = {
            "changes": _compare(stored_changes(connection), expected.changes()),
            "prices": _compare(stored_prices(connection), expected.prices()),
            "events": _compare(stored_events(connection), expected.events()),
        }
    missed = len(expected.missed_cards())
    first, *others = swept.requests
    result = {
        "days": days,
        "adverts": properties,
        "seconds": round(seconds, 1),
        "troubled_days": dict(Counter(one.mode for one in swept.portals if one.mode != "whole")),
        "missed_on_cards": missed,
        "requests_a_day": round(sum(others) / len(others) / first, 4),
        **found,
    }
    return result, not missed and all(one["missing"] == one["invented"] == 0 for one in found.values())


def _sweep(folder: Path, days: int, properties: int) -> Days:
    database = Database(f"sqlite:///{folder / 'year.db'}", busy_timeout_seconds=10, busy_retries=3)
    initialize_database(database)
    swept, rng = Days(database), Random(SEED)
    world = make_world(properties, SEED)
    for day in range(days):
        world = advance(world, day, SEED) if day else world
        troubled = day > 3 and rng.random() < SHARE_OF_TROUBLE
        swept.sweep(world, rng.choice(TROUBLES) if troubled else "whole")
    return swept


def _compare(stored: list[Any], expected: list[Any]) -> dict[str, int]:
    have, want = Counter(map(_key, stored)), Counter(map(_key, expected))
    return {
        "expected": len(expected),
        "missing": sum((want - have).values()),
        "invented": sum((have - want).values()),
    }


def _key(row: tuple[Any, ...]) -> str:
    """A whole number and the same one with a point are the same."""
    return repr([float(value) if isinstance(value, int | float) else value for value in row])
