"""What rules of alerts go by in stored scores."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from sale_sofia.data.insight_schema import scores
from sale_sofia.data.properties_state import portions


class Verdict(NamedTuple):
    """A stored score, as far as rules look at it."""

    property_id: int
    verdict: str
    value: float | None
    """Over what is known."""
    known: float
    points: float
    """What nobody tells earns nothing."""
    unknown: list[str]


def read_verdicts(
    connection: Connection, profile: str, property_ids: Sequence[int] | None = None
) -> Iterator[Verdict]:
    """The scores of a profile, all or of these properties; what is not offered has none."""
    chosen = select(*(scores.c[name] for name in Verdict._fields)).where(scores.c.profile == profile)
    if property_ids is None:
        yield from (Verdict._make(row) for row in connection.execute(chosen))
        return
    for some in portions(sorted(property_ids)):
        rows = connection.execute(chosen.where(scores.c.property_id.in_(some)))
        yield from (Verdict._make(row) for row in rows)
