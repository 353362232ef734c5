"""Adverts that searches no longer show: missed by complete sweeps, looked at, and then gone."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Select, and_, func, select, update

from sale_sofia.config.history import LOOKS_AT_ONCE
from sale_sofia.config.site_history import DelistingTable
from sale_sofia.data.cards import Scope
from sale_sofia.data.history_schema import cards
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.market import MISSED, REMOVED, set_gone
from sale_sofia.data.sightings import listing_key
from sale_sofia.data.visits import removed_since

_SAME_ADVERT = and_(
    listings.c.site == cards.c.site,
    listings.c.external_id == cards.c.external_id,
    listings.c.closed_at.is_(None),
)


def _missing(scope: Scope) -> ColumnElement[bool]:
    """What the sweep has not seen, neither in a search nor by opening it, and is not gone already."""
    return and_(
        cards.c.scope_id == scope.id,
        cards.c.seen_at < scope.since,
        listings.c.last_seen_at < scope.since,
        listings.c.gone_at.is_(None),
    )


def to_look_at(connection: Connection, scope: Scope, rule: DelistingTable, *, now: float) -> list[str]:
    """The addresses of missing adverts whose own page must be asked; the longest missing first.

    Where absence means something, those that this sweep would make gone; elsewhere, those due for a visit.
    """
    if not rule.look:
        return []
    chosen = _with_listings(listings.c.url).where(_missing(scope))
    last = cards.c.misses + 1 >= rule.sweeps if rule.absence else listings.c.revisit_at <= now
    return list(
        connection.execute(chosen.where(last).order_by(cards.c.seen_at).limit(LOOKS_AT_ONCE)).scalars()
    )


def count_misses(connection: Connection, scope: Scope, *, at: float) -> None:
    """A complete sweep did not show these adverts; the first that did not is remembered.

    One that was opened and is there begins anew: its page knows better than the search.
    """
    opened = select(listings.c.external_id).where(
        listings.c.site == scope.site, listings.c.closed_at.is_(None), listings.c.last_seen_at >= scope.since
    )
    unseen = (cards.c.scope_id == scope.id, cards.c.seen_at < scope.since)
    alive = update(cards).where(*unseen, cards.c.misses > 0, cards.c.external_id.in_(opened))
    connection.execute(alive.values(missed_at=None, misses=0))
    missed = update(cards).where(*unseen, cards.c.external_id.not_in(opened))
    connection.execute(
        missed.values(missed_at=func.coalesce(cards.c.missed_at, at), misses=cards.c.misses + 1)
    )


def delist(connection: Connection, scope: Scope, rule: DelistingTable, *, now: float) -> int:
    """Make gone what the rule says is gone; how many that are.

    Where absence means something, they are dated by the first complete sweep without them; elsewhere by the
    visit of their own page.
    """
    chosen = _with_listings(listings.c.id, cards.c.external_id, cards.c.missed_at).where(_missing(scope))
    if rule.absence:
        chosen = chosen.where(cards.c.misses >= rule.sweeps)
    rows = connection.execute(chosen.order_by(listings.c.id).with_for_update(of=listings)).all()
    said = _said_removed(connection, scope, [row.external_id for row in rows]) if rule.look else {}
    agreed = [row for row in rows if not rule.look or row.external_id in said]
    since = {row.id: row.missed_at if rule.absence else said[row.external_id] for row in agreed}
    set_gone(connection, since, now=now, reason=MISSED if rule.absence else REMOVED)
    return len(since)


def _said_removed(connection: Connection, scope: Scope, external_ids: Sequence[str]) -> dict[str, float]:
    keys = {listing_key(one): one for one in external_ids}
    found: dict[str, float] = {}
    asked = list(keys)
    for first in range(0, len(asked), LOOKS_AT_ONCE):
        some = asked[first : first + LOOKS_AT_ONCE]
        found |= removed_since(connection, scope.site, some, scope.since)
    return {keys[key]: at for key, at in found.items()}


def _with_listings(*columns: ColumnElement[object]) -> Select[*tuple[object, ...]]:
    return select(*columns).select_from(cards.join(listings, _SAME_ADVERT))
