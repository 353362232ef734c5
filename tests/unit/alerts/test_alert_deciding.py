"""What a rule tells of a flat: each case with its expected news, and what the rule knows afterwards."""

from dataclasses import replace
from typing import Any

from sale_sofia.alerts.deciding import FITS_NOT, FlatJudgement, View, decide
from sale_sofia.alerts.rules import BuyerRule
from sale_sofia.alerts.store import Watched
from sale_sofia.flats.flat import Advert, Flat, Trap
from sale_sofia.flats.prices import asked_eur_sqm
from tables import each_row

FITS = FlatJudgement(fits=True)


def rule(**fields: Any) -> BuyerRule:  # noqa: ANN401 - any field
    return BuyerRule.model_validate({"name": "R", "search": "s", "channels": ["m"], **fields})


def advert(number: int, price: float | None, **fields: Any) -> Advert:  # noqa: ANN401 - any field
    given: dict[str, Any] = {
        "listing_id": number,
        "site": "imot.bg",
        "external_id": f"x{number}",
        "url": f"https://imot.bg/x{number}",
        "title": None,
        "price_eur": price,
        "vat": None,
        "seller_kind": None,
        "seller_name": None,
        "first_seen_at": 10.0,
        "last_seen_at": 100.0,
        "offered": True,
    }
    return Advert(**{**given, **fields})


def flat(*adverts: Advert) -> Flat:
    offered = any(one.offered for one in adverts)
    ordered = tuple(sorted(adverts, key=lambda one: (not one.offered, one.price_eur or 0)))
    first = ordered[0]
    return Flat(7, ordered, offered, first.price_eur, first.vat, 10.0, 100.0, area_sqm=80.0)


def watched(*known: tuple[int, float | None] | Watched) -> dict[int, Watched]:
    found = [one if isinstance(one, Watched) else Watched(one[0], one[1], None, None) for one in known]
    return {one.listing_id: one for one in found}


def told(view: View, **fields: Any) -> list[str]:  # noqa: ANN401 - of the rule
    return [item.key for item in decide(rule(**fields), view).items]


def seen(what: Flat, known: dict[int, Watched], judgement: FlatJudgement = FITS, **more: Any) -> View:  # noqa: ANN401
    return View(what, judgement, more.get("status", "new"), known, silent=more.get("silent", False))


