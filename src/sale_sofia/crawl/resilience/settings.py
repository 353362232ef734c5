"""Limits of politeness and of patience that no environment variable sets; each says its unit and why."""

from typing import Final

RATE_BURST: Final = 1
"""Requests that a domain which rested may get at once; a person opens one page at a time."""
RETRY_AFTER_MAX_SECONDS: Final = 86_400.0
"""A Retry-After longer than a day is taken for a day."""
RESET_TIMEOUT_MAX_SECONDS: Final = 3600.0
"""No circuit stays open longer than this, unless its first timeout already is longer."""
RESET_JITTER: Final = 0.2
"""Largest share that chance adds to a repeated timeout, so that domains do not wake together."""

PROBE_LEASE_SECONDS: Final = 15.0
"""A test request not heard of for so long counts as lost; a living one renews its lease."""
PROBES_PER_PAGE: Final = 8
"""Times that a page may fail as the test request of a shut domain and lose no try by it; as the circuit stays
open longer each time, that is more than three hours of a portal that keeps us out."""
PLACE_LEASE_SECONDS: Final = 15.0
"""A place not heard of for so long is free again; a living holder renews its lease."""
FRESH_TURN_SECONDS: Final = 0.5
"""A turn that nothing was sent in for so long is asked for again: who was stopped, or too busy, goes late."""

QUICK_TRIES: Final = 2
"""Requests that one visit may make: the first, and a quick second one where the connection broke."""
QUICK_TRY_DELAY_SECONDS: Final = 0.2
"""Pause before the quick second try; a server that restarts a worker is back by then."""
QUICK_TRY_MAX_WAIT_SECONDS: Final = 10.0
"""Longest wait of a quick second try for its turn; one turn at ten a minute is shorter."""

ERROR_LOG_MAX_BYTES: Final = 10_000_000
"""Size from which the error log begins a new file; about twenty thousand lines."""
ERROR_ID_BYTES: Final = 8
"""Of the name of a line: enough that no two in a log are the same."""
ERROR_TEXT_MAX: Final = 2000
"""Characters of an address or a message that a line of the error log keeps."""

RATE_MAX_PER_MINUTE: Final = 60_000.0
"""Requests per minute above which a rate is a mistake; no portal is ever asked so fast."""
RENEWALS_PER_LEASE: Final = 3
"""Times that a living holder renews its lease before it would end, so that two may be lost."""

REDIS_TIMEOUT_SECONDS: Final = 2.0
"""Wait for an answer of Redis; beyond it the local gate takes over."""
REDIS_CONNECT_TIMEOUT_SECONDS: Final = 1.0
"""Wait for a connection to Redis."""
STOPPED_SECONDS: Final = 2 * REDIS_TIMEOUT_SECONDS
"""An answer of Redis that was missed by more than this was missed by us: the process itself was stopped."""
STATE_TTL_SECONDS: Final = 604_800
"""What Redis knows of a domain is forgotten after a week of silence; longer than any job and Retry-After."""
CLOCK_STEP_SECONDS: Final = 1.0
"""A server's clock that went back by more than this was set; what was noted is moved back with it."""
INDEX_RENEW_SECONDS: Final = 86_400.0
"""How often a process notes again which domains it asks; well within the life of what it notes."""
ASKER_SECONDS: Final = 120.0
"""A process that did not ask for a domain so long no longer counts among those who share its rate."""
FALLBACK_WORKERS: Final = 8
"""Among how many processes a domain's rate is divided without Redis, when it never said how many ask."""
SHARED_RETRY_SECONDS: Final = 3.0
"""How long a Redis that did not answer is left alone before one request tries it again."""
SHARED_SETTLE_SECONDS: Final = 6.0
"""How long a process that found Redis again still keeps to its own share of each rate: until then the others,
who go by their shares too, have tried it as well; a retry and both timeouts of Redis."""
