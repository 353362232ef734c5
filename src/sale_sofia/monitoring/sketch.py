"""Response times as counts in buckets that grow like powers: small, mergeable, right to one per cent."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from sale_sofia.config.monitoring import SKETCH_LEAST_SECONDS, SKETCH_MOST_SECONDS, SKETCH_RELATIVE_ERROR

MICROSECONDS: Final = 1_000_000
_GROWTH: Final = (1 + SKETCH_RELATIVE_ERROR) / (1 - SKETCH_RELATIVE_ERROR)
_LOG_GROWTH: Final = math.log(_GROWTH)
_LEAST: Final = SKETCH_LEAST_SECONDS * MICROSECONDS
_MOST: Final = SKETCH_MOST_SECONDS * MICROSECONDS


def microseconds(seconds: float) -> int:
    """Whole microseconds, none below zero: sums of whole numbers do not depend on the order of adding."""
    return max(0, round(seconds * MICROSECONDS))


@dataclass(slots=True)
class TimeSketch:
    """Times of any number in bounded space. Merging loses nothing, in whatever order it is done."""

    total: int = 0
    """Microseconds."""
    least: int | None = None
    most: int | None = None
    buckets: dict[int, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many times were added."""
        return sum(self.buckets.values())

    def add(self, seconds: float) -> None:
        """Take in one time."""
        time = microseconds(seconds)
        self._take(time, time, time)
        self._count(_bucket(time), 1)

    def merge(self, other: Self) -> None:
        """Take in all that another sketch holds."""
        if other.least is not None and other.most is not None:
            self._take(other.total, other.least, other.most)
        for bucket, count in other.buckets.items():
            self._count(bucket, count)

    def mean(self) -> float | None:
        """The exact mean in seconds; None of nothing."""
        return self.total / self.count / MICROSECONDS if self.buckets else None

    def quantile(self, share: float) -> float | None:
        """Seconds that this share of the times stays within, at most one per cent wrong; None of nothing."""
        if self.least is None or self.most is None:
            return None
        estimate = _middle(self._bucket_at(share * (self.count - 1)))
        return min(max(estimate, self.least), self.most) / MICROSECONDS

    def count_within(self, seconds: float) -> int:
        """How many times stay within these seconds; those within one per cent of it may be on either side."""
        most = seconds * MICROSECONDS
        return sum(count for bucket, count in self.buckets.items() if _middle(bucket) <= most)

    def to_dict(self) -> dict[str, Any]:
        """The sketch as JSON."""
        buckets = {str(bucket): self.buckets[bucket] for bucket in sorted(self.buckets)}
        return {"total": self.total, "least": self.least, "most": self.most, "buckets": buckets}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        buckets = {int(bucket): count for bucket, count in known["buckets"].items()}
        return cls(known["total"], known["least"], known["most"], buckets)

    def _take(self, total: int, least: int, most: int) -> None:
        self.total += total
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)

    def _count(self, bucket: int, more: int) -> None:
        self.buckets[bucket] = self.buckets.get(bucket, 0) + more

    def _bucket_at(self, rank: float) -> int:
        passed = 0
        for bucket in sorted(self.buckets):
            passed += self.buckets[bucket]
            if passed > rank:
                return bucket
        return max(self.buckets)


def _bucket(time: int) -> int:
    return math.ceil(math.log(min(max(time, _LEAST), _MOST)) / _LOG_GROWTH)


def _middle(bucket: int) -> float:
    """The value whose distance to both edges of the bucket is the same share of the edge."""
    return 2 * _GROWTH**bucket / (_GROWTH + 1)
