"""The score of a flat for a buyer: its criteria, deal breakers, and how much of it all is known.

Every known fact earns its worth (0–5) times its share of its criterion times the criterion's weight: its part
of the points. `value` is the points over what is known, `known` the share of the weights that is known. Flats
are ranked by their points: an unknown fact earns nothing, so that hiding one never helps, and a flat of which
nothing is known comes last.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter, getitem, itemgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sale_sofia.advice.costs import Purchase, commission_share, purchase, renovation_band, total
from sale_sofia.advice.scoring import breakers, criteria
from sale_sofia.advice.scoring.judging import VERDICTS, BreakerFinding, Criterion, State
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.yardsticks import Cell, Yardstick, cell_of
from sale_sofia.advice.settings import PARTS_REMEMBERED
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.walks import METRO_FACTS

T = TypeVar("T")


class FlatFacts(NamedTuple):
    """A flat, with what follows from its facts for every buyer."""

    flat: Flat
    bought: Purchase | None
    """What it costs whoever buys it; None without a price."""
    money: tuple[Criterion, Criterion]
    """Price per m² and rental: the same for every buyer."""
    facts: tuple[tuple[Any, ...], ...]
    """What each judge of `JUDGES` looks at."""


def look(flat: Flat, measure: Callable[[Cell], Yardstick]) -> FlatFacts:
    """The flat with its facts, measured by its neighbours."""
    bought, cell = purchase(flat), cell_of(flat.neighbourhood, flat.rooms)
    paid = bought and bought.price
    yardstick = measure(cell) if cell else Yardstick()
    money = (
        criteria.price(paid, flat.area_sqm, yardstick.prices),
        criteria.rental(paid, flat.area_sqm, yardstick.rents),
    )
    walk = flat.metro_walk
    texts = _only_text(flat.from_text, flat.act_status is None, walk is not None and walk.source == "advert")
    known = (*_OWN(flat), criteria.has_view(flat.features), walk, *texts)
    return FlatFacts(flat, bought, money, tuple([pick(known) for pick in _PICKS]))


class FactJudge(NamedTuple, Generic[T]):
    """A criterion or a deal breaker: the facts it looks at, and its judgement."""

    names: tuple[str, ...]
    judge: Callable[..., T]
    must_key: str | None = None
    """The key of a profile's `must` that asks for it; None: every profile does."""


_WHERE: Final = ("exact_place", "city", "neighbourhood")
"""Of which it follows what is near: judged by these, equal places are looked around once."""
CRITERIA: Final[tuple[FactJudge[Criterion], ...]] = (
    FactJudge(("neighbourhood", "metro_walk"), criteria.location),
    FactJudge(("condition", "area_sqm"), criteria.condition),
    FactJudge(("rooms", "bathrooms", "wc_separate", "orientation", "area_net_sqm"), criteria.layout),
    FactJudge(
        ("construction", "year_built", "act", "floor", "floors_total", "elevator"), criteria.building
    ),
    FactJudge(
        ("parking", "parking_status", "storage", "has_balcony", "balconies", "view"), criteria.extras
    ),
    FactJudge(_WHERE, criteria.travel),
    FactJudge(_WHERE, criteria.nearby),
)  # fmt: skip


def _breaker(
    judge: Callable[..., BreakerFinding], names: tuple[str, ...], must_key: str | None = None
) -> FactJudge[BreakerFinding]:
    """A deal breaker of these facts. A pass names the facts that only a description states."""

    def judge_marked(profile: Profile, *facts: Any) -> BreakerFinding:  # noqa: ANN401 - any facts
        *own, texts = facts
        finding = judge(profile, *own)
        return finding._replace(only_text=tuple(sorted(texts))) if finding.state is State.PASS else finding

    return FactJudge(names, judge_marked, must_key)


