"""What a rule has to tell about a flat or an incident: its state now against what the rule knew."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import Profile, ProfileError, load_profile
from sale_sofia.advice.search.conditions import read_around
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.search.run import fitting
from sale_sofia.advice.tables import scores
from sale_sofia.alerts.rules import BuyerRule, OperatorRule, QuietHours, in_time, not_quiet, wrong_rules
from sale_sofia.alerts.settings import BEST_NAMED, GOOD_VALUE, PRICE_ROUNDING_EUR, REMINDED_HOURS
from sale_sofia.alerts.store import VIEWING, Item, RuleState, Watched, as_of, incident_news
from sale_sofia.buyer.evaluations import UNWANTED, current_property, evaluations
from sale_sofia.buyer.searches import list_searches
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.prices import lowest_offers, most_paid, offered_eur_sqm, vat_state
from sale_sofia.flats.projection import load_flats
from sale_sofia.flats.store import UnknownProperty, rows_of
from sale_sofia.flats.walks import MetroWalk
from sale_sofia.history.drift.store import DRIFT
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind

FOLLOWED: Final = frozenset({"contacted", "viewing", "shortlist", "offer"})
"""Statuses of flats that the buyer follows."""


@dataclass(frozen=True, slots=True)
class FlatJudgement:
    """Whether a flat fits, and how much of that is known."""

    fits: bool
    points: float | None = None
    """The score, with unknown facts counted as zero."""
    score: float | None = None
    """The score over what is known."""
    known: float | None = None
    """How much that is, as a share."""
    unknown: tuple[str, ...] = ()
    """Conditions of which it is not known whether they hold."""
    best: tuple[str, ...] = ()
    """Criteria that speak for it, the strongest first."""


FITS_NOT: Final = FlatJudgement(fits=False)


@dataclass(frozen=True, slots=True)
class RuleSource:
    """The flats a rule is about, at one moment."""

    fingerprint: str
    """Changes when the rule is about something else than before."""
    judge: Callable[[Sequence[Flat]], Mapping[int, FlatJudgement]]
    """By property; one that is missing does not fit."""
    baseline: Callable[[Sequence[Flat]], Mapping[int, Watched]] = lambda _flats: {}
    """By advert: its past state to compare with where no look has seen it yet."""


def profiles_of(rules: Sequence[BuyerRule], data_dir: Path) -> dict[str, Profile]:
    """The profiles that rules name. Raises AlertsError if one is not there, or cannot be used."""
    profiles = {}
    for place, rule in enumerate(rules):
        if rule.profile is not None:
            try:
                profiles[rule.profile] = load_profile(data_dir, rule.profile)
            except ProfileError as error:
                raise wrong_rules(f"buyer.{place}.profile", Said.of(error)) from None
    return profiles


def sources_of(
    connection: Connection, rules: Sequence[BuyerRule], profiles: Mapping[str, Profile], *, now: float
) -> dict[str, RuleSource]:
    """What each rule is about, by its name; the sources read through this connection.

    Raises:
        AlertsError: a rule names a search that is not there.
    """
    sources = {}
    for place, rule in enumerate(rules):
        if rule.search is not None:
            sources[rule.name] = _search_source(connection, rule, place, now)
        elif rule.profile is not None:
            sources[rule.name] = _profile_source(connection, rule, rule.profile, profiles[rule.profile])
        elif rule.flat is not None:
            sources[rule.name] = _flat_source(connection, rule.flat, place)
        else:
            sources[rule.name] = _shortlist_source(connection)
    return sources


def _fingerprint(*parts: object) -> str:
    """A digest of what a rule asks; of a search or profile without what it leaves as it is.

    So a release that can ask for more makes no rule a new one, which would begin silently.
    """
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def _search_source(connection: Connection, rule: BuyerRule, place: int, now: float) -> RuleSource:
    """The flats that a saved search finds. What it lists apart fits, unless the rule wants no unknowns."""
    saved = {search.name: search for search in list_searches(connection)}
    if rule.search not in saved:
        there = list(saved) or Said("wrong_rule.none_saved")
        wrong = Said("wrong_rule.search", name=rule.search, there=there)
        raise wrong_rules(f"buyer.{place}.search", wrong)
    # A list shows gone flats and what was rejected or not; whether something is told, the rule decides.
    query = SearchQuery.of(saved[rule.search].query)
    read_once = cache(partial(read_around, connection, query, now=now))

    def judge(flats: Sequence[Flat]) -> Mapping[int, FlatJudgement]:
        found = fitting(connection, query, read_once(), [flat.property_id for flat in flats])
        return {
            number: FlatJudgement(fits=True, unknown=unknown)
            for number, unknown in found.items()
            if rule.unknown or not unknown or query.unknown == "ok"
        }

    asked = query.model_dump_json(exclude_defaults=True)
    return RuleSource(_fingerprint("search", asked, rule.unknown), judge)


def _profile_source(connection: Connection, rule: BuyerRule, name: str, profile: Profile) -> RuleSource:
    """The flats that pass a profile, by their stored scores."""
    allowed = [State.PASS, State.UNKNOWN] if rule.unknown else [State.PASS]
    s = scores.c
    chosen = select(s.property_id, s.verdict, s.value, s.known, s.points, s.unknown, s.criteria).where(
        s.profile == name
    )

    def judge(flats: Sequence[Flat]) -> Mapping[int, FlatJudgement]:
        rows = rows_of(connection, chosen, s.property_id, [flat.property_id for flat in flats])
        return {
            row.property_id: FlatJudgement(
                fits=True,
                points=row.points,
                score=row.value,
                known=row.known,
                unknown=tuple(row.unknown) if row.verdict == State.UNKNOWN else (),
                best=_best(row.criteria),
            )
            for row in rows
            # By points: a flat that hides its facts is no better for it.
            if row.verdict in allowed and row.points >= (rule.min_score or 0.0)
        }

    parts = ("profile", profile.model_dump_json(exclude_defaults=True), rule.min_score, rule.unknown)
    return RuleSource(_fingerprint(*parts), judge)


def _best(criteria: Mapping[str, Sequence[float | None]]) -> tuple[str, ...]:
    good = {name: value or 0.0 for name, (value, *_) in criteria.items() if (value or 0.0) >= GOOD_VALUE}
    return tuple(sorted(good, key=lambda name: (-good[name], name))[:BEST_NAMED])


def _flat_source(connection: Connection, number: int, place: int) -> RuleSource:
    """One flat, whatever it is joined with."""
    try:
        found = current_property(connection, number)
    except UnknownProperty:
        raise wrong_rules(f"buyer.{place}.flat", Said("wrong_rule.flat", number=number)) from None

    def judge(flats: Sequence[Flat]) -> Mapping[int, FlatJudgement]:
        return {found: FlatJudgement(fits=True)} if any(flat.property_id == found for flat in flats) else {}

    return RuleSource(_fingerprint("flat", number), judge)


def _shortlist_source(connection: Connection) -> RuleSource:
    """The flats the buyer follows; whatever happened since they began to is news."""
    since = {
        number: evaluation.changed_at or 0.0
        for number, evaluation in evaluations(connection).items()
        if evaluation.status in FOLLOWED
    }

    def judge(flats: Sequence[Flat]) -> Mapping[int, FlatJudgement]:
        return {flat.property_id: FlatJudgement(fits=True) for flat in flats if flat.property_id in since}

    def baseline(flats: Sequence[Flat]) -> Mapping[int, Watched]:
        followed = [flat for flat in flats if flat.property_id in since]
        moments = {advert.listing_id: since[flat.property_id] for flat in followed for advert in flat.adverts}
        return as_of(connection, moments)

    return RuleSource("shortlist", judge, baseline)


@dataclass(frozen=True, slots=True)
class View:
    """A flat as one rule sees it at one look."""

    flat: Flat
    judgement: FlatJudgement
    status: str
    watched: Mapping[int, Watched]
    """The adverts of this flat as the rule knows them; empty: the flat is new to it."""
    silent: bool
    """The rule is new or changed: flats that already fit are recorded, not told as new."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to tell, and what the rule knows from now on."""

    items: tuple[Item, ...] = ()
    watched: tuple[Watched, ...] = ()


