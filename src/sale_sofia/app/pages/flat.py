"""One flat: what it is, what it costs, whether it fits, and what the buyer decides, notes and plans."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, select

from sale_sofia.advice.costs import all_costs, loan
from sale_sofia.advice.scoring.explaining import sentence
from sale_sofia.advice.scoring.judging import BreakerFinding, Criterion, State
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import Score
from sale_sofia.advice.scoring.settings import BEST
from sale_sofia.advice.valuation.flats import asked_eur_sqm, not_valued_for
from sale_sofia.advice.valuation.valuation import Valuation, value_property
from sale_sofia.alerts.rules import BUYER_KINDS
from sale_sofia.app import charts
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Download, Page
from sale_sofia.app.deck import Deck, open_deck
from sale_sofia.app.facts import Fact, contradiction, fact, facts_of, own_places
from sale_sofia.app.pages.agenda import change_asked, plan_asked
from sale_sofia.app.pages.alerts import tell as tell_of
from sale_sofia.app.pages.elsewhere import note_pair
from sale_sofia.app.settings import (
    LOAN_MOST_SHARE,
    LOAN_OWN_PERCENT,
    LOAN_PERCENT,
    LOAN_PERCENTS,
    LOAN_YEARS,
    LONGEST_CELL,
    PHOTOS_SHOWN,
)
from sale_sofia.app.sketch import sketch
from sale_sofia.app.visit import Values, Visit, numbers
from sale_sofia.app.words import language, named, say, told
from sale_sofia.buyer.agenda import calendar_bytes, viewing_events
from sale_sofia.buyer.changes import SaidFact, SaidPair, facts_said, pairs_said
from sale_sofia.buyer.corrections import CORRECTABLE, correct
from sale_sofia.buyer.evaluations import (
    BOARD,
    STATUSES,
    Evaluation,
    EvaluationChange,
    PropertyNote,
    WrongEvaluation,
    add_note,
    checked_word,
    current_property,
    evaluate,
    evaluation_of,
    history_of,
    mark,
    notes_of,
)
from sale_sofia.buyer.opinions import say_stars, say_status, statuses_for
from sale_sofia.buyer.own_photos import OwnPhoto, own_photos_of
from sale_sofia.buyer.settings import SHARED_DAYS
from sale_sofia.buyer.sharing import SharedLink, links_to
from sale_sofia.buyer.viewings import STATES, UnknownViewing, Viewing, viewings_of
from sale_sofia.buyer.visitors import take_up
from sale_sofia.flats.flat import EarlierOffer, Flat
from sale_sofia.flats.overrides import WrongDecision, split
from sale_sofia.flats.prices import Band, vat_due
from sale_sofia.flats.rows import PriceStep, price_steps, read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import Source, UnknownProperty, listing_rows, sources_of
from sale_sofia.flats.views import merged_view, nearby_record
from sale_sofia.geography.surroundings import Nearby
from sale_sofia.history.tables import WAS_ASKED, market_events
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import address, plain

Row = Mapping[str, Any]
_SIGNS: Final = {State.PASS: "✓", State.FAIL: "✗", State.UNKNOWN: "?"}
_COLOURS: Final = {State.PASS: "good", State.FAIL: "bad", State.UNKNOWN: "unsure"}
_VERDICTS: Final = {
    "below": ("▼", "good"),
    "above": ("▲", "bad"),
    "within": ("●", ""),
    "unknown": ("?", "unsure"),
}


@dataclass(frozen=True, slots=True)
class MarketEvent:
    """An advert that left the market, or came back; the moment is in seconds since 1970."""

    listing_id: int
    kind: str
    at: float


@dataclass(frozen=True, slots=True)
class PropertyData:
    """One property with all that is known and was said of it, read at one moment."""

    flat: Flat
    adverts: Mapping[int, Row]
    """The stored adverts by id."""
    view: Row
    """Facts with who says so and since when, and offers with their prices; see `merged_view`."""
    sources: Mapping[int, Source]
    """Why each advert is one of this property."""
    steps: Mapping[int, Sequence[PriceStep]]
    printed: Mapping[int, Sequence[PriceStep]]
    """Earlier prices that the adverts print; nobody saw them asked."""
    events: Sequence[MarketEvent]
    evaluation: Evaluation
    notes: Sequence[PropertyNote]
    viewings: Sequence[Viewing]
    own_photos: Sequence[OwnPhoto]
    history: Sequence[EvaluationChange]
    """What was said of it, and by whom."""
    facts_said: Sequence[SaidFact]
    pairs_said: Sequence[tuple[SaidPair, int]]
    """What was said of its adverts, and of which flat the other advert is now."""


def read_property(connection: Connection, property_id: int) -> PropertyData:
    """The property that this id leads to now.

    Raises:
        UnknownProperty: no property ever had it.
    """
    found = current_property(connection, property_id)
    (flat,) = read_flats(connection, [found])
    ids = [advert.listing_id for advert in flat.adverts]
    rows = listing_rows(connection, ids)
    table = market_events
    chosen = select(table.c.listing_id, table.c.kind, table.c.at).where(table.c.listing_id.in_(ids))
    return PropertyData(
        flat=flat,
        adverts={row["id"]: dict(row) for row in rows},
        view=merged_view(flat, rows),
        sources={source.listing_id: source for source in sources_of(connection, ids)},
        steps=price_steps(connection, ids),
        printed=price_steps(connection, ids, ~WAS_ASKED),
        events=[MarketEvent(*row) for row in connection.execute(chosen.order_by(table.c.at, table.c.id))],
        evaluation=evaluation_of(connection, found),
        notes=notes_of(connection, found),
        viewings=viewings_of(connection, found),
        own_photos=own_photos_of(connection, found),
        history=history_of(connection, found),
        facts_said=facts_said(connection, found),
        pairs_said=[
            (one, current_property(connection, one.high if one.low in ids else one.low))
            for one in pairs_said(connection, ids)
        ],
    )


def page(visit: Visit) -> Page:
    """The page."""
    data = visit.database.run_read(lambda connection: read_property(connection, _number(visit)))
    deck = open_deck(visit)
    (card,) = deck.cards([data.flat])
    phones = [phone for row in data.adverts.values() for phone in row["phones"]]
    facts = [*facts_of(data.flat, data.view["fields"]), *own_places(data.flat, deck.profile)]
    usual = visit.site.settings.share_link_days
    links = partial(links_to, property_id=data.flat.property_id, now=visit.now)
    # All that was said and done of the flat, by whom, the newest first.
    lines = [(one.changed_at, _change(one)) for one in data.history]
    lines += [(one.said_at, _fact_said(one)) for one in data.facts_said]
    lines += [(one.said_at, _pair_said(one, other)) for one, other in data.pairs_said]
    values: Values = {
        "card": card,
        "photos": shown.photos(data.flat)[:PHOTOS_SHOWN],
        "phone": _dialled(phones[0]) if phones else None,
        "advert": next((url for one in data.flat.adverts if (url := address(one.url))), None),
        "agent": next((plain(one.seller_name) for one in data.flat.adverts if one.seller_name), None),
        "contradictions": [contradiction(one) for one in data.flat.contradictions],
        "facts": [one for one in facts if one.known or one.key in Nearby._fields],
        "sketch": sketch(data.flat),
        "unknown": [one for one in facts if not one.known and not _is_on_map(one, data.flat)],
        "correctable": CORRECTABLE,
        "texts": list(_texts(data)),
        "sources": list(_sources(data)),
        "evaluation": replace(data.evaluation, status=card.status),
        "statuses": STATUSES,
        "history": [line for _, line in sorted(lines, key=lambda one: one[0], reverse=True)],
        "my_stars": next((one.stars for one in card.opinions if one.person == visit.by.who), None),
        "notes": list(reversed(data.notes)),
        "viewings": data.viewings,
        "own_photos": data.own_photos,
        "viewing_states": STATES,
        "share_days": sorted({*SHARED_DAYS, usual}),
        "share_usual": usual,
        "shared": [shared_line(one) for one in visit.database.run_read(links)],
        "link": None,
        "tomorrow": f"{datetime.fromtimestamp(visit.now, SOFIA) + timedelta(days=1):%d.%m.%Y}",
    }
    values |= (
        _offers(data, visit.now) | _costs(visit, data, deck.profile) | _fair(visit.site.valuation(data.flat))
    )
    values |= _score(card.score, deck.profile) if card.score else {}
    return Page("flat.html", card.title, values, lambda: _data(deck, data))


def shared_line(one: SharedLink) -> Values:
    """A link that shows a flat to others, as it is listed: by whom and when, and until when."""
    days = {"made": shown.moment(one.made_at), "until": shown.day(one.ends_at)}
    return {"id": one.id, "text": say("share.link", who=one.made_by, **days), "flat": "", "name": ""}


def _number(visit: Visit) -> int:
    return int(visit.request.path_params["number"])


def _dialled(phone: str) -> str:
    return "".join(sign for sign in str(phone) if sign.isdigit() or sign == "+")


# What the buyer says.


def status(visit: Visit) -> Done:
    """★ or ✗ on a card; told with the way back."""
    wanted, number = visit.form.get("status", ""), _number(visit)

    def write(connection: Connection) -> str:
        found = current_property(connection, number)
        before = statuses_for(connection, visit.person).get(found, "new")
        _mark(connection, visit, wanted, visit.form.get("reason", "").strip() or None)
        take_up(connection, f"{visit.visitor}:{visit.profile_name}", number)
        return before

    try:
        before = visit.database.run_write(write)
    except WrongEvaluation as error:
        return Done(told(error), wrong=True)
    undo = {"action": f"/flat/{number}/status", "status": before}
    return Done(
        say("web.now", status=named("status", wanted)), undo=undo, data={"id": number, "status": wanted}
    )


def _mark(connection: Connection, visit: Visit, status: str, reason: str | None) -> None:
    """By who is signed in, as their own opinion; else as the one buyer's."""
    if visit.person:
        say_status(connection, _number(visit), status, visit.person, reason, now=visit.now)
    else:
        mark(connection, _number(visit), status, visit.by, reason)


