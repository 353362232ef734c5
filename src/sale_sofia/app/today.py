"""What is new to this visitor and still to be decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from sale_sofia.advice.since import News, news_since
from sale_sofia.app import formatting as shown
from sale_sofia.app import state
from sale_sofia.app.deck import Deck
from sale_sofia.app.settings import VISIT_OVERLAP_SECONDS
from sale_sofia.app.words import say
from sale_sofia.buyer.evaluations import UNWANTED, mark
from sale_sofia.buyer.visitors import Visit, all_put_off, put_off, seen_all, take_up, visit
from sale_sofia.flats.flat import Flat
from sale_sofia.telemetry.settings import DATA_LATE_SECONDS


@dataclass(frozen=True, slots=True)
class Today:
    """The news for one visitor, the best first."""

    visit: Visit
    news: Sequence[News]
    """Of flats that do not fail, and that the buyer did not reject."""
    failing: int
    """News of flats that fail."""
    put_off: Sequence[Flat] = field(default_factory=tuple)
    """Put off at an earlier visit, and still undecided."""
    queue: Sequence[Flat] = field(default_factory=tuple)
    """To be decided now, one after the other."""

    @property
    def of(self) -> Mapping[int, News]:
        """The news by property."""
        return {one.flat.property_id: one for one in self.news}


def read_today(deck: Deck, visitor: str) -> Today:
    """Note the visit, and gather what is new since the one before."""
    found = state.database().run_write(lambda connection: visit(connection, visitor, now=deck.now))

    def read(connection: Connection) -> tuple[list[News], Mapping[int, float]]:
        since = found.since - (0.0 if found.seen_through else VISIT_OVERLAP_SECONDS)
        return news_since(connection, deck.snapshot.flats, deck.snapshot.whose, since), all_put_off(
            connection, visitor
        )

    news, later = state.database().run_read(read)
    return _sorted_out(deck, found, news, later)


def decide(visitor: str, property_id: int, status: str) -> None:
    """Give the flat this status; it is no longer put off."""

    def write(connection: Connection) -> None:
        mark(connection, property_id, status, state.by())
        take_up(connection, visitor, property_id)

    state.database().run_write(write)


def decide_later(visitor: str, property_id: int) -> None:
    """Ask again at the next visit."""
    now = state.now()
    state.database().run_write(lambda connection: put_off(connection, visitor, property_id, now=now))


def mark_seen(visitor: str) -> None:
    """Everything up to now is no longer new."""
    now = state.now()
    state.database().run_write(lambda connection: seen_all(connection, visitor, now=now))


def freshness(deck: Deck) -> tuple[str, list[str]]:
    """How old each portal's newest data is, in words; and the portals that are late."""
    seen = deck.snapshot.last_seen
    told = ", ".join(f"{site} {shown.ago(at, deck.now)}" for site, at in seen.items())
    return told, [site for site, at in seen.items() if deck.now - at > DATA_LATE_SECONDS]


def note(news: News | None, now: float) -> str:
    """What happened, in a line above the card's price; plain words and numbers of ours only."""
    if news is None:
        return f'<div class="ss-note">{say("today.note.later")}</div>'
    values = {
        "ago": shown.ago(news.at, now),
        "old": shown.euro(news.old_eur),
        "new": shown.euro(news.new_eur),
        "percent": shown.percent_change(news.old_eur, news.new_eur),
    }
    colour = {"cut": " ss-good", "rise": " ss-bad"}.get(news.kind, "")
    return f'<div class="ss-note{colour}">{say(f"today.note.{news.kind}", **values)}</div>'


def _sorted_out(deck: Deck, found: Visit, news: Sequence[News], later: Mapping[int, float]) -> Today:
    wanted = [one for one in news if deck.status(one.flat) not in UNWANTED]
    good = sorted((one for one in wanted if not deck.fails(one.flat)), key=lambda one: deck.order(one.flat))
    put_off_before = [
        deck.snapshot.flats[number]
        for number, at in later.items()
        if at < found.began_at and number in deck.snapshot.flats
        if deck.status(deck.snapshot.flats[number]) == "new"
    ]
    ask = [one.flat for one in good if one.kind != "gone" and one.flat.property_id not in later]
    undecided = [flat for flat in (*ask, *put_off_before) if deck.status(flat) == "new"]
    unique = {flat.property_id: flat for flat in sorted(undecided, key=deck.order)}
    return Today(found, good, len(wanted) - len(good), put_off_before, tuple(unique.values()))
