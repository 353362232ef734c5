"""Facts of properties as the buyer says they are; `buyer/corrections.py` writes them."""

from collections import defaultdict
from collections.abc import Mapping

from sqlalchemy import Connection, select

from sale_sofia.flats.flat import Correction
from sale_sofia.flats.store import with_current
from sale_sofia.flats.tables import corrections


def read_corrections(connection: Connection) -> Mapping[int, Mapping[str, Correction]]:
    """The buyer's last word on each fact, by the id that each property has now."""
    table, current = with_current(corrections.c.property_id)
    columns = (corrections.c[name] for name in ("fact", *Correction._fields))
    found: dict[int, dict[str, Correction]] = defaultdict(dict)
    for row in connection.execute(select(current, *columns).select_from(table).order_by(corrections.c.id)):
        property_id, fact = row[:2]
        if row[2] is None:
            found[property_id].pop(fact, None)
        else:
            value = tuple(row[2]) if isinstance(row[2], list) else row[2]
            found[property_id][fact] = Correction(value, *row[3:])
    return {property_id: facts for property_id, facts in found.items() if facts}
