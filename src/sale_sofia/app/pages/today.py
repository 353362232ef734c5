"""Today: what is new or cheaper since the last visit and passes the conditions, best first, and why."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select

from sale_sofia.advice.scoring.judging import VERDICTS, State
from sale_sofia.advice.since import NEWS_KINDS, News, news_since
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.crawls import crawls_now, next_crawl, summary
from sale_sofia.app.deck import Deck, Note, Rank, open_deck, page_of
from sale_sofia.app.pages.mine import names_of
from sale_sofia.app.pages.telling import tell as tell_of
from sale_sofia.app.settings import VISIT_OVERLAP_SECONDS
from sale_sofia.app.visit import Values, Visit, numbers
from sale_sofia.app.words import say
from sale_sofia.buyer.evaluations import UNWANTED
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.buyer.visitors import Visit as Look
from sale_sofia.buyer.visitors import all_put_off, put_off, seen_all
from sale_sofia.buyer.visitors import visit as note_visit
from sale_sofia.history.tables import listings
from sale_sofia.listings.dates import SOFIA
from sale_sofia.telemetry.settings import DATA_LATE_SECONDS
from sale_sofia.websites.registry import AVAILABLE_SITES


def page(visit: Visit) -> Page:
    """The page."""
    deck = open_deck(visit)
    title = say("page.today")
    if deck.empty:
        none: Values = {"queue": [], "news": []}
        return Page(
            "today.html",
            title,
            {"nothing": True, "fresh": "", **_crawl(visit)},
            lambda: none | _crawling(visit),
        )
    fitting = deck.fitting()
    look, news, later = _read(deck, _who(visit), fitting)
    wanted = [one for one in news if deck.status(one.property_id) not in UNWANTED]
    again = _again(deck, later, look)
    gone = [one.property_id for one in wanted if one.kind == "gone"]
    ranks = {
        number: Rank(VERDICTS.index(State(fitting[number][0])), -fitting[number][1], number)
        for number in {one.property_id for one in wanted} & fitting.keys()
    } | deck.ranks([*gone, *again])
    good = [one for one in wanted if one.property_id in ranks and not ranks[one.property_id].fails]
    good.sort(key=lambda one: ranks[one.property_id])
    ask = [one.property_id for one in good if one.kind != "gone" and one.property_id not in later]
    queue = sorted(
        {number for number in (*ask, *again) if deck.status(number) == "new"}, key=ranks.__getitem__
    )
    kind = visit.asked("kind")
    chosen = kind if kind in NEWS_KINDS else NEWS_KINDS[0]
    shown_news, pages = page_of(visit, [one for one in good if one.kind == chosen])
    notes = {one.property_id: _note(one, visit.now) for one in shown_news}
    first = deck.cards(
        deck.flats(queue[:1]), {queue[0]: _first_note(queue[0], good, visit.now)} if queue else {}
    )
    seen = visit.database.run_read(_last_seen)
    viewings = visit.database.run_read(lambda connection: _soon(connection, visit.now))
    values = {
        "nothing": False,
        "fresh": ", ".join(f"{site} {shown.ago(at, visit.now)}" for site, at in seen.items()),
        "late": [site for site, at in seen.items() if visit.now - at > DATA_LATE_SECONDS],
        **_crawl(visit),
        "since": _since(look, visit.now),
        "viewings": viewings,
        "names": names_of(deck, viewings),
        "queue_length": len(queue),
        "first": first[0] if first else None,
        "done": say("today.decided") if good else say("today.nothing", profile=visit.profile_name),
        "kinds": [(kind, sum(one.kind == kind for one in good)) for kind in NEWS_KINDS],
        "chosen": chosen,
        "cards": deck.cards(deck.flats([one.property_id for one in shown_news]), notes),
        "pages": pages,
    }
    return Page("today.html", title, values, lambda: _data(deck, queue, good) | _crawling(visit))


def seen(visit: Visit) -> Done:
    """Everything up to now is no longer new."""
    visit.database.run_write(lambda connection: seen_all(connection, _who(visit), now=visit.now))
    return Done(say("today.seen_all"))


def later(visit: Visit) -> Done:
    """Ask again at the next visit."""
    (number,) = numbers(visit.form.get("id", "")) or (0,)
    visit.database.run_write(lambda connection: put_off(connection, _who(visit), number, now=visit.now))
    return Done(say("today.note.later"))


def tell(visit: Visit) -> Done:
    """Tell what passes the profile."""
    return tell_of(visit, visit.profile_name, profile=visit.profile_name)


def _who(visit: Visit) -> str:
    return f"{visit.visitor}:{visit.profile_name}"


def _read(deck: Deck, who: str, wanted: Collection[int]) -> tuple[Look, list[News], Mapping[int, float]]:
    """Note the visit, and gather what is new since the one before."""
    database = deck.visit.database
    look = database.run_write(lambda connection: note_visit(connection, who, now=deck.now))

    def read(connection: Connection) -> tuple[list[News], Mapping[int, float]]:
        since = look.since - (0.0 if look.seen_through else VISIT_OVERLAP_SECONDS)
        return news_since(connection, since, wanted), all_put_off(connection, who)

    return look, *database.run_read(read)


def _again(deck: Deck, later: Mapping[int, float], look: Look) -> list[int]:
    """What was put off at an earlier visit."""
    return [flat.property_id for flat in deck.flats([one for one, at in later.items() if at < look.began_at])]


def _first_note(number: int, good: Sequence[News], now: float) -> Note:
    told = next((one for one in good if one.property_id == number), None)
    return _note(told, now) if told else Note(say("today.note.later"))


def _since(look: Look, now: float) -> str:
    if look.first:
        return say("today.first")
    return say("today.since", moment=shown.moment(look.since), ago=shown.ago(look.since, now))


def _last_seen(connection: Connection) -> dict[str, float]:
    """When an advert of each portal was last seen; of each by a look at the end of its index."""
    own = listings.c
    newest = [(site, select(func.max(own.last_seen_at)).where(own.site == site)) for site in AVAILABLE_SITES]
    found = connection.execute(select(*(one.scalar_subquery().label(site) for site, one in newest))).one()
    return {site: at for (site, _), at in zip(newest, found, strict=True) if at is not None}


def _crawl(visit: Visit) -> Values:
    """What the crawl does now, in words."""
    found = crawls_now(visit)
    lines = [
        (one.site, Note(one.text(visit.now), "bad" if one.wrong or one.state == "stuck" else ""))
        for one in found
    ]
    return {"crawl": summary(found, next_crawl(visit), visit.now), "crawls": lines}


def _crawling(visit: Visit) -> Values:
    return {"crawls": [one.as_json() for one in crawls_now(visit)], "next_crawl_at": next_crawl(visit)}


def _soon(connection: Connection, now: float) -> list[Viewing]:
    """Viewings that are to come today and tomorrow, on Sofia's calendar."""
    today = datetime.fromtimestamp(now, SOFIA).date()
    days = {today, today + timedelta(days=1)}
    planned = (one for one in all_viewings(connection) if one.is_upcoming(now))
    return [one for one in planned if datetime.fromtimestamp(one.starts_at, SOFIA).date() in days]


def _note(news: News, now: float) -> Note:
    values = {
        "ago": shown.ago(news.at, now),
        "old": shown.euro(news.old_eur),
        "new": shown.euro(news.new_eur),
        "percent": shown.percent_change(news.old_eur, news.new_eur),
    }
    return Note(say(f"today.note.{news.kind}", **values), {"cut": "good", "rise": "bad"}.get(news.kind, ""))


def _data(deck: Deck, queue: Sequence[int], good: Sequence[News]) -> dict[str, object]:
    flats = deck.flats(list(dict.fromkeys([*queue, *(one.property_id for one in good)])))
    cards = {card.id: card.as_json() for card in deck.cards(flats)}
    news = [{"kind": one.kind, "at": one.at, "flat": cards[one.property_id]} for one in good]
    return {"queue": [cards[number] for number in queue], "news": news}