def step(visit: Visit) -> Done:
    """How far all of them have come with it: a step of the board, forward or back, whoever likes it."""
    wanted, number = visit.form.get("step", ""), _number(visit)

    def write(connection: Connection) -> str:
        before = evaluation_of(connection, number).status
        mark(connection, number, checked_word(wanted, BOARD, f"no step {wanted!r}"), visit.by)
        return before

    try:
        before = visit.database.run_write(write)
    except WrongEvaluation as error:
        return Done(told(error), wrong=True)
    undo = {"action": f"/flat/{number}/step", "step": before} if before in BOARD else None
    return Done(say("web.now", status=named("status", wanted)), undo=undo)


def rate(visit: Visit) -> Done:
    """How many stars who is signed in gives it; an empty field takes them back."""
    given, number, person = visit.form.get("stars", ""), _number(visit), visit.person
    if person is None:
        return Done(say("people.nobody"), wrong=True)
    stars = int(given) if given.isascii() and given.isdigit() and len(given) == 1 else 0 if given else None
    return _write(visit, lambda connection: say_stars(connection, number, stars, person, now=visit.now))


def decide(visit: Visit) -> Done:
    """Status, reason and renovation: only what is other than it was shown is written."""
    form, number, by = visit.form, _number(visit), visit.by

    def write(connection: Connection) -> None:
        reason = form.get("reason", "").strip()
        if form.get("status", "") != form.get("was_status", ""):
            _mark(connection, visit, form.get("status", ""), reason or None)
        elif reason != form.get("was_reason", ""):
            evaluate(connection, number, "reason", reason or None, by)
        renovation = form.get("renovation", "").strip()
        if renovation != form.get("was_renovation", ""):
            evaluate(connection, number, "renovation_eur", _euros(renovation), by)

    return _write(visit, write)


