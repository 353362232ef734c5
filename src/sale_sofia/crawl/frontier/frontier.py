"""Every address of a job is a row: pending → leased → done or failed. The rows are the truth of the crawl.

A claim carries a fence that grows with each lease of its row. What is written for a claim is written only
while its fence is still the row's: after a crash, or when a lease ran out, a late result changes nothing.

SQLite gives the whole file to one writer. Where rows are locked one by one, a claim passes over rows that
others are just taking, a batch of results locks its job first, and rows are always locked by their number:
so nobody waits in a circle, and what a batch has counted stays true until it is committed.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Integer,
    Select,
    bindparam,
    case,
    exists,
    func,
    select,
    true,
    union_all,
    update,
)

from sale_sofia.crawl.settings import SUSPECT_DEATHS
from sale_sofia.crawl.tables import IS_PENDING, LEFT_ALONE, EndCode, Kin, frontier, frontier_pruned, jobs
from sale_sofia.crawl.urls import Target
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_for

# Searches come first: what they list may change while adverts are read.
_SEARCHES_FIRST = -1.0
_LONGEST_KEY = 500
SEARCHES, REST = 0, 3_000_000
"""The ranks of pages of results, and of adverts of which nothing is known; see `ranking.py`."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One leased row: ours until the lease runs out, or until somebody else's fence is higher."""

    id: int
    kind: str
    url: str
    attempts: int
    fence: int
    tried: str | None = None
    """The classes of the errors that earlier tries ended in, with spaces between them."""
    search_id: int | None = None
    """Of a page of results: which of the job's searches it belongs to."""
    kin: str | None = None
    """Of an advert that another portal has too: what it is to it (`Kin`)."""


@dataclass(frozen=True, slots=True)
class PutOff:
    """A row to be handed back for some seconds."""

    claim: Claim
    seconds: float
    code: str
    reason: str = ""
    refund: bool = False
    """Whether its attempt is given back, for a wait that is nobody's fault."""
    ended_as: str | None = None
    """The class of the error that its try ended in; None where nothing was asked."""
    in_its_place: bool = False
    """Whether it is due when it was: it is its job that waits, or who would have visited it."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a job is, derived from its rows and never kept beside them."""

    pending: int = 0
    leased: int = 0
    done: int = 0
    failed: int = 0
    next_due: float | None = None
    """When the earliest pending row may start, as far as its job is not shut until later."""

    @property
    def open(self) -> int:
        """Rows that still have to come to an end."""
        return self.pending + self.leased

    @property
    def total(self) -> int:
        """All rows."""
        return self.open + self.done + self.failed


def add_targets(  # noqa: PLR0913 - each is a matter of its own
    connection: Connection,
    job_id: str,
    targets: Iterable[Target],
    *,
    done: EndCode | None = None,
    search_id: int | None = None,
    ranks: Mapping[str, int] | None = None,
    kin: Kin | None = None,
) -> int:
    """Add what the job does not have yet, in the given order; returns how many were new.

    With `done` they are done already, for that: they need not be fetched. Pages of results belong to
    the search of `search_id`, and come first; of adverts those with the smallest of `ranks`, by their keys.
    """
    ranks = ranks or {}
    rows = [
        {
            "job_id": job_id,
            "kind": target.kind,
            "url": target.url,
            "url_key": _key(target),
            "state": "pending" if done is None else "done",
            "code": done,
            "not_before": _SEARCHES_FIRST if target.kind == "search" else 0.0,
            "search_id": search_id,
            "rank": SEARCHES if target.kind == "search" else ranks.get(target.key, REST),
            "kin": kin,
        }
        for target in targets
    ]
    if not rows:
        return 0
    return _adding(connection.dialect.name).run(connection, rows)


@cache
def _adding(dialect: str) -> Quick:
    return Quick(insert_for(dialect, frontier).on_conflict_do_nothing())


def without_known(connection: Connection, job_id: str, targets: Sequence[Target]) -> list[Target]:
    """Of these targets, those that are no rows of the job yet."""
    keys = [_key(target) for target in targets]
    if not keys:
        return []
    known = {key for (key,) in _SELECT_KEYS.rows(connection, {"of_job": job_id, "keys": keys})}
    return [target for target, key in zip(targets, keys, strict=True) if key not in known]


def count_states(connection: Connection, job_id: str, targets: Sequence[Target]) -> dict[str, int]:
    """How many of these targets' rows are in which state."""
    keys = [_key(target) for target in targets]
    ours = select(frontier.c.state, func.count()).where(
        frontier.c.job_id == job_id, frontier.c.url_key.in_(keys)
    )
    counted = connection.execute(ours.group_by(frontier.c.state))
    return {row.state: row[1] for row in counted}


