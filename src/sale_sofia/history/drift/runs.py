"""The drift review at the end of a run: opens and closes incidents, holds back and releases data."""

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
    DriftVerdict,
    Evidence,
    PastRun,
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
"""The reason why pages cannot be read decides which of the two it is."""
_PRICE_KINDS = frozenset({IncidentKind.DRIFT_PRICE, IncidentKind.DRIFT_PRICE_PER_SQM})


def review_drift(
    connection: Connection, job: Job, state: JobState, config: SiteConfig, settings: Settings, *, now: float
) -> list[Check]:
    """Judge a run that ends in this state, and update the incidents of its portal; returns what has drifted.

    An incident is over when a run shows that all it named is as usual again; too few pages do not show that.
    Only a complete run without incidents counts as sound for later comparisons.
    """
    run = get_drift_run(connection, job.id)
    scope = scope_of(connection, job.id)
    if run is None or scope is None:
        return []
    run = replace(
        run, scope_id=scope.id, listing_limit=job.listing_limit, firsts=first_selectors(config), judged_at=now
    )
    all_checks = checks(evidence_of(connection, run, config, settings))
    drifted = [check for check in all_checks if check.verdict is DriftVerdict.DRIFTED]
    _update_incidents(connection, job, all_checks, run.firsts or {}, now=now)
    left = open_drift(connection, job.site)
    sound = state is JobState.COMPLETE and not left
    judge_run(connection, replace(run, sound=sound, findings=[check.details() for check in drifted]))
    _settle(connection, job, config, config.history.rules(settings), left, now)
    return drifted


def evidence_of(connection: Connection, run: DriftRun, config: SiteConfig, settings: Settings) -> Evidence:
    """The run, the earlier sound runs, and what the site file requires."""
    past = [
        PastRun(sections_of(past_run.counters), past_run.firsts or {})
        for past_run in sound_runs(connection, run, settings.drift_runs)
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
    """Accept the portal's pages as they are, by a person's decision: its last run is the new baseline.

    All its drift incidents are closed, held prices are believed, and held adverts are released as new. What
    the site file requires of every run (`at_least`) is unchanged.
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
    """Hold back the data that open incidents affect, and release what is no longer affected.

    While prices have drifted, those of the run are not believed; nor are types, if a field that they come
    from has drifted. While anything has drifted, a value that adverts do not show is not gone. While adverts
    lack what the site file requires, none is new.
    """
    if left:
        hold_gaps(connection, job.id, rules, now=now)
    else:
        release_gaps(connection, scrape_history.c.job_id == job.id, rules, now=now)
    if any(incident.kind in _PRICE_KINDS for incident in left):
        hold_prices(connection, job.id, rules, now=now)
    else:
        release_prices(connection, job.id, rules, now=now)
    if any(_tells_types(config, finding["field"]) for incident in left for finding in _findings(incident)):
        hold_types(connection, job.id, rules, now=now)
    if any(incident.kind is IncidentKind.DRIFT_FLOOR for incident in left):
        hold_news(connection, job.site, job.id, now=now)
    else:
        release_read(connection, job.site, job.id, now=now)


def _tells_types(config: SiteConfig, name: str) -> bool:
    table = config.listing.fields.get(name.removeprefix(f"{LISTING}."))
    return table is not None and table.parser[0] in TYPE_PARSERS


def _findings(incident: Incident) -> Sequence[Mapping[str, Any]]:
    findings: Sequence[Mapping[str, Any]] = incident.details.get("findings", ())
    return findings


def _update_incidents(
    connection: Connection, job: Job, all_checks: Sequence[Check], firsts: Mapping[str, str], *, now: float
) -> None:
    before = {incident.kind: incident for incident in open_drift(connection, job.site)}
    for kind in DRIFT_KINDS:
        own = [check for check in all_checks if check.kind is kind or {check.kind, kind} <= _READING_KINDS]
        drifted = [check for check in own if check.verdict is DriftVerdict.DRIFTED and check.kind is kind]
        if drifted:
            open_incident(connection, _trouble(kind, job, drifted), now=now)
        elif kind in before and _is_over(before[kind], own, firsts):
            close_incident(connection, kind, job.site, now=now)


def _is_over(incident: Incident, own: Iterable[Check], firsts: Mapping[str, str]) -> bool:
    """Whether all fields it named are as usual, or have another selector now, or are no longer read."""
    verdicts = {check.name: check.verdict for check in own}

    def is_changed(finding: Mapping[str, Any]) -> bool:
        # Numbers of cards are named by themselves, and have the selector of the cards.
        removed = finding["selector"] if incident.kind in _READING_KINDS else None
        return bool(firsts.get(finding["field"], removed) != finding["selector"])

    return all(
        verdicts.get(finding["field"], DriftVerdict.UNSURE) is DriftVerdict.USUAL or is_changed(finding)
        for finding in _findings(incident)
    )


def _trouble(kind: IncidentKind, job: Job, drifted: Sequence[Check]) -> Trouble:
    worst = sorted(drifted, key=lambda check: (check.now or 0.0) - (check.usual or 0.0))
    sentences = [_describe(check) for check in worst[:DRIFT_NAMED]]
    if len(worst) > DRIFT_NAMED:
        sentences.append(Said("drift.more", count=len(worst) - DRIFT_NAMED))
    code = "drift.nothing_new" if kind is IncidentKind.DRIFT_FLOOR else "drift.nothing_delisted"
    details = {"findings": [check.details() for check in worst]}
    return Trouble(kind, job.site, Said(code, found=sentences), job.id, details)


def _describe(check: Check) -> Said:
    """The finding with its selector and an example page."""
    where = Said("drift.where", selector=check.selector) if check.selector else None
    page = Said("drift.page", url=check.example.url) if check.example else None
    return Said("drift.check", found=check.sentence, where=where, page=page)