BREAKERS: Final[tuple[FactJudge[BreakerFinding], ...]] = (
    _breaker(breakers.offer, ("deal", "property_type")),
    _breaker(breakers.place, ("city", "flags")),
    _breaker(breakers.neighbourhood, ("neighbourhood",), "wanted_neighbourhood"),
    _breaker(breakers.at_least("rooms", "rooms_least"), ("rooms",), "rooms_least"),
    _breaker(breakers.at_least("area", "area_least_sqm"), ("area_sqm",), "area_least_sqm"),
    _breaker(breakers.at_least("area_net", "area_net_least_sqm"), ("area_net_sqm",), "area_net_least_sqm"),
    _breaker(breakers.at_least("bathrooms", "bathrooms_least"), ("bathrooms",), "bathrooms_least"),
    _breaker(breakers.ground_floor, ("floor",), "not_ground_floor"),
    _breaker(breakers.last_floor, ("floor", "floors_total"), "not_last_floor"),
    _breaker(breakers.elevator, ("floor", "elevator"), "elevator_above_floor"),
    _breaker(breakers.panel, ("construction",), "not_panel"),
    _breaker(breakers.act15, ("act", "ready_in"), "act15_or_later"),
    _breaker(breakers.metro, ("metro_walk",), "metro_most_minutes"),
    *(
        _breaker(breakers.nearest(name), _WHERE, f"{name}_most_minutes")
        for name in ("stop", "shop", "school")
    ),
    _breaker(breakers.road, _WHERE, "road"),
    _breaker(breakers.orientation, ("orientation",), "orientation"),
    _breaker(breakers.outdoors, ("has_balcony", "balconies", "yard_sqm", "floor"), "balcony_or_garden"),
)
JUDGES: Final[tuple[FactJudge[Any], ...]] = (*CRITERIA, *BREAKERS)


# What the judges look at is read once for each flat, and picked from that for each judge.

_FOLLOWING: Final = ("view", "metro_walk")
"""Facts that are worked out: by portals' features, and once for the flat."""
_OWN_NAMES: Final = tuple(
    dict.fromkeys(name for judge in JUDGES for name in judge.names if name not in _FOLLOWING)
)
_OWN: Final[Callable[[Flat], tuple[Any, ...]]] = attrgetter(*_OWN_NAMES)
_PLACES: Final = {name: place for place, name in enumerate((*_OWN_NAMES, *_FOLLOWING))}


def _picks() -> Iterator[Callable[[tuple[Any, ...]], tuple[Any, ...]]]:
    """For each judge, what picks its facts; for a breaker, last those that only a description states."""
    for judge in CRITERIA:
        yield itemgetter(*(_PLACES[name] for name in judge.names))
    for number, breaker in enumerate(BREAKERS):
        yield itemgetter(*(_PLACES[name] for name in breaker.names), len(_PLACES) + number)


_PICKS: Final = tuple(_picks())


@lru_cache(maxsize=PARTS_REMEMBERED)
def _only_text(
    from_text: frozenset[str],
    act_follows: bool,  # noqa: FBT001 - a key of the cache
    walk_is_stated: bool,  # noqa: FBT001
) -> tuple[frozenset[str], ...]:
    """For each breaker its facts that only descriptions state; of an act, the facts that it follows from."""
    act = ("year_built", "construction") if act_follows else ("act_status",)
    walk = METRO_FACTS if walk_is_stated else ()
    origins = {("act", "ready_in"): act, ("metro_walk",): walk}
    return tuple(from_text.intersection(origins.get(judge.names, judge.names)) for judge in BREAKERS)


class _Remembered(dict[tuple[Any, ...], T]):
    """The judgements of one judge. Flats have few different facts: equal ones are judged once."""

    def __init__(self, profile: Profile, judge: Callable[..., T]) -> None:
        super().__init__()
        self._profile = profile
        self._judge = judge

    def __missing__(self, facts: tuple[Any, ...]) -> T:
        made = self[facts] = self._judge(self._profile, *facts)
        return made


class _Judges(Generic[T]):
    """Several judges of one profile."""

    def __init__(self, profile: Profile, judges: Sequence[FactJudge[T]]) -> None:
        self._places = [JUDGES.index(judge) for judge in judges]
        self._judgements = [_Remembered(profile, judge.judge) for judge in judges]

    def judge(self, seen: FlatFacts) -> list[T]:
        """The judgement of each of them on this flat."""
        facts = [seen.facts[place] for place in self._places]
        return list(map(getitem, self._judgements, facts))


