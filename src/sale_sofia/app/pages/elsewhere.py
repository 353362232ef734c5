"""Same flat elsewhere: what is cheaper on another portal, and pairs that may be one flat."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, func, select

from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.deck import Deck, Note, open_deck, page_of
from sale_sofia.app.settings import OFFERS_PER_PAGE, PAIRS_REVIEWED
from sale_sofia.app.visit import Values, Visit, numbers
from sale_sofia.app.words import named, say
from sale_sofia.buyer.changes import What, note_change
from sale_sofia.flats import overrides
from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.overrides import WrongDecision
from sale_sofia.flats.prices import Elsewhere, cheaper_elsewhere
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.flats.tables import flats as flat_rows
from sale_sofia.flats.tables import match_decisions
from sale_sofia.flats.views import ReviewLine, review_queue, show_review
from sale_sofia.listings.text import plain

VIEWS: Final = ("cheaper", "review")
_ANSWERS: Final[Mapping[str, Callable[[PropertyMatching, int, int, str], object]]] = {
    "same": lambda matching, one, two, by: overrides.link(matching, one, two, by=by),
    "different": lambda matching, one, two, by: overrides.part(matching, one, two, by=by),
    "unsure": lambda matching, one, two, _by: overrides.leave_open(matching, one, two),
}


def page(visit: Visit) -> Page:
    """The page."""
    deck, title = open_deck(visit), say("page.cross_site")
    if deck.empty:
        return Page("elsewhere.html", title, {"nothing": True}, lambda: {"cheaper": [], "review": []})
    found = visit.database.run_read(_cheaper)
    waiting, answered = visit.database.run_read(_waiting)
    view = next((one for one in VIEWS if one == visit.asked("view")), VIEWS[0])
    offers, pages = page_of(visit, found, size=OFFERS_PER_PAGE)
    values: Values = {
        "nothing": False,
        "views": [("cheaper", len(found)), ("review", len(waiting))],
        "view": view,
        "count": len(found),
        "offers": [_offer(one) for one in cheaper_elsewhere(deck.flats(offers))],
        "pages": pages,
        "waiting": len(waiting),
        "answered": answered,
        "pair": _pair(deck, waiting[0]) if waiting and view == "review" else None,
        "answers": tuple(_ANSWERS),
    }
    return Page("elsewhere.html", title, values, lambda: _data(deck, found, waiting))


def answer(visit: Visit) -> Done:
    """What the buyer says of a pair: one flat, two, or not sure."""
    decide = _ANSWERS.get(visit.form.get("answer", ""))
    pair = numbers(f"{visit.form.get('one', '')},{visit.form.get('two', '')}")
    if decide is None or len(pair) != 2:  # noqa: PLR2004 - a pair
        return Done(say("conflict"), wrong=True)
    try:
        one, two = pair
        decide(PropertyMatching(visit.site.settings, visit.database), one, two, visit.by.who)
        note_pair(visit, one, two, visit.form["answer"])
    except (WrongDecision, UnknownProperty):  # answered in another window, or matched anew
        return Done(say("conflict"), wrong=True)
    return Done(say("web.now", status=say(f"cross.{visit.form['answer']}")))


def note_pair(visit: Visit, one: int, two: int, what: str) -> None:
    """Keep who said so of two flats, also when somebody says otherwise later."""
    said: What = "same" if what == "same" else "different" if what == "different" else "unsure"
    noted = partial(note_change, about="pair", name=f"{one}, {two}", what=said, by=visit.by)
    visit.database.run_write(noted)


def _cheaper(connection: Connection) -> Sequence[int]:
    """The flats that are cheaper elsewhere, the largest saving first."""
    saving = flat_rows.c.saving_eur
    chosen = select(flat_rows.c.property_id).where(saving.is_not(None))
    return connection.scalars(chosen.order_by(saving.desc(), flat_rows.c.property_id)).all()


def _waiting(connection: Connection) -> tuple[list[ReviewLine], int]:
    """Pairs that nobody decided on, first where an answer settles most; and how often somebody did decide.

    All pairs of adverts that one answer decides have its moment.
    """
    answered = connection.scalar(select(func.count(match_decisions.c.decided_at.distinct())))
    return review_queue(connection, limit=PAIRS_REVIEWED), answered or 0


def _offer(one: Elsewhere) -> Values:
    """Where it is cheaper, and by how much."""
    flat = one.flat
    facts = [
        plain(flat.neighbourhood) if flat.neighbourhood else say("card.no_place"),
        named("rooms", min(flat.rooms, 5)) if flat.rooms is not None else "",
        shown.area(flat.area_sqm) if flat.area_sqm is not None else "",
    ]
    without = "excluded" in {one.cheapest.vat, one.dearest.vat}
    saving = f"{shown.MINUS}{shown.euro(one.saving_eur)}"
    vat = f" {say('vat.included')}" if without else ""  # else it would not be the difference of the two
    return {
        "id": flat.property_id,
        "facts": " · ".join(filter(None, facts)),
        "cheapest": _price(one.cheapest),
        "dearest": _price(one.dearest),
        "saved": f"{saving}{vat} ({shown.MINUS}{shown.percent(one.share, 1)})",
    }


def _price(advert: Advert) -> str:
    vat = f" {say('card.vat')}" if advert.vat == "excluded" else ""
    return f"{shown.euro(advert.price_eur)}{vat} ({plain(advert.site)})"


def _pair(deck: Deck, line: ReviewLine) -> Values:
    """Both flats with their facts beside each other."""
    flats = deck.flats([line.property_id, line.other_id])
    notes = {flat.property_id: Note(letter) for flat, letter in zip(flats, "AB", strict=False)}
    unsure = line.unsure_since
    return {
        "one": line.property_id,
        "two": line.other_id,
        "share": shown.percent(line.probability),
        "unsure": say("cross.unsure_since", moment=shown.moment(unsure)) if unsure is not None else "",
        "cards": deck.cards(flats, notes),
        "facts": _compared(*flats) if len(flats) > 1 else [],
    }


def _compared(one: Flat, two: Flat) -> list[Values]:
    """The facts of both; whether they differ is a sign beside them."""
    rows = []
    for name, text in _FACTS.items():
        values = [plain(text(one)), plain(text(two))]
        unknown = any(shown.UNKNOWN in value.split("/") for value in values)  # also one half of a floor
        mark = "?" if unknown else "≠" if len(set(values)) > 1 else "="
        rows.append({"name": say(name), "one": values[0], "mark": mark, "two": values[1]})
    return rows


_FACTS: Final[Mapping[str, Callable[[Flat], str]]] = {
    "cross.price": lambda flat: shown.euro(flat.price_eur),
    "cross.area": lambda flat: shown.area(flat.area_sqm),
    "cross.rooms": lambda flat: shown.number(flat.rooms),
    "cross.floor": lambda flat: shown.floor(flat.floor, flat.floors_total),
    "cross.place": lambda flat: flat.neighbourhood or shown.UNKNOWN,
    "cross.building": lambda flat: named("construction", flat.construction or shown.UNKNOWN),
    "cross.year": lambda flat: shown.UNKNOWN if flat.year_built is None else str(flat.year_built),
    "cross.seller": lambda flat: next(
        (one.seller_name for one in flat.adverts if one.seller_name), shown.UNKNOWN
    ),
    "cross.sites": lambda flat: ", ".join(sorted({one.site for one in flat.adverts})),
}


def _data(deck: Deck, found: Sequence[int], waiting: Sequence[ReviewLine]) -> dict[str, Any]:
    def told(advert: Advert) -> dict[str, Any]:
        return {"site": advert.site, "url": advert.url, "price_eur": advert.price_eur, "vat": advert.vat}

    cheaper = [
        {
            "id": one.flat.property_id,
            "cheapest": told(one.cheapest),
            "dearest": told(one.dearest),
            "saving_eur": one.saving_eur,
            "share": one.share,
        }
        for one in cheaper_elsewhere(deck.flats(found))
    ]
    return {
        "cheaper": cheaper,
        "review": deck.visit.database.run_read(lambda connection: show_review(connection, waiting)),
    }