def decide(rule: BuyerRule, view: View) -> Decision:
    """The news of this flat for this rule; empty for a flat that is new to the rule and does not fit."""
    if not view.watched and not (view.judgement.fits and view.flat.offered):
        return Decision()
    muted = view.status in UNWANTED
    news = _news(rule, view)
    if muted or news is None or news.kind not in rule.tell or (view.silent and news.kind == "new"):
        items: tuple[Item, ...] = ()
    else:
        items = (news,)
    watched = []
    for advert in view.flat.adverts:
        price, known = advert.price_eur, view.watched.get(advert.listing_id)
        gone_at = None if advert.offered else advert.last_seen_at
        if known and price is None:  # while none is told, the one before counts
            watched.append(known._replace(gone_at=gone_at))
            continue
        measured = _comparable(advert, known)
        if price and measured and not muted and not items:
            price = max(price, measured)  # small cuts add up until one is told; a rise counts at once
        watched.append(Watched(advert.listing_id, price, advert.vat, gone_at))
    return Decision(items, tuple(watched))


def _news(rule: BuyerRule, view: View) -> Item | None:
    """New, gone or back; else an advert of it got cheaper, or another portal has it for less."""
    flat, cheapest = view.flat, view.flat.adverts[0]
    oldest = min(advert.listing_id for advert in flat.adverts)
    if not view.watched:
        return _item(rule, view, "new", cheapest, f"{oldest}|{rule.name}")
    was_offered = any(advert.gone_at is None for advert in view.watched.values())
    if was_offered and not flat.offered and (view.status in FOLLOWED or rule.flat is not None):
        last = max(flat.adverts, key=lambda advert: advert.last_seen_at)
        return _item(rule, view, "gone", last, f"{last.listing_id}|{last.last_seen_at:.0f}")
    if not flat.offered or not view.judgement.fits:
        return None
    if not was_offered:
        since = max(advert.gone_at or 0.0 for advert in view.watched.values())
        before = _comparable(cheapest, view.watched.get(cheapest.listing_id))
        more = {"old_eur": before} if before not in {None, cheapest.price_eur} else {}
        return _item(rule, view, "back", cheapest, f"{oldest}|{since:.0f}", **more)
    cut = _cut(rule, view) if "cut" in rule.tell else None
    rise = _rise(rule, view) if "rise" in rule.tell else None
    return cut or rise or _cheaper(rule, view)


