"""What a page of results adds to a job: adverts whose card says nothing new are done without being opened."""

import math
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from sale_sofia.data.cards import Scope, SeenCard, see_cards
from sale_sofia.data.sweeps import scope_of
from sale_sofia.scraping import frontier
from sale_sofia.scraping.outcomes import Found
from sale_sofia.scraping.urls import Target
from sale_sofia.scraping.visit_log import moment

UNCHANGED: Final = "its card is unchanged"
"""Why an advert is done though nobody opened it."""

_Adverts = Sequence[tuple[SeenCard, Target]]


def add_found(
    connection: Connection, job_id: str, pages: Sequence[Found], *, limit: int | None, now: float
) -> int:
    """Add the adverts and further searches of the pages; a limit counts adverts and is never passed."""
    if not pages:
        return 0
    scope = scope_of(connection, job_id)
    room = _room(connection, job_id, limit)
    adverts = searches = 0
    for page in pages:
        shown = page.adverts[: max(0, int(min(room - adverts, len(page.adverts))))]
        adverts += _add_adverts(connection, job_id, scope, shown, at=moment(page, now))
        if adverts < room:
            searches += frontier.add_targets(connection, job_id, page.further)
    return adverts + searches


def _room(connection: Connection, job_id: str, limit: int | None) -> float:
    """How many adverts may still be added."""
    return math.inf if limit is None else limit - frontier.count_rows(connection, job_id, "listing").total


def _add_adverts(
    connection: Connection, job_id: str, scope: Scope | None, adverts: _Adverts, *, at: float
) -> int:
    if scope is None:
        return frontier.add_targets(connection, job_id, [target for _, target in adverts])
    wanted = see_cards(connection, scope, [card for card, _ in adverts], at=at)
    opened = [target for card, target in adverts if card.external_id in wanted]
    known = [target for card, target in adverts if card.external_id not in wanted]
    return frontier.add_targets(connection, job_id, opened) + frontier.add_targets(
        connection, job_id, known, done=UNCHANGED
    )
