"""One flat: what it is, what it costs, whether it fits, and what the buyer decides, notes and plans."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, select

from sale_sofia.advice.costs import Costs, all_costs, loan
from sale_sofia.advice.scoring.explaining import sentence
from sale_sofia.advice.scoring.judging import BreakerFinding, Criterion, State
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import Score
from sale_sofia.advice.scoring.settings import BEST
from sale_sofia.advice.valuation.flats import not_valued_for
from sale_sofia.advice.valuation.valuation import Valuation, value_property
from sale_sofia.alerts.rules import BUYER_KINDS
from sale_sofia.app import charts
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, Download, WebPage
from sale_sofia.app.deck import Deck, open_deck
from sale_sofia.app.facts import Fact, contact, contradiction, dialled, fact, facts_of, own_places
from sale_sofia.app.pages.agenda import change_from_form, plan_from_form
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
from sale_sofia.app.visit import PageVisit, Values, numbers, whole_number
from sale_sofia.app.words import language, say, translate, word_for
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
from sale_sofia.buyer.opinions import AS_STATUS, Opinion, opinions_on, say_stars, say_status
from sale_sofia.buyer.own_photos import OwnPhoto, own_photos_of
from sale_sofia.buyer.settings import SHARED_DAYS
from sale_sofia.buyer.sharing import SharedLink, links_to
from sale_sofia.buyer.viewings import STATES, UnknownViewing, Viewing, viewings_of
from sale_sofia.buyer.visitors import take_up
from sale_sofia.flats.flat import EarlierOffer, Flat
from sale_sofia.flats.overrides import WrongDecision, split
from sale_sofia.flats.prices import Band, asked_eur_sqm, vat_due
from sale_sofia.flats.rows import PriceStep, price_steps, read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import ListingSource, listing_rows, sources_of
from sale_sofia.flats.views import merged_view, nearby_record
from sale_sofia.geography.surroundings import Nearby
from sale_sofia.history.tables import WAS_ASKED, market_events
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.numbers import parse_number
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
    """One property with all that is known and was said of it, read in one transaction."""

    flat: Flat
    adverts: Mapping[int, Row]
    """The stored adverts by id."""
    view: Row
    """Facts with who says so and since when, and offers with their prices; see `merged_view`."""
    sources: Mapping[int, ListingSource]
    """Why each advert is one of this property."""
    steps: Mapping[int, Sequence[PriceStep]]
    printed: Mapping[int, Sequence[PriceStep]]
    """Earlier prices that the adverts print, but no crawl saw."""
    events: Sequence[MarketEvent]
    evaluation: Evaluation
    notes: Sequence[PropertyNote]
    viewings: Sequence[Viewing]
    own_photos: Sequence[OwnPhoto]
    history: Sequence[EvaluationChange]
    """Changes of its evaluation, with their authors."""
    facts_said: Sequence[SaidFact]
    pairs_said: Sequence[tuple[SaidPair, int]]
    """Decisions on its adverts, each with the flat that the other advert belongs to now."""


def read_property(connection: Connection, property_id: int) -> PropertyData:
    """The property that this id leads to now.

    Raises:
        UnknownProperty: no property ever had it.
    """
    current_id = current_property(connection, property_id)
    (flat,) = read_flats(connection, [current_id])
    ids = [advert.listing_id for advert in flat.adverts]
    rows = listing_rows(connection, ids)
    table = market_events
    query = select(table.c.listing_id, table.c.kind, table.c.at).where(table.c.listing_id.in_(ids))
    return PropertyData(
        flat=flat,
        adverts={row["id"]: dict(row) for row in rows},
        view=merged_view(flat, rows),
        sources={source.listing_id: source for source in sources_of(connection, ids)},
        steps=price_steps(connection, ids),
        printed=price_steps(connection, ids, ~WAS_ASKED),
        events=[MarketEvent(*row) for row in connection.execute(query.order_by(table.c.at, table.c.id))],
        evaluation=evaluation_of(connection, current_id),
        notes=notes_of(connection, current_id),
        viewings=viewings_of(connection, current_id),
        own_photos=own_photos_of(connection, current_id),
        history=history_of(connection, current_id),
        facts_said=facts_said(connection, current_id),
        pairs_said=[
            (pair, current_property(connection, pair.high if pair.low in ids else pair.low))
            for pair in pairs_said(connection, ids)
        ],
    )


def page(visit: PageVisit) -> WebPage:
    """The page."""
    data = visit.database.run_read(lambda connection: read_property(connection, visit.property_id))
    deck = open_deck(visit)
    (card,) = deck.cards([data.flat])
    agent, phone = contact(data.flat, data.adverts)
    facts = [*facts_of(data.flat, data.view["fields"]), *own_places(data.flat, deck.profile)]
    usual = visit.state.settings.share_link_days
    links = partial(links_to, property_id=data.flat.property_id, now=visit.now)
    # All changes by the household, the newest first.
    lines = [(change.changed_at, _change_line(change)) for change in data.history]
    lines += [(correction.said_at, _correction_line(correction)) for correction in data.facts_said]
    lines += [(pair.said_at, _pair_line(pair, other)) for pair, other in data.pairs_said]
    values: Values = {
        "card": card,
        "photos": fmt.photos(data.flat)[:PHOTOS_SHOWN],
        "phone": phone,
        "advert": next((url for advert in data.flat.adverts if (url := address(advert.url))), None),
        "agent": agent,
        "contradictions": [contradiction(clash) for clash in data.flat.contradictions],
        "facts": [row for row in facts if row.is_known or row.key in Nearby._fields],
        "sketch": sketch(data.flat),
        "unknown": [row for row in facts if not row.is_known and not _is_on_map(row, data.flat)],
        "correctable": CORRECTABLE,
        "texts": list(_texts(data)),
        "sources": list(_sources(data)),
        "evaluation": replace(data.evaluation, status=card.status),
        "statuses": STATUSES,
        "history": [line for _, line in sorted(lines, key=lambda dated: dated[0], reverse=True)],
        "my_stars": next(
            (opinion.stars for opinion in card.opinions if opinion.person == visit.by.who), None
        ),
        "notes": list(reversed(data.notes)),
        "viewings": data.viewings,
        "own_photos": data.own_photos,
        "viewing_states": STATES,
        "share_days": sorted({*SHARED_DAYS, usual}),
        "share_usual": usual,
        "shared": [shared_line(link) for link in visit.database.run_read(links)],
        "link": None,
        "tomorrow": f"{datetime.fromtimestamp(visit.now, SOFIA) + timedelta(days=1):%d.%m.%Y}",
    }
    values |= (
        _offers(data, visit.now) | _costs(visit, data, deck.profile) | _fair(visit.state.valuation(data.flat))
    )
    values |= _score(card.score, deck.profile) if card.score else {}
    return WebPage("flat.html", card.title, values, lambda: _data(deck, data))


def shared_line(link: SharedLink) -> Values:
    """A row of the list of shared links: by whom, when, and until when."""
    days = {"made": fmt.moment(link.made_at), "until": fmt.day(link.ends_at)}
    return {"id": link.id, "text": say("share.link", who=link.made_by, **days), "flat": "", "name": ""}


# The buyer's decisions.

_RESTORED: Final = ("status", "decision", "reason", "decide_by")
"""What the household said of a flat and a new status may overwrite: undo brings it back."""


def status(visit: PageVisit) -> Done:
    """Set the status by ★ or ✗ on a card; the outcome offers undo."""
    new_status, number = visit.form.get("status", ""), visit.property_id

    def write(connection: Connection) -> dict[str, str]:
        current_id = current_property(connection, number)
        before, opinion = evaluation_of(connection, current_id), _own_opinion(connection, visit, current_id)
        _mark(connection, visit, new_status, visit.form.get("reason", "").strip() or None)
        for name in _RESTORED:
            if value := visit.form.get(f"was_{name}"):
                evaluate(connection, current_id, name, value, visit.by)
        take_up(connection, f"{visit.visitor}:{visit.profile_name}", number)
        return _undo_fields(before, evaluation_of(connection, current_id), opinion)

    try:
        before = visit.database.run_write(write)
    except WrongEvaluation as error:
        return Done(translate(error), wrong=True)
    shown = visit.form.get("was_status") or new_status
    return Done(
        say("web.now", status=word_for("status", shown)),
        undo={"action": f"/flat/{number}/status", **before},
        data={"id": number, "status": shown},
    )


def _own_opinion(connection: Connection, visit: PageVisit, property_id: int) -> Opinion | None:
    """What the visitor thinks of the flat; None for a visitor without a name."""
    if visit.person is None:
        return None
    opinions = opinions_on(connection, [property_id]).get(property_id, ())
    return next((opinion for opinion in opinions if opinion.person == visit.by.who), Opinion(visit.by.who))


def _undo_fields(before: Evaluation, after: Evaluation, opinion: Opinion | None) -> dict[str, str]:
    """The form that brings back what a new status has overwritten."""
    # Whoever takes back a rejection of a hidden flat shows it again: all is needed to hide it as it was.
    hidden = before.status == "hidden"
    lost = {
        f"was_{name}": str(value)
        for name in _RESTORED
        if (value := getattr(before, name)) is not None and (hidden or value != getattr(after, name))
    }
    if opinion is None:
        return {"status": lost.pop("was_status", before.status), **lost}
    reason = {"reason": opinion.reason} if opinion.reason else {}
    return {"status": AS_STATUS[opinion.opinion], **reason, **lost}


def _mark(connection: Connection, visit: PageVisit, status: str, reason: str | None) -> None:
    """Set the status: as the opinion of the signed-in person, else as the single buyer's."""
    if visit.person:
        say_status(connection, visit.property_id, status, visit.person, reason, now=visit.now)
    else:
        mark(connection, visit.property_id, status, visit.by, reason)


