"""A buyer's way: search, shortlist, note, view, decide; and one sentence for what makes no sense."""

import json
from functools import partial
from getpass import getuser
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app_runs import store
from commands_here import Command, commands
from contract.storage.helpers import ready_database
from crawls import run
from property_worlds import advert, ids_of, save
from sale_sofia.alerts.kept import ChannelFile, KeptChannel, kept_channels
from sale_sofia.buyer.people import person_named
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings

FLATS = [
    advert("a1", floors_total=8, construction="brick"),
    advert("a2", site="bazar.bg", price_eur=179_900.0, floors_total=8, construction="brick"),
    advert("b1", price_eur=99_000.0, area_sqm=51.0, neighbourhood="Младост 1", rooms=2, floor=0),
    advert("c1", price_eur=None, area_sqm=60.0, neighbourhood="Изток", rooms=2, floor=2),
    advert("d1", price_eur=120_000.0, area_sqm=70.0, city="Варна", neighbourhood="Левски", rooms=3),
    advert("e1", price_eur=120_500.0, area_sqm=71.0, flags=["place_conflict"], rooms=3),
    advert("f1", price_eur=600.0, area_sqm=65.0, deal="rent", rooms=2),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    database = ready_database(folder / "sale_sofia.db")
    save(database, FLATS)
    assert list(ids_of(database).values()) == [1, 2, 3, 4, 5, 6, 7]
    PropertyMatching(Settings(data_dir=folder), database).match_new()
    database.dispose()
    return folder


@pytest.fixture
def say(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Gives the program a command."""
    return commands(data, monkeypatch, capsys)


def numbers(flats: list[dict[str, Any]]) -> list[int]:
    return [flat["property_id"] for flat in flats]


def test_words_may_be_typed_in_any_case(data: Path, say: Command) -> None:
    conditions = (
        "search",
        "--property-type",
        "APARTMENT,Studio",
        "--sort",
        "Price",
        "--unknown",
        "OK",
        "--json",
    )
    found = json.loads(run(data, *conditions).stdout)["flats"]
    assert found == json.loads(run(data, *(word.lower() for word in conditions)).stdout)["flats"] != []
    assert say("mark", "7", "Contacted").err == "property 7: contacted"
    assert "decision maybe" in say("decide", "7", "MAYBE").err
    say("mark", "7", "New")
    assert say("changes", "--kind", "New", "--since", "9999d").code == 0


def test_a_search_says_how_many_there_are_and_what_is_not_known(data: Path) -> None:
    conditions = ("search", "--price-max", "200000", "--sort", "price", "--limit", "1")
    found = json.loads(run(data, *conditions, "--json").stdout)
    assert (found["total"], numbers(found["flats"])) == (2, [3])
    assert (found["unknown_total"], numbers(found["unknown"])) == (1, [4])
    assert found["unknown"][0]["unknown"] == ["price"]
    flat = found["flats"][0]
    assert (flat["price_eur"], flat["eur_sqm"], flat["neighbourhood"]) == (99_000.0, 1941.18, "Младост 1")
    assert (flat["status"], flat["portals"], flat["adverts"]) == ("new", ["imot.bg"], 1)
    told = run(data, *conditions)
    counted, unknown = told.stderr.splitlines()
    assert counted == "1 of 2 flats shown"
    assert unknown.startswith("1 more where something is unknown, 1 shown; `--unknown ok` counts them in")
    assert "Младост 1" in told.stdout


def test_a_search_is_saved_run_and_forgotten(say: Command) -> None:
    conditions = ("--neighbourhood", "lozenets, Изток", "--not-ground", "--unknown", "no")
    saved = say("search", *conditions, "--save", "за нас")
    assert saved.err.startswith("saved; `sale-sofia search run 'за нас'` runs it again")
    found = say("search", "run", "за нас", "--json").json()
    assert sorted(numbers(found["flats"])) == [1, 4]
    assert next(flat for flat in found["flats"] if flat["property_id"] == 1)["price_eur"] == 179_900.0
    [kept] = say("search", "saved", "--json").json()["searches"]
    assert (kept["name"], kept["query"]["neighbourhood"]) == ("за нас", ["Лозенец", "Изток"])
    listed = " ".join(say("search", "saved").out.split())
    assert listed.startswith("за нас: neighbourhood Лозенец, Изток; not_ground true; unknown no (saved 20")
    assert listed.endswith(f" by {getuser()})")
    assert kept["saved_by"] == getuser()
    other = say("search", "--save", "за нас")
    assert (other.code, other.out) == (2, "")
    assert other.err == "sale-sofia: there is another search 'за нас'; replace it with --replace"
    assert say("search", "--save", "за нас", "--replace").code == 0
    assert say("search", "forget", "за нас").err == "the search 'за нас' is forgotten"
    assert say("search", "--profile", "nobody", "--save", "за никого").code == 2
    gone = say("search", "run", "за нас")
    assert (gone.code, gone.out) == (2, "")
    assert gone.err.startswith("sale-sofia: no saved search 'за нас'; none is saved yet")


def test_what_is_elsewhere_or_for_rent_is_shown_when_asked_for(say: Command) -> None:
    everything = ("--city", "any", "--deal", "any", "--place-conflict", "--unknown", "ok", "--status", "any")
    assert sorted(numbers(say("search", *everything, "--json").json()["flats"])) == [1, 3, 4, 5, 6, 7]


def test_a_flat_is_shortlisted_noted_viewed_and_decided_on(say: Command, tmp_path: Path) -> None:
    said = say("shortlist", "2", "--reason", "светло", "--json").json()
    assert (said["property_id"], said["status"], said["reason"]) == (1, "shortlist", "светло")
    [listed] = say("shortlist", "--json").json()["shortlist"]
    assert (listed["property_id"], listed["price_eur"]) == (1, 179_900.0)
    assert say("note", "1", "питай за мазето").err == "1 note on property 1"
    assert say("renovation", "1", "9000", "--json").json()["renovation_eur"] == 9000
    plan = ("1", "2026-11-20 15:30", "--agent", "Иванова", "--place", "пред входа")
    planned = say("viewing", "add", *plan, "--json").json()
    assert (planned["property_id"], planned["starts_at"], planned["state"]) == (1, 1795181400.0, "planned")
    done = ("viewing", "done", "1", "--plus", "тихо", "--minus", "стара дограма", "--outcome", "оферта")
    assert say(*done, "--json").json()["negatives"] == ["стара дограма"]
    assert say("decide", "1", "buy").err.startswith("property 1: viewing; decision buy; reason светло")
    told = say("evaluation", "1", "--json").json()
    assert (told["status"], told["decision"], told["reason"]) == ("viewing", "buy", "светло")
    assert [one["text"] for one in told["notes"]] == ["питай за мазето"]
    assert [one["outcome"] for one in told["viewings"]] == ["оферта"]
    assert len(told["history"]) == 14
    assert f"viewing {planned['id']} state: planned → done" in say("evaluation", "1").out
    path = tmp_path / "viewings.ics"
    assert say("viewing", "export", path, "2").code == 0
    calendar = path.read_bytes().replace(b"\r\n ", b"").decode().split("\r\n")
    assert {"DTSTART:20261120T133000Z", "DTEND:20261120T140000Z", "LOCATION:пред входа"} <= set(calendar)
    assert r"SUMMARY:Оглед: 3-стаен\, 87 m²\, Лозенец\, € 179 900\, № 1" in calendar


def test_the_agenda_tells_ways_and_days_and_a_calendar_has_an_address(say: Command) -> None:
    for number, hour in (("3", "10:00"), ("4", "10:10")):
        say("viewing", "add", number, f"2090-05-04 {hour}")
        assert say("evaluation", number, "--json").json()["status"] == "viewing"
    told = say("viewing", "agenda")
    lines = told.out.splitlines()
    assert lines[0] == "2090-05-04"
    way = "way from the one before: unknown, but they overlap by 20 min"
    assert lines[2].endswith(f"property 4; Изток; {way}"), lines
    (day,) = say("viewing", "agenda", "--json").json()["days"]
    assert [(one["property_id"], one["pause_minutes"], one["late"]) for one in day["viewings"]] == [
        (3, None, False),
        (4, -20, True),
    ]
    assert say("decide", "3", "--by", "2090-05-06", "--json").json()["decide_by"] == "2090-05-06"
    assert "say buy, maybe, no, or --by a day" in say("decide", "3").err
    assert "'tomorrow' is no day" in say("decide", "3", "--by", "tomorrow").err
    say("people", "add", "Ана")
    first = say("people", "calendar", "Ана", "--address", "https://home.example", "--json").json()["calendar"]
    assert first.startswith("https://home.example/calendar/")
    assert say("people", "calendar", "Ана", "--json").json()["calendar"] != first
    assert say("people", "calendar", "Ана", "--revoke", "--json").json()["calendar"] is None
    say("people", "remove", "Ана")
    for number in ("3", "4"):
        say("viewing", "cancel", number)
        say("mark", number, "new")


def test_who_is_removed_leaves_no_channel(say: Command, data: Path) -> None:
    for name in ("Ана", "Борис"):
        say("people", "add", name)
    boris = store(data).run_read(partial(person_named, name="Борис"))
    channel = KeptChannel(url=SecretStr("json://127.0.0.1:9/"), person=boris.stamp)
    ChannelFile(data).keep("his", channel, ())
    assert say("people", "remove", "Борис").code == 0
    assert kept_channels(data) == {}
    say("people", "remove", "Ана")


def test_of_several_viewings_one_is_named(say: Command) -> None:
    first = say("viewing", "add", "5", "2026-11-21 10:00", "--json").json()["id"]
    second = say("viewing", "add", "5", "2026-11-22 10:00", "--json").json()["id"]
    told = say("viewing", "cancel", "5")
    assert told.code == 2
    assert f"property 5 has several; name one with --viewing: it has {first} (2026-11-21 10:00" in told.err
    assert say("viewing", "cancel", "5", "--viewing", str(first), "--reason", "продаден").code == 0
    moved = say("viewing", "move", "5", "2026-11-23 09:00", "--json").json()
    assert (moved["id"], moved["starts_at"], moved["revision"]) == (second, 1795417200.0, 1)
    states = {one["id"]: one["state"] for one in say("viewing", "list", "5", "--json").json()["viewings"]}
    assert states == {first: "cancelled", second: "planned"}
    assert (
        f"property 5 has no viewing 99; it has {first}" in say("viewing", "done", "5", "--viewing", "99").err
    )


def test_what_is_rejected_is_not_found_again(say: Command) -> None:
    told = say("reject", "3", "--reason", "партер")
    assert told.err == "property 3: rejected; decision no; reason партер"
    assert 3 not in numbers(say("search", "--json").json()["flats"])
    assert numbers(say("search", "--status", "rejected", "--json").json()["flats"]) == [3]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mark", "1", "sold"), "no status 'sold'; allowed: new, contacted, viewing, shortlist, offer,"),
        (("decide", "1", "perhaps"), "no decision 'perhaps'; allowed: buy, maybe, no"),
        (("reject", "1"), "Missing option '--reason'"),
        (("renovation", "1", "inf"), "renovation_eur must be a number of euros, not inf"),
        (("shortlist", "--reason", "x"), "--reason needs a property"),
        (("note", "999", "x"), "no property 999; `sale-sofia properties` lists them"),
        (("viewing", "add", "1", "31.11.2026"), "'31.11.2026' is no date with a time; write it like"),
        (("viewing", "add", "1", "2026-03-29 03:30"), "there is no 03:30 on 2026-03-29"),
        (("viewing", "cancel", "7"), "property 7 has no planned viewing; it has none"),
        (("viewing", "export", "x.csv"), "x.csv does not end in .ics"),
        (("search", "--neighbourhood", "Люлин"), "'Люлин': no neighbourhood of Sofia is called so;"),
        (("search", "--neighbourhood", ""), "neighbourhood is empty; write a value, or leave the option out"),
        (("search", "--rooms", " , "), "rooms is empty; write a value, or leave the option out"),
        (("search", "--price-max", "5", "run", "x"), "conditions do not go with `search run`"),
        (("search", "--json", "saved"), "options go after the word: `sale-sofia search saved …`"),
        (("search", "--limit", "3", "run", "x"), "options go after the word: `sale-sofia search run …`"),
        (("properties", "--json", "show", "1"), "options go after the word: `sale-sofia properties show …`"),
        (("profiles", "--json", "show"), "options go after the word: `sale-sofia profiles show …`"),
        (("search", "--profile", "nobody"), "no profile 'nobody'; there are default"),
        (("search", "--new-since", "soon"), "'soon' is no moment; allowed: today, yesterday, a date like"),
    ],
)
def test_wrong_input_is_one_sentence(say: Command, arguments: tuple[str, ...], sentence: str) -> None:
    told = say(*arguments)
    assert (told.code, told.out) == (2, "")
    assert sentence in told.err


def test_a_flat_is_shared_by_a_link_that_is_listed_and_taken_back(say: Command) -> None:
    made = say("share", "add", "3", "--days", "2", "--address", "https://home.example/", "--json").json()
    assert (made["days"], made["link"].startswith("https://home.example/shared/")) == (2, True)
    (link,) = say("share", "list", "--json").json()["links"]
    assert (link["property_id"], round(link["ends_at"] - link["made_at"])) == (3, 2 * 86_400)
    assert made["link"].rpartition("/")[2] not in say("share", "list").out
    assert say("share", "revoke", str(link["id"])).code == 0
    assert say("share", "list", "--json").json() == {"links": []}
    again = say("share", "revoke", str(link["id"]))
    assert again.code == 2
    assert f"there is no link {link['id']}; `sale-sofia share list` lists them" in again.err
    assert say("share", "add", "3", "--days", "0").err.endswith("a link lasts from 1 to 365 days")
    assert "no property 99" in say("share", "add", "99").err
    assert say("share", "add", "3", "--json").json()["days"] == 14