CASES = {
    "a flat that fits and is not known is new": (seen(flat(advert(1, 200.0)), {}), ["new|1|R"]),
    "one that does not fit is nothing": (seen(flat(advert(1, 200.0)), {}, FITS_NOT), []),
    "one that is gone is not new": (seen(flat(advert(1, 200.0, offered=False)), {}), []),
    "one that was there when the rule began is not new": (seen(flat(advert(1, 200.0)), {}, silent=True), []),
    "one that was joined to a known one is not new": (
        seen(flat(advert(1, 200.0), advert(2, 200.0)), watched((2, 200.0))),
        [],
    ),
    "nothing happened": (seen(flat(advert(1, 200.0)), watched((1, 200.0))), []),
    "a cut of three per cent": (seen(flat(advert(1, 194_000.0)), watched((1, 200_000.0))), ["cut|1|194000"]),
    "a cut of less": (seen(flat(advert(1, 194_001.0)), watched((1, 200_000.0))), []),
    "a rise": (seen(flat(advert(1, 300_000.0)), watched((1, 200_000.0))), []),
    "a price that is no longer told": (seen(flat(advert(1, None)), watched((1, 200_000.0))), []),
    "a price that is told for the first time": (seen(flat(advert(1, 100_000.0)), watched((1, None))), []),
    "a cut while another advert tells its lower price no longer": (
        seen(flat(advert(1, None), advert(2, 210.0)), watched((1, 200.0), (2, 230.0))),
        ["cut|2|210"],
    ),
    "the VAT was taken out of the sum": (
        seen(flat(advert(1, 200_000.0, vat="excluded")), watched(Watched(1, 240_000.0, "included", None))),
        [],
    ),
    "a second portal follows with the same price": (
        seen(flat(advert(1, 190.0), advert(2, 190.0)), watched((1, 190.0), (2, 200.0))),
        [],
    ),
    "two portals cut at once: one message": (
        seen(flat(advert(1, 180.0), advert(2, 190.0)), watched((1, 200.0), (2, 200.0))),
        ["cut|1|180"],
    ),
    "another portal has it for less": (
        seen(flat(advert(1, 200_000.0), advert(2, 190_000.0, site="bazar.bg")), watched((1, 200_000.0))),
        ["cheaper|2|190000"],
    ),
    "for one per cent less: not worth it": (
        seen(flat(advert(1, 200_000.0), advert(2, 198_000.0, site="bazar.bg")), watched((1, 200_000.0))),
        [],
    ),
    "for more": (
        seen(flat(advert(1, 200_000.0), advert(2, 220_000.0, site="bazar.bg")), watched((1, 200_000.0))),
        [],
    ),
    "less only because its VAT is not in it": (
        seen(
            flat(advert(1, 200_000.0), advert(2, 170_000.0, site="bazar.bg", vat="excluded")),
            watched((1, 200_000.0)),
        ),
        [],
    ),
    "perhaps less: nobody says whether VAT is in the lower price": (
        seen(
            flat(advert(1, 200_000.0, vat="excluded"), advert(2, 205_000.0, site="bazar.bg", vat=None)),
            watched((1, 200_000.0)),
        ),
        [],
    ),
    "surely less, whatever its VAT": (
        seen(
            flat(advert(1, 200_000.0, vat="excluded"), advert(2, 180_000.0, site="bazar.bg", vat=None)),
            watched((1, 200_000.0)),
        ),
        ["cheaper|2|180000"],
    ),
    "the same portal has it for less: no other one": (
        seen(flat(advert(1, 200_000.0), advert(2, 190_000.0)), watched((1, 200_000.0))),
        [],
    ),
    "it was cheaper there before": (
        seen(
            flat(advert(1, 200_000.0), advert(2, 190_000.0, site="bazar.bg")),
            watched((1, 200_000.0), (2, 190_000.0)),
        ),
        [],
    ),
    "a cut that makes it the cheapest portal is told as a cut": (
        seen(
            flat(advert(1, 200_000.0), advert(2, 180_000.0, site="bazar.bg")),
            watched((1, 200_000.0), (2, 200_000.0)),
        ),
        ["cut|2|180000"],
    ),
    "it is back": (
        seen(flat(advert(1, 200.0)), watched(Watched(1, 200.0, None, 90.0))),
        ["back|1|90"],
    ),
    "it is back under another advert": (
        seen(flat(advert(1, 200.0, offered=False), advert(2, 150.0)), watched(Watched(1, 200.0, None, 90.0))),
        ["back|1|90"],
    ),
    "one of two adverts is gone": (
        seen(flat(advert(1, 200.0, offered=False), advert(2, 200.0)), watched((1, 200.0), (2, 200.0))),
        [],
    ),
    "gone, and nobody follows it": (seen(flat(advert(1, 200.0, offered=False)), watched((1, 200.0))), []),
    "gone from the shortlist": (
        seen(flat(advert(1, 200.0, offered=False)), watched((1, 200.0)), FITS_NOT, status="shortlist"),
        ["gone|1|100"],
    ),
    "it stays gone": (
        seen(flat(advert(1, 200.0, offered=False)), watched(Watched(1, 200.0, None, 100.0)), status="offer"),
        [],
    ),
    "a cut of what was rejected": (
        seen(flat(advert(1, 100.0)), watched((1, 200.0)), status="rejected"),
        [],
    ),
    "a cut of what no longer fits": (seen(flat(advert(1, 100.0)), watched((1, 200.0)), FITS_NOT), []),
    "a rule that is another now still tells cuts": (
        seen(flat(advert(1, 100.0)), watched((1, 200.0)), silent=True),
        ["cut|1|100"],
    ),
}


@each_row("name", CASES)
def test_news(name: str) -> None:
    view, expected = CASES[name]
    assert told(view) == expected


@each_row("name", CASES)
def test_what_was_told_is_not_told_again(name: str) -> None:
    view, _ = CASES[name]
    after = decide(rule(), view).watched
    if after:
        again = View(
            view.flat, view.judgement, view.status, {one.listing_id: one for one in after}, silent=False
        )
        assert told(again) == []


def test_small_cuts_add_up_until_they_are_told() -> None:
    known = watched((1, 200_000.0))
    news = []
    for price in (198_000.0, 196_000.0, 194_000.0, 193_000.0):
        decision = decide(rule(), seen(flat(advert(1, price)), known))
        news.append([(item.key, item.facts["old_eur"]) for item in decision.items])
        known = {one.listing_id: one for one in decision.watched}
    assert news == [[], [], [("cut|1|194000", 200_000.0)], []]
    assert known[1].price_eur == 194_000.0


def test_a_price_that_comes_back_to_what_was_told_is_a_cut_again() -> None:
    first = decide(rule(), seen(flat(advert(1, 180_000.0)), watched((1, 200_000.0))))
    risen = decide(rule(), seen(flat(advert(1, 200_000.0)), {1: first.watched[0]}))
    again = decide(rule(), seen(flat(advert(1, 180_000.0)), {1: risen.watched[0]}))
    assert risen.items == ()
    assert [item.kind for item in (*first.items, *again.items)] == ["cut", "cut"]


def test_a_rule_tells_only_what_it_is_asked_for() -> None:
    view = CASES["a cut that makes it the cheapest portal is told as a cut"][0]
    assert told(view, tell=["new"]) == []
    assert told(view, tell=["cheaper"]) == ["cheaper|2|180000"]
    assert told(seen(flat(advert(1, 197.0)), watched((1, 200.0))), cut_percent=1.5) == ["cut|1|197"]