def step(visit: PageVisit) -> Done:
    """Move the flat on the board, forward or back, for the whole household."""
    new_step, number = visit.form.get("step", ""), visit.property_id

    def write(connection: Connection) -> str:
        before = evaluation_of(connection, number).status
        mark(connection, number, checked_word(new_step, BOARD, f"no step {new_step!r}"), visit.by)
        return before

    try:
        before = visit.database.run_write(write)
    except WrongEvaluation as error:
        return Done(translate(error), wrong=True)
    undo = {"action": f"/flat/{number}/step", "step": before} if before in BOARD else None
    return Done(say("web.now", status=word_for("status", new_step)), undo=undo)


def rate(visit: PageVisit) -> Done:
    """Set the stars of the signed-in person; an empty field removes them."""
    text, number, person = visit.form.get("stars", ""), visit.property_id, visit.person
    if person is None:
        return Done(say("people.nobody"), wrong=True)
    stars = (whole_number(text, below=10) or 0) if text else None
    return _write(visit, lambda connection: say_stars(connection, number, stars, person, now=visit.now))


def decide(visit: PageVisit) -> Done:
    """Set status, reason and renovation: only what differs from what was shown is written."""
    form, number, by = visit.form, visit.property_id, visit.by

    def write(connection: Connection) -> None:
        reason = form.get("reason", "").strip()
        is_other_reason = reason != form.get("was_reason", "")
        if form.get("status", "") != form.get("was_status", ""):
            _mark(connection, visit, form.get("status", ""), reason if reason and is_other_reason else None)
        elif is_other_reason:
            evaluate(connection, number, "reason", reason or None, by)
        renovation = form.get("renovation", "").strip()
        if renovation != form.get("was_renovation", ""):
            evaluate(connection, number, "renovation_eur", _euros(renovation), by)

    return _write(visit, write)