def _cut(rule: BuyerRule, view: View) -> Item | None:
    """The advert cut to the lowest price, if less is paid than for any the rule knew that has a price."""
    paid = partial(most_paid, view.flat)
    priced = [advert.listing_id for advert in view.flat.adverts if advert.price_eur]
    known = [view.watched[number] for number in priced if number in view.watched]
    prices = [paid(old.price_eur, old.vat) for old in known if old.price_eur and old.gone_at is None]
    down = [
        (paid(advert.price_eur, advert.vat), advert.price_eur, before, advert)
        for advert in view.flat.adverts
        if advert.offered
        and advert.price_eur
        and (before := _comparable(advert, view.watched.get(advert.listing_id)))
        and advert.price_eur <= before * (1 - rule.cut_percent / 100) + PRICE_ROUNDING_EUR
        and paid(advert.price_eur, advert.vat) < min(prices, default=paid(before, advert.vat))
    ]
    if not down:
        return None
    _, price, before, advert = min(down, key=lambda cut: (cut[0], cut[3].listing_id))
    return _item(rule, view, "cut", advert, f"{advert.listing_id}|{price:.0f}", old_eur=before)


def _rise(rule: BuyerRule, view: View) -> Item | None:
    """The advert with the flat's price asks for more."""
    advert = view.flat.adverts[0]
    before = _comparable(advert, view.watched.get(advert.listing_id))
    if not before or not advert.price_eur or advert.price_eur <= before + PRICE_ROUNDING_EUR:
        return None
    key = f"{advert.listing_id}|{advert.price_eur:.0f}"
    return _item(rule, view, "rise", advert, key, old_eur=before)


def _comparable(advert: Advert, before: Watched | None) -> float | None:
    """The price a change is measured from; None where the VAT differs, as the sums are not comparable."""
    return before.price_eur if before is not None and before.vat == advert.vat else None


def _cheaper(rule: BuyerRule, view: View) -> Item | None:
    """One portal surely has the flat for less than the others; told when that price is first seen."""
    offers = lowest_offers(view.flat)
    if len(offers) <= 1 or offers[0].paid.most is None:
        return None
    price, advert = offers[0].paid.most, offers[0].advert
    next_offer = min(offers[1:], key=lambda offer: offer.paid.least)
    next_price, other = next_offer.paid.least, next_offer.advert
    if price >= next_price or price > next_price * (1 - rule.cheaper_percent / 100) + PRICE_ROUNDING_EUR:
        return None
    before = view.watched.get(advert.listing_id)
    if before is not None and before.price_eur is not None and before.price_eur <= (advert.price_eur or 0):
        return None  # it was so before
    key = f"{advert.listing_id}|{advert.price_eur:.0f}"
    there = {
        "old_eur": other.price_eur,
        "other_vat": vat_state(view.flat, other.vat),
        "other_site": other.site,
    }
    return _item(rule, view, "cheaper", advert, key, change=price / next_price - 1, **there)


def _minutes(walk: MetroWalk | None) -> list[float] | None:
    return None if walk is None else [round(walk.least), round(walk.most)]


