"""One round of alerts: incidents are looked for, what is new is decided on, what is due is sent."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import Connection

from sale_sofia.alerts.delivery import send_out
from sale_sofia.alerts.outbox import Delivered, Looked, Round, bring_back, due_messages, silent_channels
from sale_sofia.alerts.rules import AlertsFile, load_alerts
from sale_sofia.alerts.settings import LEASE_FACTOR, OWN_SITE
from sale_sofia.history.runs.incidents import look_round
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database, DatabaseError
from sale_sofia.telemetry.incidents import (
    IncidentKind,
    Trouble,
    close_incident,
    open_incident,
    open_incidents,
)

log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Alerts:
    """Alerts of one installation. Without a file of rules nothing is told, but incidents are found."""

    settings: Settings
    database: Database
    clock: Callable[[], float] = time.time

    def run(self, seconds: float) -> Round:
        """One round, sending for so long.

        Raises:
            AlertsError: the file of rules cannot be used.
            PostmanFailed: the process that sends failed.
        """
        self.database.run_write(partial(look_round, settings=self.settings, now=self.clock()))
        file = load_alerts(self.settings.data_dir)
        if file is None:
            return Round()
        looked = self.look(file)
        delivered = self._deliver(seconds)
        self.database.run_write(partial(self._judge_channels, names=set(file.channels)))
        self.database.run_write(partial(judge_alerts, error=None, now=self.clock()))
        return Round(looked, delivered)

    def look(self, file: AlertsFile) -> Looked:
        """Only decide what is to be told."""
        from sale_sofia.alerts.looking import Looking  # noqa: PLC0415 - a quarter of the program, for rules alone

        return Looking(self.settings, self.database, file.at_work(), self.clock).look()

    def _deliver(self, seconds: float) -> Delivered:
        lease = LEASE_FACTOR * self.settings.alert_send_seconds
        self.database.run_write(partial(bring_back, now=self.clock(), longest_lease=lease))
        due = self.database.run_read(partial(due_messages, now=self.clock(), without=()))
        return send_out(self.settings, seconds) if due and seconds else Delivered()

    def _judge_channels(self, connection: Connection, names: set[str]) -> None:
        """A channel that takes nothing for long is an incident, told through the others."""
        now = self.clock()
        silent = silent_channels(connection, since=now - self.settings.alert_silence_seconds)
        for one in open_incidents(connection):
            if one.kind is IncidentKind.CHANNEL_SILENT and one.site not in silent:
                close_incident(connection, one.kind, one.site, now=now)
        for name in sorted(names & silent.keys()):
            seconds = self.settings.alert_silence_seconds
            sentence = f"channel {name} has taken nothing for {seconds:g} seconds: {silent[name]}"
            open_incident(connection, Trouble(IncidentKind.CHANNEL_SILENT, name, sentence), now=now)


def alert_after_crawl(settings: Settings, database: Database, seconds: float) -> bool:
    """A round at the end of a crawl; never raises, `False` if it failed: then there is an incident."""
    try:
        Alerts(settings, database).run(seconds)
    except Exception as error:  # noqa: BLE001 - whatever it is, the crawl has ended well
        log.warning("alerts failed: %s", error)
        _report(database, error)
        return False
    return True


def judge_alerts(connection: Connection, error: Exception | None, *, now: float) -> None:
    """Open an incident when alerts failed; close it when they went well."""
    if error is None:
        close_incident(connection, IncidentKind.ALERTS_FAILED, OWN_SITE, now=now)
        return
    sentence = f"alerts failed: {error or type(error).__name__}; `sale-sofia alerts run` tries again"
    open_incident(connection, Trouble(IncidentKind.ALERTS_FAILED, OWN_SITE, sentence), now=now)


def _report(database: Database, error: Exception) -> None:
    try:
        database.run_write(partial(judge_alerts, error=error, now=time.time()))
    except DatabaseError as unwritten:
        log.warning("the failure of alerts could not be stored: %s", unwritten)
