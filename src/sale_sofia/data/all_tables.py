"""All tables of all rooms, known to one `metadata` once this module is imported."""

from sale_sofia.data import description_schema, drift_schema, history_schema, property_schema
from sale_sofia.data.schema import metadata

__all__ = ["description_schema", "drift_schema", "history_schema", "metadata", "property_schema"]
