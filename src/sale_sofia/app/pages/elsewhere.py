"""Same flat elsewhere: what is cheaper on another portal, and pairs that may be one flat."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, func, select

from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, WebPage
from sale_sofia.app.deck import CardNote, Deck, open_deck, page_of
from sale_sofia.app.settings import OFFERS_PER_PAGE, PAIRS_REVIEWED
from sale_sofia.app.visit import PageVisit, Values, numbers
from sale_sofia.app.words import say, word_for
from sale_sofia.buyer.changes import What
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
    "same": lambda matching, first, second, by: overrides.link(matching, first, second, by=by),
    "different": lambda matching, first, second, by: overrides.part(matching, first, second, by=by),
    "unsure": lambda matching, first, second, _by: overrides.leave_open(matching, first, second),
}


def page(visit: PageVisit) -> WebPage:
    """The page."""
    deck, title = open_deck(visit), say("page.cross_site")
    if deck.empty:
        return WebPage("elsewhere.html", title, {"nothing": True}, lambda: {"cheaper": [], "review": []})
    cheaper = visit.database.run_read(_cheaper)
    waiting, answered = visit.database.run_read(_waiting)
    view = next((view for view in VIEWS if view == visit.param("view")), VIEWS[0])
    offers, pages = page_of(visit, cheaper, size=OFFERS_PER_PAGE)
    values: Values = {
        "nothing": False,
        "views": [("cheaper", len(cheaper)), ("review", len(waiting))],
        "view": view,
        "count": len(cheaper),
        "offers": [_offer(offer) for offer in cheaper_elsewhere(deck.flats(offers))],
        "pages": pages,
        "waiting": len(waiting),
        "answered": answered,
        "pair": _pair(deck, waiting[0]) if waiting and view == "review" else None,
        "answers": tuple(_ANSWERS),
    }
    return WebPage("elsewhere.html", title, values, lambda: _data(deck, cheaper, waiting))


def answer(visit: PageVisit) -> Done:
    """Store the buyer's answer about a pair: the same flat, different flats, or unsure."""
    decide = _ANSWERS.get(visit.form.get("answer", ""))
    pair = numbers(f"{visit.form.get('one', '')},{visit.form.get('two', '')}")
    if decide is None or len(pair) != 2:  # noqa: PLR2004 - a pair
        return Done(say("conflict"), wrong=True)
    try:
        first, second = pair
        decide(PropertyMatching(visit.state.settings, visit.database), first, second, visit.by.who)
        note_pair(visit, first, second, visit.form["answer"])
    except (WrongDecision, UnknownProperty):  # answered in another window, or matched anew
        return Done(say("conflict"), wrong=True)
    return Done(say("web.now", status=say(f"cross.{visit.form['answer']}")))


def note_pair(visit: PageVisit, first: int, second: int, answer: str) -> None:
    """Store who answered this of two flats, even if somebody answers otherwise later."""
    verdict: What = "same" if answer == "same" else "different" if answer == "different" else "unsure"
    visit.note_change("pair", f"{first}, {second}", verdict)


def _cheaper(connection: Connection) -> Sequence[int]:
    """The flats that are cheaper elsewhere, the largest saving first."""
    saving = flat_rows.c.saving_eur
    query = select(flat_rows.c.property_id).where(saving.is_not(None))
    return connection.scalars(query.order_by(saving.desc(), flat_rows.c.property_id)).all()


def _waiting(connection: Connection) -> tuple[list[ReviewLine], int]:
    """Undecided pairs, first where an answer settles most; and how many answers were given.

    All pairs of adverts that one answer decides share its moment.
    """
    answered = connection.scalar(select(func.count(match_decisions.c.decided_at.distinct())))
    return review_queue(connection, limit=PAIRS_REVIEWED), answered or 0


