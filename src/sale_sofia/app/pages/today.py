"""Today: what is new or cheaper since the last visit and passes the conditions, best first, and why."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, func, select

from sale_sofia.advice.scoring.judging import VERDICTS, State
from sale_sofia.advice.since import NEWS_KINDS, News, news_since
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, WebPage
from sale_sofia.app.deck import CardNote, Deck, Rank, open_deck, page_of
from sale_sofia.app.pages.alerts import tell as tell_of
from sale_sofia.app.pages.mine import names_of
from sale_sofia.app.settings import LONGEST_MESSAGE, VISIT_OVERLAP_SECONDS
from sale_sofia.app.visit import PageVisit, Values, numbers
from sale_sofia.app.words import say, translate, word_for
from sale_sofia.buyer.evaluations import UNWANTED
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.buyer.visitors import DashboardVisit, all_put_off, put_off, seen_all
from sale_sofia.buyer.visitors import visit as note_visit
from sale_sofia.crawl.frontier.estimate import Outlook, read_outlook
from sale_sofia.crawl.runners.schedule import load_schedule
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import JobState, get_job
from sale_sofia.history.runs.incidents import unmoved_jobs
from sale_sofia.history.tables import listings, sweeps
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import plain
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia.telemetry.settings import DATA_LATE_SECONDS, PROGRESS_LINE_SECONDS
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia.websites.site_file import SiteConfigError


def page(visit: PageVisit) -> WebPage:
    """The page."""
    deck = open_deck(visit)
    title = say("page.today")
    if deck.empty:
        none: Values = {"queue": [], "news": []}
        return WebPage(
            "today.html",
            title,
            {"nothing": True, "fresh": "", **_crawl(visit)},
            lambda: none | _crawling(visit),
        )
    fitting = deck.fitting()
    look, news, later = _read(deck, _who(visit), fitting)
    relevant = [event for event in news if deck.status(event.property_id) not in UNWANTED]
    postponed = _postponed(deck, later, look)
    gone = [event.property_id for event in relevant if event.kind == "gone"]
    ranks = {
        number: Rank(VERDICTS.index(State(fitting[number][0])), -fitting[number][1], number)
        for number in {event.property_id for event in relevant} & fitting.keys()
    } | deck.ranks([*gone, *postponed])
    good = [event for event in relevant if event.property_id in ranks and not ranks[event.property_id].fails]
    good.sort(key=lambda event: ranks[event.property_id])
    undecided = [
        event.property_id for event in good if event.kind != "gone" and event.property_id not in later
    ]
    queue = sorted(
        {number for number in (*undecided, *postponed) if deck.status(number) == "new"}, key=ranks.__getitem__
    )
    kind = visit.param("kind")
    chosen = kind if kind in NEWS_KINDS else NEWS_KINDS[0]
    page_news, pages = page_of(visit, [event for event in good if event.kind == chosen])
    notes = {event.property_id: _note(event, visit.now) for event in page_news}
    first = deck.cards(
        deck.flats(queue[:1]), {queue[0]: _first_note(queue[0], good, visit.now)} if queue else {}
    )
    seen = visit.database.run_read(_last_seen)
    viewings = visit.database.run_read(lambda connection: _soon(connection, visit.now))
    values = {
        "nothing": False,
        "fresh": ", ".join(f"{site} {fmt.ago(at, visit.now)}" for site, at in seen.items()),
        "late": [site for site, at in seen.items() if visit.now - at > DATA_LATE_SECONDS],
        **_crawl(visit),
        "since": _since(look, visit.now),
        "viewings": viewings,
        "names": names_of(deck, viewings),
        "queue_length": len(queue),
        "first": first[0] if first else None,
        "done": say("today.decided") if good else say("today.nothing", profile=visit.profile_name),
        "kinds": [(kind, sum(event.kind == kind for event in good)) for kind in NEWS_KINDS],
        "chosen": chosen,
        "cards": deck.cards(deck.flats([event.property_id for event in page_news]), notes),
        "pages": pages,
    }
    return WebPage("today.html", title, values, lambda: _data(deck, queue, good) | _crawling(visit))


def seen(visit: PageVisit) -> Done:
    """Mark everything up to the moment of the page as seen: what came later was not on it."""
    try:
        shown_at = float(visit.form.get("shown_at", ""))
    except ValueError:
        shown_at = math.nan
    if not 0 <= shown_at <= visit.now:
        return Done(say("conflict"), back="/", wrong=True)
    visit.database.run_write(lambda connection: seen_all(connection, _who(visit), now=shown_at))
    return Done(say("today.seen_all"))


def later(visit: PageVisit) -> Done:
    """Put a flat off until the next visit."""
    number = next(iter(numbers(visit.form.get("id", ""))), 0)
    visit.database.run_write(lambda connection: put_off(connection, _who(visit), number, now=visit.now))
    return Done(say("today.note.later"))


def tell(visit: PageVisit) -> Done:
    """Add an alert on flats that pass the profile."""
    return tell_of(visit, visit.profile_name, profile=visit.profile_name)


def _who(visit: PageVisit) -> str:
    return f"{visit.visitor}:{visit.profile_name}"


def _read(
    deck: Deck, who: str, ids: Collection[int]
) -> tuple[DashboardVisit, list[News], Mapping[int, float]]:
    """Store the visit, and read the news since the previous one."""
    database = deck.visit.database
    look = database.run_write(lambda connection: note_visit(connection, who, now=deck.now))

    def read(connection: Connection) -> tuple[list[News], Mapping[int, float]]:
        since = look.since - (0.0 if look.seen_through else VISIT_OVERLAP_SECONDS)
        return news_since(connection, since, ids), all_put_off(connection, who)

    return look, *database.run_read(read)


def _postponed(deck: Deck, later: Mapping[int, float], look: DashboardVisit) -> list[int]:
    """Flats put off at an earlier visit."""
    return [
        flat.property_id
        for flat in deck.flats([number for number, at in later.items() if at < look.began_at])
    ]


def _first_note(number: int, good: Sequence[News], now: float) -> CardNote:
    event = next((event for event in good if event.property_id == number), None)
    return _note(event, now) if event else CardNote(say("today.note.later"))


def _since(look: DashboardVisit, now: float) -> str:
    if look.first:
        return say("today.first")
    return say("today.since", moment=fmt.moment(look.since), ago=fmt.ago(look.since, now))


def _last_seen(connection: Connection) -> dict[str, float]:
    """When an advert of each portal was last seen; one look at the end of an index for each."""
    c = listings.c
    newest = [(site, select(func.max(c.last_seen_at)).where(c.site == site)) for site in AVAILABLE_SITES]
    moments = connection.execute(
        select(*(query.scalar_subquery().label(site) for site, query in newest))
    ).one()
    return {site: at for (site, _), at in zip(newest, moments, strict=True) if at is not None}


def _crawl(visit: PageVisit) -> Values:
    """The state of the crawls, as text."""
    crawls = crawls_now(visit)
    lines = [
        (crawl.site, CardNote(crawl.text(visit.now), "bad" if crawl.wrong or crawl.state == "stuck" else ""))
        for crawl in crawls
    ]
    return {"crawl": summary(crawls, next_crawl(visit), visit.now), "crawls": lines}


def _crawling(visit: PageVisit) -> Values:
    return {"crawls": [crawl.as_json() for crawl in crawls_now(visit)], "next_crawl_at": next_crawl(visit)}


def _soon(connection: Connection, now: float) -> list[Viewing]:
    """Upcoming viewings of today and tomorrow, on Sofia's calendar."""
    today = datetime.fromtimestamp(now, SOFIA).date()
    days = {today, today + timedelta(days=1)}
    planned = (viewing for viewing in all_viewings(connection) if viewing.is_upcoming(now))
    return [viewing for viewing in planned if datetime.fromtimestamp(viewing.starts_at, SOFIA).date() in days]


