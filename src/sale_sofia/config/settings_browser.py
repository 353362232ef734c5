"""Settings of the browser lane: off unless it is switched on here and allowed by a portal's file."""

from pathlib import Path

from pydantic import BaseModel, Field

from sale_sofia.config.settings_types import notes, switch, whole


class BrowserSettings(BaseModel):
    """Whether a browser may be used, which, and how often."""

    browser_enabled: bool = switch(
        default=False,
        sentence="Take JavaScript challenges to a browser, where the portal's file allows it.",
    )
    browser_path: Path | None = Field(
        default=None,
        description="The Chromium to use; unset: the one in PATH.",
        json_schema_extra=notes("a program's path", "file"),
    )
    browser_pages_per_hour: int = whole(
        30, 0, 10_000, "pages", "Most pages of one portal that are taken to the browser in an hour."
    )
