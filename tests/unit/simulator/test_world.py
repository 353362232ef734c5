import re
from collections import Counter
from datetime import UTC, datetime

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator.model import KINDS, NOW, SOFIA, World
from sale_sofia_simulator.world import make_world


def test_each_portal_has_exactly_the_asked_number_of_adverts(world: World) -> None:
    assert (len(world.imot), len(world.bazar)) == (1000, 1000)


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    assert make_world(20, 3) == make_world(20, 3)
    assert make_world(20, 3).imot[0] != make_world(20, 4).imot[0]


def test_a_smaller_world_begins_a_larger_one(world: World) -> None:
    small = make_world(30, 7)
    assert small.imot == world.imot[:30]
    assert small.bazar == world.bazar[:30]


def test_an_empty_world_is_empty() -> None:
    assert make_world(0, 1).imot == ()


def test_no_two_adverts_share_an_id(world: World) -> None:
    assert len({advert.external_id for advert in world.imot}) == 1000
    assert len({advert.external_id for advert in world.bazar}) == 1000


def test_an_imot_id_is_rubric_letter_creation_time_and_five_digits(world: World) -> None:
    for advert in world.imot:
        found = re.fullmatch(r"([12])([a-u])(\d{10})(\d{5})", advert.external_id)
        assert found
        assert found[1] == {"sale": "1", "rent": "2"}[advert.home.deal]
        assert datetime.fromtimestamp(int(found[3]), UTC) == advert.posted


def test_the_type_letter_is_mostly_that_of_the_type(world: World) -> None:
    as_filed = sum(
        advert.external_id[1] == advert.home.kind.letter(advert.home.deal) for advert in world.imot
    )
    assert 900 < as_filed < 1000


def test_type_letters_are_those_of_the_portal() -> None:
    letters = {kind.label: (kind.letter("sale"), kind.letter("rent")) for kind in KINDS}
    assert letters["1-СТАЕН"] == ("a", "b")
    assert letters["МЕЗОНЕТ"] == ("f", "g")
    assert letters["ОФИС"] == ("g", "h")
    assert letters["КЪЩА"] == ("j", "k")
    assert letters["МАГАЗИН"] == ("l", "m")
    assert letters["ГАРАЖ, ПАРКОМЯСТО"] == ("o", "p")
    assert letters["ПАРЦЕЛ"] == ("r", "s")


def test_every_kind_of_property_occurs_and_most_are_flats(world: World) -> None:
    counted = Counter(advert.home.kind.label for advert in world.imot)
    assert set(counted) == {kind.label for kind in KINDS}
    assert sum(advert.home.kind.flat for advert in world.imot) > 850


def test_both_deals_and_a_place_outside_sofia_occur(world: World) -> None:
    assert Counter(advert.home.deal for advert in world.imot)["rent"] > 100
    outside = [advert.home.place for advert in world.imot if advert.home.place.city != "София"]
    assert 5 < len(outside) < 60
    assert {place.district for place in outside} == {None}


def test_places_of_sofia_are_known_places(world: World) -> None:
    known = {(hood.name, hood.slug, hood.district) for hood in neighbourhoods()}
    places = [advert.home.place for advert in world.imot if advert.home.place.city == "София"]
    assert {(place.neighbourhood, place.slug, place.district) for place in places} <= known


def test_an_import_has_the_same_property_and_the_photos_carry_the_imot_id(world: World) -> None:
    for imot, bazar in zip(world.imot, world.bazar, strict=True):
        if bazar.native:
            assert bazar.imot_id is None
            assert all("/bazar/" in photo and photo.endswith(".webp") for photo in bazar.photos)
        else:
            assert bazar.home is imot.home
            assert bazar.imot_id == (imot.external_id if imot.photos else None)
            assert all(imot.external_id in photo for photo in bazar.photos)


def test_about_a_tenth_of_bazar_is_its_own_and_a_quarter_has_coordinates(world: World) -> None:
    assert 70 < sum(advert.native for advert in world.bazar) < 140
    assert 220 < sum(advert.position is not None for advert in world.bazar) < 340


def test_bazar_holds_flats_alone_and_writes_no_maisonettes_itself(world: World) -> None:
    assert all(advert.home.kind.flat for advert in world.bazar)
    assert all(advert.home.kind.rooms for advert in world.bazar if advert.native)


def test_no_moment_is_later_than_now_or_in_the_hours_of_the_change_of_clocks(world: World) -> None:
    moments = [moment for advert in (*world.imot, *world.bazar) for moment in (advert.posted, advert.updated)]
    assert max(moments) <= NOW
    assert min(moment.hour for moment in moments) >= 7
    assert {str(moment.tzinfo) for moment in moments} == {str(SOFIA)}


def test_an_advert_is_never_corrected_before_it_was_published(world: World) -> None:
    assert all(advert.updated >= advert.posted.replace(second=0) for advert in world.imot)
    assert all(
        advert.updated == advert.posted.replace(second=0) for advert in world.imot if not advert.corrected
    )


def test_photo_counts_go_from_none_to_seventeen(world: World) -> None:
    counts = {len(advert.photos) for advert in world.imot}
    assert (min(counts), max(counts)) == (0, 17)
    assert max(len(advert.photos) for advert in world.bazar) == 16
