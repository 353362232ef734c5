"""Lessons from rejected flats: how often for which reason, and which condition would have kept them away.

A condition is offered only if it keeps away several of the flats that were rejected for its reason and none
that the household chose. Offers make a profile narrower, so that what then fits is among what fits now.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from sqlalchemy import Connection, select

from sale_sofia.advice import settings as fixed
from sale_sofia.advice.costs import all_costs
from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import Profile, TrapName
from sale_sofia.advice.scoring.scoring import FlatFacts, Scorer, look
from sale_sofia.advice.scoring.yardsticks import Yardstick
from sale_sofia.advice.tables import scores
from sale_sofia.buyer.evaluations import BOARD, statuses
from sale_sofia.buyer.opinions import REASONS, rejections
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import load_flats
from sale_sofia.settings.words import LANGUAGES, dictionary

OTHER: Final = "other"
"""A reason that is none of the offered ones."""
Setting = tuple[str, Any]
"""A key of a profile, such as `must.not_panel`, and a value for it."""


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A change of the profile."""

    key: str
    value: Any
    caught: int
    """Flats rejected for the reason that would not have passed."""
    leaves: int
    """Flats that would fit then."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A reason for which flats were rejected."""

    reason: str
    flats: int
    out: int
    """How many of them the profile already leaves out."""
    offer: ProposedChange | None
    """None: no condition answers this reason, or none would have helped."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """All lessons, those of the most flats first."""

    rejected: int
    fitting: int
    """Flats that fit the profile as it is."""
    lessons: Sequence[Lesson]


def learn(connection: Connection, name: str, profile: Profile) -> Lessons:
    """What the rejected flats teach about this profile, whose scores are stored."""
    reasons_by_flat = rejections(connection)
    by_reason: dict[str, list[int]] = defaultdict(list)
    for number, reasons in reasons_by_flat.items():
        for code in {code for reason in reasons for code in _codes(reason)}:
            by_reason[code].append(number)
    passed = (scores.c.profile == name) & (scores.c.verdict == State.PASS)
    passing = connection.scalars(select(scores.c.property_id).where(passed)).all()
    if not by_reason:
        return Lessons(len(reasons_by_flat), len(passing), ())
    fitting = _looked_at(connection, passing)
    rejected = {seen.flat.property_id: seen for seen in _looked_at(connection, reasons_by_flat)}
    board = [number for number, status in statuses(connection).items() if status in BOARD]
    trial = _Trial(profile, fitting, _looked_at(connection, board))
    lessons = [
        trial.lesson(code, len(numbers), [rejected[number] for number in numbers if number in rejected])
        for code, numbers in by_reason.items()
    ]
    lessons.sort(key=lambda lesson: (-lesson.flats, lesson.reason))
    return Lessons(len(reasons_by_flat), len(fitting), lessons)


def _codes(reason: str) -> list[str]:
    """Which of the offered reasons the text names, in any language."""
    text = reason.casefold()
    words = {
        code: [dictionary()[f"reject.{code}"][language].casefold() for language in LANGUAGES]
        for code in REASONS
    }
    return [code for code, names in words.items() if any(name in text for name in names)] or [OTHER]


def _looked_at(connection: Connection, property_ids: Iterable[int]) -> list[FlatFacts]:
    """These flats as conditions judge them, which does not depend on the prices of their neighbours."""
    flats = load_flats(connection, list(property_ids))
    return [look(flat, lambda _: Yardstick()) for flat in flats]


class _Trial:
    """Tries changes of a profile on the flats that it is about."""

    def __init__(self, profile: Profile, fitting: Sequence[FlatFacts], chosen: Sequence[FlatFacts]) -> None:
        self._profile, self._fitting = profile, fitting
        self._chosen = self._not_failing(profile, chosen)

    def lesson(self, reason: str, flats: int, rejected: Sequence[FlatFacts]) -> Lesson:
        """With the change that would have kept away the most of these, and the fewest of those that fit."""
        let_through = self._not_failing(self._profile, rejected)
        settings = _settings(reason, self._profile, [seen.flat for seen in let_through])
        offers = [self._try(setting, let_through) for setting in settings]
        good = [offer for offer in offers if offer and offer.caught >= fixed.LESSON_LEAST_CAUGHT]
        best = max(good, key=lambda offer: (offer.caught, offer.leaves), default=None)
        return Lesson(reason, flats, len(rejected) - len(let_through), best)

    def _try(self, setting: Setting, let_through: Sequence[FlatFacts]) -> ProposedChange | None:
        after = _changed(self._profile, setting)
        if len(self._not_failing(after, self._chosen)) < len(self._chosen):
            return None
        caught = len(let_through) - len(self._not_failing(after, let_through))
        scorer = Scorer(after)
        leaves = sum(scorer.score(seen).verdict is State.PASS for seen in self._fitting)
        return ProposedChange(*setting, caught=caught, leaves=leaves)

    def _not_failing(self, profile: Profile, flats: Sequence[FlatFacts]) -> list[FlatFacts]:
        """The flats that fail no condition of the profile."""
        scorer = Scorer(profile)
        return [seen for seen in flats if scorer.score(seen).verdict is not State.FAIL]


def _changed(profile: Profile, setting: Setting) -> Profile:
    key, value = setting
    values = profile.model_dump()
    *above, last = key.split(".")
    section = values
    for name in above:
        section = section[name]
    section[last] = value
    return Profile.model_validate(values)


def _settings(reason: str, profile: Profile, flats: Sequence[Flat]) -> Iterator[Setting]:
    """Settings that would answer a reason, each narrower than the profile's own."""
    propose = _SETTINGS.get(reason)
    for key, value in propose(profile, flats) if propose else ():
        section, _, last = key.rpartition(".")
        current = getattr(getattr(profile, section) if section else profile, last)
        current = list(current) if isinstance(current, tuple) else current
        if current != value and not (current and key in _GROWING and current > value):
            yield key, value


