"""The scores of all flats for one profile, in memory; only what changed is judged again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import JUDGES, Alike, Score, Scorer, Seen, look, ranking
from sale_sofia.advice.scoring.yardsticks import Cell, Comparable, Yardstick, Yardsticks, cell_of, comparable
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import sparing
from sale_sofia.settings.model import Settings


class Looks:
    """Every flat looked at beside its neighbours. What was handed out before a refresh stays as it was."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._compared: dict[int, tuple[Flat, Comparable | None]] = {}
        self._known: dict[int, tuple[Yardstick, Seen]] = {}
        self.seen: Mapping[int, Seen] = {}
        """By property; the same object as before where nothing moved."""

    def refresh(self, flats: Mapping[int, Flat], kept: Mapping[Cell, Yardstick]) -> None:
        """Look at these flats; `kept` are the yardsticks by which they were scored last."""
        self._compared = {number: self._comparable(number, flat) for number, flat in flats.items()}
        told = (one for _, one in self._compared.values() if one is not None)
        yardsticks = Yardsticks(told, self._settings, kept)
        alike: Alike = [{} for _ in JUDGES]
        self._known = {
            number: self._look(number, flat, yardsticks, alike) for number, flat in sparing(flats.items())
        }
        self.seen = {number: seen for number, (_, seen) in self._known.items()}

    def _comparable(self, number: int, flat: Flat) -> tuple[Flat, Comparable | None]:
        known = self._compared.get(number)
        return known if known is not None and known[0] is flat else (flat, comparable(flat))

    def _look(self, number: int, flat: Flat, yardsticks: Yardsticks, alike: Alike) -> tuple[Yardstick, Seen]:
        cell = cell_of(flat.neighbourhood, flat.rooms)
        by = yardsticks.of(cell) if cell else Yardstick()
        known = self._known.get(number)
        if known is not None and known[1].flat is flat and known[0] == by:
            return known
        return by, look(flat, yardsticks.of, alike)


@dataclass(frozen=True)
class Ranked:
    """All flats as one profile sees them."""

    looks: Mapping[int, Seen]
    scores: Mapping[int, Score]
    """By property; of those that may be what the profile looks for at all."""

    @cached_property
    def flats(self) -> Sequence[Flat]:
        """What passes, then what is not known to, then what fails, the most points first; the rest last."""
        scored = [self.looks[score.property_id].flat for score in sorted(self.scores.values(), key=ranking)]
        return [*scored, *(seen.flat for number, seen in self.looks.items() if number not in self.scores)]


class ScoreBook:
    """Keeps the score of every flat for one profile. What was handed out before a refresh stays as it was."""

    def __init__(self, profile: Profile) -> None:
        self._scorer = Scorer(profile)
        self._ranked = Ranked({}, {})

    def refresh(self, looks: Mapping[int, Seen]) -> Ranked:
        """The scores of these flats; what is as it was is not judged again."""
        if looks is not self._ranked.looks:
            wanted = (
                (one, seen) for one, seen in sparing(looks.items()) if self._scorer.is_candidate(seen.flat)
            )
            self._ranked = Ranked(looks, {number: self._score(number, seen) for number, seen in wanted})
        return self._ranked

    def _score(self, number: int, seen: Seen) -> Score:
        before = self._ranked
        known = before.scores.get(number) if before.looks.get(number) is seen else None
        return self._scorer.score(seen) if known is None else known
