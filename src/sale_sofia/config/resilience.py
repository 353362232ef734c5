"""Limits of politeness and of patience that no environment variable sets; each says its unit and why."""

from typing import Final

RATE_BURST: Final = 1
"""Requests that a domain which rested may get at once; a person opens one page at a time."""
SLOW_STEP: Final = 2.0
"""A penalty multiplies the time between two requests by this."""
SLOW_MAX: Final = 16.0
"""A domain is never made slower than its own rate divided by this."""
RECOVERY_SUCCESSES: Final = 5
"""Good answers in a row before a slowed domain becomes a little faster."""
RECOVERY_FACTOR: Final = 0.9
"""What is left of the slow factor after that; about 35 good answers undo one penalty."""
PENALTY_SECONDS: Final = 30.0
"""Pause after "too many requests" that did not say how long."""
RETRY_AFTER_MAX_SECONDS: Final = 86_400.0
"""A Retry-After longer than a day is taken for a day."""

FAILURE_WINDOW_SECONDS: Final = 300.0
"""Failures older than this say nothing about a domain now."""
FAILURE_WINDOW_BUCKETS: Final = 10
"""Parts in which the window moves on."""
FAILURE_MIN_VOLUME: Final = 20
"""Answers in the window below which their failure rate means nothing; two minutes at ten a minute."""
FAILURE_RATE: Final = 0.5
"""Share of failures in the window that opens the circuit, also when successes lie between them."""
RESET_TIMEOUT_STEP: Final = 2.0
"""A circuit whose test failed stays open this many times longer than before."""
RESET_TIMEOUT_MAX_SECONDS: Final = 3600.0
"""No circuit stays open longer than this, unless its first timeout already is longer."""
RESET_JITTER: Final = 0.2
"""Largest share that chance adds to a repeated timeout, so that domains do not wake together."""
PROBE_LEASE_SECONDS: Final = 180.0
"""A test request not heard of for so long counts as lost; more than any wait and fetch together."""
PROBE_BUSY_SECONDS: Final = 5.0
"""When to ask again while all test requests of a half-open circuit are under way."""

PLACE_LEASE_SECONDS: Final = 180.0
"""A place not given back for so long is free again; more than any wait and fetch together."""
PLACE_BUSY_SECONDS: Final = 2.0
"""When to ask again while all places of a domain are taken."""

RETRY_STEP: Final = 2.0
"""Each further wait before a retry is this many times the one before."""
RETRY_BUDGET_SHARE: Final = 0.2
"""Retries that one first try pays for."""
RETRY_BUDGET_PER_MINUTE: Final = 1.0
"""Retries a domain may have per minute however few first tries it had."""
RETRY_BUDGET_MAX: Final = 10.0
"""Most retries that can be saved up."""
