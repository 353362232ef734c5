"""How the interpreter is run; no environment variable sets it."""

from typing import Final

COLLECTOR_THRESHOLDS: Final = (20_000, 20, 50)
"""Objects before the young are looked through, and how many such looks before the older are.

Python's own 700 means several looks for every page; at 20 000 one for every few pages, at less than a
megabyte more of memory.
"""
