"""What a rule has to tell of a flat: what it is now, beside what the rule knew of its adverts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sale_sofia.alerts.judging import FOLLOWED, Judgement
from sale_sofia.config.alert_file import BuyerRule
from sale_sofia.config.alerts import PRICE_ROUNDING_EUR
from sale_sofia.config.history import VAT_RATE
from sale_sofia.data.alerts import Item, Watched
from sale_sofia.data.evaluation_fields import UNWANTED
from sale_sofia.insights.flats import Advert, Flat

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