def decide_by(visit: PageVisit) -> Done:
    """Set the day by which to decide; an empty one removes it."""
    number, day = visit.property_id, fmt.iso_day(visit.form.get("decide_by", "")) or None
    return _write(visit, lambda connection: evaluate(connection, number, "decide_by", day, visit.by))


def tell(visit: PageVisit) -> Done:
    """Add an alert on this flat: gone, back, and every change of price."""
    number = visit.property_id
    title = say("tell.flat", number=number)
    return tell_of(visit, title, flat=number, tell=list(BUYER_KINDS), cut_percent=0)


def note(visit: PageVisit) -> Done:
    """Add a note."""
    text = visit.form.get("text", "")
    number = visit.property_id
    return _write(visit, lambda connection: add_note(connection, number, text, visit.by))


def plan(visit: PageVisit) -> Done:
    """Plan a viewing."""
    work = partial(plan_from_form, number=visit.property_id, form=visit.form, by=visit.by)
    return _write(visit, work)


def change_plan(visit: PageVisit) -> Done:
    """Move or cancel a viewing, or store how it went."""
    viewing_id = int(visit.request.path_params["viewing"])
    return _write(visit, partial(change_from_form, viewing=viewing_id, form=visit.form, by=visit.by))


def put_right(visit: PageVisit) -> Done:
    """Correct a fact; an empty value removes the correction."""
    form, number = visit.form, visit.property_id
    text = form.get("value", "").strip() or None
    return _write(visit, lambda connection: correct(connection, number, form.get("fact", ""), text, visit.by))


