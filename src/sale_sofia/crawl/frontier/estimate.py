"""How long a crawl takes until all that fits is read, and in all: before it begins, and while it runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, and_, case, func, null, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.ranking import CARD_FIELDS, MAY_FIT, SHORTLISTED, current_wishes
from sale_sofia.crawl.frontier.wanted import Wanted
from sale_sofia.crawl.settings import (
    ASSUMED_KINDS,
    ASSUMED_PLACE_SHARE,
    ESTIMATE_LEAST_ADVERTS,
    FAIR_TURN,
    FOLLOW_SECONDS,
)
from sale_sofia.crawl.tables import LEFT_ALONE, EndCode, jobs
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.history.jobs import NEWEST_JOB_FIRST, Job
from sale_sofia.history.tables import listings, sweeps
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.websites.narrowing import filtered_facts
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import SiteConfig, known_starts

_SECONDS_PER_MINUTE = _MINUTES_PER_HOUR = 60
_FIRST_REQUESTS = 2
"""robots.txt and the first page of results."""
_LONG_MINUTES = 100
"""From this many minutes on, durations are in hours."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and time of one sweep, and what the figures are based on."""

    site: str
    requests: int
    """For the whole portal."""
    requests_per_minute: float
    basis: str
    fitting: int | None = None
    """How many adverts may fit what is looked for; None where nothing is looked for."""
    fitting_requests: int | None = None
    """Until the last of them is opened."""
    fitting_basis: Said | None = None

    @property
    def hours(self) -> float:
        """At the rate limit, which is always slower than the network."""
        return self.requests / self.requests_per_minute / _MINUTES_PER_HOUR

    @property
    def first_minutes(self) -> float:
        """Until the first adverts are seen, and ready for searches and alerts."""
        return _FIRST_REQUESTS / self.requests_per_minute + FOLLOW_SECONDS / _SECONDS_PER_MINUTE

    @property
    def fitting_minutes(self) -> float | None:
        """Until all that may fit is opened."""
        return None if self.fitting_requests is None else self.fitting_requests / self.requests_per_minute


def rate_per_minute(settings: Settings, config: SiteConfig) -> float:
    """The domain's own rate in the settings, else its site file's, else the default."""
    return settings.rate_limit(config.site, _SECONDS_PER_MINUTE / config.politeness.delay_seconds)


def estimate(  # noqa: PLR0913 - what a crawl is asked for
    connection: Connection,
    settings: Settings,
    config: SiteConfig,
    limit: int | None = None,
    wanted: Wanted | None = None,
    start_urls: Sequence[str] | None = None,
    *,
    everything: bool = False,
) -> Estimate:
    """From the last complete sweep of the same searches when there is one, else from the portal's known size.

    The share that may fit comes from the stored adverts. `wanted` is what the crawl is for; without it, it
    crawls everything, beginning with what the buyer's profiles and saved searches look for. Without
    `start_urls` it begins at the portal's usual searches. What the last sweep did not have to open is counted
    only with `everything`.
    """
    complete = (
        select(jobs.c.id, jobs.c.start_urls, jobs.c.requests, sweeps.c.adverts)
        .join(sweeps, sweeps.c.job_id == jobs.c.id)
        .where(jobs.c.site == config.site, sweeps.c.complete.is_(True), jobs.c.looks_for.is_(null()))
        .order_by(*NEWEST_JOB_FIRST)
    )
    starts = known_starts(config.site) if start_urls is None else start_urls
    ended = connection.execute(complete)
    last = next((job for job in ended if sorted(job.start_urls) == sorted(starts)), None)
    requests = frontier.count_rows(connection, last.id).total if last else 0
    if last and not everything:
        requests -= frontier.count_not_asked(connection, last.id)
        if last.requests:  # rows that were pruned no longer say whether they were asked for
            requests = min(requests, last.requests)
    basis = "the last complete crawl" if requests else "the portal's known size"
    adverts = (last.adverts if last else None) or config.inventory.adverts
    if not requests:
        requests = adverts + math.ceil(adverts / config.inventory.per_page)
    if limit is not None:
        requests = min(requests, limit + math.ceil(limit / config.inventory.per_page))
    whole = Estimate(config.site, requests, rate_per_minute(settings, config), basis)
    goal = wanted or Wanted((), current_wishes(connection))
    if not goal.wishes:
        return whole
    share = _shares(connection, config, goal)
    fitting = round(adverts * share.fitting)
    to_open = max(0, fitting - share.opened)
    if wanted is None:  # a crawl of everything gives every FAIR_TURN-th turn to what waits longest
        fitting_requests = math.ceil(adverts / config.inventory.per_page) + math.ceil(
            to_open * FAIR_TURN / (FAIR_TURN - 1)
        )
    else:
        searches = sum(len(wanted.narrow(get_scraper(config.site), url)) for url in starts)
        fitting_requests = (
            searches + math.ceil(adverts * share.in_results / config.inventory.per_page) + to_open
        )
    return replace(
        whole,
        fitting=fitting if limit is None else min(fitting, limit),
        fitting_requests=min(fitting_requests, whole.requests),
        fitting_basis=share.basis,
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of a portal's adverts."""

    fitting: float
    """Those that may fit."""
    in_results: float
    """Those that the crawl's searches show."""
    opened: int
    """How many that may fit are opened already."""
    basis: Said


def _shares(connection: Connection, config: SiteConfig, wanted: Wanted) -> _Shares:
    facts = filtered_facts(config.split) if wanted.names else frozenset[str]()
    own = _stored(connection, config.site)
    rows = own if len(own) >= ESTIMATE_LEAST_ADVERTS else _stored(connection, None)
    if len(rows) < ESTIMATE_LEAST_ADVERTS:
        return _Shares(
            _assumed(wanted, frozenset(CARD_FIELDS)), _assumed(wanted, facts), 0, Said("estimate.assumed")
        )
    opened = sum(row["opened_at"] is not None and wanted.may_be(row) for row in own)
    filterable = [{name: row[name] if name in facts else None for name in CARD_FIELDS} for row in rows]
    code = "estimate.stored" if rows is own else "estimate.stored_elsewhere"
    return _Shares(
        _share(wanted, rows),
        _share(wanted, filterable),
        opened,
        Said(code, site=config.site, adverts=len(rows)),
    )


def _stored(connection: Connection, site: str | None) -> Sequence[Mapping[Any, Any]]:
    """The stored adverts that are on offer, on one portal or on all."""
    columns = (listings.c[name] for name in (*CARD_FIELDS, "opened_at"))
    offered = select(*columns).where(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None))
    query = offered if site is None else offered.where(listings.c.site == site)
    return connection.execute(query).mappings().all()


