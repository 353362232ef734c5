"""Settings of matching adverts to properties and of agencies."""

from pydantic import BaseModel


class PropertySettings(BaseModel):
    """Settings of matching adverts to properties and of agencies."""
