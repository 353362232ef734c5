"""Settings of health and incidents: from when on a run is not as it should be."""

from pydantic import BaseModel, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.config.settings_types import decimal, notes, whole


class MonitoringSettings(BaseModel):
    """Settings of health and incidents; what is critical is never less than what is degraded."""

    health_failure_degraded: float = decimal(
        0.05, 0, 1, "share", "A run is degraded from this share of failed pages on."
    )
    health_failure_critical: float = decimal(
        0.3,
        0,
        1,
        "share",
        "A run is critical from this share of failed pages on; from this share of unread adverts on, its job "
        "is partial and its sweep not complete.",
    )
    health_block_degraded: float = decimal(
        0.02, 0, 1, "share", "A run is degraded from this share of blocked or rate-limited requests on."
    )
    health_block_critical: float = decimal(
        0.2, 0, 1, "share", "A run is critical from this share of blocked or rate-limited requests on."
    )
    health_circuit_degraded: float = decimal(
        0.05, 0, 1, "share", "A run is degraded when its circuit was open for this share of its time."
    )
    health_circuit_critical: float = decimal(
        0.5, 0, 1, "share", "A run is critical when its circuit was open for this share of its time."
    )
    health_collapse_share: float = decimal(
        0.5, 0, 1, "share", "Fewer adverts than this share of the median of the last runs are an incident."
    )
    incident_circuit_seconds: float = decimal(
        900, 1, 604_800, "seconds", "A circuit open for so long during one run is an incident."
    )
    incident_stuck_seconds: float = decimal(
        3600, 60, 604_800, "seconds", "An unfinished job in which nothing moves for so long is an incident."
    )

    report_retention_days: int = whole(
        30,
        1,
        3650,
        "days",
        "How long the reports of runs are kept, and each of their pages; `prune` forgets older ones.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65_535,
        description="Port on which `sale-sofia up` serves metrics to this machine; unset: it serves none.",
        json_schema_extra=notes("a whole number from 1 to 65535", "port"),
    )

    @field_validator("health_failure_critical", "health_block_critical", "health_circuit_critical")
    @classmethod
    def _not_below_degraded(cls, critical: float, info: ValidationInfo) -> float:
        name = (info.field_name or "").replace("critical", "degraded")
        if critical < (degraded := info.data.get(name, 0.0)):
            raise ValueError(f"not less than {name.upper()}, which is {degraded}")
        return critical
