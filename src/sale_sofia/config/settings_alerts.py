"""Settings of alerts: what is told, when, and how hard it is tried."""

from typing import Literal

from pydantic import BaseModel, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.config.settings_types import decimal, notes, whole


class AlertSettings(BaseModel):
    """Settings of alerts: what is told, when, and how hard it is tried."""

    alert_language: Literal["bg", "en"] = Field(
        default="bg",
        description="The language of alerts.",
        json_schema_extra=notes("bg or en", "language"),
    )
    alert_burst: int = whole(
        20, 1, 1000, "messages", "More messages for one channel at once than this are sent as one."
    )
    alert_send_seconds: float = decimal(
        30, 1, 600, "seconds", "Longest time for handing over one message; then it is tried again later."
    )
    alert_run_seconds: float = decimal(
        60, 1, 3600, "seconds", "For so long messages are sent in one go; the others wait for the next."
    )
    alert_crawl_seconds: float = decimal(
        30, 0, 3600, "seconds", "For so long messages are sent at the end of a local crawl; 0: none are."
    )
    alert_retry_seconds: float = decimal(
        60, 0.1, 86_400, "seconds", "Wait before a message is tried again; doubles with every further try."
    )
    alert_retry_most_seconds: float = decimal(
        3600, 0.1, 604_800, "seconds", "Longest wait between two tries; not below the first one."
    )
    alert_silence_seconds: float = decimal(
        7200, 60, 604_800, "seconds", "A channel that takes nothing for so long is an incident."
    )
    incident_crawl_hours: float = decimal(
        26, 1, 8760, "hours", "A portal without a complete crawl for so long is an incident."
    )

    @field_validator("alert_retry_most_seconds")
    @classmethod
    def _not_below_first(cls, most: float, info: ValidationInfo) -> float:
        first = info.data.get("alert_retry_seconds", 0.0)
        if most < first:
            raise ValueError(f"not less than ALERT_RETRY_SECONDS, which is {first}")
        return most
