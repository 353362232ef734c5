"""How the database is waited for, and how much of it is read at once."""

from typing import Final

BUSY_FIRST_PAUSE_SECONDS: Final = 0.05
"""The long wait for a busy database is its own; between two of them a short pause lets others go first."""
BUSY_LONGEST_PAUSE_SECONDS: Final = 2.0
"""The pauses double, up to this."""
PREPARING_LOOK_SECONDS: Final = 0.02
"""While another process makes or upgrades the file, it is looked at so often whether it is done."""
CHECK_LOOK_STEPS: Final = 100_000
"""Steps of SQLite, some milliseconds, between two looks whether a check of the whole file is to stop."""
PAGES_STREAMED_AT_ONCE: Final = 500
"""Records of archived pages that are in memory at once."""
EXPORTED_AT_ONCE: Final = 1000
"""Adverts that an export holds in memory; in Parquet, a row group."""
