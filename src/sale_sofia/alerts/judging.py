"""Whether a flat is one of those a rule is about: by a saved search, a profile, or the buyer's own list."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection

from sale_sofia.config.alert_file import AlertsError, BuyerRule
from sale_sofia.config.alerts import ALERTS_FILE
from sale_sofia.data.alert_past import as_of
from sale_sofia.data.alert_scores import Verdict, read_verdicts
from sale_sofia.data.alerts import Watched
from sale_sofia.data.evaluations import Evaluation, evaluations
from sale_sofia.data.saved_searches import list_searches
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.profiles import ProfileError, load_profile
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_around import Around, read_around, with_words
from sale_sofia.insights.searching_run import judge as judge_search

FOLLOWED = frozenset({"contacted", "viewing", "shortlist", "offer"})
"""Statuses of flats the buyer has an eye on."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a flat fits, and what is known of that."""

    fits: bool
    points: float | None = None
    """The score, when nothing counts but what is known."""
    score: float | None = None
    """The score over what is known."""
    known: float | None = None
    """How much that is, as a share."""
    unknown: tuple[str, ...] = ()
    """Conditions of which it is not known whether they hold."""


FITS_NOT = Judgement(fits=False)


class Source(Protocol):
    """What a rule is about, at one moment."""

    @property
    def fingerprint(self) -> str:
        """Another one means that the rule is about something else than before."""
        ...

    def judge(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Judgement]:
        """By property; one that is not in it does not fit."""
        ...

    def known(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Watched]:
        """Adverts of these flats that count as known though no look has seen them, as they were then."""
        ...

    def beside(self, connection: Connection) -> Collection[tuple[int, str]]:
        """What else than its adverts may make a property fit, in a word for each."""
        ...


@dataclass(frozen=True, slots=True)
class SearchSource:
    """The flats that a saved search finds."""

    query: SearchQuery
    around: Around
    unknown: bool

    @property
    def fingerprint(self) -> str:
        """Of the query."""
        return fingerprint("search", self.query.model_dump_json(), self.unknown)

    def judge(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Judgement]:
        """As `search` finds them. What the search lists apart fits, unless the rule wants no unknowns."""
        asks_words = self.query.word or self.query.not_word
        around = with_words(connection, self.around, flats) if asks_words else self.around
        found = (judge_search(flat, self.query, around) for flat in flats)
        return {
            one.flat.property_id: Judgement(fits=True, unknown=one.unknown)
            for one in found
            if one is not None and (self.unknown or not one.unknown or self.query.unknown == "ok")
        }

    def known(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Watched]:
        """None: what fits only now is new."""
        del connection, flats
        return {}

    def beside(self, connection: Connection) -> Collection[tuple[int, str]]:
        """Nothing."""
        del connection
        return ()


@dataclass(frozen=True, slots=True)
class ProfileSource:
    """The flats that pass a profile, by their stored scores."""

    name: str
    profile: Profile
    rule: BuyerRule

    @property
    def fingerprint(self) -> str:
        """Of the profile and of what the rule asks of scores."""
        return fingerprint("profile", self.profile.model_dump_json(), self.rule.min_score, self.rule.unknown)

    def judge(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Judgement]:
        """As they were scored last."""
        stored = read_verdicts(connection, self.name, [flat.property_id for flat in flats])
        return {
            one.property_id: Judgement(
                fits=True,
                points=one.points,
                score=one.value,
                known=one.known,
                unknown=tuple(one.unknown) if one.verdict == State.UNKNOWN else (),
            )
            for one in stored
            if self._fits(one)
        }

    def _fits(self, one: Verdict) -> bool:
        allowed = (State.PASS, State.UNKNOWN) if self.rule.unknown else (State.PASS,)
        # By points: a flat that hides its facts is no better for it.
        return one.verdict in allowed and one.points >= (self.rule.min_score or 0.0)

    def known(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Watched]:
        """None: what fits only now is new."""
        del connection, flats
        return {}

    def beside(self, connection: Connection) -> Collection[tuple[int, str]]:
        """A score also moves with the prices around."""
        fitting = (one for one in read_verdicts(connection, self.name) if self._fits(one))
        return {(one.property_id, f"fits {self.rule.name}") for one in fitting}


@dataclass(frozen=True, slots=True)
class ShortlistSource:
    """The flats the buyer follows."""

    said: Mapping[int, Evaluation]
    fingerprint: str = "shortlist"

    def judge(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Judgement]:
        """By the status that the buyer gave them."""
        del connection
        return {flat.property_id: Judgement(fits=True) for flat in flats if self._is_followed(flat)}

    def known(self, connection: Connection, flats: Sequence[Flat]) -> Mapping[int, Watched]:
        """Adverts as they were when the buyer began to follow their flat: what happened since is news."""
        moments = {
            advert.listing_id: self.said[flat.property_id].changed_at or 0.0
            for flat in flats
            if self._is_followed(flat)
            for advert in flat.adverts
        }
        return as_of(connection, moments)

    def _is_followed(self, flat: Flat) -> bool:
        spoken = self.said.get(flat.property_id)
        return spoken is not None and spoken.status in FOLLOWED

    def beside(self, connection: Connection) -> Collection[tuple[int, str]]:
        """Nothing: statuses are looked at anyhow."""
        del connection
        return ()


def fingerprint(*parts: object) -> str:
    """A digest of what a rule is about."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def profiles_of(rules: Sequence[BuyerRule], data_dir: Path) -> dict[str, Profile]:
    """The profiles that rules name.

    Raises:
        AlertsError: one is not there, or cannot be used.
    """
    return {
        rule.profile: _profile(rule.profile, f"{ALERTS_FILE}: buyer.{place}.profile", data_dir)
        for place, rule in enumerate(rules)
        if rule.profile is not None
    }


def _profile(name: str, where: str, data_dir: Path) -> Profile:
    try:
        return load_profile(data_dir, name)
    except ProfileError as error:
        raise AlertsError(f"{where}: {error}") from None


def sources_of(
    connection: Connection, rules: Sequence[BuyerRule], profiles: Mapping[str, Profile], *, now: float
) -> dict[str, Source]:
    """What each rule is about, by its name.

    Raises:
        AlertsError: a rule names a search that is not there.
    """
    return {rule.name: _source(connection, rule, place, profiles, now) for place, rule in enumerate(rules)}


def _source(
    connection: Connection, rule: BuyerRule, place: int, profiles: Mapping[str, Profile], now: float
) -> Source:
    if rule.search is not None:
        return _search(connection, rule, f"{ALERTS_FILE}: buyer.{place}.search", now)
    if rule.profile is not None:
        return ProfileSource(rule.profile, profiles[rule.profile], rule)
    return ShortlistSource(evaluations(connection))


def _search(connection: Connection, rule: BuyerRule, where: str, now: float) -> Source:
    saved = {one.name: one for one in list_searches(connection)}
    if rule.search not in saved:
        there = ", ".join(saved) or "none is saved; `sale-sofia search … --save NAME` saves one"
        raise AlertsError(f"{where}: no saved search {rule.search!r}; there are: {there}")
    # A list shows gone flats and what was rejected or not; whether something is told, the rule decides.
    query = SearchQuery.of(saved[rule.search].query)
    return SearchSource(query, read_around(connection, query, now=now), rule.unknown)