def _note(news: News, now: float) -> CardNote:
    values = {
        "ago": fmt.ago(news.at, now),
        "old": fmt.euro(news.old_eur),
        "new": fmt.euro(news.new_eur),
        "percent": fmt.percent_change(news.old_eur, news.new_eur),
    }
    return CardNote(
        say(f"today.note.{news.kind}", **values), {"cut": "good", "rise": "bad"}.get(news.kind, "")
    )


def _data(deck: Deck, queue: Sequence[int], good: Sequence[News]) -> dict[str, object]:
    flats = deck.flats(list(dict.fromkeys([*queue, *(event.property_id for event in good)])))
    cards = {card.id: card.as_json() for card in deck.cards(flats)}
    news = [{"kind": event.kind, "at": event.at, "flat": cards[event.property_id]} for event in good]
    return {"queue": [cards[number] for number in queue], "news": news}


# The crawl of each portal; when none runs, how the last ended and when the next begins.

_ORDER: Final = ("running", "waiting", "stuck", "stopped", "ended")


@dataclass(frozen=True, slots=True)
class Crawl:
    """The newest crawl of a portal."""

    site: str
    state: str
    """One of running, waiting, stuck, stopped and ended."""
    at: float
    """When it ended; before that, when it began."""
    adverts: int | None
    new: int
    outlook: Outlook | None
    """The progress of a running crawl; None before its first advert."""
    wrong: Sequence[str]
    """What is wrong with it, or with the portal's pages."""

    def text(self, now: float) -> str:
        """The crawl as one line."""
        ago = fmt.ago(self.at, now)
        if self.state == "running" and self.outlook:
            line = translate(self.outlook.told)
        elif self.state == "ended" and self.adverts is not None:
            count = fmt.count_adverts(self.adverts)
            line = say("crawl.ended", ago=ago, n=count, new=fmt.number(self.new))
        else:
            line = say(f"crawl.{self.state}_only", ago=ago)
        return " · ".join((line, *self.wrong))

    def as_json(self) -> Values:
        """The crawl as data."""
        outlook = self.outlook
        record = {"site": self.site, "state": self.state, "at": self.at, "wrong": list(self.wrong)}
        if outlook is None:
            return record | {"adverts": self.adverts, "new": self.new}
        return record | {
            "seen": outlook.seen, "opened": outlook.opened, "fitting": outlook.fitting, "new": outlook.new,
            "minutes_to_fitting": round(outlook.fitting_minutes, 1), "minutes": round(outlook.minutes, 1),
        }  # fmt: skip


