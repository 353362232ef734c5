"""Profiles as files: what is right, what is wrong and is said so, and how they are changed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from sale_sofia.advice.scoring.profile import (
    ProfileError,
    edit_profile,
    load_profile,
    load_profiles,
    new_profile,
    profile_names,
    usual_profile,
)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / "profiles" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("names", "usual"),
    [(["default"], "default"), (["default", "me"], "me"), (["anna", "default", "me"], "anna")],
)
def test_ones_own_profile_is_meant_where_none_is_named(names: list[str], usual: str) -> None:
    assert usual_profile(names) == usual


def wrong(folder: Path, text: str) -> str:
    write(folder, "mine", text)
    with pytest.raises(ProfileError) as told:
        load_profile(folder, "mine")
    return str(told.value)


def test_the_shipped_profile_is_right_and_there_without_any_file(tmp_path: Path) -> None:
    found = load_profile(tmp_path, "default")
    assert (found.budget_eur, found.must.rooms_least, found.must.not_panel) == (250_000, 2, True)
    assert found.neighbourhoods.tier("Лозенец") == "best"
    assert found.neighbourhoods.tier("Люлин 5") == "fair"
    assert found.remark() is None
    assert profile_names(tmp_path) == ["default"]


def test_a_file_of_ones_own_goes_before_the_shipped_one(tmp_path: Path) -> None:
    write(tmp_path, "default", "budget_eur: 99000")
    assert load_profile(tmp_path, "default").budget_eur == 99_000
    assert load_profile(tmp_path, "default").must.rooms_least is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("budget_eur: 0", "budget_eur: '0' is not allowed; a number above 0, up to 100000000 (EUR)."),
        ("budget_eur: -5", "budget_eur: '-5' is not allowed; a number above 0, up to 100000000 (EUR)."),
        ("budget_eur: '250 000'", "budget_eur: '250 000' is not allowed; a number above 0"),
        ("budget_eur: .nan", "budget_eur: 'nan' is not allowed; a number above 0"),
        ("budget_eur: true", "budget_eur: 'True' is not allowed; a number above 0"),
        ("title: x", "budget_eur: is missing; a number above 0, up to 100000000 (EUR)."),
        ("budget_eur: 1\nbugdet: 2", "the file: unknown key bugdet; allowed: budget_eur, commission_percent"),
        ("budget_eur: 1\nmust: {room: 2}", "must: unknown key room; allowed: act15_or_later, area_least_sqm"),
        (
            "budget_eur: 1\nmust: {rooms_least: 2.5}",
            "must.rooms_least: '2.5' is not allowed; a whole number from 1",
        ),
        (
            "budget_eur: 1\nmust: {rooms_least: 0}",
            "must.rooms_least: '0' is not allowed; a whole number from 1 to 10",
        ),
        ("budget_eur: 1\nmust: {not_panel: 'yes'}", "must.not_panel: 'yes' is not allowed; true or false"),
        (
            "budget_eur: 1\nmust: {orientation: [west]}",
            "must.orientation.0: 'west' is not allowed; a list of N, NE",
        ),
        ("budget_eur: 1\nmust: 5", "must: must hold keys and their values"),
        (
            "budget_eur: 1\nneighbourhoods: {best: [Изтокк]}",
            "neighbourhoods.best.0: 'Изтокк' is no neighbourhood",
        ),
        (
            "budget_eur: 1\nneighbourhoods: {others: x}",
            "neighbourhoods.others: 'x' is not allowed; best, good",
        ),
        (
            "budget_eur: 1\nneighbourhoods: {best: [Изток], poor: [Изток]}",
            "neighbourhoods: Изток stands in two tiers; each neighbourhood is in one",
        ),
        (
            "budget_eur: 1\nweights: {price: -1}",
            "weights.price: '-1' is not allowed; a number from 0 to 1000",
        ),
        (
            "budget_eur: 1\nunknown_ok: [kitchen]",
            "unknown_ok.0: 'kitchen' is not allowed; a list of offer, place",
        ),
        ("budget_eur: 1\nproperty_types: []", "property_types: '[]' is not allowed; a list of apartment"),
        (
            "budget_eur: 1\nplaces: [{name: Work, at: nowhere}]",
            "places.0.at: 'nowhere' is no stop, neighbourhood or latitude/longitude in Sofia",
        ),
        (
            "budget_eur: 1\nplaces: [{name: Work, at: Сердика, arrive_by: '12:00'}]",
            "places.0.arrive_by: 12:00 is not allowed; an hour from 07:30 to 09:30 is",
        ),
        ("budget_eur: 1\nplaces: [{name: Work}]", "places.0.at: is missing; a list of name, at, arrive_by"),
        ("- budget_eur", "must hold a mapping of keys to values"),
        ("budget_eur: [", "not valid YAML"),
    ],
)
def test_a_mistake_is_a_sentence_with_file_key_and_what_is_allowed(
    tmp_path: Path, text: str, sentence: str
) -> None:
    told = wrong(tmp_path, text)
    assert sentence in told
    assert told.startswith(str(tmp_path / "profiles" / "mine.yaml"))
    assert len(told.splitlines()) == 1


def test_weights_of_nothing_are_a_mistake(tmp_path: Path) -> None:
    weights = dict.fromkeys(("location", "price", "condition", "layout", "building", "rental", "extras"), 0)
    told = wrong(tmp_path, yaml.safe_dump({"budget_eur": 1, "weights": weights}))
    assert "weights: all weights are 0; at least one must count" in told


def test_weights_that_do_not_sum_are_normalised_and_it_is_said(tmp_path: Path) -> None:
    write(tmp_path, "mine", "budget_eur: 1\nweights: {price: 45}")
    found = load_profile(tmp_path, "mine")
    assert found.remark() == (
        "the weights sum to 125, not 100; they count as location 20.0%, price 36.0%, condition 12.0%, "
        "layout 12.0%, building 8.0%, rental 8.0%, extras 4.0%"
    )
    assert found.shares()["price"] == pytest.approx(0.36)
    assert sum(found.shares().values()) == pytest.approx(1)


def test_a_name_of_a_neighbourhood_may_be_written_in_any_known_way(tmp_path: Path) -> None:
    write(tmp_path, "mine", "budget_eur: 1\nneighbourhoods: {best: [кв. лозенец]}")
    assert load_profile(tmp_path, "mine").neighbourhoods.best == ("Лозенец",)


def test_one_wrong_profile_keeps_none_of_the_others_from_use(tmp_path: Path) -> None:
    write(tmp_path, "bad", "budget_eur: 0")
    write(tmp_path, "good", "budget_eur: 1")
    loaded = load_profiles(tmp_path)
    assert sorted(loaded.profiles) == ["default", "good"]
    assert list(loaded.mistakes) == ["bad"]


def test_who_asks_for_a_profile_that_is_not_there_hears_which_are(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no profile 'mine'; there are default"):
        load_profile(tmp_path, "mine")


@pytest.mark.parametrize("name", ["../x", "", "a/b", "a.b", "x" * 41])
def test_a_name_that_could_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProfileError, match="a profile cannot be called"):
        load_profile(tmp_path, name)


def test_a_new_profile_begins_like_another_and_never_replaces_one(tmp_path: Path) -> None:
    path = new_profile(tmp_path, "мой")
    head, *others = path.read_text("utf-8").splitlines()
    assert head == "# The profile мой, made from the profile default."
    assert any(line.startswith("# ") for line in others)  # its keys are explained
    assert load_profile(tmp_path, "мой") == load_profile(tmp_path, "default")
    with pytest.raises(ProfileError, match="is there already"):
        new_profile(tmp_path, "мой")


def test_editing_changes_the_named_keys_only(tmp_path: Path) -> None:
    before = load_profile(tmp_path, "default")
    path, after = edit_profile(
        tmp_path,
        "default",
        [("must.rooms_least", 3), ("must.metro_most_minutes", 12), ("budget_eur", 300_000)],
    )
    assert path == tmp_path / "profiles" / "default.yaml"
    assert load_profile(tmp_path, "default") == after
    assert (after.must.rooms_least, after.must.metro_most_minutes, after.budget_eur) == (3, 12, 300_000)
    assert after.neighbourhoods == before.neighbourhoods
    assert after.must.no_traps == before.must.no_traps


@pytest.mark.parametrize(
    "changes", [[("budget_eur", 1), ("must.rooms", 3)], [("budget_eur", 0)], [("budget_eur.x", 3)]]
)
def test_an_edit_that_is_wrong_writes_nothing(tmp_path: Path, changes: list[tuple[str, Any]]) -> None:
    path = new_profile(tmp_path, "mine")
    before = path.read_bytes()
    with pytest.raises(ProfileError):
        edit_profile(tmp_path, "mine", changes)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["mine.yaml"]


def test_a_place_is_a_stop_a_neighbourhood_or_a_point_and_an_hour(tmp_path: Path) -> None:
    """YAML takes 9:00 for minutes, and 09:00 for words."""
    hours = ("сердика, arrive_by: 8:30", "Лозенец", "42.63/23.37, arrive_by: 08:05")
    rows = ", ".join(f"{{name: {name}, at: {at}}}" for name, at in zip("ABC", hours, strict=True))
    write(tmp_path, "mine", f"budget_eur: 1\nplaces: [{rows}]")
    town, home, point = (one.place for one in load_profile(tmp_path, "mine").places)
    assert (town.stops, town.arrive_by) == (("Сердика", "Сердика II"), 8 * 60 + 30)
    assert (home.stops, home.arrive_by) == ((), 9 * 60)
    assert (point.point, point.arrive_by) == ((42.63, 23.37), 8 * 60 + 5)


def test_an_edit_keeps_the_remarks_and_all_other_lines(tmp_path: Path) -> None:
    path = new_profile(tmp_path, "mine")
    before = path.read_text("utf-8").splitlines()
    edit_profile(
        tmp_path,
        "mine",
        [
            ("budget_eur", 300_000),
            ("must.rooms_least", 3),
            ("must.not_last_floor", True),
            ("wishes.orientation", ["S"]),
        ],
    )
    after = path.read_text("utf-8").splitlines()
    changed = {"budget_eur: 250000", "  rooms_least: 2", "  orientation: [E, SE, S, SW]"}
    assert set(before) - set(after) == changed
    assert set(after) - set(before) == {
        "budget_eur: 300000", "  rooms_least: 3", "  not_last_floor: true", "  orientation: [S]"
    }  # fmt: skip
    assert load_profile(tmp_path, "mine").must.not_last_floor


@pytest.mark.parametrize(
    "text",
    [
        "{budget_eur: 1, must: {rooms_least: 2}}",
        "budget_eur: 1\nmust:\n",
        "budget_eur: 1",
        "budget_eur: 1\nmust: {}  # nothing yet",
        "budget_eur: 1\nmust:\n  orientation:\n  - S\n  # the sun\n  - E\nwishes:\n  rooms: 2",
        "a: &x {rooms_least: 2}\nmust: *x\nbudget_eur: 1".replace("a: ", "wishes: ").replace(
            "rooms_least", "rooms"
        ),
    ],
)
def test_however_a_profile_is_written_an_edit_is_right_or_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, "mine", text)
    try:
        before = load_profile(tmp_path, "mine")
    except ProfileError:
        with pytest.raises(ProfileError):
            edit_profile(tmp_path, "mine", [("budget_eur", 5)])
        return
    edit_profile(tmp_path, "mine", [("must.orientation", ["W", "S"]), ("budget_eur", 5)])
    wanted = before.must.model_copy(update={"orientation": ("W", "S")})
    assert load_profile(tmp_path, "mine") == before.model_copy(update={"budget_eur": 5.0, "must": wanted})


def test_of_many_who_edit_at_once_none_is_lost(tmp_path: Path) -> None:
    new_profile(tmp_path, "mine")
    keys = [f"weights.{name}" for name in ("location", "price", "condition", "layout", "building", "rental")]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda key: edit_profile(tmp_path, "mine", [(key, 77)]), keys))
    found = load_profile(tmp_path, "mine").weights
    assert [getattr(found, key.removeprefix("weights.")) for key in keys] == [77.0] * 6
