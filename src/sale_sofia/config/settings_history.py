"""Settings of the history: revisits, sweeps, delisting."""

from pydantic import BaseModel

from sale_sofia.config.settings_types import whole


class HistorySettings(BaseModel):
    """Settings of the history: revisits, sweeps, delisting."""

    odd_price_visits: int = whole(
        3,
        1,
        100,
        "visits",
        "Visits in a row after which a price that turned into another meaning (per m², a tenth, a "
        "thousandth) is believed.",
    )
    scrape_history_days: int = whole(
        90,
        1,
        36_500,
        "days",
        "Visits that changed nothing are remembered so long; `prune` forgets older ones.",
    )
