"""Today: what is new or cheaper since the last visit and passes the conditions, best first, and why."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, func, select

from sale_sofia.advice.scoring.judging import VERDICTS, State
from sale_sofia.advice.since import NEWS_KINDS, News, news_since
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.deck import Deck, Note, Rank, open_deck, page_of
from sale_sofia.app.pages.alerts import tell as tell_of
from sale_sofia.app.pages.mine import names_of
from sale_sofia.app.settings import LONGEST_MESSAGE, VISIT_OVERLAP_SECONDS
from sale_sofia.app.visit import Values, Visit, numbers
from sale_sofia.app.words import named, say, told
from sale_sofia.buyer.evaluations import UNWANTED
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.buyer.visitors import DashboardVisit, all_put_off, put_off, seen_all
from sale_sofia.buyer.visitors import visit as note_visit
from sale_sofia.crawl.frontier.outlook import Outlook, read_outlook
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


def _read(
    deck: Deck, who: str, wanted: Collection[int]
) -> tuple[DashboardVisit, list[News], Mapping[int, float]]:
    """Note the visit, and gather what is new since the one before."""
    database = deck.visit.database
    look = database.run_write(lambda connection: note_visit(connection, who, now=deck.now))

    def read(connection: Connection) -> tuple[list[News], Mapping[int, float]]:
        since = look.since - (0.0 if look.seen_through else VISIT_OVERLAP_SECONDS)
        return news_since(connection, since, wanted), all_put_off(connection, who)

    return look, *database.run_read(read)


def _again(deck: Deck, later: Mapping[int, float], look: DashboardVisit) -> list[int]:
    """What was put off at an earlier visit."""
    return [flat.property_id for flat in deck.flats([one for one, at in later.items() if at < look.began_at])]


def _first_note(number: int, good: Sequence[News], now: float) -> Note:
    told = next((one for one in good if one.property_id == number), None)
    return _note(told, now) if told else Note(say("today.note.later"))


def _since(look: DashboardVisit, now: float) -> str:
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


# What the crawl does now, portal by portal; when none runs, how the last ended and when the next begins.

_ORDER: Final = ("running", "waiting", "stuck", "stopped", "ended")


@dataclass(frozen=True, slots=True)
class Crawl:
    """The newest crawl of a portal."""

    site: str
    state: str
    """One of running, waiting, stuck, stopped and ended."""
    at: float
    """When it ended; of one that did not, when it began."""
    adverts: int | None
    new: int
    outlook: Outlook | None
    """How far one is that runs; None before it has seen an advert."""
    wrong: Sequence[str]
    """What is not as it should be with it, or with the portal's pages, each in words."""

    def text(self, now: float) -> str:
        """In one line."""
        ago = shown.ago(self.at, now)
        if self.state == "running" and self.outlook:
            line = told(self.outlook.told)
        elif self.state == "ended" and self.adverts is not None:
            count = shown.count_adverts(self.adverts)
            line = say("crawl.ended", ago=ago, n=count, new=shown.number(self.new))
        else:
            line = say(f"crawl.{self.state}_only", ago=ago)
        return " · ".join((line, *self.wrong))

    def as_json(self) -> Values:
        """The crawl as data."""
        far = self.outlook
        found = {"site": self.site, "state": self.state, "at": self.at, "wrong": list(self.wrong)}
        if far is None:
            return found | {"adverts": self.adverts, "new": self.new}
        return found | {
            "seen": far.seen, "opened": far.opened, "fitting": far.fitting, "new": far.new,
            "minutes_to_fitting": round(far.fitting_minutes, 1), "minutes": round(far.minutes, 1),
        }  # fmt: skip


def crawls_now(visit: Visit) -> list[Crawl]:
    """Of every portal that was ever crawled, those at work first; read at most every few seconds."""
    moment = visit.now // PROGRESS_LINE_SECONDS
    question = ("crawls", visit.language)
    read = partial(_read_crawls, now=visit.now, settings=visit.site.settings)
    return visit.site.kept(question, lambda: visit.database.run_read(read), version=moment)


def next_crawl(visit: Visit) -> float | None:
    """When the next one begins by itself; None where nothing is scheduled, or the schedule cannot be read."""
    try:
        return load_schedule(visit.site.settings.data_dir).next_begin(visit.now)
    except SiteConfigError:  # the page of health says so
        return None


def summary(found: Sequence[Crawl], next_at: float | None, now: float) -> str:
    """All of it in one line."""
    running = [one.site for one in found if one.state == "running"]
    ended = max((one.at for one in found if one.state == "ended"), default=None)
    wrong = [one.site for one in found if one.wrong or one.state in {"stuck", "stopped"}]
    parts = [say("crawl.now", portals=", ".join(running))] if running else []
    if not running:
        parts += [say("crawl.last", ago=shown.ago(ended, now))] if ended is not None else []
        parts += [say("crawl.next", moment=shown.moment(next_at)) if next_at else say("crawl.no_next")]
    parts += [f"⚠ {say('crawl.wrong', portals=', '.join(wrong))}"] if wrong else []
    return " · ".join(parts)


def _read_crawls(connection: Connection, now: float, settings: Settings) -> list[Crawl]:
    newest = select(jobs.c.site, func.max(jobs.c.created_at).label("at")).group_by(jobs.c.site).subquery()
    columns = select(jobs, sweeps.c.adverts, sweeps.c.complete, sweeps.c.reason, sweeps.c.missing)
    last = and_(newest.c.site == jobs.c.site, newest.c.at == jobs.c.created_at)
    rows = connection.execute(columns.join(newest, last).outerjoin(sweeps, sweeps.c.job_id == jobs.c.id))
    unmoved = unmoved_jobs(connection, now - settings.incident_stuck_seconds)
    incidents = open_incidents(connection)
    found = []
    for row in rows:
        state = _state(row, is_stuck=row.site in unmoved)
        job = get_job(connection, row.id) if state == "running" else None
        open_here = [named("incident", one.kind.value) for one in incidents if one.site == row.site]
        found.append(
            Crawl(
                row.site,
                state,
                row.finished_at or row.started_at or row.created_at,
                row.adverts,
                row.new_listings,
                read_outlook(connection, job, settings) if job else None,
                [plain(one, LONGEST_MESSAGE) for one in dict.fromkeys((*_wrong(row), *open_here))],
            )
        )
    return sorted(found, key=lambda one: (_ORDER.index(one.state), not one.wrong, one.site))


def _state(row: Row[Any], *, is_stuck: bool) -> str:
    if JobState(row.state).finished:
        return "ended"
    if is_stuck:
        return "stuck"
    if row.runner is not None:
        return "running"
    return "waiting" if row.started_at is None else "stopped"


def _wrong(row: Row[Any]) -> Iterator[str]:
    """Why it brought less than it should, of one that ended."""
    state = JobState(row.state)
    if not state.finished:
        return
    if state is not JobState.COMPLETE:
        yield named("job_state", state.value)
    for sentence in (row.error, None if row.complete in {None, True} else row.reason, row.missing):
        if sentence:
            yield told(sentence)
