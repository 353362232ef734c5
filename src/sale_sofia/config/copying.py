"""Limits of copying a whole database; no environment variable sets them."""

from typing import Final

COPY_ROWS_AT_ONCE: Final = 500
"""Rows read, and written in one transaction: some megabytes of adverts, less than a second of work."""
