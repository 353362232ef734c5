"""Imports the tables of all slices, so that `metadata` has all of them."""

from sale_sofia.advice import tables as advice
from sale_sofia.alerts import tables as alerts
from sale_sofia.buyer import tables as buyer
from sale_sofia.crawl import tables as crawl
from sale_sofia.descriptions import tables as descriptions
from sale_sofia.flats import tables as flats
from sale_sofia.history import tables as history
from sale_sofia.storage.tables import metadata
from sale_sofia.telemetry import tables as telemetry

__all__ = ["advice", "alerts", "buyer", "crawl", "descriptions", "flats", "history", "metadata", "telemetry"]
