"""Tables for people: estimates, jobs, reports, the state of portals, the best offers."""

from collections.abc import Sequence
from datetime import datetime

from rich.table import Table

from sale_sofia.commands.tables import plain_table
from sale_sofia.data.incidents import Incident
from sale_sofia.data.jobs import Job
from sale_sofia.listings.dates import SOFIA
from sale_sofia.scraping.estimate import Estimate
from sale_sofia.scraping.jobs import SiteReport
from sale_sofia.scraping.status import Offer, SiteStatus


def number(value: float | None, digits: int = 0) -> str:
    """A number with spaces between thousands; a question mark for what is not known."""
    return "?" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def moment(seconds: float | None) -> str:
    """A moment on Sofia's clock."""
    return "never" if seconds is None else f"{datetime.fromtimestamp(seconds, SOFIA):%Y-%m-%d %H:%M}"


def estimate_table(estimates: Sequence[Estimate]) -> Table:
    """Requests and hours per portal."""
    counted = ("requests", "a minute", "hours")
    table = plain_table("One sweep at the current rates", ("site",), counted, "from")
    for one in estimates:
        cells = (number(one.requests), number(one.requests_per_minute), number(one.hours, 1))
        table.add_row(one.site, *cells, one.basis)
    return table


def held_back(adverts: int) -> str:
    """What became of new adverts of a run that did not read them."""
    return f"{adverts} new adverts are held back until adverts are read right and a sweep is complete"


def reports_table(reports: Sequence[SiteReport]) -> Table:
    """What came of each portal's job."""
    counted = ("adverts", "new", "changed", "failed", "requests", "seconds")
    table = plain_table("Crawled", ("site", "state"), counted)
    for one in reports:
        counts = (one.adverts, one.new, one.changed, one.failed, one.requests)
        table.add_row(one.site, one.state, *map(number, counts), number(one.seconds, 1))
    return table


def best_table(offers: Sequence[Offer]) -> Table:
    """The best offers by price per square metre."""
    counted = ("rooms", "m²", "€", "€/m²")
    table = plain_table("Lowest price per m²", ("site", "advert", "neighbourhood"), counted)
    for one in offers:
        cells = (number(one.rooms), number(one.area_sqm), number(one.price_eur), number(one.price_per_sqm))
        table.add_row(one.site, one.external_id, one.neighbourhood or "?", *cells)
    return table


def jobs_table(jobs: Sequence[Job]) -> Table:
    """The newest jobs; a job's name begins with its portal and the moment it was made."""
    counted = ("requests", "new", "changed", "seconds")
    table = plain_table("Jobs", ("job", "state"), counted)
    for job in jobs:
        counts = (job.requests, job.new_listings, job.changed_listings, job.seconds)
        table.add_row(job.id, job.state.value, *map(number, counts))
    return table


def status_table(statuses: Sequence[SiteStatus]) -> Table:
    """The state of each portal's data."""
    counted = ("adverts", "pending", "failed")
    table = plain_table("Portals", ("site",), counted)
    for heading in ("last seen", "last job"):
        table.add_column(heading, no_wrap=True)
    for one in statuses:
        counts = (number(one.adverts), number(one.pending), number(one.failed))
        table.add_row(one.site, *counts, moment(one.last_seen_at), one.job_state or "none yet")
    return table


def incident_line(incident: Incident) -> str:
    """What a person should look at, in one line."""
    since = moment(incident.opened_at)
    return f"{incident.site}: open since {since}: {incident.kind}: {incident.message}"
