"""A DATA_DIR of a test: its database, and adverts in it as a crawl stores them."""

import time
from pathlib import Path
from typing import Any

from ready_files import put_ready_file
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database


def store(data: Path) -> Database:
    """The database of a DATA_DIR, with all tables."""
    put_ready_file(data / "sale_sofia.db")
    database = Database(f"sqlite:///{data / 'sale_sofia.db'}", busy_timeout_seconds=30, busy_retries=5)
    initialize_database(database)
    return database


def put_adverts(data: Path, *adverts: dict[str, Any]) -> None:
    """Adverts as a crawl stores them, seen now; what a field does not say is unknown."""
    database = store(data)
    with database.write() as connection:
        for number, advert in enumerate(adverts, start=1):
            url = f"https://www.imot.bg/obiava-1b{number}"
            own = {"site": "imot.bg", "kind": "listing", "external_id": f"1b{number}", "url": url}
            save_listings(connection, [Sighting(Listing.model_validate(own | advert), time.time())])
    database.dispose()
