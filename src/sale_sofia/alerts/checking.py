"""All that can be wrong with a file of rules, found before anything is done."""

import time
from collections.abc import Mapping
from functools import partial

from sale_sofia.alerts.channels import Channel, channels_of, open_service
from sale_sofia.alerts.deciding import profiles_of, sources_of
from sale_sofia.alerts.operator import check_kinds
from sale_sofia.alerts.rules import AlertsFile
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database


def check_rules(settings: Settings, database: Database, file: AlertsFile) -> None:
    """Raises AlertsError when a rule names an incident, a profile or a search that is not there."""
    check_kinds(file.operator)
    profiles = profiles_of(file.buyer, settings.data_dir)
    database.run_read(partial(sources_of, rules=file.buyer, profiles=profiles, now=time.time()))


def check_channels(settings: Settings, found: Mapping[str, Channel]) -> None:
    """Raises AlertsError when a channel's address cannot be used."""
    for channel in found.values():
        open_service(channel, settings.alert_send_seconds)


def check_file(settings: Settings, database: Database, file: AlertsFile) -> None:
    """Raises AlertsError when anything in the file cannot be used."""
    check_rules(settings, database, file)
    check_channels(settings, channels_of(file))