def part(visit: PageVisit) -> Done:
    """Split the chosen adverts off into another flat."""
    chosen = numbers(visit.form.get("listing", "").replace("\n", ","))
    if not chosen:
        return Done(say("split.choose"), wrong=True)
    try:
        matching = PropertyMatching(visit.state.settings, visit.database)
        new_id = split(matching, visit.property_id, chosen, by=visit.by.who)
        note_pair(visit, visit.property_id, new_id, "different")
    except WrongDecision as error:
        return Done(translate(error), wrong=True)
    return Done(say("split.done", id=new_id))


def value(visit: PageVisit) -> Done:
    """Fit the model of fair prices now."""
    valuation = value_property(visit.database, visit.state.settings, visit.property_id)
    why = _why_not_valued(valuation)
    return Done(why, wrong=True) if why else Done(say("diary.kept"))


def calendar(visit: PageVisit) -> Download:
    """The viewings as a file for a calendar."""
    number = visit.property_id
    events = visit.database.run_read(
        lambda connection: viewing_events(connection, {current_property(connection, number)})
    )
    return Download(calendar_bytes(events), "text/calendar", f"viewings-{number}.ics")


def _write(visit: PageVisit, work: Callable[[Connection], object]) -> Done:
    try:
        visit.database.run_write(work)
    except (WrongEvaluation, UnknownViewing) as error:
        return Done(translate(error), wrong=True)
    return Done(say("diary.kept"))


def _euros(text: str) -> float | None:
    if not text:
        return None
    try:
        return parse_number("".join(text.replace("€", "").split()))
    except ValueError:
        raise WrongEvaluation(say("web.no_number", given=text)) from None


# The values of the template.


def _texts(data: PropertyData) -> Iterator[Values]:
    for row in data.adverts.values():
        if row["description"]:
            name = say("facts.words", advert=_advert_name(row))
            yield {"name": name, "lines": fmt.paragraphs(row["description"]).splitlines()}


_CHANGED: Final[Mapping[str, Callable[[Any], str]]] = {
    "status": lambda value: word_for("status", value),
    "opinion": lambda value: {"liked": "★", "rejected": "✗"}[value],
    "state": lambda value: say(f"viewing.state.{value}"),
    "starts_at": fmt.moment,
    "renovation_eur": fmt.euro,
    "own_photo": lambda _: "✓",
    "positives": ", ".join,
    "negatives": ", ".join,
}
"""The text of a value in the history; values of other fields are shown as they are."""


def _correction_line(entry: SaidFact) -> str:
    text = "–" if entry.value is None else plain(fact(entry.fact, entry.value), LONGEST_CELL)
    return f"{fmt.moment(entry.said_at)} · {entry.said_by} · {say(f'fact.{entry.fact}')}: {text}"


def _pair_line(pair: SaidPair, other: int) -> str:
    text = say(f"diary.pair.{'same' if pair.same else 'other'}", number=other)
    return f"{fmt.moment(pair.said_at)} · {pair.said_by or fmt.UNKNOWN} · {text}"


def _change_line(change: EvaluationChange) -> str:
    """Who changed what, in words."""
    write = _CHANGED.get(change.field, str)
    old, new = (
        "–" if value in (None, "", []) else plain(write(value), LONGEST_CELL)
        for value in (change.old, change.new)
    )
    viewing = f"{say('status.viewing')}: " if change.viewing_id else ""
    field = f"{viewing}{say(f'diary.field.{change.field}')}"
    return f"{fmt.moment(change.changed_at)} · {fmt.who(change.changed_by)} · {field}: {old} → {new}"


