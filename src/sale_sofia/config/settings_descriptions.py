"""Settings of reading descriptions."""

from pydantic import BaseModel


class DescriptionSettings(BaseModel):
    """Settings of reading descriptions."""