def test_a_cut_while_it_was_away_is_told_once() -> None:
    decision = decide(rule(), seen(flat(advert(1, 100.0)), watched(Watched(1, 200.0, None, 90.0))))
    assert [item.kind for item in decision.items] == ["back"]
    assert decision.watched == (Watched(1, 100.0, None, None),)


def test_a_price_that_is_not_told_for_a_while_is_still_what_a_cut_is_measured_from() -> None:
    hidden = decide(rule(), seen(flat(advert(1, None)), watched((1, 200_000.0))))
    (item,) = decide(rule(), seen(flat(advert(1, 170_000.0)), {1: hidden.watched[0]})).items
    assert (item.key, item.facts["old_eur"]) == ("cut|1|170000", 200_000.0)
    gone = decide(rule(), seen(flat(advert(1, None, offered=False)), {1: hidden.watched[0]}))
    assert gone.watched == (Watched(1, 200_000.0, None, 100.0),)
    back = decide(rule(), seen(flat(advert(1, None)), {1: gone.watched[0]}))
    assert ([item.kind for item in back.items], back.watched) == (["back"], hidden.watched)


def test_a_rise_is_told_where_a_rule_says_so() -> None:
    dearer = seen(flat(advert(1, 210.0), advert(2, 230.0)), watched((1, 200.0), (2, 230.0)))
    assert told(dearer) == []
    assert told(dearer, tell=["cut", "rise"]) == ["rise|1|210"]
    (item,) = decide(rule(tell=["rise"]), dearer).items
    assert (item.facts["old_eur"], item.facts["price_eur"]) == (200.0, 210.0)
    other = seen(flat(advert(1, 200.0), advert(2, 250.0)), watched((1, 200.0), (2, 230.0)))
    assert told(other, tell=["rise"]) == [], "the flat costs what it did"


def test_a_rule_of_a_flat_tells_that_it_is_gone() -> None:
    gone = seen(flat(advert(1, 200.0, offered=False)), watched((1, 200.0)))
    assert (told(gone), told(gone, search=None, flat=7)) == ([], ["gone|1|100"])


def test_what_came_back_for_another_price_says_what_it_was() -> None:
    known = watched(Watched(1, 200.0, None, 50.0))
    (item,) = decide(rule(), seen(flat(advert(1, 190.0)), known)).items
    assert (item.kind, item.facts.get("old_eur")) == ("back", 200.0)
    (same,) = decide(rule(), seen(flat(advert(1, 200.0)), known)).items
    assert "old_eur" not in same.facts


def test_the_price_per_square_metre_is_that_of_a_search() -> None:
    what = flat(
        advert(1, 100_000.0, vat="excluded"), advert(2, 110_000.0, vat="included", site="alo.bg", url="u")
    )
    (item,) = decide(rule(), seen(what, {})).items
    assert item.facts["eur_sqm"] == asked_eur_sqm(what) == 1_500.0, "with VAT on top"
    (cheaper,) = decide(rule(), seen(what, watched(Watched(1, 100_000.0, "excluded", None)))).items
    assert (cheaper.kind, cheaper.facts["eur_sqm"]) == ("cheaper", 1_375.0), "of the advert that is told"
    (unknown,) = decide(rule(), seen(flat(advert(1, None)), {})).items
    assert unknown.facts["eur_sqm"] is None


def test_a_cut_is_measured_by_what_is_paid() -> None:
    """Of two adverts one asks without VAT: 105 000 and the tax is more than 110 000."""
    without = advert(2, 105_000.0, vat="excluded")
    known = watched(Watched(1, 110_000.0, "included", None), Watched(2, 120_000.0, "excluded", None))
    assert told(seen(flat(advert(1, 110_000.0, vat="included"), without), known), tell=["cut"]) == []
    cheaper = flat(advert(1, 110_000.0, vat="included"), advert(2, 100_000.0, vat="excluded"))
    known = watched(Watched(1, 125_000.0, "included", None), Watched(2, 100_000.0, "excluded", None))
    assert told(seen(cheaper, known), tell=["cut"]) == ["cut|1|110000"]


def test_a_message_says_of_vat_what_the_description_says() -> None:
    described = replace(
        flat(advert(1, 200.0)), traps={"price_without_vat": Trap(value=True, quote="без ДДС")}
    )
    (item,) = decide(rule(), seen(described, {})).items
    assert (item.facts["vat"], item.facts["price_from"]) == ("excluded", False)


def test_by_how_much_another_portal_is_cheaper_is_what_is_paid_less() -> None:
    offers = (
        advert(1, 175_000.0, vat="excluded"),
        advert(2, 182_000.0, vat="included", site="bazar.bg"),
    )
    (item,) = decide(rule(tell=["cheaper"]), seen(flat(*offers), watched((1, 175_000.0)))).items
    assert (item.facts["old_eur"], item.facts["other_vat"]) == (175_000.0, "excluded")
    assert item.facts["change"] == 182_000.0 / 210_000.0 - 1