def decide_by(visit: Visit) -> Done:
    """The day by which to decide; an empty one takes it back."""
    number, given = _number(visit), shown.typed_day(visit.form.get("decide_by", "")) or None
    return _write(visit, lambda connection: evaluate(connection, number, "decide_by", given, visit.by))


def tell(visit: Visit) -> Done:
    """Tell whatever becomes of this flat: gone, back, and every other price."""
    number = _number(visit)
    called = say("tell.flat", number=number)
    return tell_of(visit, called, flat=number, tell=list(BUYER_KINDS), cut_percent=0)


def note(visit: Visit) -> Done:
    """Add a note."""
    text = visit.form.get("text", "")
    number = _number(visit)
    return _write(visit, lambda connection: add_note(connection, number, text, visit.by))


def plan(visit: Visit) -> Done:
    """Plan a viewing."""
    work = partial(plan_asked, number=_number(visit), form=visit.form, by=visit.by)
    return _write(visit, work)


def change_plan(visit: Visit) -> Done:
    """Another time for a viewing, how it went, or that it is off."""
    which = int(visit.request.path_params["viewing"])
    return _write(visit, partial(change_asked, viewing=which, form=visit.form, by=visit.by))


def put_right(visit: Visit) -> Done:
    """What a fact really is; an empty value takes back what was said."""
    form, number = visit.form, _number(visit)
    given = form.get("value", "").strip() or None
    return _write(
        visit, lambda connection: correct(connection, number, form.get("fact", ""), given, visit.by)
    )