def _share(wanted: Wanted, rows: Sequence[Mapping[Any, Any]]) -> float:
    return sum(map(wanted.may_be, rows)) / len(rows)


def _assumed(wanted: Wanted, facts: frozenset[str]) -> float:
    """The share by kind and place alone, as far as they are in `facts`; prices are not known yet."""
    kinds = [kind for kind in ASSUMED_KINDS if wanted.may_hold(kind, None)]
    of_kinds = sum(ASSUMED_KINDS[kind] for kind in kinds) if "rooms" in facts else 1.0
    everywhere = neighbourhoods()
    places = [place for place in everywhere if any(wanted.may_hold(kind, place) for kind in kinds)]
    if "neighbourhood" not in facts or len(places) == len(everywhere):
        return of_kinds
    return of_kinds * min(1.0, len(places) * ASSUMED_PLACE_SHARE)


def sentences(estimates: Sequence[Estimate], *, at_once: bool = True) -> Iterator[Said]:
    """When the first results come, when all that may fit is read, when everything is; and the basis."""
    together = max if at_once else sum
    whole = duration(together(portal.hours for portal in estimates) * _MINUTES_PER_HOUR)
    first = duration(min(portal.first_minutes for portal in estimates))
    counted = [portal.fitting for portal in estimates if portal.fitting is not None]
    fitting = [portal.fitting_minutes for portal in estimates if portal.fitting_minutes is not None]
    if not fitting:
        yield Said("estimate.whole", first=first, whole=whole)
        return
    yield Said(
        "estimate.fitting", first=first, fitting=sum(counted), after=duration(together(fitting)), whole=whole
    )
    yield from dict.fromkeys(portal.fitting_basis for portal in estimates if portal.fitting_basis)


def duration(minutes: float) -> Said:
    """Minutes in words, in hours if there are many."""
    if minutes >= _LONG_MINUTES:
        return Said("duration.hours", hours=round(minutes / _MINUTES_PER_HOUR, 1))
    return Said("duration.minutes", minutes=math.ceil(minutes))


@dataclass(frozen=True, slots=True)
class Outlook:
    """Adverts of a job so far, and minutes left at the portal's rate for the pages known so far."""

    seen: int
    opened: int
    fitting: int
    """Adverts that may fit a wish; for a job with a goal, those that are not left unopened as unwanted."""
    new: int
    searching: bool
    """Whether pages of results are pending, which may bring more."""
    fitting_minutes: float
    """Until all that may fit is opened; pages of results come first."""
    minutes: float
    """Until its end."""

    @property
    def told(self) -> Said:
        """The outlook in one line."""
        least = Said("outlook.least") if self.searching else None
        return Said(
            "outlook.told",
            seen=self.seen,
            opened=self.opened,
            fitting=self.fitting,
            new=self.new,
            least=least,
            after=duration(self.fitting_minutes),
            end=duration(self.minutes),
        )


def read_outlook(connection: Connection, job: Job, settings: Settings) -> Outlook | None:
    """The outlook of a running job that has seen adverts, at the rates of these settings; else None."""
    if job.state.finished:
        return None
    advert, waits = rows.c.kind == "listing", rows.c.state.in_(("pending", "leased"))
    code = func.coalesce(rows.c.code, "")
    ranked = and_(rows.c.rank >= MAY_FIT, rows.c.rank < SHORTLISTED)
    fits = ranked if job.looks_for is None else code != EndCode.UNWANTED
    opened = and_(advert, rows.c.state == "done", code.not_in(LEFT_ALONE))
    conditions = (advert, opened, and_(advert, fits), and_(advert, fits, waits), and_(~advert, waits), waits)
    query = select(*(func.sum(case((condition, 1), else_=0)) for condition in conditions))
    counts = connection.execute(query.where(rows.c.job_id == job.id)).one()
    seen, read, fitting, to_open, pages, left = (count or 0 for count in counts)
    if not seen:
        return None
    rate = rate_per_minute(settings, get_scraper(job.site).config)
    to_fits = (pages + to_open) / rate
    return Outlook(seen, read, fitting, job.new_listings, pages > 0, to_fits, left / rate)
