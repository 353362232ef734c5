"""Limits of the doctor's checks; no environment variable sets them, each says its unit and why."""

from typing import Final

CLOCK_OFFSET_SECONDS: Final = 2.0
"""Largest difference from a server's clock: NTP keeps within hundredths, and leases of 5 s still hold."""
CLOCK_FAULT_SECONDS: Final = 60.0
"""A stored moment further ahead is a fault of a clock: the machines of a fleet are nearer to each other."""
REDIS_SLOW_SECONDS: Final = 0.05
"""Every request waits for Redis once: a slower answer costs more than it should, even between continents."""
REDIS_PINGS: Final = 5
"""Questions of which the quickest answer counts: the first ones also pay for the connection."""
REDIS_MEMORY_SHARE: Final = 0.9
"""Of what Redis may have, the share from which on it will soon refuse writes."""
WRITE_TEST_BYTES: Final = 65_536
"""What is written, flushed and read again: more than a disk's block, less than anybody notices."""
PROGRAM_SECONDS: Final = 10.0
"""Longest wait for a program to tell its version."""
ROBOTS_WAIT_SECONDS: Final = 60.0
"""Longest wait for a portal's turn before its robots.txt is asked for."""
