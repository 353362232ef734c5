"""What the system does next after something went wrong."""

from enum import StrEnum


class Action(StrEnum):
    """One step. Whoever reads the error log or a failed row finds these words."""

    RETRY_NOW = "retry_now"
    """Once more within the same visit; if that is not possible, as `BACKOFF`."""
    BACKOFF = "backoff"
    """Again later, after a wait that grows."""
    OTHER_PROXY = "other_proxy"
    """Again later, by another way out."""
    ESCALATE = "escalate"
    """Not again in this way: it needs a stronger one, such as a browser."""
    SKIP = "skip"
    """Never again in this job; the others go on."""
    OPEN_CIRCUIT = "open_circuit"
    """Leave the service alone for a while and go on without it."""
    MANUAL_REVIEW = "manual_review"
    """A person must look."""
