"""What a page of results adds to a job: adverts whose card says nothing new are done without being opened."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, select

from sale_sofia.config.history import CARDS_AT_ONCE
from sale_sofia.config.monitoring import DRIFT_SAMPLE_SHARE
from sale_sofia.config.settings import get_settings
from sale_sofia.data.cards import Scope, SeenCard, see_cards
from sale_sofia.data.crawl_schema import frontier as rows
from sale_sofia.data.sweeps import scope_of
from sale_sofia.scraping import frontier
from sale_sofia.scraping.outcomes import Found
from sale_sofia.scraping.searches import SearchSteps
from sale_sofia.scraping.urls import Target
from sale_sofia.scraping.visit_log import moment

UNCHANGED: Final = "its card is unchanged"
"""Why an advert is done though nobody opened it."""

_Adverts = Sequence[tuple[SeenCard, Target]]


def add_found(
    connection: Connection, steps: SearchSteps, pages: Sequence[Found], *, limit: int | None, now: float
) -> int:
    """Add the adverts of the pages and what follows from them; a limit counts adverts and is never passed."""
    if not pages:
        return 0
    job_id = steps.job_id
    scope = scope_of(connection, job_id)
    room = _room(connection, job_id, limit)
    adverts = searches = 0
    for page in pages:
        shown = page.adverts[: max(0, int(min(room - adverts, len(page.adverts))))]
        for some in _portions(shown, CARDS_AT_ONCE):
            adverts += _add_adverts(connection, job_id, scope, some, at=moment(page, now))
        if adverts < room:
            searches += steps.read(page)
    return adverts + searches


def _portions(adverts: _Adverts, most: int) -> Iterator[_Adverts]:
    """The adverts in portions."""
    return (adverts[first : first + most] for first in range(0, len(adverts), most))


def _room(connection: Connection, job_id: str, limit: int | None) -> float:
    """How many adverts may still be added."""
    return math.inf if limit is None else limit - frontier.count_rows(connection, job_id, "listing").total


def _still_to_open(connection: Connection, job_id: str, more: int) -> int:
    """How many adverts to open at least, so that a change of their pages is seen at once."""
    most = get_settings().drift_sample_pages
    there = more + _adverts(connection, job_id, int(most / DRIFT_SAMPLE_SHARE))
    opened = _adverts(connection, job_id, most, rows.c.reason.is_distinct_from(UNCHANGED))
    return max(0, min(most, int(there * DRIFT_SAMPLE_SHARE)) - opened)


def _adverts(connection: Connection, job_id: str, most: int, *chosen: ColumnElement[bool]) -> int:
    """How many adverts the job has, counted up to `most`."""
    own = (rows.c.job_id == job_id, rows.c.kind == "listing", *chosen)
    counted = select(rows.c.id).where(*own).limit(most).subquery()
    return int(connection.execute(select(func.count()).select_from(counted)).scalar_one())


def _add_adverts(
    connection: Connection, job_id: str, scope: Scope | None, adverts: _Adverts, *, at: float
) -> int:
    if scope is None:
        return frontier.add_targets(connection, job_id, [target for _, target in adverts])
    shown = [card for card, _ in adverts]
    least = _still_to_open(connection, job_id, len(shown))
    wanted = see_cards(connection, scope, shown, at=at, least=least)
    opened = [target for card, target in adverts if card.external_id in wanted]
    known = [target for card, target in adverts if card.external_id not in wanted]
    return frontier.add_targets(connection, job_id, opened) + frontier.add_targets(
        connection, job_id, known, done=UNCHANGED
    )
