"""A link of a message that is used by two at once."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import select

from contract.storage.helpers import advert, database, wait_for_waiter
from sale_sofia.alerts.links import LinkRefused, act, addresses, link_key
from sale_sofia.alerts.settings import LINK_PATH
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.tables import listings

NOW = 1_000_000.0


@pytest.mark.slow
def test_of_two_who_use_it_at_once_the_second_is_refused(postgres_url: str) -> None:
    """On a server: both have seen it unused before either has committed. A file has one writer at a time."""
    db = database(postgres_url)
    db.run_write(lambda connection: save_listings(connection, [Sighting(advert(), NOW)]) and None)
    key, number = db.run_write(link_key), db.run_read(lambda one: one.scalar(select(listings.c.id)))
    assert number is not None
    token = addresses("", key, "m", number, None, now=NOW)["reject"].removeprefix(LINK_PATH)
    use = partial(act, token=token, asks=None, now=NOW)
    with ThreadPoolExecutor(1) as pool:
        with db.write() as connection:
            use(connection)
            second = pool.submit(db.run_write, use)
            wait_for_waiter(db)
        with pytest.raises(LinkRefused) as refused:
            second.result()
    assert refused.value.args[0].code == "link.used"
    db.dispose()