def part(visit: Visit) -> Done:
    """Some adverts are of another flat."""
    chosen = numbers(visit.form.get("listing", "").replace("\n", ","))
    if not chosen:
        return Done(say("split.choose"), wrong=True)
    try:
        matching = PropertyMatching(visit.site.settings, visit.database)
        found = split(matching, _number(visit), chosen, by=visit.by.who)
        note_pair(visit, _number(visit), found, "different")
    except WrongDecision as error:
        return Done(told(error), wrong=True)
    return Done(say("split.done", id=found))


def value(visit: Visit) -> Done:
    """Work out the model of fair prices now."""
    try:
        found = value_property(visit.database, visit.site.settings, _number(visit))
    except UnknownProperty:
        return Done(say("fair.unmatched"), wrong=True)
    why = _why_not_valued(found)
    return Done(why, wrong=True) if why else Done(say("diary.kept"))


def calendar(visit: Visit) -> Download:
    """The viewings as a file for a calendar."""
    number = _number(visit)
    events = visit.database.run_read(lambda connection: viewing_events(connection, {number}))
    return Download(calendar_bytes(events), "text/calendar", f"viewings-{number}.ics")


def _write(visit: Visit, work: Callable[[Connection], object]) -> Done:
    try:
        visit.database.run_write(work)
    except (WrongEvaluation, UnknownViewing) as error:
        return Done(told(error), wrong=True)
    return Done(say("diary.kept"))


def _euros(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text.replace(" ", "").replace(",", "."))
    except ValueError:
        raise WrongEvaluation(say("web.no_number", given=text)) from None


# What is shown of it.


def _texts(data: PropertyData) -> Iterator[Values]:
    for row in data.adverts.values():
        if row["description"]:
            name = say("facts.words", advert=_advert_name(row))
            yield {"name": name, "lines": shown.paragraphs(row["description"]).splitlines()}


_CHANGED: Final[Mapping[str, Callable[[Any], str]]] = {
    "status": lambda value: named("status", value),
    "opinion": lambda value: {"liked": "★", "rejected": "✗"}[value],
    "state": lambda value: say(f"viewing.state.{value}"),
    "starts_at": shown.moment,
    "renovation_eur": shown.euro,
    "own_photo": lambda _: "✓",
    "positives": ", ".join,
    "negatives": ", ".join,
}
"""How values of the history are written; of all other fields as they are."""


def _fact_said(one: SaidFact) -> str:
    told = "–" if one.value is None else plain(fact(one.fact, one.value), LONGEST_CELL)
    return f"{shown.moment(one.said_at)} · {one.said_by} · {say(f'fact.{one.fact}')}: {told}"


def _pair_said(one: SaidPair, other: int) -> str:
    said = say(f"diary.pair.{'same' if one.same else 'other'}", number=other)
    return f"{shown.moment(one.said_at)} · {one.said_by or shown.UNKNOWN} · {said}"


