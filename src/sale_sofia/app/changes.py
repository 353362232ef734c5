"""Who changed what the household shares, in words."""

from sale_sofia.app import formatting as shown
from sale_sofia.app.settings import CHANGES_SHOWN
from sale_sofia.app.visit import WRITER, Visit
from sale_sofia.app.words import say
from sale_sofia.buyer.changes import About, SharedChange, changes_of, latest_changes
from sale_sofia.listings.text import plain


def changed_lines(visit: Visit, about: About) -> dict[str, str]:
    """By name: who changed each thing of this kind last, and when, as far as that was done here."""
    found = visit.database.run_read(lambda connection: changes_of(connection, about))
    return {name: changed_line(one.changed_by, one.changed_at, one.what) for name, one in found.items()}


def changed_line(who: str | None, at: float, what: str) -> str:
    """`changed by Ана, 15.11.2026`; without a name where nobody is known."""
    known = who is not None and who != WRITER
    return say(f"changes.{what}.{'by' if known else 'on'}", who=plain(who or ""), day=shown.day(at))


def latest_lines(visit: Visit) -> list[str]:
    """The last changes of all that is shared, the newest first."""
    found = visit.database.run_read(lambda connection: latest_changes(connection, CHANGES_SHOWN))
    return [_line(one) for one in found]


def _line(one: SharedChange) -> str:
    thing = say(f"changes.about.{one.about}", name=plain(one.name))
    return f"{thing}: {changed_line(one.changed_by, one.changed_at, one.what)}"