def _offer(offer: Elsewhere) -> Values:
    """Where it is cheaper, and by how much."""
    flat = offer.flat
    facts = [
        plain(flat.neighbourhood) if flat.neighbourhood else say("card.no_place"),
        word_for("rooms", min(flat.rooms, 5)) if flat.rooms is not None else "",
        fmt.area(flat.area_sqm) if flat.area_sqm is not None else "",
    ]
    without = "excluded" in {offer.cheapest.vat, offer.dearest.vat}
    saving = f"{fmt.MINUS}{fmt.euro(offer.saving_eur)}"
    vat = f" {say('vat.included')}" if without else ""  # else it would not be the difference of the two
    return {
        "id": flat.property_id,
        "facts": " · ".join(filter(None, facts)),
        "cheapest": _price(offer.cheapest),
        "dearest": _price(offer.dearest),
        "saved": f"{saving}{vat} ({fmt.MINUS}{fmt.percent(offer.share, 1)})",
    }


def _price(advert: Advert) -> str:
    vat = f" {say('card.vat')}" if advert.vat == "excluded" else ""
    return f"{fmt.euro(advert.price_eur)}{vat} ({plain(advert.site)})"


def _pair(deck: Deck, line: ReviewLine) -> Values:
    """Both flats with their facts beside each other."""
    flats = deck.flats([line.property_id, line.other_id])
    notes = {flat.property_id: CardNote(letter) for flat, letter in zip(flats, "AB", strict=False)}
    unsure = line.unsure_since
    return {
        "one": line.property_id,
        "two": line.other_id,
        "share": fmt.percent(line.probability),
        "unsure": say("cross.unsure_since", moment=fmt.moment(unsure)) if unsure is not None else "",
        "cards": deck.cards(flats, notes),
        "facts": _compared(*flats) if len(flats) > 1 else [],
    }


def _compared(first: Flat, second: Flat) -> list[Values]:
    """The facts of both, with a sign for equal, different or unknown."""
    rows = []
    for name, text in _FACTS.items():
        values = [plain(text(first)), plain(text(second))]
        unknown = any(fmt.UNKNOWN in value.split("/") for value in values)  # also one half of a floor
        mark = "?" if unknown else "≠" if len(set(values)) > 1 else "="
        rows.append({"name": say(name), "one": values[0], "mark": mark, "two": values[1]})
    return rows


_FACTS: Final[Mapping[str, Callable[[Flat], str]]] = {
    "cross.price": lambda flat: fmt.euro(flat.price_eur),
    "cross.area": lambda flat: fmt.area(flat.area_sqm),
    "cross.rooms": lambda flat: fmt.number(flat.rooms),
    "cross.floor": lambda flat: fmt.floor(flat.floor, flat.floors_total),
    "cross.place": lambda flat: flat.neighbourhood or fmt.UNKNOWN,
    "cross.building": lambda flat: word_for("construction", flat.construction or fmt.UNKNOWN),
    "cross.year": lambda flat: fmt.UNKNOWN if flat.year_built is None else str(flat.year_built),
    "cross.seller": lambda flat: next(
        (advert.seller_name for advert in flat.adverts if advert.seller_name), fmt.UNKNOWN
    ),
    "cross.sites": lambda flat: ", ".join(sorted({advert.site for advert in flat.adverts})),
}


def _data(deck: Deck, cheaper_ids: Sequence[int], waiting: Sequence[ReviewLine]) -> dict[str, Any]:
    def advert_record(advert: Advert) -> dict[str, Any]:
        return {"site": advert.site, "url": advert.url, "price_eur": advert.price_eur, "vat": advert.vat}

    cheaper = [
        {
            "id": offer.flat.property_id,
            "cheapest": advert_record(offer.cheapest),
            "dearest": advert_record(offer.dearest),
            "saving_eur": offer.saving_eur,
            "share": offer.share,
        }
        for offer in cheaper_elsewhere(deck.flats(cheaper_ids))
    ]
    return {
        "cheaper": cheaper,
        "review": deck.visit.database.run_read(lambda connection: show_review(connection, waiting)),
    }
