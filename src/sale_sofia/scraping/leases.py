"""Whose rows of the frontier are whose: who holds some, who had some, and the rows of the dead given back."""

from sqlalchemy import ColumnElement, Connection, case, select, true, update

from sale_sofia.data.crawl_schema import frontier


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


def owners(connection: Connection, job_id: str, *, since: float = 0.0) -> set[str]:
    """Who holds rows of the job, on leases that last until `since` or longer."""
    return _owners(connection, frontier.c.job_id == job_id, frontier.c.state == "leased", _lasts(since))


def last_owners(connection: Connection, job_id: str, *, since: float) -> set[str]:
    """Who holds rows of the job, or had some, on leases that lasted until `since` or longer."""
    return _owners(connection, frontier.c.job_id == job_id, _lasts(since))


def _lasts(since: float) -> ColumnElement[bool]:
    return frontier.c.lease_until >= since


def _owners(connection: Connection, *which: ColumnElement[bool]) -> set[str]:
    found = connection.execute(select(frontier.c.lease_owner).where(*which).distinct()).scalars()
    return {owner for owner in found if owner}


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
            reason=case((last, f"its worker died {most_deaths} times"), else_=frontier.c.reason),
            deaths=frontier.c.deaths + 1,
            attempts=frontier.c.attempts - 1,
            lease_owner=None,
            lease_until=None,
        )
    ).rowcount
