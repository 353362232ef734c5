"""The end of a run: are the portal's pages still the ones we know? Incidents, and prices held back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from sale_sofia.history.drift.counts import LISTING, sections_of
from sale_sofia.history.drift.judging import (
    CARDS,
    IDS,
    TYPE_PARSERS,
    Check,
    Evidence,
    PastRun,
    Verdict,
    checks,
    floors_of,
)
from sale_sofia.history.drift.store import (
    DRIFT_KINDS,
    DriftRun,
    accept_last,
    get_drift_run,
    held_jobs,
    hold_gaps,
    hold_prices,
    hold_types,
    judge_run,
    open_drift,
    release_gaps,
    release_prices,
    release_types,
    sound_runs,
)
from sale_sofia.history.jobs import Job, JobState
from sale_sofia.history.news import hold_news, release_all, release_read
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.sweeps import scope_of
from sale_sofia.history.tables import scrape_history
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import Incident, IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.telemetry.settings import DRIFT_NAMED
from sale_sofia.websites.reading import selector
from sale_sofia.websites.site_file import SiteConfig

_READING_KINDS = frozenset({IncidentKind.DRIFT_CARDS, IncidentKind.DRIFT_UNREADABLE})
"""Which of them it is, the reason says why pages cannot be read; where all can, neither."""
_PRICE_KINDS = frozenset({IncidentKind.DRIFT_PRICE, IncidentKind.DRIFT_PRICE_PER_SQM})


def review_drift(
    connection: Connection, job: Job, state: JobState, config: SiteConfig, settings: Settings, *, now: float
) -> list[Check]:
    """Judge a run that ends in this state, and open and close the incidents of its portal; what has drifted.

    An incident is over when a run shows that all it named is as usual again: too few pages to say so are not
    enough. Only a run without any says from now on what is usual.
    """
    run = get_drift_run(connection, job.id)
    scope = scope_of(connection, job.id)
    if run is None or scope is None:
        return []
    run = replace(
        run, scope_id=scope.id, listing_limit=job.listing_limit, firsts=first_selectors(config), judged_at=now
    )
    found = checks(evidence_of(connection, run, config, settings))
    drifted = [one for one in found if one.verdict is Verdict.DRIFTED]
    _update_incidents(connection, job, found, run.firsts or {}, now=now)
    left = open_drift(connection, job.site)
    sound = state is JobState.COMPLETE and not left
    judge_run(connection, replace(run, sound=sound, findings=[one.details() for one in drifted]))
    _settle(connection, job, config, config.history.rules(settings), left, now)
    return drifted


def evidence_of(connection: Connection, run: DriftRun, config: SiteConfig, settings: Settings) -> Evidence:
    """The run, the sound runs before it, and what the site file asks of every run."""
    past = [
        PastRun(sections_of(one.counters), one.firsts or {})
        for one in sound_runs(connection, run, settings.drift_runs)
    ]
    return Evidence(sections_of(run.counters), past, run.firsts or {}, settings, floors_of(config))


def first_selectors(config: SiteConfig) -> dict[str, str]:
    """The first selector of each field, of the cards and of an advert's id, by section and name."""
    firsts = {
        f"{section}.{name}": selector(table.links[0])
        for section, fields in config.field_tables.items()
        for name, table in fields.items()
    }
    cards = {f"{section}.{CARDS}": table.cards for section, table in config.searches.items()}
    return firsts | cards | {f"listing.{IDS}": selector(config.listing.ids[0])}


def accept_drift(
    connection: Connection, site: str, config: SiteConfig, settings: Settings, *, now: float
) -> DriftRun | None:
    """A person says that the portal's pages are as they should be: its last run is what is usual from now on.

    All its incidents of drift are closed, prices that were held back are believed, and adverts that were are
    new. What the site file asks of every run (`at_least`) stays as it is there.
    """
    accepted = accept_last(connection, site)
    for kind in DRIFT_KINDS:
        close_incident(connection, kind, site, now=now)
    rules = config.history.rules(settings)
    for job_id in held_jobs(connection, site):
        release_prices(connection, job_id, rules, now=now)
    release_types(connection, site, rules, now=now)
    release_gaps(connection, scrape_history.c.site == site, rules, now=now)
    release_all(connection, site, now=now)
    return accepted


