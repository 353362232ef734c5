"""The score of a flat for a buyer: seven criteria, deal breakers, and how much of it all is known.

Every known fact earns its worth (0–5) times its share of its criterion times the criterion's weight: its part
of the points. `value` is the points over what is known, `known` the share of the weights that is. Flats are
ranked by their points: what nobody tells earns nothing, so that hiding a fact never helps, and a flat of
which nothing is known comes last.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sale_sofia.advice.costs import commission_share, renovation_band, total
from sale_sofia.advice.scoring.breakers import budget, traps
from sale_sofia.advice.scoring.judging import Criterion, Finding, State
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.remembering import BREAKERS, CRITERIA, Remembered, Seen, look
from sale_sofia.advice.scoring.yardsticks import Cell, Yardstick
from sale_sofia.flats.flat import Flat


class Score(NamedTuple):
    """What one flat is to one buyer."""

    property_id: int
    value: float | None
    """0–5 over what is known; None when nothing is."""
    known: float
    """The share of the weights that is known, from 0 to 1."""
    points: float
    """0–5 when nothing counts but what is known: `value` times `known`."""
    verdict: State
    criteria: tuple[Criterion, ...]
    findings: tuple[Finding, ...]

    def named(self, state: State) -> tuple[str, ...]:
        """The breakers that are in this state."""
        return tuple([one.name for one in self.findings if one.state is state])


class Scorer:
    """Scores flats for one profile. The same facts are judged once."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._shares = profile.shares()
        self._criteria = Remembered(profile, CRITERIA)
        self._breakers = Remembered(profile, [one for one in BREAKERS if one.wanted(profile.must)])
        self._commission = commission_share(profile)
        self._accepted = frozenset(profile.unknown_ok)

    def score(self, seen: Seen) -> Score:
        """The score of a flat."""
        criteria = (*self._criteria.judge(seen), *seen.money)
        known, points = self._add(criteria)
        findings = self._findings(seen)
        value = points / known if known else None
        verdict = self._verdict(findings)
        return Score(seen.flat.property_id, value, known, points, verdict, criteria, findings)

    def is_candidate(self, flat: Flat) -> bool:
        """Whether the flat is for sale at all, or may be, and of a kind the buyer looks for, or may be."""
        return in_scope(self.profile, flat.deal, flat.property_type)

    def _add(self, criteria: Iterable[Criterion]) -> tuple[float, float]:
        known = points = 0.0
        for one in criteria:
            if one.value is not None:
                weight = self._shares[one.name] * one.known
                known += weight
                points += weight * one.value
        return known, points

    def _findings(self, seen: Seen) -> tuple[Finding, ...]:
        flat, profile = seen.flat, self.profile
        renovation = renovation_band(profile, flat.condition, flat.area_sqm)
        cost = seen.bought and total(seen.bought, self._commission, renovation)
        found = [*self._breakers.judge(seen), budget(profile.budget_eur, cost)]
        if profile.must.no_traps:
            found.append(traps(profile, flat.traps, described=flat.described))
        return tuple(found)

    def _verdict(self, findings: Iterable[Finding]) -> State:
        verdict = State.PASS
        for one in findings:
            if one.state is State.FAIL:
                return State.FAIL
            if one.state is State.UNKNOWN and one.name not in self._accepted:
                verdict = State.UNKNOWN
        return verdict


def in_scope(profile: Profile, deal: str | None, property_type: str | None) -> bool:
    """Whether such an offer may be what the profile looks for."""
    return deal in {"sale", None} and (property_type is None or property_type in profile.property_types)


def ranking(score: Score) -> tuple[int, float, int]:
    """Sorts scores: what passes, then what may, then what fails; of each the most points first."""
    order = (State.PASS, State.UNKNOWN, State.FAIL)
    return order.index(score.verdict), -score.points, score.property_id


# How many flats pass a buyer's conditions, and how many only one of them keeps out.


@dataclass(frozen=True, slots=True)
class Passing:
    """Of the flats that are offered and of the right kind."""

    candidates: int = 0
    passing: int = 0
    unknown: int = 0
    """Neither in nor out: a condition that must be known is not."""
    failing: int = 0
    only: Mapping[str, int] = field(default_factory=dict)
    """Breaker → flats that fail by it and by nothing else; the most first."""


def count_passing(scores: Iterable[Score]) -> Passing:
    """Count the verdicts."""
    states: Counter[State] = Counter()
    only: Counter[str] = Counter()
    for score in scores:
        states[score.verdict] += 1
        if len(failed := score.named(State.FAIL)) == 1:
            only[failed[0]] += 1
    return Passing(
        candidates=states.total(),
        passing=states[State.PASS],
        unknown=states[State.UNKNOWN],
        failing=states[State.FAIL],
        only=dict(only.most_common()),
    )


# What a profile would let through: for the person who is just changing it.


def preview(profile: Profile, flats: Iterable[Flat]) -> Passing:
    """Count what the profile would do with these flats; those that are gone do not count."""
    scorer = Scorer(profile)
    there = (flat for flat in flats if flat.offered and scorer.is_candidate(flat))
    return count_passing(scorer.score(look(flat, _nothing)) for flat in there)


def _nothing(_cell: Cell) -> Yardstick:
    """Breakers look at no neighbours."""
    return Yardstick()
