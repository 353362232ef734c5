"""Moments as people write them."""

from datetime import UTC, datetime

import pytest

from sale_sofia.cli.console import moment_of
from tables import each_row

NOW = datetime(2026, 11, 15, 23, 30, tzinfo=UTC)  # already the 16th in Sofia


@each_row(
    ("text", "meant"),
    [
        ("today", datetime(2026, 11, 15, 22, tzinfo=UTC)),
        ("yesterday", datetime(2026, 11, 14, 22, tzinfo=UTC)),
        ("2026-11-14", datetime(2026, 11, 13, 22, tzinfo=UTC)),
        ("2026-07-01", datetime(2026, 6, 30, 21, tzinfo=UTC)),
        ("2026-11-14T08:30", datetime(2026, 11, 14, 6, 30, tzinfo=UTC)),
        ("2026-11-14T08:30+00:00", datetime(2026, 11, 14, 8, 30, tzinfo=UTC)),
        ("24h", datetime(2026, 11, 14, 23, 30, tzinfo=UTC)),
        ("7d", datetime(2026, 11, 8, 23, 30, tzinfo=UTC)),
        ("9999d", datetime(1999, 7, 1, 23, 30, tzinfo=UTC)),
        ("90m", datetime(2026, 11, 15, 22, tzinfo=UTC)),
    ],
)
def test_a_moment(text: str, meant: datetime) -> None:
    assert moment_of(text, NOW) == meant.timestamp()


@each_row("text", ["", "tomorrow", "24", "h", "-1d", "2026-13-01", "1w"])
def test_what_is_no_moment_is_said_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match="is no moment; allowed: today, yesterday, a date"):
        moment_of(text, NOW)
