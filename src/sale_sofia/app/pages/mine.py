"""Mine: the flats that somebody wants, by how far they have come, what to do next, and viewings by day."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, func, select

from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Download, Page
from sale_sofia.app.deck import Card, Deck, Note, open_deck
from sale_sofia.app.pages.agenda import flat_name
from sale_sofia.app.settings import CARDS_PER_PAGE
from sale_sofia.app.visit import Visit
from sale_sofia.app.words import say
from sale_sofia.buyer.agenda import calendar_bytes, viewing_events
from sale_sofia.buyer.evaluations import BOARD, Evaluation, evaluations, history_of
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import PriceStep, price_steps
from sale_sofia.flats.store import listing_rows
from sale_sofia.history.tables import market_events
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import plain


@dataclass(frozen=True, slots=True)
class Entry:
    """A flat on the board."""

    card: Card
    step: str
    """How far it has come: the household's status, which all of them share."""
    chosen_at: float
    changes: Sequence[Note]
    """What happened to it since it was chosen: another price, that it has gone, that it came back."""
    agent: str | None
    phone: str | None
    viewing: Viewing | None
    """The next one that is planned."""
    decide_by: str | None
    """The day by which they want to decide, like 2026-11-25."""

    @property
    def next(self) -> str:
        """What to do now."""
        if self.viewing and self.step in {"shortlist", "contacted", "viewing"}:
            return say("mine.next.go", when=shown.moment(self.viewing.starts_at))
        return say(f"mine.next.{self.step}")

    @property
    def ask(self) -> str:
        """What of the profile's conditions nobody knows, while there is still somebody to ask."""
        return self.card.unsure if self.step not in {"offer", "ours"} else ""

    @property
    def decide_day(self) -> str:
        """That day as people write it here; empty where there is none."""
        return ".".join(reversed((self.decide_by or "").split("-")))

    @property
    def deadline(self) -> Note | None:
        """By when to decide, while that is not done."""
        if self.decide_by is None or self.step == "ours":
            return None
        late = self.decide_by < _day_of(self.card.now)
        code = "mine.decide_late" if late else "mine.decide_by"
        return Note(say(code, day=self.decide_day), "bad" if late else "")

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
        """Whether others like it, and who looks has not said anything yet."""
        return any(one.opinion == "liked" for one in self.card.opinions) and self.card.status == "new"

    def as_json(self) -> dict[str, Any]:
        """The entry as data."""
        told = {"step": self.step, "chosen_at": self.chosen_at, "waits_for_you": self.waits}
        told |= {"next": self.next, "ask": self.ask, "decide_by": self.decide_by}
        told |= {"changes": [one.text for one in self.changes], "agent": self.agent, "phone": self.phone}
        return self.card.as_json() | told | {"viewing_at": self.viewing.starts_at if self.viewing else None}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A flat that the household does not want, and why."""

    card: Card
    said: Evaluation

    def as_json(self) -> dict[str, Any]:
        """The entry as data."""
        told = {"reason": self.said.reason, "by": self.said.changed_by, "at": self.said.changed_at}
        return {"id": self.card.id, "title": self.card.flat.title} | told


def page(visit: Visit) -> Page:
    """The page."""
    deck = open_deck(visit)
    entries, viewings = visit.database.run_read(lambda connection: _read(connection, deck))
    # What all of them reject, the last first, and how much there is in all; of many only the last.
    said = [one for one in visit.database.run_read(evaluations).values() if one.status == "rejected"]
    last = sorted(said, key=lambda one: (-(one.changed_at or 0.0), one.property_id))[:CARDS_PER_PAGE]
    by_number = {one.property_id: one for one in last}
    rejected = [Rejected(card, by_number[card.id]) for card in deck.cards(deck.flats(list(by_number)))]
    board = [(step, [one for one in entries if one.step == step]) for step in BOARD]
    values = {
        "board": [(step, found) for step, found in board if found],
        "steps": BOARD,
        "waiting": [one for one in entries if one.waits],
        "names": names_of(deck, viewings),
        "rejected": rejected,
        "rejected_count": len(said),
        "days": [
            (shown.weekday(some[0].starts_at), some)
            for some in (list(group) for _, group in groupby(viewings, _day))
        ],
    }

    def data() -> dict[str, Any]:
        found = [{"property_id": one.property_id, "starts_at": one.starts_at} for one in viewings]
        return {
            "board": {step: [one.as_json() for one in some] for step, some in board},
            "rejected": [one.as_json() for one in rejected],
            "viewings": found,
        }

    return Page("mine.html", say("page.mine"), values, data)


def names_of(deck: Deck, viewings: Sequence[Viewing]) -> dict[int, str]:
    """By what one knows the flats of these viewings again."""
    flats = {flat.property_id: flat for flat in deck.flats([one.property_id for one in viewings])}
    missing = {one.property_id: say("card.no_title", id=one.property_id) for one in viewings}
    return missing | {number: flat_name(flat) for number, flat in flats.items()}


def calendar(visit: Visit) -> Download:
    """All viewings as a file for a calendar."""
    events = visit.database.run_read(viewing_events)
    return Download(calendar_bytes(events), "text/calendar", "viewings.ics")


def _day(viewing: Viewing) -> str:
    return _day_of(viewing.starts_at)


def _day_of(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, SOFIA):%Y-%m-%d}"


def _read(connection: Connection, deck: Deck) -> tuple[list[Entry], list[Viewing]]:
    """The board, what was chosen last first; and the viewings that are planned from now on."""
    steps = {one.property_id: one for one in evaluations(connection).values() if one.status in BOARD}
    planned = [one for one in all_viewings(connection) if one.is_upcoming(deck.now)]
    cards = deck.cards(deck.flats(sorted(steps)))
    adverts = [advert.listing_id for card in cards for advert in card.flat.adverts]
    prices, returned = price_steps(connection, adverts), _returned(connection, adverts)
    rows = {row["id"]: row for row in listing_rows(connection, adverts)}
    entries = []
    for card in cards:
        # When it last came onto the board from outside of it.
        moves = [one for one in history_of(connection, card.id) if one.field == "status"]
        chosen_at = max(
            (one.changed_at for one in moves if one.new in BOARD and one.old not in BOARD), default=0.0
        )
        own = [rows[advert.listing_id] for advert in card.flat.adverts]
        entries.append(
            Entry(
                card,
                steps[card.id].status,
                chosen_at,
                list(_changed(card.flat, prices, returned, chosen_at)),
                next((plain(row["seller_name"]) for row in own if row["seller_name"]), None),
                next((str(phone) for row in own for phone in row["phones"]), None),
                next((one for one in planned if one.property_id == card.id), None),
                steps[card.id].decide_by,
            )
        )
    return sorted(entries, key=lambda one: -one.chosen_at), planned


def _returned(connection: Connection, adverts: Sequence[int]) -> Mapping[int, float]:
    """When each of these adverts last came back to the market, where it did."""
    own = market_events.c
    chosen = select(own.listing_id, func.max(own.at)).where(own.kind == "back", own.listing_id.in_(adverts))
    return {row[0]: row[1] for row in connection.execute(chosen.group_by(own.listing_id))}


def _changed(
    flat: Flat, prices: Mapping[int, Sequence[PriceStep]], returned: Mapping[int, float], since: float
) -> Iterator[Note]:
    if not flat.offered:
        yield Note(f"✗ {say('card.gone')}", "bad")
    back = max((returned.get(advert.listing_id, 0.0) for advert in flat.adverts), default=0.0)
    if flat.offered and back > since:
        yield Note(f"↺ {say('offers.back')}: {shown.day(back)}", "good")
    then = [
        before[-1].price_eur
        for advert in flat.adverts
        if (before := [one for one in prices.get(advert.listing_id, ()) if one.seen_at <= since])
    ]
    was = min((price for price in then if price is not None), default=None)
    if was is not None and flat.price_eur is not None and was != flat.price_eur:
        sign, colour = ("▼", "good") if flat.price_eur < was else ("▲", "bad")
        told = {"was": shown.euro(was), "day": shown.day(since)}
        yield Note(f"{sign} {shown.percent_change(was, flat.price_eur)} {say('mine.since', **told)}", colour)
