"""What a person should look at: properties with more adverts than one flat has, and matching that failed."""

from sqlalchemy import Connection

from sale_sofia.config.matching import INCIDENT_EXAMPLES, INCIDENT_SITE
from sale_sofia.config.settings import Settings
from sale_sofia.data.incidents import IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.data.properties import large_properties


def judge_sizes(connection: Connection, settings: Settings, *, now: float) -> None:
    """Open an incident while there are properties with too many adverts; close it when there are none."""
    large = large_properties(connection, settings.property_alarm_adverts)
    if not large:
        close_incident(connection, IncidentKind.LARGE_PROPERTY, INCIDENT_SITE, now=now)
        return
    named = ", ".join(f"{one} ({adverts})" for one, adverts in large[:INCIDENT_EXAMPLES])
    sentence = (
        f"{len(large)} properties have more than {settings.property_alarm_adverts} adverts: {named}; "
        "look at them with `sale-sofia properties show`"
    )
    trouble = Trouble(IncidentKind.LARGE_PROPERTY, INCIDENT_SITE, sentence, details={"properties": large})
    open_incident(connection, trouble, now=now)


def judge_failure(connection: Connection, error: Exception | None, *, now: float) -> None:
    """Open an incident when matching failed; close it when it went well."""
    if error is None:
        close_incident(connection, IncidentKind.MATCHING_FAILED, INCIDENT_SITE, now=now)
        return
    sentence = f"matching failed: {error or type(error).__name__}; `sale-sofia match` tries again"
    open_incident(connection, Trouble(IncidentKind.MATCHING_FAILED, INCIDENT_SITE, sentence), now=now)
