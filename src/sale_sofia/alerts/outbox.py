"""The outbox: messages are rows from their decision until they are sent, and then the log."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, Update, and_, case, func, insert, or_, select, update

from sale_sofia.alerts.settings import DUE_AT_ONCE
from sale_sofia.alerts.store import Item
from sale_sofia.alerts.tables import alert_items, alert_message_items, alert_messages
from sale_sofia.history.settings import CLOCK_FAULT_SECONDS
from sale_sofia.settings.words import Said

WAITING: Final = "waiting"
SENDING: Final = "sending"
SENT: Final = "sent"
DROPPED: Final = "dropped"
"""Never sent: it would have come too late, its flats are unwanted by now, or its reader was removed."""
_OPEN: Final = (WAITING, SENDING)
_M = alert_messages.c


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that was just decided on."""

    channel: str
    audience: str
    items: tuple[int, ...]
    not_before: float
    urgent: bool = False
    digest: bool = False
    after_id: int | None = None


class Due(NamedTuple):
    """A message that may be sent now, as it was when it was read."""

    id: int
    uid: str
    channel: str
    audience: str
    urgent: bool
    digest: bool
    state: str
    attempts: int
    token: str | None
    after_id: int | None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One message in the log. Moments are seconds since 1970."""

    id: int
    uid: str
    channel: str
    audience: str
    digest: bool
    state: str
    made_at: float
    not_before: float
    attempts: int
    breaks: int
    sent_at: float | None
    last_error: Said | None
    items: tuple[Item, ...]


def add_message(connection: Connection, message: NewMessage, *, now: float) -> int:
    """Insert a message, or add its items to the digest of that moment while nobody has leased it."""
    number = None
    if message.digest:
        same = select(_M.id).where(
            _M.digest.is_(True),
            _M.channel == message.channel,
            _M.audience == message.audience,
            _M.not_before == message.not_before,
            _M.state == WAITING,
            _M.attempts == 0,
        )
        # Locked: whoever leases it gets the new items too, or it is already leased and not found here.
        number = connection.execute(same.with_for_update()).scalar()
    if number is None:
        row = {**asdict(message), "uid": uuid4().hex, "state": WAITING, "made_at": now}
        del row["items"]
        number = connection.execute(insert(alert_messages).values(row).returning(_M.id)).scalar_one()
    links = [{"message_id": number, "item_id": item} for item in message.items]
    connection.execute(insert(alert_message_items), links)
    return int(number)


def message_of(connection: Connection, incident_id: int, channel: str) -> int | None:
    """The first message that told this channel of an incident."""
    linked = alert_message_items.join(alert_messages).join(alert_items)
    chosen = select(func.min(_M.id)).select_from(linked)
    found = chosen.where(alert_items.c.incident_id == incident_id, _M.channel == channel)
    return connection.execute(found).scalar()


def uid_of(connection: Connection, message_id: int) -> str:
    """The id under which a message is sent."""
    return str(connection.execute(select(_M.uid).where(_M.id == message_id)).scalar_one())


def due_messages(connection: Connection, *, now: float, without: Sequence[str]) -> list[Due]:
    """Messages that may be sent now, the oldest first, without those of these channels.

    Those of channels that failed come last: one that hangs must not hold up the others.
    """
    first, tried = alert_messages.alias("first"), alert_messages.alias("tried").c
    free = or_(
        and_(_M.state == WAITING, _M.not_before <= now), and_(_M.state == SENDING, _M.lease_until <= now)
    )
    unsent = select(first.c.id).where(first.c.id == _M.after_id, first.c.state.in_(_OPEN)).exists()
    chosen = select(*(_M[name] for name in Due._fields)).where(free, ~unsent, _M.channel.not_in(without))
    unsettled = tried.state.in_(_OPEN), tried.last_error.is_not(None)
    failed = _M.channel.in_(select(tried.channel).where(*unsettled))
    return [Due._make(row) for row in connection.execute(chosen.order_by(failed, _M.id).limit(DUE_AT_ONCE))]


def bring_back(connection: Connection, *, now: float, longest_lease: float) -> None:
    """Correct rows from the future, left by a clock that was set back: waits and leases are shortened."""
    written = case((_M.first_tried_at > _M.made_at, _M.first_tried_at), else_=_M.made_at)
    ahead = update(alert_messages).where(_M.state == WAITING, written > now + CLOCK_FAULT_SECONDS)
    tried = case((_M.first_tried_at > now, now), else_=_M.first_tried_at)
    made = case((_M.made_at > now, now), else_=_M.made_at)
    due = _M.not_before - written + now
    connection.execute(ahead.values(not_before=due, first_tried_at=tried, made_at=made))
    until = now + longest_lease
    held = update(alert_messages).where(_M.state == SENDING, _M.lease_until > until + CLOCK_FAULT_SECONDS)
    connection.execute(held.values(lease_until=until))


def take(connection: Connection, due: Due, *, now: float, lease_until: float) -> str | None:
    """Lease a message; the token of the lease, or None where another process has it.

    The attempt is counted before it is made: whatever happens to the sender, the row says that it was tried.
    """
    token = uuid4().hex
    seen = (_M.state == due.state, _M.token.is_not_distinct_from(due.token), _M.attempts == due.attempts)
    same = update(alert_messages).where(_M.id == due.id, *seen)
    lease = same.values(
        state=SENDING,
        token=token,
        lease_until=lease_until,
        attempts=_M.attempts + 1,
        breaks=_M.breaks + (1 if due.state == SENDING else 0),
        first_tried_at=func.coalesce(_M.first_tried_at, now),
    )
    return token if connection.execute(lease).rowcount else None


def note_sent(connection: Connection, message_id: int, token: str, *, now: float) -> bool:
    """Mark it as sent; `False` if another process has leased it by now."""
    values = {"state": SENT, "sent_at": now, "lease_until": None, "last_error": None}
    return bool(connection.execute(_held(message_id, token).values(values)).rowcount)


def note_failed(
    connection: Connection, message_id: int, token: str, *, error: Said, not_before: float
) -> bool:
    """Put it back to wait; `False` if another process has leased it by now."""
    values = {"state": WAITING, "lease_until": None, "last_error": error, "not_before": not_before}
    return bool(connection.execute(_held(message_id, token).values(values)).rowcount)


def put_off(connection: Connection, message_ids: Sequence[int], *, not_before: float) -> None:
    """Let these wait until then, without counting an attempt; leased messages are left alone."""
    chosen = update(alert_messages).where(_M.id.in_(message_ids), _M.state == WAITING)
    connection.execute(chosen.values(not_before=not_before))


def drop(connection: Connection, due: Due) -> None:
    """Never send this one, unless somebody has leased it by now."""
    same = update(alert_messages).where(_M.id == due.id, _M.state == due.state, _M.attempts == due.attempts)
    connection.execute(same.values(state=DROPPED, lease_until=None))


def drop_waiting(connection: Connection, channel: str) -> None:
    """Never send what waits for this channel, which is removed."""
    waiting = update(alert_messages).where(_M.channel == channel, _M.state == WAITING)
    connection.execute(waiting.values(state=DROPPED))


def _held(message_id: int, token: str) -> Update:
    return update(alert_messages).where(_M.id == message_id, _M.token == token, _M.state == SENDING)


def items_of(connection: Connection, message_ids: Sequence[int]) -> dict[int, tuple[Item, ...]]:
    """The items of each of these messages, in the order in which they were decided."""
    message_id = alert_message_items.c.message_id
    linked = select(message_id, alert_items).select_from(alert_message_items.join(alert_items))
    chosen = linked.where(message_id.in_(message_ids)).order_by(alert_items.c.id)
    found: dict[int, list[Item]] = {number: [] for number in message_ids}
    for row in connection.execute(chosen):
        facts = row.facts
        if row.incident_id is not None:
            facts = {**facts, "message": Said.of(facts["message"])}
        item = Item(row.key, row.kind, tuple(row.rules), facts, row.property_id, row.incident_id)
        found[row.message_id].append(item)
    return {number: tuple(items) for number, items in found.items()}


def count_messages(connection: Connection) -> dict[str, int]:
    """How many there are in each state."""
    rows = connection.execute(select(_M.state, func.count()).group_by(_M.state))
    return {WAITING: 0, SENDING: 0, SENT: 0} | {row[0]: row[1] for row in rows}


def silent_channels(connection: Connection, *, since: float) -> dict[str, Said]:
    """Channels that have accepted nothing since then although it was tried; with the last error."""
    sent = alert_messages.alias("sent").c
    accepted = select(sent.id).where(sent.channel == _M.channel, sent.sent_at >= _M.first_tried_at).exists()
    chosen = select(_M.channel, _M.last_error).where(
        _M.state.in_(_OPEN), _M.first_tried_at <= since, _M.last_error.is_not(None), ~accepted
    )
    return {row.channel: row.last_error for row in connection.execute(chosen.order_by(_M.id.desc()))}


def read_log(connection: Connection, *, limit: int, state: str | None = None) -> list[LogEntry]:
    """The newest messages, the newest first."""
    names = [name for name in LogEntry.__dataclass_fields__ if name != "items"]
    chosen = select(*(_M[name] for name in names)).order_by(_M.id.desc()).limit(limit)
    if state is not None:
        chosen = chosen.where(_M.state == state)
    rows = connection.execute(chosen).mappings().all()
    items = items_of(connection, [row["id"] for row in rows])
    return [LogEntry(**row, items=items[row["id"]]) for row in rows]


# Results of alerts: plain counts, importable without what computes them.


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of a look."""

    flats: int = 0
    """Flats that were looked at: new to the rules, or changed."""
    items: int = 0
    messages: int = 0


@dataclass(slots=True)
class Delivered:
    """The result of sending."""

    sent: int = 0
    failed: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    """The last error of each channel."""


@dataclass(frozen=True, slots=True)
class Round:
    """The result of a round."""

    looked: Looked = field(default_factory=Looked)
    delivered: Delivered = field(default_factory=Delivered)
