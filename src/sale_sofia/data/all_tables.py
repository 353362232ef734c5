"""All tables of all rooms, known to one `metadata` once this module is imported."""

from sale_sofia.data import (
    alert_schema,
    crawl_schema,
    dashboard_schema,
    description_schema,
    drift_schema,
    evaluation_schema,
    history_schema,
    insight_schema,
    listing_schema,
    property_schema,
    telemetry_schema,
)
from sale_sofia.data.schema import metadata

__all__ = [
    "alert_schema",
    "crawl_schema",
    "dashboard_schema",
    "description_schema",
    "drift_schema",
    "evaluation_schema",
    "history_schema",
    "insight_schema",
    "listing_schema",
    "metadata",
    "property_schema",
    "telemetry_schema",
]
