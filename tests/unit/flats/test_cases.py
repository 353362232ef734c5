"""The cases that real adverts taught: twins of them, rendered with words of our own and read as pages."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import select

from property_worlds import OWN_WORDS, advert, groups_of, ids_of, new_matching, parts, save
from sale_sofia.flats.tables import listing_sources
from sale_sofia.listings.model import Listing
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.model import BazarAdvert, ImotAdvert, Money
from sale_sofia_simulator.portals import bazar_bg, imot_bg
from sale_sofia_simulator.world import import_to_bazar, make_world


def on_imot(external_id: str, price: int, area: int, floor: int, floors: int) -> ImotAdvert:
    """A rendered world's first flat for sale with photos, with these numbers and this id."""
    world = make_world(40, 11)
    made = next(
        one for one in world.imot if one.home.kind.flat and one.photos and one.home.deal == "sale"
        and one.home.place.city == "София" and one.home.age.form == "use" and one.home.kind.rooms
    )  # fmt: skip
    home = replace(made.home, price_eur=price, area_sqm=area, floor=floor, floors_total=floors)
    return replace(
        made,
        external_id=external_id,
        url=made.url.replace(made.external_id, external_id),
        photos=tuple(photo.replace(made.external_id, external_id) for photo in made.photos),
        home=home,
        money=Money("eur", price),
    )


def on_bazar(source: ImotAdvert, external_id: str) -> BazarAdvert:
    """The same advert as bazar.bg shows it, with the imot.bg id nowhere but in its photos' addresses."""
    made = import_to_bazar(Random(3), 1, source)
    price = Money("eur", source.money.amount_eur)
    return replace(
        made, external_id=external_id, url=made.url.replace(made.external_id, external_id), money=price
    )


def read(made: ImotAdvert | BazarAdvert) -> Listing:
    """What we read from the rendered page."""
    page = imot_bg.listing_page(made) if isinstance(made, ImotAdvert) else bazar_bg.listing_page(made)
    return normalise(get_scraper(made.site).listing(Page(made.url, page)))


@pytest.mark.parametrize(
    ("imot", "bazar"),
    [("1c176754466608675", "53779264"), ("1f176552454594253", "53965097"), ("1a177515752619290", "54071979")],
)
def test_an_import_is_the_advert_whose_id_its_photos_carry(imot: str, bazar: str) -> None:
    original = on_imot(imot, 245_000, 96, 3, 8)
    copy = read(on_bazar(original, bazar))
    assert copy.family_id == imot
    assert groups_of([read(original), copy]) == {frozenset({imot, bazar})}


def test_a_family_id_outweighs_an_edited_floor() -> None:
    original = on_imot("1d176251704986905", 400_000, 131, 5, 5)
    edited = read(replace(on_bazar(original, "54042027"), floor=6))
    assert (edited.floor, read(original).floor) == (6, 5)
    assert groups_of([read(original), edited]) == {frozenset({"1d176251704986905", "54042027"})}


def test_a_family_id_may_differ_in_the_letter_of_an_edited_kind() -> None:
    two, three, other = "1b176986765114022", "1c176986765114022", "1c176986765114023"
    before, after = (read(on_imot(own, 265_000, 80, 3, 5)) for own in (two, three))
    edited = after.model_copy(update={"floors_total": 9})
    assert groups_of([before, edited]) == {frozenset({two, three})}
    stranger = edited.model_copy(update={"external_id": other, "family_id": other})
    assert groups_of([before, stranger]) == set()


def test_without_the_family_id_the_edited_floor_is_another_flat() -> None:
    original = on_imot("1d176251704986905", 400_000, 131, 5, 5)
    edited = read(replace(on_bazar(original, "54042027"), floor=6)).model_copy(update={"family_id": None})
    assert groups_of([read(original), edited]) == set()


@pytest.mark.parametrize(
    ("before", "after"), [(86_000, 92_000), (136_000, 148_750), (163_000, 175_000), (99_702, 116_319)]
)
def test_a_price_change_leaves_an_advert_with_its_property(tmp_path: Path, before: int, after: int) -> None:
    matching = new_matching(tmp_path)
    cheap, dear = (on_imot("1c176754466608675", price, 61, 2, 6) for price in (before, after))
    save(matching.database, [read(cheap), read(on_bazar(cheap, "53779264"))])
    matching.match_new()
    together = {frozenset({"1c176754466608675/1", "53779264/1"})}
    assert parts(matching.database) == together
    save(matching.database, [read(dear)], seen_at=2.0)
    assert matching.match_new().adverts == 1
    assert parts(matching.database) == together