def _sources(data: PropertyData) -> Iterator[Values]:
    for listing_id, source in data.sources.items():
        values = {
            "advert": _advert_name(data.adverts[listing_id]),
            "by": say(f"decided.{source.decided_by}"),
            "probability": fmt.percent(source.probability, 1),
        }
        yield {"id": listing_id, "text": say("split.evidence", **values).removeprefix("- ")}


def _advert_name(row: Row) -> str:
    return plain(f"{row['site']} {row['external_id']}")


def _offers(data: PropertyData, now: float) -> Values:
    price = data.view["price"]
    apart = ""
    if price and price["difference_eur"]:
        percent = fmt.percent(price["difference_percent"] / 100, 1)
        apart = say("offers.apart", difference=fmt.euro(price["difference_eur"]), percent=percent)
    printed = [
        charts.Marker(step.seen_at, _printed(data, listing_id, step), step.price_eur)
        for listing_id, points in data.printed.items()
        for step in points
    ]
    return {
        "offers": [_offer(data, offer) for offer in data.view["offers"]],
        "apart": apart,
        "before": [_before(earlier, now) for earlier in data.flat.offered_before],
        "printed": [mark.text for mark in printed],
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
        "price": fmt.euro(offer["price_eur"]),
        "more": fmt.euro(offer["above_lowest_eur"]) if offer["above_lowest_eur"] else "",
        "vat": word_for("vat", offer["vat_state"]) if offer["vat_state"] else "",
        "seller": _seller(offer),
        "phones": [dialled(phone) for phone in row["phones"]],
        "seen": f"{fmt.day(offer['first_seen_at'])} – {fmt.day(offer['last_seen_at'])}",
        "state": (there if offer["opened"] else f"{there} · {unopened}"),
    }


def _is_on_map(row: Fact, flat: Flat) -> bool:
    """Whether the fact comes from the map, so that no agent has to be asked."""
    return row.key in Nearby._fields or (row.key.startswith("metro_") and flat.metro_walk is not None)


def _seller(offer: Row) -> str:
    """The seller, as far as the advert names one."""
    kind = word_for("seller_kind", offer["seller_kind"]) if offer["seller_kind"] else ""
    name = plain(offer["seller_name"]) if offer["seller_name"] else ""
    if not name:
        return say("offers.kind_alone", kind=kind) if kind else say("offers.no_seller")
    return f"{kind} {name}".strip()


def _before(earlier: EarlierOffer, now: float) -> str:
    values = {"ago": fmt.ago(earlier.until, now), "price": fmt.euro(earlier.price_eur)}
    days = {"since": fmt.day(earlier.since), "until": fmt.day(earlier.until)}
    return say("offers.before", **values, **days, site=plain(earlier.site))


def _printed(data: PropertyData, listing_id: int, step: PriceStep) -> str:
    values = {"advert": _advert_name(data.adverts[listing_id]), "price": fmt.euro(step.price_eur)}
    return say("offers.printed", **values, day=fmt.day(step.seen_at))


def _lines(data: PropertyData, now: float) -> Iterator[charts.Line]:
    """The prices of each advert over time, the last until the advert went, or until now."""
    for advert in data.flat.adverts:
        steps = data.steps.get(advert.listing_id, ())
        points = [
            charts.DataPoint(step.seen_at, step.price_eur) for step in steps if step.price_eur is not None
        ]
        if points:
            end = charts.DataPoint(now if advert.offered else advert.last_seen_at, points[-1].value)
            yield charts.Line(_advert_name(data.adverts[advert.listing_id]), [*points, end], steps=True)


def _gone(data: PropertyData) -> Iterator[charts.Marker]:
    for event in data.events:
        name = _advert_name(data.adverts[event.listing_id])
        yield charts.Marker(event.at, f"{say(f'offers.{event.kind}')}: {name}")


