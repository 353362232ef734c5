"""Settings of the history: revisits, sweeps, delisting."""

from pydantic import BaseModel


class HistorySettings(BaseModel):
    """Settings of the history: revisits, sweeps, delisting."""
