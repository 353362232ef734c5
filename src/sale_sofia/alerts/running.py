"""One round of alerts: find incidents, decide what is new, send what is due."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from sale_sofia.alerts.outbox import Delivered, Looked, Round, bring_back, due_messages, silent_channels
from sale_sofia.alerts.rules import AlertsFile, load_alerts
from sale_sofia.alerts.settings import LEASE_FACTOR
from sale_sofia.history.runs.incidents import look_round
from sale_sofia.history.settings import OWN_SITE
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import (
    IncidentKind,
    Trouble,
    close_incident,
    open_incident,
    open_incidents,
)


@dataclass(frozen=True, slots=True)
class Alerts:
    """Alerts of one installation. Without a rules file nothing is told, but incidents are recorded."""

    settings: Settings
    database: Database
    clock: Callable[[], float] = time.time

    def run(self, seconds: float) -> Round:
        """Run one round, sending for so many seconds.

        Raises:
            AlertsError: the rules file cannot be used.
            PostmanFailed: the sending process failed.
        """
        self.database.run_write(partial(look_round, settings=self.settings, now=self.clock()))
        file = load_alerts(self.settings.data_dir)
        if file is None:
            return Round()
        looked = self.look(file)
        lease = LEASE_FACTOR * self.settings.alert_send_seconds
        self.database.run_write(partial(bring_back, now=self.clock(), longest_lease=lease))
        due = self.database.run_read(partial(due_messages, now=self.clock(), without=()))
        delivered = self._send(seconds) if due and seconds else Delivered()
        self.database.run_write(partial(self._judge_channels, names=set(file.channels)))
        over = partial(close_incident, kind=IncidentKind.ALERTS_FAILED, site=OWN_SITE, now=self.clock())
        self.database.run_write(over)
        return Round(looked, delivered)

    def look(self, file: AlertsFile) -> Looked:
        """Decide what to tell, and send nothing."""
        from sale_sofia.alerts.looking import Looking  # noqa: PLC0415 - a quarter of the program, for rules alone

        return Looking(self.settings, self.database, file.at_work(), self.clock).look()

    def _send(self, seconds: float) -> Delivered:
        from sale_sofia.alerts.delivery import send_out  # noqa: PLC0415 - httpx, for channels alone

        return send_out(self.settings, seconds)

    def _judge_channels(self, connection: Connection, names: set[str]) -> None:
        """Open an incident for each channel that has long accepted nothing, and close those that are over."""
        now, seconds = self.clock(), self.settings.alert_silence_seconds
        silent = silent_channels(connection, since=now - seconds)
        for incident in open_incidents(connection):
            if incident.kind is IncidentKind.CHANNEL_SILENT and incident.site not in silent:
                close_incident(connection, incident.kind, incident.site, now=now)
        for name in sorted(names & silent.keys()):
            sentence = Said("trouble.channel_silent", channel=name, seconds=seconds, why=silent[name])
            open_incident(connection, Trouble(IncidentKind.CHANNEL_SILENT, name, sentence), now=now)
