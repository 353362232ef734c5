"""What came of alerts: plain counts, without what it takes to come to them."""

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of a look."""

    flats: int = 0
    """So many were looked at: new to the rules, or not what they were."""
    items: int = 0
    messages: int = 0


@dataclass(slots=True)
class Delivered:
    """What came of sending."""

    sent: int = 0
    failed: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    """The last error of each channel."""

    def as_json(self) -> dict[str, object]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Round:
    """What came of a round."""

    looked: Looked = field(default_factory=Looked)
    delivered: Delivered = field(default_factory=Delivered)