def _item(
    rule: BuyerRule,
    view: View,
    kind: str,
    advert: Advert,
    key: str,
    **more: Any,  # noqa: ANN401 - plain values of a fact
) -> Item:
    """An item with all facts of a message as plain values, so that it can be worded whenever it is sent."""
    flat, judgement = view.flat, view.judgement
    facts = {
        "property_type": flat.property_type,
        "rooms": flat.rooms,
        "area_sqm": flat.area_sqm,
        "floor": flat.floor,
        "floors_total": flat.floors_total,
        "neighbourhood": flat.neighbourhood,
        "under_construction": flat.under_construction,
        "site": advert.site,
        "url": advert.url,
        "price_eur": advert.price_eur,
        "eur_sqm": offered_eur_sqm(flat, advert),
        "vat": vat_state(flat, advert.vat),
        "price_from": "price_from" in flat.traps,
        "points": judgement.points,
        "score": judgement.score,
        "known": judgement.known,
        "unknown": list(judgement.unknown),
        "best": list(judgement.best),
        "photo": next(iter(flat.photo_urls), None),
        "metro": _minutes(flat.metro_walk),
        "centre": _minutes(flat.centre_travel),
        "portals": sorted({offer.site for offer in flat.adverts if offer.offered}),
        **more,
    }
    return Item(f"{kind}|{key}", kind, (rule.name,), facts, property_id=flat.property_id)


# Viewings are told through the channels of all buyer rules, whatever these look for.


def viewing_items(
    connection: Connection, rules: Sequence[BuyerRule], quiet: QuietHours | None, *, now: float
) -> Iterator[Item]:
    """The upcoming viewings; each once per reminder, and again where it was moved.

    None that could only be sent when its viewing has begun.
    """
    soonest = not_quiet(now, quiet)
    near: list[tuple[Viewing, int]] = []
    for viewing in all_viewings(connection) if rules else ():
        if viewing.state == "planned" and soonest < viewing.starts_at:
            due = [hours for hours in REMINDED_HOURS if _reminder_at(viewing, hours, quiet) <= now]
            near += [(viewing, min(due))] if due else []
    flats = {
        flat.property_id: flat
        for flat in load_flats(connection, {viewing.property_id for viewing, _ in near})
    }
    for viewing, hours in near:
        if viewing.property_id not in flats:  # joined with another meanwhile: the next look tells it
            continue
        flat = flats[viewing.property_id]
        view = View(flat, FlatJudgement(fits=True), "viewing", {}, silent=False)
        names = ("starts_at", "minutes", "agent", "phone", "place", "remarks")
        more = {name: getattr(viewing, name) for name in names}
        key = f"{viewing.uid}|{viewing.starts_at:.0f}|{hours}"
        for rule in rules:
            yield _item(rule, view, VIEWING, flat.adverts[0], key, **more)


def _reminder_at(viewing: Viewing, hours: int, quiet: QuietHours | None) -> float:
    return in_time(viewing.starts_at - hours * SECONDS_PER_HOUR, viewing.starts_at, quiet)


# What operators are told: each incident when it begins and when it is over.


def check_kinds(rules: Sequence[OperatorRule]) -> None:
    """Raise AlertsError when a rule names an unknown kind of incident."""
    for place, rule in enumerate(rules):
        unknown = sorted(
            name for name in rule.incidents if not any(_is_kind(name, kind) for kind in IncidentKind)
        )
        if unknown:
            wrong = Said("wrong_rule.incident", names=unknown, allowed=[*map(str, IncidentKind), DRIFT])
            raise wrong_rules(f"operator.{place}.incidents", wrong)


def _is_kind(name: str, kind: str) -> bool:
    """Whether a kind has this name, or belongs to the family of that name: drift."""
    return kind == name or (name == DRIFT and kind.startswith(f"{DRIFT}_"))


def incident_items(
    connection: Connection, rules: Sequence[OperatorRule], states: Mapping[str, RuleState]
) -> Iterator[Item]:
    """What was not told yet: the beginning; then the end, unless it had ended when its beginning was told.

    A rule ignores incidents that ended before the rule began.
    """
    if not rules:
        return
    names = ("kind", "site", "job_id", "opened_at", "closed_at")
    for row, told_kinds, ended_at_once in incident_news(
        connection, min(states[rule.name].since for rule in rules)
    ):
        closed_at = row["closed_at"]
        interested = [
            rule
            for rule in rules
            if (closed_at is None or closed_at >= states[rule.name].since)
            and (not rule.incidents or any(_is_kind(name, row["kind"]) for name in rule.incidents))
        ]
        kind = "incident"
        if kind in told_kinds:
            if closed_at is None or "incident_end" in told_kinds or ended_at_once:
                continue
            kind, interested = "incident_end", [rule for rule in interested if rule.ends]
        if interested:
            tellers = tuple(rule.name for rule in interested)
            facts = {name: row[name] for name in names} | {"message": row["message"].stored()}
            yield Item(f"{kind}|{row['id']}", kind, tellers, facts, incident_id=row["id"])