def drop_searches(connection: Connection, job_id: str, search_ids: Sequence[int]) -> None:
    """No page of these searches is asked for any more; those that are in hand come to their end."""
    waiting = (_OF_JOB, frontier.c.state == "pending", frontier.c.search_id.in_(search_ids))
    dropped = update(frontier).where(*waiting).values(state="done", code=EndCode.USELESS_PART)
    connection.execute(dropped, {"of_job": job_id})


def _key(target: Target) -> str:
    """The page's key, a long one by its digest: what does not fit would be refused."""
    if len(target.key) <= _LONGEST_KEY:
        return target.key
    return f"{target.kind}:sha256:{hashlib.sha256(target.key.encode()).hexdigest()}"


def claim(  # noqa: PLR0913 - each is a matter of its own
    connection: Connection,
    job_id: str,
    *,
    owner: str,
    count: int,
    now: float,
    lease_seconds: float,
    by_age: bool = False,
) -> list[Claim]:
    """Lease up to `count` rows that may start now, in one statement: no two owners get the same row.

    While the job is shut (`shut`) nobody gets any. Those with the smallest rank go first, or, by age, those
    that were found first; pages of results before adverts in both.

    When there is nothing else, a row under which owners died is leased alone, to one with empty hands: should
    it be what kills them, it takes no other row with it.
    """
    values = {"of_job": job_id, "at": now, "most": count, "to_owner": owner, "until": now + lease_seconds}
    leased = (_LEASE_OLDEST if by_age else _LEASE_INNOCENT).rows(connection, values)
    leased = leased or _LEASE_SUSPECT.rows(connection, values)
    return sorted((Claim(*row) for row in leased), key=lambda claim: claim.id)


def _leasing(rows: Select[Any]) -> Quick:
    # Looked for once: as a plain subquery it could be run again, and lock more rows.
    due = rows.with_for_update(skip_locked=True).cte("due")
    return Quick(
        update(frontier)
        .where(frontier.c.id.in_(select(due.c.id)))
        .values(
            state="leased",
            lease_owner=bindparam("to_owner"),
            lease_until=bindparam("until"),
            attempts=frontier.c.attempts + 1,
            fence=frontier.c.fence + 1,
        )
        .returning(*(frontier.c[field.name] for field in fields(Claim)))
    )


# Put together once: that took longer than the database does to run them.
_OF_JOB = frontier.c.job_id == bindparam("of_job")
_SELECT_KEYS = Quick(
    select(frontier.c.url_key).where(_OF_JOB, frontier.c.url_key.in_(bindparam("keys", expanding=True)))
)
_SHUT = exists().where(jobs.c.id == bindparam("of_job"), jobs.c.shut_until > bindparam("at"))
_WAITING = select(frontier.c.id).where(_OF_JOB, IS_PENDING, ~_SHUT)
_BY_AGE = _WAITING.where(frontier.c.not_before <= bindparam("at")).order_by(
    frontier.c.not_before, frontier.c.id
)
# As a sum, lest SQLite goes by the index of that column and then sorts all that is due, at every claim.
_DUE = _WAITING.where(frontier.c.not_before + 0.0 <= bindparam("at")).order_by(
    frontier.c.rank, frontier.c.not_before, frontier.c.id
)
_OPEN_SEARCH = select(frontier.c.id).where(_OF_JOB, frontier.c.rank == SEARCHES, frontier.c.kind == "search")
_OPEN_SEARCHES = Quick(
    union_all(_OPEN_SEARCH.where(IS_PENDING), _OPEN_SEARCH.where(frontier.c.state == "leased")).limit(1)
)
_held = frontier.alias("held")
_EMPTY_HANDED = ~exists().where(
    _held.c.job_id == bindparam("of_job"),
    _held.c.state == "leased",
    _held.c.lease_owner == bindparam("to_owner"),
)
_LEASE_INNOCENT = _leasing(
    _DUE.where(frontier.c.deaths < SUSPECT_DEATHS).limit(bindparam("most", type_=Integer))
)
_LEASE_OLDEST = _leasing(
    _BY_AGE.where(frontier.c.deaths < SUSPECT_DEATHS).limit(bindparam("most", type_=Integer))
)
_LEASE_SUSPECT = _leasing(_DUE.where(frontier.c.deaths >= SUSPECT_DEATHS, _EMPTY_HANDED).limit(1))


_THESE = frontier.c.id.in_(bindparam("row_ids", expanding=True))
_THEIR_JOBS = (
    select(jobs.c.id)
    .where(jobs.c.id.in_(select(frontier.c.job_id).where(_THESE)))
    .order_by(jobs.c.id)
    .with_for_update(key_share=True)
)
_LEASED = Quick(
    select(frontier.c.id, frontier.c.fence)
    .where(_THESE, frontier.c.state == "leased")
    .order_by(frontier.c.id)
    .with_for_update(key_share=True)
)