_GROWING: Final = frozenset({"must.rooms_least", "must.bathrooms_least", "must.area_net_least_sqm"})
"""A larger value of these is narrower; a profile that already asks for more is offered nothing."""


def _budget(profile: Profile, flats: Sequence[Flat]) -> Iterator[Setting]:
    """So that half of them, the dearer ones, are above it."""
    costs = sorted(cost.total.least for flat in flats if (cost := all_costs(flat, profile)))
    if costs:
        below = (costs[len(costs) // 2] - 1) // fixed.LESSON_BUDGET_STEP_EUR * fixed.LESSON_BUDGET_STEP_EUR
        if 0 < below < profile.budget_eur:
            yield "budget_eur", below


def _layout(profile: Profile, _flats: Sequence[Flat]) -> Iterator[Setting]:
    yield "must.rooms_least", profile.wishes.rooms
    yield "must.bathrooms_least", profile.wishes.bathrooms
    yield "must.area_net_least_sqm", int(profile.wishes.area_net_sqm)
    yield "must.balcony_or_garden", True


def _place(profile: Profile, _flats: Sequence[Flat]) -> Iterator[Setting]:
    if profile.must.metro_most_minutes is None:
        yield "must.metro_most_minutes", fixed.LESSON_METRO_MINUTES


def _floor(profile: Profile, _flats: Sequence[Flat]) -> Iterator[Setting]:
    yield "must.not_ground_floor", True
    yield "must.not_last_floor", True
    if profile.must.elevator_above_floor is None:
        yield "must.elevator_above_floor", fixed.LESSON_ELEVATOR_FLOOR


_SETTINGS: Final[Mapping[str, Callable[[Profile, Sequence[Flat]], Iterable[Setting]]]] = {
    "price": _budget,
    "place": _place,
    "floor": _floor,
    "building": lambda _profile, _flats: [("must.not_panel", True), ("must.act15_or_later", True)],
    "layout": _layout,
    "doubt": lambda _profile, _flats: [("must.no_traps", list(get_args(TrapName)))],
}
"""Nothing asks for a quiet street or a good condition yet."""