def _costs(visit: PageVisit, data: PropertyData, profile: Profile) -> Values:
    flat, costs = data.flat, own_costs(data.flat, profile, data.evaluation.renovation_eur)
    if costs is None or flat.price_eur is None:
        return {"costs": None}
    total = costs.total
    due = vat_due(flat)
    vat = say("costs.vat_unknown") if due is None else say("costs.vat_due" if due else "costs.vat_in")
    lines = {
        "price": f"{band(costs.price)} ({vat})",
        "state": band(costs.state),
        "commission": band(costs.commission),
        "renovation": band(costs.renovation),
        "total": band(total),
    }
    # Own per cent, interest and years, from the address or by default, each limited to its range.
    usual = {
        "own": (own_percent(costs), 0, 100),
        "rate": (LOAN_PERCENT, *LOAN_PERCENTS[:2]),
        "years": (LOAN_YEARS, 1, 40),
    }
    terms = {}
    for name, (default, least, most) in usual.items():
        try:
            number = float((visit.param(name) or str(default)).replace(",", "."))
        except ValueError:
            number = default
        terms[name] = min(max(number, least), most) if number == number else default  # noqa: PLR0124 - NaN
    mortgage = loan(total.least * (100 - terms["own"]) / 100, terms["rate"], round(terms["years"]))
    too_much = mortgage.borrowed > LOAN_MOST_SHARE * costs.price.least
    warning = say("web.loan_much", percent=fmt.percent(LOAN_MOST_SHARE)) if too_much else ""
    texts = {
        "own": f"{terms['own']:g}",
        "rate": fmt.for_input(terms["rate"]),
        "years": f"{round(terms['years'])}",
    }
    return {
        "costs": {"lines": list(lines.items()), "total": band(total)},
        "loan": mortgage,
        "loan_terms": texts,
        "loan_warning": warning,
    }


def own_costs(flat: Flat, profile: Profile, renovation_eur: float | None) -> Costs | None:
    """What the flat costs, with the household's own estimate of its renovation; None without a price."""
    costs = all_costs(flat, profile)
    if costs is None or renovation_eur is None:
        return costs
    renovation = Band(renovation_eur, renovation_eur)
    total = _sum(costs.price, costs.state, costs.commission, renovation)
    return costs._replace(renovation=renovation, total=total)


def own_percent(costs: Costs) -> int:
    """The usual own money for a loan, of all costs: banks lend a share of the price alone."""
    lacking = 1 - LOAN_MOST_SHARE * costs.price.least / costs.total.least
    return max(LOAN_OWN_PERCENT, math.ceil(100 * lacking))


def band(costs: Band) -> str:
    """One sum, or from the least to the most where something is unknown."""
    if costs.exact:
        return fmt.euro(costs.least)
    if costs.most is None:
        return say("costs.at_least", least=fmt.euro(costs.least))
    return f"{fmt.euro(costs.least)} – {fmt.euro(costs.most)}"


def _sum(*bands: Band) -> Band:
    upper = [part.most for part in bands if part.most is not None]
    return Band(sum(part.least for part in bands), sum(upper) if len(upper) == len(bands) else None)


def _fair(valuation: Valuation | None) -> Values:
    """The valuation by the stored model; None while there is no model."""
    if valuation is None:
        return {"fair": None}
    if valuation.fair is None or valuation.flat.area_sqm is None:
        return {"fair": {"none": _why_not_valued(valuation), "badge": ""}}
    fair, area = valuation.fair, valuation.flat.area_sqm
    sums = {name: fmt.euro(getattr(fair, name) * area) for name in ("low", "middle", "high")}
    sign, colour = _VERDICTS[valuation.verdict]
    verdict = f"{sign} {say(f'fair.{valuation.verdict}')}"
    others = [price for peer in valuation.comparables if (price := asked_eur_sqm(peer.flat)) is not None]
    chart = charts.dots(
        say("fair.picture"), "€/m²", others, asked_eur_sqm(valuation.flat), (fair.low, fair.middle, fair.high)
    )
    band_text = say("fair.band", **sums, n=fmt.number(valuation.rests_on)).replace("**", "")
    badge = say("fair.badge", low=sums["low"], high=sums["high"], verdict=verdict)
    rows = [{"cells": _comparable(peer.flat, peer.weight)} for peer in valuation.comparables]
    return {
        "fair": {
            "none": "", "band": band_text, "verdict": verdict, "colour": colour, "badge": badge,
            "chart": chart, "comparables": rows,
        }
    }  # fmt: skip