def lock_job(connection: Connection, job_id: str) -> None:
    """Before several rows of a job are changed, or others with them: the job first, as all do who do so."""
    connection.execute(select(jobs.c.id).where(jobs.c.id == job_id).with_for_update(key_share=True))


def still_ours(connection: Connection, claims: Sequence[Claim]) -> set[int]:
    """The ids of those claims whose lease nobody else has taken since, nor can before the transaction ends.

    The jobs are the transaction's alone from now on: no other batch of theirs is written beside it.
    """
    fences = {claim.id: claim.fence for claim in claims}
    ids = {"row_ids": sorted(fences)}
    if connection.dialect.name != "sqlite":
        connection.execute(_THEIR_JOBS, ids)
    return {own for own, fence in _LEASED.rows(connection, ids) if fence == fences[own]}


_OWN = update(frontier).where(
    frontier.c.id == bindparam("row_id"), frontier.c.fence == bindparam("row_fence")
)
_END = Quick(_OWN.values(state=bindparam("to_state"), code=bindparam("why"), reason=bindparam("words")))
_POSTPONE = Quick(
    _OWN.values(
        state="pending",
        not_before=case(
            (bindparam("in_its_place", type_=Boolean), frontier.c.not_before), else_=bindparam("due")
        ),
        put_off_at=bindparam("at"),
        code=bindparam("why"),
        reason=bindparam("words"),
        attempts=frontier.c.attempts - bindparam("refund"),
        tried=bindparam("tries"),
    )
)
_RENEW = Quick(_OWN.where(frontier.c.state == "leased").values(lease_until=bindparam("until")))


def _update_each(connection: Connection, statement: Quick, rows: Iterable[tuple[Claim, Any]]) -> None:
    values = [{"row_id": claim.id, "row_fence": claim.fence, **more} for claim, more in rows]
    statement.run(connection, sorted(values, key=itemgetter("row_id")))


def finish(connection: Connection, ends: Sequence[tuple[Claim, str, str | None, str | None]]) -> None:
    """Bring rows to `done` or `failed`, each with why, also in words; who had them stays written on them."""
    rows = ((claim, {"to_state": state, "why": code, "words": words}) for claim, state, code, words in ends)
    _update_each(connection, _END, rows)


def postpone(connection: Connection, later: Sequence[PutOff], *, now: float) -> None:
    """Hand rows back for some seconds."""
    rows = [
        (
            wait.claim,
            {
                "due": now + wait.seconds,
                "at": now,
                "why": wait.code,
                "words": wait.reason or None,
                "refund": int(wait.refund),
                "in_its_place": wait.in_its_place,
                "tries": " ".join(filter(None, (wait.claim.tried, wait.ended_as))) or None,
            },
        )
        for wait in later
    ]
    _update_each(connection, _POSTPONE, rows)


def renew(connection: Connection, claims: Sequence[Claim], *, until: float) -> None:
    """Keep what is in hand; a row that was lost meanwhile stays lost."""
    _update_each(connection, _RENEW, ((claim, {"until": until}) for claim in claims))


# What stands behind the adverts for a try of its own, though it will be due when its job is.
_SEARCHES_FORWARD = (
    update(frontier)
    .where(
        _OF_JOB,
        frontier.c.state == "pending",
        frontier.c.not_before > 0.0,
        frontier.c.not_before <= bindparam("due"),
        frontier.c.kind == "search",
    )
    .values(not_before=_SEARCHES_FIRST)
)
_SHUT_JOB = (
    update(jobs)
    .where(jobs.c.id == bindparam("of_job"), func.coalesce(jobs.c.shut_until, 0.0) < bindparam("due"))
    .values(shut_until=bindparam("due"), shut_at=bindparam("at"))
)


def shut(connection: Connection, job_id: str, *, seconds: float, now: float) -> None:
    """Hand out no row of the job for some seconds, and then searches first; the rows stay as they are.

    One by one they would all be claimed and handed back until then, as fast as the database can.
    """
    due = {"of_job": job_id, "due": now + seconds}
    connection.execute(_SHUT_JOB, {**due, "at": now})
    connection.execute(_SEARCHES_FORWARD, due)


def count_rows(connection: Connection, job_id: str, kind: str | None = None) -> Counts:
    """The job's rows by state, of one kind or of all; those that were pruned since it ended count too."""
    asked = {"of_job": job_id, "of_kind": kind} if kind else {"of_job": job_id}
    by_state, next_due = _counting(of_one_kind=bool(kind))
    states: Counter[str] = Counter()
    for state, pages in by_state.rows(connection, asked):
        states[state] += pages
    [(due,)] = next_due.rows(connection, asked)
    return Counts(**states, next_due=due)


