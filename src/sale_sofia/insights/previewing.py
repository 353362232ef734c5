"""What a profile would let through: for the person who is just changing it."""

from collections.abc import Iterable

from sale_sofia.insights.flats import Flat
from sale_sofia.insights.passing import Passing, count_passing
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.remembering import look
from sale_sofia.insights.scoring import Scorer
from sale_sofia.insights.yardsticks import Cell, Yardstick


def preview(profile: Profile, flats: Iterable[Flat]) -> Passing:
    """Count what the profile would do with these flats; those that are gone do not count."""
    scorer = Scorer(profile)
    there = (flat for flat in flats if flat.offered and scorer.is_candidate(flat))
    return count_passing(scorer.score(look(flat, _nothing)) for flat in there)


def _nothing(_cell: Cell) -> Yardstick:
    """Breakers look at no neighbours."""
    return Yardstick()
