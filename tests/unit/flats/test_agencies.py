"""Who sells, and what is kept of private people."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select, update

from property_worlds import OWN_WORDS, advert, ids_of, new_matching, parts, save
from sale_sofia.flats import agencies
from sale_sofia.flats.agencies import Agency, forget_private_phones, list_agencies
from sale_sofia.flats.matching.fingerprint import HASHED_PHONE
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.history.tables import listing_changes, listings
from sale_sofia.settings.model import Settings

PHONE, OTHER = "+359888000111", "+359888000222"
KNOWN = {"back": PHONE, "gone": OTHER}


def sellers(matching: PropertyMatching) -> dict[str, Agency]:
    matching.match_new()
    with matching.database.read() as connection:
        return {one.key: one for one in list_agencies(connection, matching.settings)}


def flats(count: int, **fields: object) -> list[object]:
    return [
        advert(f"f{n}", area_sqm=40.0 + 7 * n, price_eur=90_000.0 + 9100 * n, **fields) for n in range(count)
    ]


def test_an_agency_is_one_whatever_it_calls_itself(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(
        matching.database,
        [
            advert("a", seller_name="СЕДЕМ КЛЮЧА", phones=[PHONE]),
            advert("b", seller_name='Агенция "Седем ключа" ООД', site="bazar.bg", phones=[OTHER]),
            advert("c", seller_name="Седем ключа", area_sqm=44.0, price_eur=71_000.0, phones=[PHONE]),
            advert("d", seller_name="СИНЯ ЖАБА", area_sqm=55.0, price_eur=81_000.0),
        ],
    )
    found = sellers(matching)
    assert sorted(found) == ["седемключа", "синяжаба"]
    told = found["седемключа"].as_json()
    assert told["names"] == ['Агенция "Седем ключа" ООД', "СЕДЕМ КЛЮЧА", "Седем ключа"]
    assert (told["phones"], told["portals"]) == ([PHONE, OTHER], ["bazar.bg", "imot.bg"])
    assert (told["adverts"], told["properties"], told["reposts"], told["mark"]) == (3, 2, 1, None)


@pytest.mark.parametrize(("count", "mark"), [(9, None), (10, "sells 10 properties")])
def test_a_private_seller_of_ten_flats_is_marked(tmp_path: Path, count: int, mark: str | None) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, flats(count, seller_kind="private", seller_name=None, phones=[PHONE]))  # type: ignore[arg-type]
    seller = sellers(matching)[PHONE]
    assert (seller.private, seller.name, len(seller.properties), seller.mark) == (True, PHONE, count, mark)


def test_a_private_seller_with_an_agencys_phone_is_marked(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    private = advert("p", seller_kind="private", seller_name=None, phones=[PHONE], area_sqm=44.0)
    save(matching.database, [private, advert("a", phones=[PHONE, OTHER])])
    assert sellers(matching)[PHONE].mark == "the phone of СЕДЕМ КЛЮЧА"


def private_world(tmp_path: Path) -> PropertyMatching:
    """A private advert that changed its phone, has a twin, and is gone; and one that is still there."""
    matching = new_matching(tmp_path)
    private = {"seller_kind": "private", "seller_name": None, "description": OWN_WORDS}
    save(
        matching.database,
        [advert("gone", phones=[OTHER], **private), advert("there", phones=[PHONE], **private)],
    )
    save(matching.database, [advert("gone", phones=[PHONE], **private)], seen_at=2.0)
    with matching.database.write() as connection:
        gone = update(listings).where(listings.c.external_id == "gone")
        connection.execute(gone.values(gone_at=3.0))
    matching.match_new()
    return matching


def phones(matching: PropertyMatching) -> dict[str, list[str]]:
    with matching.database.read() as connection:
        return {
            row[0]: row[1] for row in connection.execute(select(listings.c.external_id, listings.c.phones))
        }


def test_phones_of_private_sellers_are_hashed_when_their_advert_has_ended(tmp_path: Path) -> None:
    matching = private_world(tmp_path)
    together = parts(matching.database)
    with matching.database.write() as connection:
        assert forget_private_phones(connection, matching.settings) == 1
        assert forget_private_phones(connection, matching.settings) == 0
    found = phones(matching)
    assert found["there"] == [PHONE]
    assert [phone[:5] for phone in found["gone"]] == ["hmac:"]
    with matching.database.read() as connection:
        history = connection.execute(select(listing_changes.c.old, listing_changes.c.new)).all()
    assert PHONE[4:] not in json.dumps([list(row) for row in history])
    assert OTHER[4:] not in json.dumps([list(row) for row in history])
    assert matching.match_new().adverts == 1
    assert parts(matching.database) == together == {frozenset({"gone/1", "there/1"})}


def test_hashed_phones_still_match(tmp_path: Path) -> None:
    matching = private_world(tmp_path)
    with matching.database.write() as connection:
        forget_private_phones(connection, matching.settings)
    save(matching.database, [advert("new", phones=[PHONE], seller_name=None, neighbourhood="Люлин 8")])
    matching.match_new()
    with matching.database.read() as connection:
        shared = {
            key: one.adverts for one in list_agencies(connection, matching.settings) for key in [one.key]
        }
    assert shared[PHONE] == 1
    assert parts(matching.database) == {frozenset({"gone/1", "there/1", "new/1"})}


def test_an_advert_that_comes_back_shows_its_phone_again(tmp_path: Path) -> None:
    matching = private_world(tmp_path)
    with matching.database.write() as connection:
        forget_private_phones(connection, matching.settings)
    back = advert("gone", phones=[PHONE], seller_kind="private", seller_name=None, description=OWN_WORDS)
    save(matching.database, [back], seen_at=4.0)
    assert phones(matching)["gone"] == [PHONE]


@pytest.mark.slow
def test_an_advert_that_comes_back_meanwhile_keeps_its_phone(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    matching = new_matching(postgres_url)
    private = {"seller_kind": "private", "seller_name": None}
    save(matching.database, [advert(name, phones=[phone], **private) for name, phone in KNOWN.items()])
    with matching.database.write() as connection:
        connection.execute(update(listings).values(gone_at=9.0))

    found = [update(listings).where(listings.c.external_id == "back").values(gone_at=None)]

    def see_it_and_hash(_secret: bytes, phone: str) -> str:
        while found:
            with matching.database.write() as connection:
                connection.execute(found.pop())
        return f"{HASHED_PHONE}{phone}"

    monkeypatch.setattr(agencies, "hashed_phone", see_it_and_hash)
    with matching.database.write() as connection:
        assert forget_private_phones(connection, matching.settings) == 1
    assert phones(matching) == {"back": [PHONE], "gone": [f"{HASHED_PHONE}{OTHER}"]}
    matching.database.dispose()


def test_a_setting_keeps_them(tmp_path: Path) -> None:
    matching = private_world(tmp_path)
    with matching.database.write() as connection:
        assert forget_private_phones(connection, Settings(data_dir=tmp_path, private_phones_kept=True)) == 0
    assert phones(matching)["gone"] == [PHONE]
    assert ids_of(matching.database)
