"""Settings of the alarm for pages that changed."""

from pydantic import BaseModel


class DriftSettings(BaseModel):
    """Settings of the alarm for pages that changed."""
