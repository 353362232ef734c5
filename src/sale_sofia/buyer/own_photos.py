"""Photos that the household took of a flat: files of the data folder, each with who added it and when."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex

from sqlalchemy import Connection, delete, insert, select

from sale_sofia.buyer.evaluations import By, WrongEvaluation, current_property, hold, write_changes
from sale_sofia.buyer.settings import MOST_OWN_PHOTOS, OWN_PHOTOS_FOLDER
from sale_sofia.buyer.tables import own_photos
from sale_sofia.flats.store import with_current
from sale_sofia.settings.files import write_whole
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database


@dataclass(frozen=True, slots=True)
class OwnPhoto:
    """A photo; the moment in seconds since 1970."""

    id: int
    name: str
    added_by: str
    added_at: float

    def path(self, data_dir: Path) -> Path:
        """Its file."""
        return _path(data_dir, self.name)


def _path(data_dir: Path, name: str) -> Path:
    return data_dir / OWN_PHOTOS_FOLDER / f"{name}.jpg"


def keep_photo(database: Database, data_dir: Path, property_id: int, picture: bytes, by: By) -> None:
    """Store a picture of a flat: there is never a row without its file.

    Args:
        database: Where the row is kept.
        data_dir: Where the file is kept.
        property_id: The flat.
        picture: A JPEG that was made here: what strangers send is decoded and written anew before.
        by: Who adds it, and when.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: it has too many already.
    """
    name = token_hex(16)
    path = _path(data_dir, name)
    write_whole(path, picture)
    try:
        database.run_write(partial(_add, property_id=property_id, name=name, by=by))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _add(connection: Connection, property_id: int, name: str, by: By) -> None:
    found = hold(connection, property_id)
    if len(own_photos_of(connection, found)) >= MOST_OWN_PHOTOS:
        raise WrongEvaluation(Said("own_photos.many", most=MOST_OWN_PHOTOS))
    values = {"property_id": found, "name": name, "added_by": by.who, "added_at": by.at}
    connection.execute(insert(own_photos).values(**values))
    write_changes(connection, (found, None), {"own_photo": None}, {"own_photo": name}, by)


def own_photos_of(connection: Connection, property_id: int) -> list[OwnPhoto]:
    """The household's photos of a flat, the oldest first, also those under ids of before.

    Raises:
        UnknownProperty: there is no such property.
    """
    found = current_property(connection, property_id)
    table, current = with_current(own_photos.c.property_id)
    columns = (own_photos.c[name] for name in OwnPhoto.__dataclass_fields__)
    chosen = select(*columns).select_from(table).where(current == found).order_by(own_photos.c.id)
    return [OwnPhoto(*row) for row in connection.execute(chosen)]


def drop_photo(database: Database, data_dir: Path, property_id: int, photo_id: int, by: By) -> bool:
    """Delete one of a flat's photos; whether there was one. The history keeps that it existed."""

    def work(connection: Connection) -> OwnPhoto | None:
        found = hold(connection, property_id)
        photos = own_photos_of(connection, found)
        photo = next((photo for photo in photos if photo.id == photo_id), None)
        if photo is not None:
            connection.execute(delete(own_photos).where(own_photos.c.id == photo.id))
            write_changes(connection, (found, None), {"own_photo": photo.name}, {"own_photo": None}, by)
        return photo

    photo = database.run_write(work)
    if photo is not None:
        photo.path(data_dir).unlink(missing_ok=True)
    return photo is not None