def _change(one: EvaluationChange) -> str:
    """Who changed what, in words."""
    write = _CHANGED.get(one.field, str)
    old, new = (plain(write(value), LONGEST_CELL) if value else "–" for value in (one.old, one.new))
    viewing = f"{say('status.viewing')}: " if one.viewing_id else ""
    what = f"{viewing}{say(f'diary.field.{one.field}')}"
    return f"{shown.moment(one.changed_at)} · {one.changed_by} · {what}: {old} → {new}"


def _sources(data: PropertyData) -> Iterator[Values]:
    for listing_id, source in data.sources.items():
        values = {
            "advert": _advert_name(data.adverts[listing_id]),
            "by": say(f"decided.{source.decided_by}"),
            "probability": shown.percent(source.probability, 1),
        }
        yield {"id": listing_id, "text": say("split.evidence", **values).removeprefix("- ")}


def _advert_name(row: Row) -> str:
    return plain(f"{row['site']} {row['external_id']}")


def _offers(data: PropertyData, now: float) -> Values:
    price = data.view["price"]
    apart = ""
    if price and price["difference_eur"]:
        percent = shown.percent(price["difference_percent"] / 100, 1)
        apart = say("offers.apart", difference=shown.euro(price["difference_eur"]), percent=percent)
    printed = [
        charts.Mark(one.seen_at, _printed(data, listing_id, one), one.price_eur)
        for listing_id, points in data.printed.items()
        for one in points
    ]
    return {
        "offers": [_offer(data, one) for one in data.view["offers"]],
        "apart": apart,
        "before": [_before(one, now) for one in data.flat.offered_before],
        "printed": [one.text for one in printed],
        "price_chart": charts.lines(
            say("offers.history"), "€", list(_lines(data, now)), [*_gone(data), *printed]
        ),
    }


def _offer(data: PropertyData, offer: Row) -> Values:
    row = data.adverts[offer["listing_id"]]
    there = say("offers.there") if offer["offered"] else f"✗ {say('card.gone')}"
    unopened = say("offers.copy" if offer["copy_of"] else "offers.unopened")
    return {
        "name": _advert_name(offer),
        "url": address(offer["url"]),
        "price": shown.euro(offer["price_eur"]),
        "more": shown.euro(offer["above_lowest_eur"]) if offer["above_lowest_eur"] else "",
        "vat": named("vat", offer["vat_state"]) if offer["vat_state"] else "",
        "seller": _seller(offer),
        "phones": [_dialled(phone) for phone in row["phones"]],
        "seen": f"{shown.day(offer['first_seen_at'])} – {shown.day(offer['last_seen_at'])}",
        "state": (there if offer["opened"] else f"{there} · {unopened}"),
    }


def _is_on_map(one: Fact, flat: Flat) -> bool:
    """Whether the map tells it, or nothing: no agent has to be asked."""
    return one.key in Nearby._fields or (one.key.startswith("metro_") and flat.metro_walk is not None)


def _seller(offer: Row) -> str:
    """Who sells, as far as the advert says it."""
    kind = named("seller_kind", offer["seller_kind"]) if offer["seller_kind"] else ""
    name = plain(offer["seller_name"]) if offer["seller_name"] else ""
    if not name:
        return say("offers.kind_alone", kind=kind) if kind else say("offers.no_seller")
    return f"{kind} {name}".strip()


def _before(one: EarlierOffer, now: float) -> str:
    values = {"ago": shown.ago(one.until, now), "price": shown.euro(one.price_eur)}
    days = {"since": shown.day(one.since), "until": shown.day(one.until)}
    return say("offers.before", **values, **days, site=plain(one.site))


def _printed(data: PropertyData, listing_id: int, one: PriceStep) -> str:
    values = {"advert": _advert_name(data.adverts[listing_id]), "price": shown.euro(one.price_eur)}
    return say("offers.printed", **values, day=shown.day(one.seen_at))


def _lines(data: PropertyData, now: float) -> Iterator[charts.Line]:
    """Every price of every advert since when, and the last one until the advert went, or until now."""
    for advert in data.flat.adverts:
        steps = data.steps.get(advert.listing_id, ())
        points = [charts.Point(one.seen_at, one.price_eur) for one in steps if one.price_eur is not None]
        if points:
            end = charts.Point(now if advert.offered else advert.last_seen_at, points[-1].value)
            yield charts.Line(_advert_name(data.adverts[advert.listing_id]), [*points, end], steps=True)


