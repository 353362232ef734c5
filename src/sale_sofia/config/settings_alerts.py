"""Settings of alerts: what is told, when, and how hard it is tried."""

from pydantic import BaseModel


class AlertSettings(BaseModel):
    """Settings of alerts: what is told, when, and how hard it is tried."""