class Score(NamedTuple):
    """What one flat is to one buyer."""

    property_id: int
    value: float | None
    """0–5 over what is known; None when nothing is."""
    known: float
    """The share of the weights that is known, from 0 to 1."""
    points: float
    """0–5, where unknown facts count as zero: `value` times `known`."""
    verdict: State
    criteria: tuple[Criterion, ...]
    findings: tuple[BreakerFinding, ...]

    def breakers_in(self, state: State) -> tuple[str, ...]:
        """The breakers that are in this state."""
        return tuple([finding.name for finding in self.findings if finding.state is state])


class Scorer:
    """Scores flats for one profile. The same facts are judged once."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._shares = profile.shares()
        applies = {criteria.travel: bool(profile.places), criteria.nearby: profile.weights.nearby > 0}
        self._criteria = _Judges(profile, [judge for judge in CRITERIA if applies.get(judge.judge, True)])
        must = [judge for judge in BREAKERS if not judge.must_key or getattr(profile.must, judge.must_key)]
        self._breakers = _Judges(profile, must)
        self._commission = commission_share(profile)
        self._accepted = frozenset(profile.unknown_ok)

    def score(self, seen: FlatFacts) -> Score:
        """The score of a flat."""
        judged = (*self._criteria.judge(seen), *seen.money)
        known = points = 0.0
        for criterion in judged:
            if criterion.value is not None:
                weight = self._shares[criterion.name] * criterion.known
                known += weight
                points += weight * criterion.value
        findings = self._findings(seen)
        value = points / known if known else None
        return Score(seen.flat.property_id, value, known, points, self._verdict(findings), judged, findings)

    def is_candidate(self, flat: Flat) -> bool:
        """Whether the flat may be for sale, and of a kind the buyer looks for."""
        return in_scope(self.profile, flat.deal, flat.property_type)

    def _findings(self, seen: FlatFacts) -> tuple[BreakerFinding, ...]:
        flat, profile = seen.flat, self.profile
        renovation = renovation_band(profile, flat.condition, flat.area_sqm)
        cost = seen.bought and total(seen.bought, self._commission, renovation)
        findings = [*self._breakers.judge(seen), breakers.budget(profile.budget_eur, cost)]
        if profile.must.no_traps:
            findings.append(breakers.traps(profile, flat.traps, described=flat.described))
        return tuple(findings)

    def _verdict(self, findings: Iterable[BreakerFinding]) -> State:
        verdict = State.PASS
        for finding in findings:
            if finding.state is State.FAIL:
                return State.FAIL
            if finding.state is State.UNKNOWN and finding.name not in self._accepted:
                verdict = State.UNKNOWN
        return verdict


def in_scope(profile: Profile, deal: str | None, property_type: str | None) -> bool:
    """Whether such an offer may be what the profile looks for."""
    return deal in {"sale", None} and (property_type is None or property_type in profile.property_types)


def ranking(score: Score) -> tuple[int, float, int]:
    """The sort key of scores: what passes, then what may, then what fails; in each the most points first."""
    return VERDICTS.index(score.verdict), -score.points, score.property_id


@dataclass(frozen=True, slots=True)
class Passing:
    """How many of the flats that are offered and of the right kind pass a buyer's conditions."""

    candidates: int = 0
    passing: int = 0
    unknown: int = 0
    """Neither in nor out: a condition that must be met is unknown."""
    failing: int = 0
    only: Mapping[str, int] = field(default_factory=dict)
    """Breaker → flats that fail by it and by nothing else; the most first."""


def count_passing(scores: Iterable[tuple[State, Sequence[str], int]]) -> Passing:
    """Count verdicts; each comes with the breakers that failed and the number of such flats."""
    states: Counter[State] = Counter()
    only: Counter[str] = Counter()
    for verdict, failed, count in scores:
        states[verdict] += count
        if len(failed) == 1:
            only[failed[0]] += count
    return Passing(
        candidates=states.total(),
        passing=states[State.PASS],
        unknown=states[State.UNKNOWN],
        failing=states[State.FAIL],
        only=dict(sorted(only.items(), key=lambda pair: (-pair[1], pair[0]))),
    )
