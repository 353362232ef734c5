"""Delivers the outbox to the channels: one message after the other, each leased by one process."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from sqlalchemy import Connection

from sale_sofia.alerts.channels import Channel, ChannelSender, ChatExtras, NotSent, channels_of
from sale_sofia.alerts.kept import kept_channels
from sale_sofia.alerts.links import addresses, link_key
from sale_sofia.alerts.outbox import (
    Delivered,
    Due,
    drop,
    due_messages,
    items_of,
    note_failed,
    note_sent,
    put_off,
    take,
    uid_of,
)
from sale_sofia.alerts.rules import NONE, AlertsError, QuietHours, is_quiet, load_alerts, not_quiet
from sale_sofia.alerts.settings import LEASE_FACTOR, POSTMAN_GRACE_SECONDS
from sale_sofia.alerts.store import VIEWING, Item
from sale_sofia.alerts.wording import Links, buttons_of, no_links, photo_of, word_message
from sale_sofia.buyer.evaluations import UNWANTED
from sale_sofia.buyer.opinions import statuses_for
from sale_sofia.buyer.people import Person, all_people
from sale_sofia.buyer.viewings import is_planned
from sale_sofia.flats.rows import current_properties
from sale_sofia.installation import open_database
from sale_sofia.settings.model import Settings, environment_of, load_settings
from sale_sofia.settings.programs import end_at_once, own_program
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.logs import log_as_service

_Content = tuple[tuple[Item, ...], str | None]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Sends what is due. Any number of processes may run at once, and be killed anywhere.

    A message is leased by a commit, then sent, then noted as sent by a commit. A process killed before
    sending leaves it to the next; one killed between the channel's acceptance and its commit leaves a message
    that is sent again under the same id, and the log says so.
    """

    settings: Settings
    database: Database
    channels: Mapping[str, Channel]
    quiet: QuietHours | None = None
    clock: Callable[[], float] = time.time
    go_on: Callable[[], bool] = lambda: True
    """Called before each message: whether another may be started."""

    def run(self) -> Delivered:
        """Send until nothing is due or `go_on` says no. A channel that failed waits for the next round."""
        done, sender = (
            Delivered(),
            ChannelSender(self.settings.alert_send_seconds, self.settings.alert_telegram_url),
        )
        while self.go_on():
            leased = self.database.run_write(partial(self._take_next, failed=list(done.errors)))
            if leased is None:
                break
            self._send(*leased, sender, done)
        return done

    def _take_next(self, connection: Connection, failed: list[str]) -> tuple[Due, str, _Content] | None:
        now = self.clock()
        lease = now + LEASE_FACTOR * self.settings.alert_send_seconds
        for due in due_messages(connection, now=now, without=failed):
            if not due.urgent and is_quiet(now, self.quiet):
                put_off(connection, [due.id], not_before=not_quiet(now, self.quiet))
            elif not (content := _content(connection, due, self.channels.get(due.channel), now))[0]:
                drop(connection, due)
            elif token := take(connection, due, now=now, lease_until=lease):
                return due, token, content
        return None

    def _send(self, due: Due, token: str, content: _Content, sender: ChannelSender, done: Delivered) -> None:
        try:
            if due.channel not in self.channels:
                there = list(self.channels) or NONE
                raise NotSent(Said("channel.unknown", channel=due.channel, there=there))  # noqa: TRY301
            channel = self.channels[due.channel]
            items, answers = content
            people = self.database.run_read(all_people)
            reader = _owner(people, channel)
            if channel.person is not None and reader is None:
                raise NotSent(Said("channel.gone"))  # noqa: TRY301
            language = reader.language if reader else self.settings.alert_language
            # A channel without an owner has no links that act for a person.
            links = self._links(due, reader) if reader or not people else no_links
            buttons = buttons_of(items, language, links) if channel.has_buttons else ()
            text = word_message(items, language, no_links if buttons else links, sender.longest(channel))
            sender.send(channel, text, due.uid, answers, ChatExtras(photo_of(items), buttons))
        except (NotSent, AlertsError) as error:
            done.failed += 1
            done.errors[due.channel] = str(error)
            doublings = min(due.attempts, 30)  # more would be far too long
            doubled = self.settings.alert_retry_seconds * 2.0**doublings
            later = self.clock() + min(doubled, self.settings.alert_retry_most_seconds)
            when = later if due.urgent else not_quiet(later, self.quiet)
            failed = partial(note_failed, message_id=due.id, token=token, error=Said.of(error))
            self.database.run_write(partial(failed, not_before=when))
        else:
            done.sent += 1
            self.database.run_write(partial(note_sent, message_id=due.id, token=token, now=self.clock()))

    def _links(self, due: Due, reader: Person | None) -> Links:
        """The links of a message for its reader; none without the address of the dashboard."""
        dashboard = self.settings.dashboard_url
        if dashboard is None:
            return no_links
        key, now = self.database.run_write(link_key), self.clock()

        def of(property_id: int) -> dict[str, str]:
            own = addresses(dashboard, key, due.uid, property_id, reader, now=now)
            return {"open": f"{dashboard}/flat/{property_id}", **own}

        return of


