"""Thirty days of real crawls of a simulated portal: how much of the first crawl each of them costs."""

from pathlib import Path
from typing import Any

from sqlalchemy import select

from crawls import truth
from passing_days import PassingDays, passing_days
from sale_sofia.history.tables import listings

SITE = "imot.bg"
SEED = 21
AGAIN_GOAL, DAY_LATER_GOAL, ANY_DAY_GOAL = 0.06, 0.10, 0.20


def run(folder: Path, *, quick: bool) -> tuple[dict[str, Any], bool]:
    """A thousand adverts for thirty days, or two hundred for five."""
    days, properties = (5, 200) if quick else (30, 900)
    with passing_days(folder, SITE, properties=properties, seed=SEED) as portal:
        _, first = portal.crawl()
        _, again = portal.crawl()
        costs, wrong = [], 0
        for _ in range(days):
            portal.next_day()
            _, asked = portal.crawl()
            costs.append(round(len(asked) / len(first), 4))
            wrong += _wrong_cards(portal)
            print(f"day {portal.day:3}: {costs[-1]:.1%} of the first crawl's requests", flush=True)
    result = {
        "adverts": properties,
        "first_requests": len(first),
        "again": round(len(again) / len(first), 4),
        "day_later": costs[0],
        "worst_day": max(costs),
        "mean_day": round(sum(costs) / len(costs), 4),
        "wrong_on_cards": wrong,
    }
    cheap = result["again"] <= AGAIN_GOAL and costs[0] <= DAY_LATER_GOAL and max(costs) <= ANY_DAY_GOAL
    return result, cheap and not wrong


def _wrong_cards(portal: PassingDays) -> int:
    """Adverts on the market whose stored price, area or floor is not what their card shows."""
    names = ("price_eur", "area_sqm", "floor")
    found = select(listings.c.external_id, *(listings.c[name] for name in names)).where(
        listings.c.closed_at.is_(None), listings.c.gone_at.is_(None)
    )
    with portal.database.read() as connection:
        stored = {row[0]: tuple(row[1:]) for row in connection.execute(found)}
    true = {key: tuple(row[name] for name in names) for (_, key), row in truth(portal.simulator).items()}
    return sum(stored.get(key) != told for key, told in true.items())
