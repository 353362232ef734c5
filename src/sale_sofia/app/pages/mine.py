"""Mine: the board of wanted flats by step, what to do next, and viewings by day."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from sale_sofia.advice.market.market import AdvertHistory, histories_of
from sale_sofia.advice.since import brings_back
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Download, WebPage
from sale_sofia.app.deck import CardNote, Deck, FlatCard, open_deck
from sale_sofia.app.facts import contact
from sale_sofia.app.pages.agenda import flat_name
from sale_sofia.app.settings import CARDS_PER_PAGE
from sale_sofia.app.visit import PageVisit
from sale_sofia.app.words import say
from sale_sofia.buyer.agenda import calendar_bytes, viewing_events
from sale_sofia.buyer.evaluations import BOARD, Evaluation, evaluations, history_of
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import most_paid
from sale_sofia.flats.rows import PriceStep, price_steps, restated
from sale_sofia.flats.store import listing_rows
from sale_sofia.history.tables import market_events
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.numbers import same_sum


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """A flat on the board."""

    card: FlatCard
    step: str
    """The step of the board it is on, shared by the household."""
    chosen_at: float
    changes: Sequence[CardNote]
    """Changes since it was chosen: another price, gone, back."""
    agent: str | None
    phone: str | None
    viewing: Viewing | None
    """The next planned viewing."""
    decide_by: str | None
    """The day by which they want to decide, like 2026-11-25."""

    @property
    def next(self) -> str:
        """What to do now."""
        if self.viewing and self.step in {"shortlist", "contacted", "viewing"}:
            return say("mine.next.go", when=fmt.moment(self.viewing.starts_at))
        return say(f"mine.next.{self.step}")

    @property
    def ask(self) -> str:
        """Conditions of the profile to ask the agent about; empty once an offer is made."""
        return self.card.unsure if self.step not in {"offer", "ours"} else ""

    @property
    def decide_day(self) -> str:
        """`decide_by` as people write it here, like 25.11.2026; empty without one."""
        return ".".join(reversed((self.decide_by or "").split("-")))

    @property
    def deadline(self) -> CardNote | None:
        """By when to decide, until the flat is ours."""
        if self.decide_by is None or self.step == "ours":
            return None
        late = self.decide_by < _day(self.card.now)
        code = "mine.decide_late" if late else "mine.decide_by"
        return CardNote(say(code, day=self.decide_day), "bad" if late else "")

    @property
    def back(self) -> str | None:
        """The step before."""
        return BOARD[BOARD.index(self.step) - 1] if self.step != BOARD[0] else None

    @property
    def forward(self) -> str | None:
        """The step after."""
        return BOARD[BOARD.index(self.step) + 1] if self.step != BOARD[-1] else None

    @property
    def waits(self) -> bool:
        """Whether somebody likes it, and the visitor has no opinion yet."""
        return any(opinion.opinion == "liked" for opinion in self.card.opinions) and self.card.status == "new"

    def as_json(self) -> dict[str, Any]:
        """The entry as data."""
        record = {"step": self.step, "chosen_at": self.chosen_at, "waits_for_you": self.waits}
        record |= {"next": self.next, "ask": self.ask, "decide_by": self.decide_by}
        record |= {"changes": [note.text for note in self.changes], "agent": self.agent, "phone": self.phone}
        return self.card.as_json() | record | {"viewing_at": self.viewing.starts_at if self.viewing else None}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A flat that the household does not want, and why."""

    card: FlatCard
    evaluation: Evaluation

    def as_json(self) -> dict[str, Any]:
        """The entry as data."""
        last = self.evaluation
        record = {"reason": last.reason, "by": last.changed_by, "at": last.changed_at}
        return {"id": self.card.id, "title": self.card.flat.title} | record


def page(visit: PageVisit) -> WebPage:
    """The page."""
    deck = open_deck(visit)
    entries, viewings = visit.database.run_read(lambda connection: _read(connection, deck))
    # The last rejected flats, and the count of all.
    everything = visit.database.run_read(evaluations)
    numbers = [number for number, evaluation in everything.items() if evaluation.status == "rejected"]
    last = sorted(numbers, key=lambda number: (-(everything[number].changed_at or 0.0), number))
    rejected = [Rejected(card, everything[card.id]) for card in deck.cards(deck.flats(last[:CARDS_PER_PAGE]))]
    board = [(step, [entry for entry in entries if entry.step == step]) for step in BOARD]
    values = {
        "board": [(step, on_step) for step, on_step in board if on_step],
        "steps": BOARD,
        "waiting": [entry for entry in entries if entry.waits],
        "names": names_of(deck, viewings),
        "rejected": rejected,
        "rejected_count": len(numbers),
        "days": [
            (day, list(group))
            for day, group in groupby(viewings, lambda viewing: fmt.weekday(viewing.starts_at))
        ],
    }

    def data() -> dict[str, Any]:
        planned = [
            {"property_id": viewing.property_id, "starts_at": viewing.starts_at} for viewing in viewings
        ]
        return {
            "board": {step: [entry.as_json() for entry in on_step] for step, on_step in board},
            "rejected": [rejection.as_json() for rejection in rejected],
            "viewings": planned,
        }

    return WebPage("mine.html", say("page.mine"), values, data)