def _gone(data: PropertyData) -> Iterator[charts.Mark]:
    for one in data.events:
        name = _advert_name(data.adverts[one.listing_id])
        yield charts.Mark(one.at, f"{say(f'offers.{one.kind}')}: {name}")


def _costs(visit: Visit, data: PropertyData, profile: Profile) -> Values:
    flat, found = data.flat, all_costs(data.flat, profile)
    if found is None or flat.price_eur is None:
        return {"costs": None}
    own = data.evaluation.renovation_eur
    renovation = found.renovation if own is None else Band(own, own)
    total = _sum(found.price, found.state, found.commission, renovation)
    due = vat_due(flat)
    vat = say("costs.vat_unknown") if due is None else say("costs.vat_due" if due else "costs.vat_in")
    lines = {
        "price": f"{band(found.price)} ({vat})",
        "state": band(found.state),
        "commission": band(found.commission),
        "renovation": band(renovation),
        "total": band(total),
    }
    # Own per cent, interest and years, as asked or as usual; what cannot be is brought into its range.
    usual = {
        "own": (LOAN_OWN_PERCENT, 0, 100),
        "rate": (LOAN_PERCENT, *LOAN_PERCENTS[:2]),
        "years": (LOAN_YEARS, 1, 40),
    }
    asked = {}
    for name, (default, least, most) in usual.items():
        try:
            given = float((visit.asked(name) or str(default)).replace(",", "."))
        except ValueError:
            given = default
        asked[name] = min(max(given, least), most) if given == given else default  # noqa: PLR0124 - NaN
    taken = loan(total.least * (100 - asked["own"]) / 100, asked["rate"], round(asked["years"]))
    too_much = taken.borrowed > LOAN_MOST_SHARE * found.price.least
    warning = say("web.loan_much", percent=shown.percent(LOAN_MOST_SHARE)) if too_much else ""
    written = {
        "own": f"{asked['own']:g}",
        "rate": shown.number(asked["rate"], 1),
        "years": f"{asked['years']:g}",
    }
    return {
        "costs": {"lines": list(lines.items()), "total": band(total)},
        "loan": taken,
        "loan_asked": written,
        "loan_warning": warning,
    }


def band(costs: Band) -> str:
    """One sum, or from the least to the most, where something is not known."""
    if costs.exact:
        return shown.euro(costs.least)
    if costs.most is None:
        return say("costs.at_least", least=shown.euro(costs.least))
    return f"{shown.euro(costs.least)} – {shown.euro(costs.most)}"


def _sum(*bands: Band) -> Band:
    known = [one.most for one in bands if one.most is not None]
    return Band(sum(one.least for one in bands), sum(known) if len(known) == len(bands) else None)


def _fair(found: Valuation | None) -> Values:
    """What the stored model says, in words; None while there is no model."""
    if found is None:
        return {"fair": None}
    if found.fair is None or found.flat.area_sqm is None:
        return {"fair": {"none": _why_not_valued(found), "badge": ""}}
    fair, area = found.fair, found.flat.area_sqm
    sums = {name: shown.euro(getattr(fair, name) * area) for name in ("low", "middle", "high")}
    sign, colour = _VERDICTS[found.verdict]
    verdict = f"{sign} {say(f'fair.{found.verdict}')}"
    others = [price for one in found.comparables if (price := asked_eur_sqm(one.flat)) is not None]
    chart = charts.dots(
        say("fair.picture"), "€/m²", others, asked_eur_sqm(found.flat), (fair.low, fair.middle, fair.high)
    )
    told_band = say("fair.band", **sums, n=shown.number(found.rests_on)).replace("**", "")
    badge = say("fair.badge", low=sums["low"], high=sums["high"], verdict=verdict)
    rows = [{"cells": _comparable(one.flat, one.weight)} for one in found.comparables]
    return {
        "fair": {
            "none": "", "band": told_band, "verdict": verdict, "colour": colour, "badge": badge,
            "chart": chart, "comparables": rows,
        }
    }  # fmt: skip


