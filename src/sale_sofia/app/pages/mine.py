"""Mine: the flats that somebody wants, by how far they have come, what to do next, and viewings by day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection

from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Download, Page
from sale_sofia.app.deck import Card, Deck, Note, open_deck
from sale_sofia.app.visit import Visit
from sale_sofia.app.words import say
from sale_sofia.buyer.calendar import calendar_bytes, viewing_events
from sale_sofia.buyer.evaluations import BOARD, evaluations, history_of
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import PriceStep, price_steps
from sale_sofia.flats.store import listing_rows
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import plain


@dataclass(frozen=True, slots=True)
class Entry:
    """A flat on the board."""

    card: Card
    step: str
    """How far it has come: the household's status, which all of them share."""
    chosen_at: float
    changed: Note | None
    """What happened to it since it was chosen: another price, or that it has gone."""
    agent: str | None
    phone: str | None
    viewing: Viewing | None
    """The next one that is planned."""

    @property
    def next(self) -> str:
        """What to do now."""
        if self.viewing and self.step in {"shortlist", "contacted", "viewing"}:
            return say("mine.next.go", when=shown.moment(self.viewing.starts_at))
        return say(f"mine.next.{self.step}")

    @property
    def waits(self) -> bool:
        """Whether others like it, and who looks has not said anything yet."""
        return any(one.opinion == "liked" for one in self.card.opinions) and self.card.status == "new"

    def as_json(self) -> dict[str, Any]:
        """The entry as data."""
        told = {"step": self.step, "chosen_at": self.chosen_at, "waits_for_you": self.waits}
        viewing = self.viewing.starts_at if self.viewing else None
        return self.card.as_json() | told | {"agent": self.agent, "phone": self.phone, "viewing_at": viewing}


def page(visit: Visit) -> Page:
    """The page."""
    deck = open_deck(visit)
    entries, viewings = visit.database.run_read(lambda connection: _read(connection, deck))
    board = [(step, [one for one in entries if one.step == step]) for step in BOARD]
    values = {
        "board": [(step, found) for step, found in board if found],
        "steps": BOARD,
        "waiting": [one for one in entries if one.waits],
        "days": [
            (shown.day(some[0].starts_at), some)
            for some in (list(group) for _, group in groupby(viewings, _day))
        ],
    }

    def data() -> dict[str, Any]:
        found = [{"property_id": one.property_id, "starts_at": one.starts_at} for one in viewings]
        return {"board": {step: [one.as_json() for one in some] for step, some in board}, "viewings": found}

    return Page("mine.html", say("page.mine"), values, data)


def calendar(visit: Visit) -> Download:
    """All viewings as a file for a calendar."""
    events = visit.database.run_read(viewing_events)
    return Download(calendar_bytes(events), "text/calendar", "viewings.ics")


def _day(viewing: Viewing) -> str:
    return f"{datetime.fromtimestamp(viewing.starts_at, SOFIA):%Y-%m-%d}"


def _read(connection: Connection, deck: Deck) -> tuple[list[Entry], list[Viewing]]:
    """The board, what was chosen last first; and the viewings that are planned from now on."""
    steps = {one.property_id: one.status for one in evaluations(connection).values() if one.status in BOARD}
    planned = [
        one
        for one in all_viewings(connection)
        if one.state == "planned" and one.starts_at + one.minutes * 60 > deck.now
    ]
    cards = deck.cards(deck.flats(sorted(steps)))
    adverts = [advert.listing_id for card in cards for advert in card.flat.adverts]
    prices = price_steps(connection, adverts)
    rows = {row["id"]: row for row in listing_rows(connection, adverts)}
    entries = []
    for card in cards:
        chosen_at = _chosen_at(connection, card.id)
        own = [rows[advert.listing_id] for advert in card.flat.adverts]
        entries.append(
            Entry(
                card,
                steps[card.id],
                chosen_at,
                _changed(card.flat, prices, chosen_at),
                next((plain(row["seller_name"]) for row in own if row["seller_name"]), None),
                next((str(phone) for row in own for phone in row["phones"]), None),
                next((one for one in planned if one.property_id == card.id), None),
            )
        )
    return sorted(entries, key=lambda one: -one.chosen_at), planned


def _chosen_at(connection: Connection, property_id: int) -> float:
    """When it last came onto the board from outside of it."""
    moves = [one for one in history_of(connection, property_id) if one.field == "status"]
    return max((one.changed_at for one in moves if one.new in BOARD and one.old not in BOARD), default=0.0)


def _changed(flat: Flat, prices: Mapping[int, Sequence[PriceStep]], since: float) -> Note | None:
    if not flat.offered:
        return Note(f"✗ {say('card.gone')}", "bad")
    then = [
        before[-1].price_eur
        for advert in flat.adverts
        if (before := [one for one in prices.get(advert.listing_id, ()) if one.seen_at <= since])
    ]
    was = min((price for price in then if price is not None), default=None)
    if was is None or flat.price_eur is None or was == flat.price_eur:
        return None
    sign, colour = ("▼", "good") if flat.price_eur < was else ("▲", "bad")
    told = {"was": shown.euro(was), "day": shown.day(since)}
    return Note(f"{sign} {shown.percent_change(was, flat.price_eur)} {say('mine.since', **told)}", colour)
