"""Settings of scores, market figures and fair prices."""

from pydantic import BaseModel


class InsightSettings(BaseModel):
    """Settings of scores, market figures and fair prices."""
