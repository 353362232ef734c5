"""Settings of what is logged, and how."""

from typing import Literal

from pydantic import BaseModel, Field

from sale_sofia.config.settings_types import notes, switch

LogLevel = Literal["debug", "info", "warning", "error"]


class LogSettings(BaseModel):
    """Settings of what is logged, and how."""

    log_level: LogLevel = Field(
        default="info",
        description="The least important lines that are logged.",
        json_schema_extra=notes("debug, info, warning or error", "level"),
    )
    log_json: bool = switch(default=False, sentence="Log one JSON object a line instead of text.")
