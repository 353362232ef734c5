"""Fixed limits of politeness and patience, each with its unit and reason; not set by the environment."""

from typing import Final

RATE_BURST: Final = 1
"""Requests that an idle domain may get at once; a person opens one page at a time."""
RETRY_AFTER_MAX_SECONDS: Final = 86_400.0
"""A Retry-After longer than a day counts as a day."""
RESET_TIMEOUT_MAX_SECONDS: Final = 3600.0
"""No circuit stays open longer than this, unless its first timeout already is longer."""
RESET_JITTER: Final = 0.2
"""Largest random share added to a repeated timeout, so that domains do not wake together."""

PROBE_LEASE_SECONDS: Final = 15.0
"""A probe whose lease is not renewed for this long counts as lost."""
PROBES_PER_PAGE: Final = 8
"""Times that a page may fail as a probe of its domain without losing a try; as the circuit stays open longer
each time, that covers more than three hours of a portal that keeps us out."""
PLACE_LEASE_SECONDS: Final = 15.0
"""A place whose lease is not renewed for this long is free again."""
FRESH_TURN_SECONDS: Final = 0.5
"""A turn unused for this long is stale: a process that was suspended or too busy would send too late."""

QUICK_TRIES: Final = 2
"""Requests that one visit may make: the first, and a quick second one where the connection broke."""
QUICK_TRY_DELAY_SECONDS: Final = 0.2
"""Pause before the quick second try; a server that restarts a worker is back by then."""
QUICK_TRY_MAX_WAIT_SECONDS: Final = 10.0
"""Longest wait of a quick second try for its turn; one turn at ten a minute is shorter."""

ERROR_LOG_MAX_BYTES: Final = 10_000_000
"""Size from which the error log begins a new file; about twenty thousand lines."""
ERROR_ID_BYTES: Final = 8
"""Random bytes of a line's id: enough that no two in a log are equal."""
ERROR_TEXT_MAX: Final = 2000
"""Characters of an address or a message that a line of the error log keeps."""

RATE_MAX_PER_MINUTE: Final = 60_000.0
"""Requests per minute above which a rate is a mistake; no portal is ever crawled so fast."""
RENEWALS_PER_LEASE: Final = 3
"""Renewals within the length of a lease, so that two may be lost."""

REDIS_TIMEOUT_SECONDS: Final = 2.0
"""Wait for an answer of Redis; after it the local gate takes over."""
REDIS_CONNECT_TIMEOUT_SECONDS: Final = 1.0
"""Wait for a connection to Redis."""
STOPPED_SECONDS: Final = 2 * REDIS_TIMEOUT_SECONDS
"""A timeout of Redis noticed later than this is our own fault: the process was suspended."""
STATE_TTL_SECONDS: Final = 604_800
"""A domain's state in Redis expires after a week without use; longer than any job and Retry-After."""
CLOCK_STEP_SECONDS: Final = 1.0
"""A server clock that went back by more than this was set; stored times are moved back with it."""
INDEX_RENEW_SECONDS: Final = 86_400.0
"""How often a process renews its domains in the index; well within the life of the index."""
ASKER_SECONDS: Final = 120.0
"""A process that sent nothing to a domain for this long no longer counts among those who share its rate."""
FALLBACK_WORKERS: Final = 8
"""Processes that share a domain's rate during an outage of Redis, if it never reported their number."""
SHARED_RETRY_SECONDS: Final = 3.0
"""Pause before one request tries a Redis again that did not answer."""
SHARED_SETTLE_SECONDS: Final = 6.0
"""How long a process keeps to its own share of each rate after Redis is back: by then all other processes
have noticed it too; one retry pause and both timeouts of Redis."""