def _settle(
    connection: Connection,
    job: Job,
    config: SiteConfig,
    rules: HistoryRules,
    left: Sequence[Incident],
    now: float,
) -> None:
    """Hold back what the open incidents are about, and let go what was held back too early.

    While prices have drifted, those of the run say nothing; so do types, where what tells them has drifted:
    what is left to tell them is rougher. While anything has drifted, what adverts do not show is not gone.
    While adverts lack what the site file asks of them, none is new.
    """
    if left:
        hold_gaps(connection, job.id, rules, now=now)
    else:
        release_gaps(connection, scrape_history.c.job_id == job.id, rules, now=now)
    if any(one.kind in _PRICE_KINDS for one in left):
        hold_prices(connection, job.id, rules, now=now)
    else:
        release_prices(connection, job.id, rules, now=now)
    if any(_tells_types(config, one["field"]) for incident in left for one in _findings(incident)):
        hold_types(connection, job.id, rules, now=now)
    if any(one.kind is IncidentKind.DRIFT_FLOOR for one in left):
        hold_news(connection, job.site, job.id, now=now)
    else:
        release_read(connection, job.site, job.id, now=now)


def _tells_types(config: SiteConfig, name: str) -> bool:
    table = config.listing.fields.get(name.removeprefix(f"{LISTING}."))
    return table is not None and table.parser[0] in TYPE_PARSERS


def _findings(incident: Incident) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = incident.details.get("findings", ())
    return found


def _update_incidents(
    connection: Connection, job: Job, found: Sequence[Check], firsts: Mapping[str, str], *, now: float
) -> None:
    before = {one.kind: one for one in open_drift(connection, job.site)}
    for kind in DRIFT_KINDS:
        own = [one for one in found if one.kind is kind or {one.kind, kind} <= _READING_KINDS]
        drifted = [one for one in own if one.verdict is Verdict.DRIFTED and one.kind is kind]
        if drifted:
            open_incident(connection, _trouble(kind, job, drifted), now=now)
        elif kind in before and _is_over(before[kind], own, firsts):
            close_incident(connection, kind, job.site, now=now)


def _is_over(incident: Incident, own: Iterable[Check], firsts: Mapping[str, str]) -> bool:
    """Whether all that it named is as usual, or was given another selector, or is not read any more."""
    verdicts = {one.name: one.verdict for one in own}
    return all(
        verdicts.get(one["field"], Verdict.UNSURE) is Verdict.USUAL
        or firsts.get(one["field"], one["selector"]) != one["selector"]
        for one in _findings(incident)
    )


def _trouble(kind: IncidentKind, job: Job, drifted: Sequence[Check]) -> Trouble:
    worst = sorted(drifted, key=lambda one: (one.now or 0.0) - (one.usual or 0.0))
    found = [_named(check) for check in worst[:DRIFT_NAMED]]
    if len(worst) > DRIFT_NAMED:
        found.append(Said("drift.more", count=len(worst) - DRIFT_NAMED))
    code = "drift.nothing_new" if kind is IncidentKind.DRIFT_FLOOR else "drift.nothing_delisted"
    details = {"findings": [one.details() for one in worst]}
    return Trouble(kind, job.site, Said(code, found=found), job.id, details)


def _named(check: Check) -> Said:
    """With the selector and a page to look at."""
    where = Said("drift.where", selector=check.selector) if check.selector else None
    page = Said("drift.page", url=check.example.url) if check.example else None
    return Said("drift.check", found=check.sentence, where=where, page=page)
