"""Notes on a property. They are only ever added: two who write at once lose nothing."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from sale_sofia.config.evaluation import LONGEST_NOTE
from sale_sofia.data.evaluation_fields import By, clean_text
from sale_sofia.data.evaluation_ids import current_property, with_current
from sale_sofia.data.evaluation_schema import property_notes


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody wrote, and when, in seconds since 1970."""

    text: str
    written_by: str
    written_at: float


def add_note(connection: Connection, property_id: int, text: str, by: By) -> None:
    """Add a note.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: the text is empty, too long or cannot be printed.
    """
    cleaned = clean_text(text, "the note", LONGEST_NOTE)
    found = current_property(connection, property_id)
    values = {"property_id": found, "text": cleaned, "written_by": by.who, "written_at": by.at}
    connection.execute(insert(property_notes).values(**values))


def notes_of(connection: Connection, property_id: int) -> list[Note]:
    """The notes on a property, the oldest first, also those under ids of before.

    Raises:
        UnknownProperty: there is no such property.
    """
    found = current_property(connection, property_id)
    table, current = with_current(property_notes.c.property_id)
    columns = (property_notes.c[name] for name in Note.__dataclass_fields__)
    chosen = select(*columns).select_from(table).where(current == found).order_by(property_notes.c.id)
    return [Note(*row) for row in connection.execute(chosen)]