def names_of(deck: Deck, viewings: Sequence[Viewing]) -> dict[int, str]:
    """Lines to recognise the flats of these viewings by."""
    flats = {flat.property_id: flat for flat in deck.flats([viewing.property_id for viewing in viewings])}
    missing = {viewing.property_id: say("card.no_title", id=viewing.property_id) for viewing in viewings}
    return missing | {number: flat_name(flat) for number, flat in flats.items()}


def calendar(visit: PageVisit) -> Download:
    """All viewings as a file for a calendar."""
    events = visit.database.run_read(viewing_events)
    return Download(calendar_bytes(events), "text/calendar", "viewings.ics")


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, SOFIA):%Y-%m-%d}"


def _read(connection: Connection, deck: Deck) -> tuple[list[BoardEntry], list[Viewing]]:
    """The board, the last chosen first; and the upcoming viewings."""
    evaluated = evaluations(connection)
    planned = [viewing for viewing in all_viewings(connection) if viewing.is_upcoming(deck.now)]
    on_board = sorted(number for number, evaluation in evaluated.items() if evaluation.status in BOARD)
    cards = deck.cards(deck.flats(on_board))
    adverts = [advert.listing_id for card in cards for advert in card.flat.adverts]
    prices, on_market = price_steps(connection, adverts), _moves(connection, adverts)
    histories = histories_of(connection, {card.id for card in cards})
    rows = {row["id"]: row for row in listing_rows(connection, adverts)}
    entries = []
    for card in cards:
        # When it last came onto the board.
        moves = [change for change in history_of(connection, card.id) if change.field == "status"]
        chosen_at = max(
            (change.changed_at for change in moves if change.new in BOARD and change.old not in BOARD),
            default=0.0,
        )
        entries.append(
            BoardEntry(
                card,
                evaluated[card.id].status,
                chosen_at,
                list(changes_since(card.flat, prices, on_market, histories[card.id], chosen_at)),
                *contact(card.flat, rows),
                next((viewing for viewing in planned if viewing.property_id == card.id), None),
                evaluated[card.id].decide_by,
            )
        )
    return sorted(entries, key=lambda entry: -entry.chosen_at), planned


class MarketMove(NamedTuple):
    """An advert left the market or came back to it, and when that was found out."""

    kind: str
    at: float
    noted_at: float


Moves = Mapping[int, Sequence[MarketMove]]


def _moves(connection: Connection, adverts: Sequence[int]) -> Moves:
    """When these adverts left the market and came back, in the order in which it was found out."""
    c = market_events.c
    query = select(c.listing_id, c.kind, c.at, c.noted_at).where(c.listing_id.in_(adverts))
    moves: dict[int, list[MarketMove]] = {}
    for listing_id, *move in connection.execute(query.order_by(c.noted_at, c.id)):
        moves.setdefault(listing_id, []).append(MarketMove(*move))
    return moves


def changes_since(
    flat: Flat,
    prices: Mapping[int, Sequence[PriceStep]],
    moves: Moves,
    histories: Mapping[int, AdvertHistory],
    since: float,
) -> Iterator[CardNote]:
    """What has changed since a moment: gone, back, another price than of the adverts that were there then."""
    if not flat.offered:
        yield CardNote(f"✗ {say('card.gone')}", "bad")
    returned = [
        move.at
        for advert in flat.adverts
        for move in moves.get(advert.listing_id, ())
        if move.kind == "back" and brings_back(advert.listing_id, move.at, histories)
    ]
    back = max(returned, default=0.0)
    if flat.offered and back > since:
        yield CardNote(f"↺ {say('offers.back')}: {fmt.day(back)}", "good")
    if not flat.price_eur:
        return
    then = []
    for advert in flat.adverts:
        steps = prices.get(advert.listing_id, ())
        before = sum(step.seen_at <= since for step in steps)
        if before and _was_there(moves.get(advert.listing_id, ()), since):
            price = restated(steps[before - 1].price_eur, steps[before - 1 :])
            then += [] if price is None else [most_paid(flat, price, advert.vat)]
    # What was paid then, with the VAT that is printed now.
    was = min(then, default=0.0) * flat.price_eur / most_paid(flat, flat.price_eur, flat.vat)
    if was and not same_sum(was, flat.price_eur):
        sign, colour = ("▼", "good") if flat.price_eur < was else ("▲", "bad")
        values = {"was": fmt.euro(was), "day": fmt.day(since)}
        yield CardNote(
            f"{sign} {fmt.percent_change(was, flat.price_eur)} {say('mine.since', **values)}", colour
        )


def _was_there(moves: Sequence[MarketMove], at: float) -> bool:
    """Whether the advert was on offer then, as far as was known."""
    before = [move for move in moves if move.noted_at <= at]
    return not before or before[-1].kind == "back"
