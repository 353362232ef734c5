"""Quiet hours and digests on Sofia's clock, the two odd days of the year included."""

from datetime import datetime

from sale_sofia.alerts.rules import AlertsFile, QuietHours, is_quiet, next_time, not_quiet
from sale_sofia.listings.dates import SOFIA
from tables import each_row


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=SOFIA).timestamp()


def quiet(start: str, end: str) -> QuietHours:
    file = AlertsFile.model_validate({"quiet_hours": {"from": start, "to": end}})
    assert file.quiet_hours is not None
    return file.quiet_hours


NIGHT = quiet("22:30", "08:00")
NOON = quiet("12:00", "14:00")


@each_row(
    ("moment", "hours", "expected"),
    [
        ("2026-11-14T22:29:59", NIGHT, None),
        ("2026-11-14T22:30", NIGHT, "2026-11-15T08:00"),
        ("2026-11-15T00:00", NIGHT, "2026-11-15T08:00"),
        ("2026-11-15T07:59:59", NIGHT, "2026-11-15T08:00"),
        ("2026-11-15T08:00", NIGHT, None),
        ("2026-11-15T12:00", NOON, "2026-11-15T14:00"),
        ("2026-11-15T14:00", NOON, None),
        ("2026-10-24T23:00", NIGHT, "2026-10-25T08:00"),  # the clock goes back in this night
        ("2026-03-28T23:00", NIGHT, "2026-03-29T08:00"),  # and forward in this
        ("2026-11-15T03:00", None, None),
    ],
)
def test_a_message_waits_for_the_end_of_quiet_hours(
    moment: str, hours: QuietHours | None, expected: str | None
) -> None:
    assert is_quiet(at(moment), hours) is (expected is not None)
    assert not_quiet(at(moment), hours) == at(expected or moment)


@each_row(
    ("moment", "expected"),
    [
        ("2026-11-14T08:29:59", "2026-11-14T08:30"),
        ("2026-11-14T08:30", "2026-11-15T08:30"),
        ("2026-10-24T08:30", "2026-10-25T08:30"),
        ("2026-03-28T09:00", "2026-03-29T08:30"),
        ("2026-12-31T23:00", "2027-01-01T08:30"),
    ],
)
def test_a_digest_is_for_the_next_such_time(moment: str, expected: str) -> None:
    digest = (
        AlertsFile.model_validate(
            {
                "channels": {"m": "json://a/"},
                "operator": [{"name": "A", "channels": ["m"], "digest": "08:30"}],
            }
        )
        .operator[0]
        .digest
    )
    assert digest is not None
    assert next_time(at(moment), digest) == at(expected)
