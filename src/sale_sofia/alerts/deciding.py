"""What a rule has to tell of a flat: what it is now, beside what the rule knew of its adverts."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import Profile, ProfileError, load_profile
from sale_sofia.advice.search.conditions import Around, read_around, with_words
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.search.run import judge as judge_search
from sale_sofia.alerts.rules import AlertsError, BuyerRule
from sale_sofia.alerts.settings import ALERTS_FILE, PRICE_ROUNDING_EUR
from sale_sofia.alerts.store import Item, Verdict, Watched, as_of, read_verdicts
from sale_sofia.buyer.evaluations import UNWANTED, Evaluation, evaluations
from sale_sofia.buyer.searches import list_searches
from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.history.settings import VAT_RATE

# Whether a flat is one of those a rule is about: by a saved search, a profile, or the buyer's own list.

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


_TWO = 2


@dataclass(frozen=True, slots=True)
class View:
    """A flat as one rule sees it at one look."""

    flat: Flat
    judgement: Judgement
    status: str
    watched: Mapping[int, Watched]
    """What the rule knows of adverts of this flat; nothing: the flat is new to it."""
    silent: bool
    """The rule begins now, or is another than before: what fits it already is learnt and not told as new."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be told, and what the rule knows from now on."""

    items: tuple[Item, ...] = ()
    watched: tuple[Watched, ...] = ()


def decide(rule: BuyerRule, view: View) -> Decision:
    """The news of this flat for this rule. A flat the rule does not know and that does not fit is nothing."""
    if not view.watched and not (view.judgement.fits and view.flat.offered):
        return Decision()
    news = tuple(item for item in _news(rule, view) if item.kind in rule.tell)
    muted = view.status in UNWANTED
    told = () if muted else tuple(item for item in news if not (view.silent and item.kind == "new"))
    watched = [
        _watch(advert, view.watched.get(advert.listing_id), settled=muted or bool(told))
        for advert in view.flat.adverts
    ]
    return Decision(told, tuple(watched))


def _news(rule: BuyerRule, view: View) -> Iterator[Item]:
    if not view.watched:
        yield _item(rule, view, "new", _cheapest(view.flat), f"{_oldest(view.flat)}|{rule.name}")
        return
    was_offered = any(one.gone_at is None for one in view.watched.values())
    if was_offered and not view.flat.offered and view.status in FOLLOWED:
        last = max(view.flat.adverts, key=lambda advert: advert.last_seen_at)
        yield _item(rule, view, "gone", last, f"{last.listing_id}|{last.last_seen_at:.0f}")
    if view.flat.offered and view.judgement.fits:
        yield from _offered_news(rule, view, was_offered=was_offered)


def _offered_news(rule: BuyerRule, view: View, *, was_offered: bool) -> Iterator[Item]:
    """Back, or an advert of it got cheaper, or another portal has it for less: the first of these."""
    if not was_offered:
        since = max(one.gone_at or 0.0 for one in view.watched.values())
        yield _item(rule, view, "back", _cheapest(view.flat), f"{_oldest(view.flat)}|{since:.0f}")
        return
    cut = _cut(rule, view)
    if cut is not None and "cut" in rule.tell:
        yield cut
        return
    cheaper = _cheaper(rule, view)
    if cheaper is not None:
        yield cheaper


def _cut(rule: BuyerRule, view: View) -> Item | None:
    """The lowest price that an advert came down to; below all that the rule knew of the flat."""
    known = [one.price_eur for one in view.watched.values() if one.price_eur and one.gone_at is None]
    down = [
        (advert.price_eur, before, advert)
        for advert in view.flat.adverts
        if advert.offered
        and advert.price_eur
        and (before := _comparable(advert, view.watched.get(advert.listing_id)))
        and advert.price_eur <= before * (1 - rule.cut_percent / 100) + PRICE_ROUNDING_EUR
        and advert.price_eur < min(known, default=before)
    ]
    if not down:
        return None
    price, before, advert = min(down, key=lambda one: (one[0], one[2].listing_id))
    return _item(rule, view, "cut", advert, f"{advert.listing_id}|{price:.0f}", old_eur=before)


def _comparable(advert: Advert, before: Watched | None) -> float | None:
    """The price a cut is measured from; none where the VAT is another: then the sum means something else."""
    return before.price_eur if before is not None and before.vat == advert.vat else None


def _cheaper(rule: BuyerRule, view: View) -> Item | None:
    """Another portal than the ones known has the flat for less; told when that price is first seen."""
    lowest: dict[str, tuple[float, Advert]] = {}
    for advert in view.flat.adverts:
        if advert.offered and advert.price_eur:
            offer = (_with_vat(advert), advert)
            lowest[advert.site] = min(lowest.get(advert.site, offer), offer, key=lambda one: one[0])
    if len(lowest) < _TWO:
        return None
    (price, advert), (next_price, other), *_ = sorted(lowest.values(), key=lambda one: one[0])
    if price >= next_price or price > next_price * (1 - rule.cheaper_percent / 100) + PRICE_ROUNDING_EUR:
        return None
    before = view.watched.get(advert.listing_id)
    if before is not None and before.price_eur is not None and before.price_eur <= (advert.price_eur or 0):
        return None  # it was so before
    key = f"{advert.listing_id}|{advert.price_eur:.0f}"
    return _item(rule, view, "cheaper", advert, key, old_eur=other.price_eur, other_site=other.site)


def _with_vat(advert: Advert) -> float:
    return (advert.price_eur or 0.0) * (1 + VAT_RATE if advert.vat == "excluded" else 1)


def _watch(advert: Advert, before: Watched | None, *, settled: bool) -> Watched:
    """What a rule knows of an advert from now on. Small cuts add up until told; a rise counts at once."""
    price = advert.price_eur
    if not settled and price and (measured := _comparable(advert, before)):
        price = max(price, measured)
    gone_at = None if advert.offered else advert.last_seen_at
    return Watched(advert.listing_id, price, advert.vat, gone_at)


def _oldest(flat: Flat) -> int:
    return min(advert.listing_id for advert in flat.adverts)


def _cheapest(flat: Flat) -> Advert:
    return flat.adverts[0]


def _item(
    rule: BuyerRule,
    view: View,
    kind: str,
    advert: Advert,
    key: str,
    **more: Any,  # noqa: ANN401 - plain values of a fact
) -> Item:
    facts = {**_facts(view, advert), **more}
    return Item(f"{kind}|{key}", kind, (rule.name,), facts, property_id=view.flat.property_id)


def _facts(view: View, advert: Advert) -> dict[str, Any]:
    """All that a message may say of a flat, as plain values: it can be worded again whenever it is sent."""
    flat, judgement = view.flat, view.judgement
    names = (
        "property_type",
        "rooms",
        "area_sqm",
        "floor",
        "floors_total",
        "neighbourhood",
        "under_construction",
    )
    return {
        **{name: getattr(flat, name) for name in names},
        "site": advert.site,
        "url": advert.url,
        "price_eur": advert.price_eur,
        "vat": advert.vat,
        "points": judgement.points,
        "score": judgement.score,
        "known": judgement.known,
        "unknown": list(judgement.unknown),
        "portals": sorted({one.site for one in flat.adverts if one.offered}),
    }
