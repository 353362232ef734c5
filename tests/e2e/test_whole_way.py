"""Portals → parallel crawl → store → history → match → score → alert → dashboard: each against the truth."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select

from app_runs import store
from crawls import Row, differences, requests
from parallel_crawls import until
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.tables import listings
from whole_way import ADVERTS, CHANNELS, SITES, Key, Way, flats_told, whole_way

TOLD = ("По-евтино", "Отново на пазара", "Ново")
VAT = {"excluded": " без ДДС", "included": " с ДДС", "none": "", None: ""}


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with whole_way(tmp_path_factory.mktemp("way")) as gone:
        yield gone


@pytest.fixture(scope="module")
def properties(way: Way) -> dict[int, list[Key]]:
    """Our properties, each with its adverts."""
    database, found = store(way.data), defaultdict[int, list[Key]](list)
    joined = select(listing_sources.c.property_id, listings.c.site, listings.c.external_id).join(listings)
    with database.read() as connection:
        for number, site, external_id in connection.execute(joined):
            found[number].append((site, external_id))
    database.dispose()
    return found


def adverts_of(way: Way, home: int) -> list[Key]:
    return sorted(key for key, one in way.homes.items() if one == home)


def property_of(way: Way, properties: dict[int, list[Key]], home: int) -> int:
    """Our number of a real flat, whose adverts on all portals are together and alone."""
    (number,) = (one for one, keys in properties.items() if sorted(keys) == adverts_of(way, home))
    return number


@pytest.fixture(scope="module")
def scores(way: Way) -> dict[int, Row]:
    """As the command prints them."""
    return {one["property_id"]: one for one in way.ask("score", "--limit", "1000")["scores"]}


def test_the_crawls_ended_well_and_opened_what_was_new_or_changed_and_nothing_else(way: Way) -> None:
    assert [{job["state"] for job in day.jobs} for day in way.days] == [{"COMPLETE"}] * 3
    assert [[job["new"] for job in day.jobs] for day in way.days[:1]] == [[ADVERTS] * len(SITES)]
    first, second, third = (day.truth for day in way.days)
    same = [
        row for key, row in first.items() if row == second.get(key, row) == third.get(key) and key in second
    ]
    assert len(same) > ADVERTS

    def visits() -> Counter[tuple[str, str]]:
        return Counter((row["site"], row["path"]) for row in requests(way.log))

    wanted = {(row["site"], urlsplit(row["url"]).path): 2 for row in same}  # when new, and by `--full`
    until(lambda: {key: visits()[key] for key in wanted} == wanted, f"two visits of each: {visits()}")


def test_the_store_holds_exactly_what_the_portals_show(way: Way) -> None:
    assert len(way.days[0].truth) == ADVERTS * len(SITES)
    assert differences(way.days[0].stored, way.days[0].truth) == {}
    last = way.days[-1]
    there = [row for row in last.stored if (row["site"], row["external_id"]) in last.truth]
    assert differences(there, last.truth) == {}


def test_the_history_has_the_cuts_the_removals_and_the_return(way: Way) -> None:
    cuts = {key: prices for key, prices in way.moves.items() if prices[0] != prices[1]}
    told: dict[str, dict[Key, Row]] = defaultdict(dict)
    for one in way.ask("changes", "--since", "1d"):
        key = one["site"], one["external_id"]
        assert key not in told[one["kind"]], "it happened once"
        told[one["kind"]][key] = one["changes"].get("price_eur")
    assert told["price"] == {key: {"old": old, "new": new} for key, (old, new) in cuts.items()}
    assert len({way.homes[key] for key in cuts}) == 2
    assert told["gone"].keys() == way.gone
    assert told["back"].keys() == way.back
    assert [len(way.gone), len(way.back)] == [2 * len(SITES), len(SITES)]
    assert told["new"].keys() == way.shown


def test_adverts_of_one_flat_are_one_property(way: Way, properties: dict[int, list[Key]]) -> None:
    for number, keys in properties.items():
        assert len({way.homes[key] for key in keys}) == 1, f"property {number} is several flats: {keys}"
    assert sorted(key for keys in properties.values() for key in keys) == sorted(way.shown)
    whole = [home for home in set(way.homes.values()) if sorted(adverts_of(way, home)) in _sorted(properties)]
    assert len(whole) >= ADVERTS * 3 // 4  # of some too little is printed to be sure
    for home in {way.homes[key] for key in (*way.cuts, *way.back)}:
        assert property_of(way, properties, home) in properties


def _sorted(properties: dict[int, list[Key]]) -> list[list[Key]]:
    return [sorted(keys) for keys in properties.values()]


def test_every_flat_that_the_profile_looks_for_has_a_score(
    way: Way, properties: dict[int, list[Key]], scores: dict[int, Row]
) -> None:
    offered = way.days[-1].truth.keys()
    assert scores.keys() == {one for one, keys in properties.items() if way.may_want(set(keys) & offered)}
    prices = {
        one: {way.days[-1].truth[key]["price_eur"] for key in set(properties[one]) & offered}
        for one in scores
    }
    assert {one: scores[one]["price_eur"] in prices[one] for one in scores} == dict.fromkeys(scores, True)


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_reader_was_told_once_and_in_these_words(way: Way, channel: str) -> None:
    cheaper, back, fresh = (
        flats_told(way, channel, word) for word in ("По-евтино", "Отново на пазара", "Ново")
    )
    for row, came in cheaper:
        old, new = way.cuts[row["site"], row["external_id"]]
        told = f"Цена: € {spaced(old)} → € {spaced(new)}{VAT[row['vat']]} (−{fallen(old, new)}%)"
        assert (came.body.splitlines()[0], came.body.splitlines()[-1]) == (told, "Защо: Апартаменти")
    assert sorted(way.home_of(row) for row, _ in cheaper) == sorted({way.homes[key] for key in way.cuts})
    assert [way.home_of(row) for row, _ in back] == way.returned
    later = (way.days[1].truth.keys() | way.days[2].truth.keys()) - way.days[0].truth.keys()
    assert {way.home_of(row) for row, _ in fresh} == way.wanted_flats(later)
    assert set(way.servers.counted(channel).values()) == {1}
    assert len(cheaper) + len(back) + len(fresh) == len(way.servers.counted(channel)), "nothing else was told"


def fallen(old: float, new: float) -> str:
    return f"{100 * (1 - new / old):.1f}".replace(".", ",")


def spaced(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def test_the_dashboard_shows_the_same_price_score_and_portals(
    way: Way, properties: dict[int, list[Key]], scores: dict[int, Row]
) -> None:
    for home, (old, new) in {way.homes[key]: prices for key, prices in way.cuts.items()}.items():
        number = property_of(way, properties, home)
        card = shown_card(way, number)
        cheapest = way.advert_at(scores[number]["url"])
        assert cheapest is not None
        vat = VAT[cheapest["vat"]].replace(VAT["included"], "")  # which is how a price is meant
        assert card.startswith(f"€ {spaced(new)}{vat} ▼ −{fallen(old, new)} % беше € {spaced(old)}"), card
        assert judged(scores[number]) in card
        assert "alo.bg, homes.bg, imot.bg · на пазара" in card
        assert "Свалена" not in card
    assert "Свалена" not in shown_card(way, property_of(way, properties, way.returned[0]))
    left = min(way.homes[key] for key in way.gone - way.back)
    numbers = [one for one, keys in properties.items() if way.homes[keys[0]] == left]
    assert all("✗ Свалена" in shown_card(way, one) for one in numbers)
    assert (way.view.wrong(), way.view.errors, way.view.outside) == ([], [], [])


def judged(score: Row) -> str:
    known = f"известно {100 * score['known']:.0f} % → брои се за {score['points']:.1f}"
    return f"Оценка {score['value']:.1f} от 5 ({known})".replace(".", ",")


def shown_card(way: Way, number: int) -> str:
    """All that the card of a flat's own page says, in one line."""
    way.view.open(f"flat/{number}")
    return re.sub(r"\s+", " ", way.view.main.locator(".summary").first.inner_text())


def test_the_search_page_counts_what_the_command_counts(way: Way) -> None:
    told = way.ask("search")
    way.view.open("search")
    line = way.view.main.locator(".found").inner_text()
    # Of flats of which something that is asked for is not known, it speaks only where there are any.
    counts = [told["total"], *([told["unknown_total"]] if told["unknown_total"] else [])]
    assert [int(one) for one in re.findall(r"\d+", line)] == counts, line
