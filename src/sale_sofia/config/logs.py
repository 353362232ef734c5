"""Limits of what is logged; no environment variable sets them, each says its unit and why."""

from typing import Final

LOG_MOST_BYTES: Final = 10_000_000
"""A log that grew beyond this is put aside."""
LOGS_PUT_ASIDE: Final = 4
"""How many that were put aside are kept, beside the one that is written: 50 MB for each program."""
LEAST_SECRET: Final = 4
"""Characters from which on a secret is hidden wherever it stands; shorter ones are in every word."""
QUIET_LIBRARIES: Final = ("alembic", "httpx", "httpcore", "urllib3", "watchdog", "PIL")
"""Libraries whose everyday words help nobody; their warnings are told."""