def _why_not_valued(found: Valuation) -> str:
    """Why there is no fair price; nothing where there is one."""
    if found.fair is not None:
        return ""
    if found.few is not None:
        known, needed = shown.number(found.few.count), shown.number(found.few.needed)
        return say("fair.none", why=say("fair.why.few", known=known, needed=needed))
    return say("fair.none", why=say(f"fair.why.{not_valued_for(found.flat)}"))


def _comparable(flat: Flat, weight: float) -> list[object]:
    return [
        flat.property_id,
        shown.euro(flat.price_eur),
        shown.euro_per_sqm(asked_eur_sqm(flat)),
        shown.area(flat.area_sqm),
        shown.floor(flat.floor, flat.floors_total),
        plain(flat.neighbourhood or shown.UNKNOWN),
        shown.percent(weight, 1),
    ]


def _score(score: Score, profile: Profile) -> Values:
    accepted = frozenset(profile.unknown_ok)
    shares = profile.shares()
    weighted = [(one, shares[one.name]) for one in sorted(score.criteria, key=lambda one: -shares[one.name])]
    names = [(name, say(f"score.{name}")) for name in ("earned", "lost", "unknown")]
    return {
        "findings": [_finding(one, is_accepted=one.name in accepted) for one in score.findings],
        "criteria": [_criterion(one, share) for one, share in weighted],
        "score_chart": charts.bars(
            say("score.picture"), BEST * max(share for _, share in weighted),
            [_bar(one, share) for one, share in weighted], names,
        ),
    }  # fmt: skip


def _finding(one: BreakerFinding, *, is_accepted: bool) -> Values:
    word = say(f"finding.{one.state.value}")
    accepted = f" ({say('finding.accepted')})" if is_accepted and one.state is State.UNKNOWN else ""
    return {
        "sign": _SIGNS[one.state],
        "colour": _COLOURS[one.state],
        "name": say(f"breaker.{one.name}"),
        "word": word + accepted,
        "why": plain(sentence(one, language()), LONGEST_CELL),
        "quote": plain(one.quote, LONGEST_CELL) if one.quote else "",
    }


def _criterion(one: Criterion, share: float) -> Values:
    parts = [
        {"value": shown.score(part.value), "why": plain(sentence(part, language()), LONGEST_CELL)}
        for part in one.parts
    ]
    values = {
        "value": shown.score(one.value),
        "known": shown.percent(one.known),
        "share": shown.percent(share),
    }
    return {"name": say(f"criterion.{one.name}"), "parts": parts, **values}


def _bar(one: Criterion, share: float) -> charts.Bar:
    """The points a criterion earned, lost, and could have earned if more were known."""
    earned = (one.value or 0.0) * one.known * share
    lost = (BEST - (one.value or 0.0)) * one.known * share
    parts = [("earned", earned), ("lost", lost), ("unknown", BEST * share * (1 - one.known))]
    return charts.Bar(
        f"{say(f'criterion.{one.name}')} ({shown.percent(share)})", parts, shown.number(earned, 2)
    )


def _data(deck: Deck, data: PropertyData) -> Values:
    (card,) = deck.cards([data.flat])
    return {
        **card.as_json(),
        "facts": data.view["fields"],
        "nearby": nearby_record(data.flat),
        "contradictions": data.view["contradictions"],
        "offers": [
            {**one, "phones": data.adverts[one["listing_id"]]["phones"]} for one in data.view["offers"]
        ],
        "prices": {
            str(number): [{"at": one.seen_at, "price_eur": one.price_eur} for one in steps]
            for number, steps in data.steps.items()
        },
        "notes": [{"at": one.written_at, "by": one.written_by, "text": one.text} for one in data.notes],
        "own_photos": [
            {"url": f"/flat/{card.id}/own_photos/{one.id}.jpg", "by": one.added_by, "at": one.added_at}
            for one in data.own_photos
        ],
        "history": [asdict(one) for one in data.history],
        "facts_said": [asdict(one) for one in data.facts_said],
        "pairs_said": [{**asdict(one), "other": other} for one, other in data.pairs_said],
        "viewings": [{"starts_at": one.starts_at, "state": one.state} for one in data.viewings],
    }