def _why_not_valued(valuation: Valuation) -> str:
    """Why there is no fair price; empty where there is one."""
    if valuation.fair is not None:
        return ""
    if valuation.few is not None:
        available, needed = fmt.number(valuation.few.count), fmt.number(valuation.few.needed)
        return say("fair.none", why=say("fair.why.few", known=available, needed=needed))
    return say("fair.none", why=say(f"fair.why.{not_valued_for(valuation.flat)}"))


def _comparable(flat: Flat, weight: float) -> list[object]:
    return [
        flat.property_id,
        fmt.euro(flat.price_eur),
        fmt.euro_per_sqm(asked_eur_sqm(flat)),
        fmt.area(flat.area_sqm),
        fmt.floor(flat.floor, flat.floors_total),
        plain(flat.neighbourhood or fmt.UNKNOWN),
        fmt.percent(weight, 1),
    ]


def _score(score: Score, profile: Profile) -> Values:
    accepted = frozenset(profile.unknown_ok)
    shares = profile.shares()
    weighted = sorted(((part, shares[part.name]) for part in score.criteria), key=lambda pair: -pair[1])
    names = [(name, say(f"score.{name}")) for name in ("earned", "lost", "unknown")]
    return {
        "findings": [_finding(finding, is_accepted=finding.name in accepted) for finding in score.findings],
        "criteria": [_criterion(criterion, share) for criterion, share in weighted],
        "score_chart": charts.bars(
            say("score.picture"), BEST * max(share for _, share in weighted),
            [_bar(criterion, share) for criterion, share in weighted], names,
        ),
    }  # fmt: skip


def _finding(finding: BreakerFinding, *, is_accepted: bool) -> Values:
    word = say(f"finding.{finding.state.value}")
    accepted = f" ({say('finding.accepted')})" if is_accepted and finding.state is State.UNKNOWN else ""
    return {
        "sign": _SIGNS[finding.state],
        "colour": _COLOURS[finding.state],
        "name": say(f"breaker.{finding.name}"),
        "word": word + accepted,
        "why": plain(sentence(finding, language()), LONGEST_CELL),
        "quote": plain(finding.quote, LONGEST_CELL) if finding.quote else "",
    }


def _criterion(criterion: Criterion, share: float) -> Values:
    parts = [
        {"value": fmt.score(part.value), "why": plain(sentence(part, language()), LONGEST_CELL)}
        for part in criterion.parts
    ]
    values = {
        "value": fmt.score(criterion.value),
        "known": fmt.percent(criterion.known),
        "share": fmt.percent(share),
    }
    return {"name": say(f"criterion.{criterion.name}"), "parts": parts, **values}


def _bar(criterion: Criterion, share: float) -> charts.Bar:
    """The points that a criterion earned, lost, and could earn if more were known."""
    earned = (criterion.value or 0.0) * criterion.known * share
    lost = (BEST - (criterion.value or 0.0)) * criterion.known * share
    parts = [("earned", earned), ("lost", lost), ("unknown", BEST * share * (1 - criterion.known))]
    return charts.Bar(
        f"{say(f'criterion.{criterion.name}')} ({fmt.percent(share)})", parts, fmt.number(earned, 2)
    )


def _data(deck: Deck, data: PropertyData) -> Values:
    (card,) = deck.cards([data.flat])
    return {
        **card.as_json(),
        "facts": data.view["fields"],
        "nearby": nearby_record(data.flat),
        "contradictions": data.view["contradictions"],
        "offers": [
            {**offer, "phones": data.adverts[offer["listing_id"]]["phones"]} for offer in data.view["offers"]
        ],
        "prices": {
            str(number): [{"at": step.seen_at, "price_eur": step.price_eur} for step in steps]
            for number, steps in data.steps.items()
        },
        "notes": [{"at": note.written_at, "by": note.written_by, "text": note.text} for note in data.notes],
        "own_photos": [
            {"url": f"/flat/{card.id}/own_photos/{photo.id}.jpg", "by": photo.added_by, "at": photo.added_at}
            for photo in data.own_photos
        ],
        "history": [asdict(change) for change in data.history],
        "facts_said": [asdict(correction) for correction in data.facts_said],
        "pairs_said": [{**asdict(pair), "other": other} for pair, other in data.pairs_said],
        "viewings": [{"starts_at": viewing.starts_at, "state": viewing.state} for viewing in data.viewings],
    }