def _content(connection: Connection, due: Due, channel: Channel | None, now: float) -> _Content:
    """What of the message is still worth telling, and the id of the message that it answers."""
    stored = items_of(connection, [due.id])[due.id]
    unwanted = _unwanted(connection, channel)
    items = tuple(item for item in stored if _is_news(connection, item, unwanted, now))
    return items, None if due.after_id is None else uid_of(connection, due.after_id)


def _is_news(connection: Connection, item: Item, unwanted: frozenset[int], now: float) -> bool:
    if item.kind == VIEWING:
        return _is_ahead(connection, item, now)
    flat = item.property_id
    return flat is None or unwanted.isdisjoint(current_properties(connection, [flat]))


def _unwanted(connection: Connection, channel: Channel | None) -> frozenset[int]:
    """The flats that the household does not want now, or that the channel's owner rejected."""
    owner = None if channel is None else _owner(all_people(connection), channel)
    found = (statuses_for(connection, person).items() for person in {None, owner})
    return frozenset(number for known in found for number, status in known if status in UNWANTED)


def _owner(people: Sequence[Person], channel: Channel) -> Person | None:
    return next((person for person in people if person.stamp == channel.person), None)


def _is_ahead(connection: Connection, reminder: Item, now: float) -> bool:
    """Whether the viewing has not begun, and was neither moved nor cancelled since."""
    uid, starts_at = reminder.key.split("|")[1], reminder.facts["starts_at"]
    return bool(starts_at > now) and is_planned(connection, uid, starts_at)


class PostmanFailed(OSError):
    """The sending process failed; messages stay in the outbox for the next one."""


def send_out(settings: Settings, seconds: float) -> Delivered:
    """Send what is due for so many seconds, in a process of its own (decision 014).

    If the caller is killed, the leased message is still sent and noted.

    Raises:
        PostmanFailed: it failed, or did not end in time.
    """
    patience = seconds + settings.alert_send_seconds + POSTMAN_GRACE_SECONDS
    lifeline, our_end = os.pipe()
    try:
        # Not `subprocess.run`, which kills the process when this one is interrupted.
        with subprocess.Popen(  # noqa: S603 - our own program
            own_program("sale_sofia.alerts.delivery", f"{seconds:g}", str(lifeline)),
            env=environment_of(settings, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(lifeline,),
            start_new_session=True,
            text=True,
        ) as process:
            try:
                counts, complaint = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise PostmanFailed(f"sending took more than {patience:g} seconds and was ended") from None
    finally:
        os.close(lifeline)
        os.close(our_end)
    if process.returncode:
        last = complaint.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise PostmanFailed(f"sending failed: {last[0]}")
    return Delivered(**json.loads(counts))


# The process that sends what is due: `python -P -m sale_sofia.alerts.delivery SECONDS LIFELINE`.


def main(seconds: float, lifeline: int) -> None:
    """Send for so many seconds, or until the starting process is gone; print the counts."""
    settings = load_settings()
    log_as_service(settings)
    done, file = Delivered(), load_alerts(settings.data_dir)
    if file is not None:
        database = open_database(settings)
        end = time.monotonic() + seconds

        def go_on() -> bool:
            starter_gone, _, _ = select.select([lifeline], [], [], 0)
            return not starter_gone and time.monotonic() < end

        channels = channels_of(file, kept_channels(settings.data_dir))
        done = Delivery(settings, database, channels, file.quiet_hours, go_on=go_on).run()
        database.dispose()
    sys.stdout.write(json.dumps(asdict(done), ensure_ascii=False))


if __name__ == "__main__":
    end_at_once()
    main(float(sys.argv[1]), int(sys.argv[2]))