def crawls_now(visit: PageVisit) -> list[Crawl]:
    """The newest crawl of each portal, running ones first; read at most every few seconds."""
    moment = visit.now // PROGRESS_LINE_SECONDS
    key = ("crawls", visit.language)
    read = partial(_read_crawls, now=visit.now, settings=visit.state.settings)
    return visit.state.cached(key, lambda: visit.database.run_read(read), version=moment)


def next_crawl(visit: PageVisit) -> float | None:
    """When the next scheduled crawl begins; None where none is, or the schedule cannot be read."""
    try:
        return load_schedule(visit.state.settings.data_dir).next_begin(visit.now)
    except SiteConfigError:  # the page of health says so
        return None


def summary(crawls: Sequence[Crawl], next_at: float | None, now: float) -> str:
    """All crawls in one line."""
    running = [crawl.site for crawl in crawls if crawl.state == "running"]
    ended = max((crawl.at for crawl in crawls if crawl.state == "ended"), default=None)
    stopped = [crawl.site for crawl in crawls if crawl.state == "stopped" and not crawl.wrong]
    wrong = [crawl.site for crawl in crawls if crawl.wrong or crawl.state == "stuck"]
    parts = [say("crawl.now", portals=", ".join(running))] if running else []
    if not running:
        parts += [say("crawl.last", ago=fmt.ago(ended, now))] if ended is not None else []
        parts += [say("crawl.next", moment=fmt.moment(next_at)) if next_at else say("crawl.no_next")]
    parts += [say("crawl.stopped", portals=", ".join(stopped))] if stopped else []
    parts += [f"⚠ {say('crawl.wrong', portals=', '.join(wrong))}"] if wrong else []
    return " · ".join(parts)


def _read_crawls(connection: Connection, now: float, settings: Settings) -> list[Crawl]:
    newest = select(jobs.c.site, func.max(jobs.c.created_at).label("at")).group_by(jobs.c.site).subquery()
    columns = select(jobs, sweeps.c.adverts, sweeps.c.complete, sweeps.c.reason, sweeps.c.missing)
    last = and_(newest.c.site == jobs.c.site, newest.c.at == jobs.c.created_at)
    rows = connection.execute(columns.join(newest, last).outerjoin(sweeps, sweeps.c.job_id == jobs.c.id))
    unmoved = unmoved_jobs(connection, now - settings.incident_stuck_seconds)
    incidents = open_incidents(connection)
    crawls = []
    for row in rows:
        state = _state(row, is_stuck=row.site in unmoved)
        job = get_job(connection, row.id) if state == "running" else None
        open_here = [
            word_for("incident", incident.kind.value) for incident in incidents if incident.site == row.site
        ]
        crawls.append(
            Crawl(
                row.site,
                state,
                row.finished_at or row.started_at or row.created_at,
                row.adverts,
                row.new_listings,
                read_outlook(connection, job, settings) if job else None,
                [plain(reason, LONGEST_MESSAGE) for reason in dict.fromkeys((*_wrong(row), *open_here))],
            )
        )
    return sorted(crawls, key=lambda crawl: (_ORDER.index(crawl.state), not crawl.wrong, crawl.site))


def _state(row: Row[Any], *, is_stuck: bool) -> str:
    if JobState(row.state).finished:
        return "ended"
    if is_stuck:
        return "stuck"
    if row.runner is not None:
        return "running"
    return "waiting" if row.started_at is None else "stopped"


def _wrong(row: Row[Any]) -> Iterator[str]:
    """Why a crawl that ended found less than it should."""
    state = JobState(row.state)
    if not state.finished:
        return
    if state is not JobState.COMPLETE:
        yield word_for("job_state", state.value)
    # A crawl that was asked for a few adverts is right without the others.
    is_whole = row.complete in {None, True} or row.listing_limit is not None
    for sentence in (row.error, None if is_whole else row.reason, row.missing):
        if sentence:
            yield translate(sentence)