def count_not_asked(connection: Connection, job_id: str) -> int:
    """How many of the job's rows ended without a request; those that were pruned are not known to be such."""
    ended = frontier.c.code.in_((*LEFT_ALONE, EndCode.USELESS_PART))
    query = select(func.count()).where(frontier.c.job_id == job_id, ended)
    return connection.execute(query).scalar_one()


def has_open_searches(connection: Connection, job_id: str) -> bool:
    """Whether a page of results waits or is in hand; found by rank, however many adverts wait with it."""
    return bool(_OPEN_SEARCHES.rows(connection, {"of_job": job_id}))


@cache
def _counting(*, of_one_kind: bool) -> tuple[Quick, Quick]:
    there, pruned = [_OF_JOB], [frontier_pruned.c.job_id == bindparam("of_job")]
    if of_one_kind:
        there.append(frontier.c.kind == bindparam("of_kind"))
        pruned.append(frontier_pruned.c.kind == bindparam("of_kind"))
    by_state = union_all(
        select(frontier.c.state, func.count()).where(*there).group_by(frontier.c.state),
        select(frontier_pruned.c.state, frontier_pruned.c.pages).where(*pruned),
    )
    due = func.min(frontier.c.not_before)
    shut_until = select(jobs.c.shut_until).where(jobs.c.id == bindparam("of_job")).scalar_subquery()
    later = case((shut_until > due, shut_until), else_=due)
    return Quick(by_state), Quick(select(later).where(*there, frontier.c.state == "pending"))


# Whose rows of the frontier are whose: who holds some, who had some, and the rows of the dead given back.


def release(connection: Connection, job_id: str, owner: str) -> None:
    """Hand back all that an owner holds of a job: at once, and as if it had not been claimed.

    By owner, not by claim: whoever was called off in the middle of a claim does not know what it got.
    """
    held = (frontier.c.job_id == job_id, frontier.c.state == "leased", frontier.c.lease_owner == owner)
    its = select(frontier.c.id).where(*held).order_by(frontier.c.id).with_for_update().cte("its")
    connection.execute(
        update(frontier)
        .where(frontier.c.id.in_(select(its.c.id)), *held)
        .values(state="pending", attempts=frontier.c.attempts - 1, lease_owner=None, lease_until=None)
    )


def owners(connection: Connection, job_id: str, *, since: float = 0.0, also_former: bool = False) -> set[str]:
    """Who holds rows of the job, or had some, on leases that last or lasted until `since` or longer."""
    held = select(frontier.c.lease_owner).where(frontier.c.job_id == job_id, frontier.c.lease_until >= since)
    if not also_former:
        held = held.where(frontier.c.state == "leased")
    return {owner for owner in connection.execute(held.distinct()).scalars() if owner}


def last_owner(connection: Connection, job_id: str) -> str | None:
    """Who has the lease that lasts longest, or had the last one."""
    newest = select(frontier.c.lease_owner).where(
        frontier.c.job_id == job_id, frontier.c.lease_owner.is_not(None)
    )
    return connection.execute(newest.order_by(frontier.c.lease_until.desc()).limit(1)).scalar()


def release_owner(connection: Connection, job_id: str, owner: str, *, most_deaths: int) -> int:
    """Give back the rows of an owner who is known to be dead."""
    return _bury(connection, job_id, frontier.c.lease_owner == owner, most_deaths)


def release_all(connection: Connection, job_id: str, *, most_deaths: int) -> int:
    """Give back every leased row of a job at once. Only whoever knows all its owners dead may call this."""
    return _bury(connection, job_id, true(), most_deaths)


def reclaim_expired(connection: Connection, job_id: str, *, now: float, most_deaths: int) -> int:
    """Give back the rows whose lease ran out: their owner died or lost its way."""
    return _bury(connection, job_id, frontier.c.lease_until < now, most_deaths)


def _bury(connection: Connection, job_id: str, held: ColumnElement[bool], most_deaths: int) -> int:
    """The owner's death is not the page's try; but a page under which owners keep dying is given up."""
    last = frontier.c.deaths + 1 >= most_deaths
    leased = (frontier.c.job_id == job_id, frontier.c.state == "leased", held)
    theirs = select(frontier.c.id).where(*leased).order_by(frontier.c.id).with_for_update()
    return connection.execute(
        update(frontier)
        .where(frontier.c.id.in_(theirs), *leased)
        .values(
            state=case((last, "failed"), else_="pending"),
            code=case((last, EndCode.WORKER_DIED), else_=frontier.c.code),
            reason=case((last, f"its worker died {most_deaths} times"), else_=frontier.c.reason),
            deaths=frontier.c.deaths + 1,
            attempts=frontier.c.attempts - 1,
            lease_owner=None,
            lease_until=None,
        )
    ).rowcount
