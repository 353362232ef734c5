"""Settings of the dashboard: who may open it."""

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.config.settings_networks import NETWORKS_ALLOWED, Networks
from sale_sofia.config.settings_types import notes, password_file
from sale_sofia.config.settings_urls import password_in


class DashboardSettings(BaseModel):
    """Settings of the dashboard: who may open it."""

    dashboard_password_file: Path | None = password_file("DASHBOARD_PASSWORD")
    dashboard_password: SecretStr | None = Field(
        default=None,
        validate_default=True,
        min_length=8,
        description="Password that the dashboard asks for; without one it is shown to this machine only.",
        json_schema_extra=notes("8 characters or more", "password"),
    )
    dashboard_trusted_proxies: Networks | None = Field(
        default=None,
        description="Proxies before the dashboard whose X-Forwarded-For and X-Forwarded-Proto are believed; "
        "unset: nobody's.",
        json_schema_extra=notes(NETWORKS_ALLOWED, "addresses"),
    )

    @field_validator("dashboard_password", mode="before")
    @classmethod
    def _dashboard_password_from_file(cls, given: object, info: ValidationInfo) -> object:
        path: Path | None = info.data.get("dashboard_password_file")
        return given if path is None else password_in(path)