def test_a_re_used_id_is_a_new_listing_and_another_property(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    old = on_imot("1b176071830140777", 160_000, 65, 4, 12)
    new = on_imot("1b176071830140777", 168_000, 63, 7, 12)
    save(matching.database, [read(old), read(on_bazar(old, "53779264"))])
    matching.match_new()
    was = ids_of(matching.database)["1b176071830140777"]
    save(matching.database, [read(new)], seen_at=2.0)
    matching.match_new()
    assert parts(matching.database) == {
        frozenset({"1b176071830140777/1", "53779264/1"}),
        frozenset({"1b176071830140777/2"}),
    }
    with matching.database.read() as connection:
        kept = select(listing_sources.c.property_id).where(listing_sources.c.listing_id == was)
        assert connection.execute(kept).scalar() == was


def test_a_copy_of_the_new_flat_goes_with_the_new_listing(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    old = on_imot("1b176071830140777", 160_000, 65, 4, 12)
    new = on_imot("1b176071830140777", 168_000, 63, 7, 12)
    save(matching.database, [read(old)])
    save(matching.database, [read(new), read(on_bazar(new, "53779264"))], seen_at=2.0)
    matching.match_new()
    assert parts(matching.database) == {
        frozenset({"1b176071830140777/1"}),
        frozenset({"1b176071830140777/2", "53779264/1"}),
    }


def sister(site: str, reference: str, price: float = 480_000.0) -> Listing:
    return advert(
        f"{site}-{reference}",
        site=site,
        url=f"https://www.{site}/imot-{reference}-apartament/",
        price_eur=price,
        area_sqm=118.4,
        seller_name=None,
        description=OWN_WORDS,
    )


def test_sister_agencies_have_one_flat_under_two_references() -> None:
    three = [sister("suprimmo.bg", "132801"), sister("property.bg", "132801"), sister("luximmo.bg", "45320")]
    assert groups_of(three) == {frozenset(one.external_id for one in three)}


def test_one_agency_has_two_flats_under_two_references() -> None:
    assert groups_of([sister("suprimmo.bg", "132801"), sister("suprimmo.bg", "132802")]) == set()


def test_sisters_stay_together_when_one_changes_its_price(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, [sister("suprimmo.bg", "132801"), sister("property.bg", "132801")])
    matching.match_new()
    save(matching.database, [sister("suprimmo.bg", "132801", 400_000.0)], seen_at=2.0)
    matching.match_new()
    assert len(parts(matching.database)) == 1


def test_a_quoted_reference_joins_two_adverts_of_one_portal() -> None:
    first = advert("one", description=f"{OWN_WORDS} Оферта SOF-134584.", rooms=3, neighbourhood="Лозенец")
    again = advert(
        "two", description="Обадете се и цитирайте SOF-134584.", rooms=4, neighbourhood="Иван Вазов",
        price_eur=185_900.0,
    )  # fmt: skip
    assert groups_of([first, again]) == {frozenset({"one", "two"})}
    other = again.model_copy(update={"description": "Обадете се и цитирайте SOF-134585."})
    assert groups_of([first, other]) == set()


def rival(price: float, **fields: object) -> Listing:
    return advert(f"rival {price}", price_eur=price, seller_name="СИНЯ ЖАБА", **fields)


def test_two_agencies_that_ask_nearly_the_same_have_one_flat() -> None:
    ours = advert("ours", price_eur=185_000.0)
    assert groups_of([ours, rival(184_500.0)]) == {frozenset({"ours", "rival 184500.0"})}


@pytest.mark.parametrize(
    "other",
    [
        advert("second", price_eur=184_500.0),  # the same agency has two prices for two flats
        rival(184_620.0),  # a price of a developer's list, as the flat above has
        rival(170_000.0),
        rival(184_500.0, neighbourhood="Иван Вазов"),
        rival(184_500.0, floor=None),
    ],
)
def test_a_price_that_says_less_leaves_two_flats(other: Listing) -> None:
    assert groups_of([advert("ours", price_eur=185_000.0), other]) == set()


def test_a_round_area_that_many_flats_have_is_not_enough_for_rivals() -> None:
    assert (
        groups_of([advert("ours", price_eur=185_000.0, area_sqm=80.0), rival(184_500.0, area_sqm=80.0)])
        == set()
    )


def test_flats_of_one_house_with_the_same_words_are_told_apart_by_their_numbers() -> None:
    twelve, fourteen, none = (
        advert(name, description=f"{OWN_WORDS} {number}")
        for name, number in (("a", "Апартамент № 12."), ("b", "Апартамент № 14."), ("c", ""))
    )
    assert groups_of([twelve, fourteen]) == set()
    assert len(groups_of([twelve, fourteen, none])) == 1


@pytest.mark.parametrize(("before", "after"), [(179_999, 174_999), (185_000, 184_999), (220_000, 215_000)])
def test_a_small_cut_on_another_portal_is_still_the_same_flat(before: float, after: float) -> None:
    here = advert("here", site="imoti.com", price_eur=after, description=OWN_WORDS)
    there = advert("there", price_eur=before, description=OWN_WORDS)
    assert groups_of([here, there]) == {frozenset({"here", "there"})}
