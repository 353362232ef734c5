"""Search: what fits, as cards in an order that shows its number; the address holds everything."""

import csv
import io
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy import Connection

from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.search.conditions import Around
from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.advice.search.run import Part, SearchResult, everything, search
from sale_sofia.alerts.kept import free_name
from sale_sofia.app import filters
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Download, Page
from sale_sofia.app.deck import Card, Deck, Note, open_deck, pages_of
from sale_sofia.app.facts import fact, own_places, value_of
from sale_sofia.app.filters import ANY, FILTERS, Choice
from sale_sofia.app.pages.alerts import tell as tell_of
from sale_sofia.app.settings import ANSWER_SECONDS, OWN_PLACE_MINUTES
from sale_sofia.app.visit import Visit, changed_line
from sale_sofia.app.words import named, say, told
from sale_sofia.buyer.evaluations import WrongEvaluation
from sale_sofia.buyer.searches import SavedSearch, SearchThere, forget_search, list_searches, save_search
from sale_sofia.flats.flat import Flat
from sale_sofia.geography.settings import ATTRIBUTION
from sale_sofia.geography.surroundings import Nearby
from sale_sofia.listings.dates import SOFIA as SOFIA_TIME

SORTS: Final = ("score", "newest", "price", "eur_sqm", "days")
UNKNOWNS: Final = ("apart", "ok", "no")
SENT: Final = "q"
"""In the address: the form was sent, so that a list without a tick asks for nothing."""
APART: Final = "unknown_page"
"""In the address: the page of what is listed apart."""
Params = dict[str, list[str]]
_DEFAULTED: Final = [
    one.field for one in FILTERS if one.kind == "many" and SearchQuery.model_fields[one.field].default
]


@dataclass(frozen=True, slots=True)
class Asked:
    """One search as the address says it."""

    query: SearchQuery
    passing: bool
    """Whether only what passes the profile's conditions is wanted."""

    @property
    def whole(self) -> SearchQuery:
        """The query with all that is asked."""
        return self.query.model_copy(update={"passing": self.passing})

    @property
    def params(self) -> Params:
        """Its address; the profile has a place of its own."""
        params = {name: values for name, values in self.query.to_params().items() if name != "profile"}
        params["sort"] = [self.query.sort]
        return params | ({"passing": ["true"]} if self.passing else {})

    @property
    def address(self) -> str:
        """The page of this search."""
        return f"/search?{urlencode(self.params, doseq=True)}"

    def without(self, field: str) -> str:
        """The page of the search without this condition."""
        left = {name: values for name, values in self.params.items() if name != field}
        return f"/search?{urlencode(left, doseq=True)}"

    def stored(self) -> dict[str, Any]:
        """As it is kept: with the profile and its conditions where they are asked, or neither."""
        sort = "newest" if self.query.sort == "score" else self.query.sort
        own = {"passing": True} if self.passing else {"profile": None, "sort": sort}
        return self.query.model_copy(update=own).model_dump(mode="json", exclude_defaults=True)


def page(visit: Visit) -> Page:
    """The page."""
    deck = open_deck(visit)
    wrong: str | None = None
    try:
        asked = read(visit)
    except WrongSearch as error:
        asked = Asked(SearchQuery.of({"profile": visit.profile_name, "sort": "score"}), passing=False)
        wrong = say("search.wrong_address", why=told(error))
    found = _find_page(deck, asked) if wrong is None else SearchResult(0, (), 0, (), Around(visit.now))
    flats, apart = [one.flat for one in found.passed], [one.flat for one in found.unknown]
    notes = {
        flat.property_id: note for flat in (*flats, *apart) if (note := _sorted_by(asked, flat, visit.now))
    }
    values = {
        "asked": asked,
        "query": asked.query,
        "error": wrong,
        "groups": filters.GROUPS,
        "filters": filters,
        "chips": filters.chips(asked.query),
        "mine": _mine(asked.query, visit.profile),
        "sorts": SORTS,
        "unknowns": UNKNOWNS,
        "count": found.total,
        "unknown_count": found.unknown_total,
        "empty": deck.empty,
        "cards": deck.cards(flats, notes),
        "pages": pages_of(visit, found.total),
        "apart": deck.cards(apart, notes),
        "apart_pages": pages_of(visit, found.unknown_total, APART),
        "saved": [_saved(one) for one in visit.database.run_read(list_searches)],
        "csv": asked.address.replace("/search?", "/search.csv?", 1),
    }
    return Page("search.html", say("page.search"), values, lambda: _data(deck, asked, found, wrong))


def _mine(query: SearchQuery, profile: Profile) -> dict[str, Any]:
    """Minutes to each of the buyer's own places, to choose from; and what else is typed of places."""
    names = {one.name: [str(minutes) for minutes in OWN_PLACE_MINUTES] for one in profile.places}
    others = []
    for asked in query.travel:
        minutes, _, name = asked.partition(":")
        own = next((one for one in names if one.casefold() == name.casefold()), None)
        if own is None:
            others.append(asked)
        elif minutes not in names[own]:
            names[own] = sorted([*names[own], minutes], key=int)
    wanted = {one.casefold() for one in query.travel}
    places = {
        name: [
            Choice(f"{minutes}:{name}", shown.walk(int(minutes), int(minutes)), _is_in(wanted, minutes, name))
            for minutes in choices
        ]
        for name, choices in names.items()
    }
    return {"places": places, "others": ", ".join(others)}


def _is_in(wanted: Collection[str], minutes: str, name: str) -> bool:
    return f"{minutes}:{name}".casefold() in wanted


def export(visit: Visit) -> Download:
    """What was found as a file that any spreadsheet opens."""
    deck = open_deck(visit)
    found = find(deck, read(visit))
    text = io.StringIO()
    rows = [
        _row(card, deck.profile) for card in deck.cards([one.flat for one in (*found.passed, *found.unknown)])
    ]
    if rows:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return Download(text.getvalue().encode("utf-8-sig"), "text/csv; charset=utf-8", "sale-sofia.csv")


def save(visit: Visit) -> Done:
    """Keep the search under a name."""
    form, asked = visit.form, _sent(visit)
    try:
        name = visit.database.run_write(
            lambda connection: save_search(
                connection,
                form.get("name", ""),
                asked.stored(),
                now=visit.now,
                replace="replace" in form,
                by=visit.by.who,
            )
        )
    except (WrongEvaluation, SearchThere) as error:
        return Done(say("saved.wrong", why=told(error)), wrong=True)
    return Done(say("saved.done", name=name))


def tell(visit: Visit) -> Done:
    """Tell what the search finds; one that is not kept yet is kept by what it asks."""
    asked = _sent(visit)
    query = asked.stored()

    def keep(connection: Connection) -> str:
        there = {one.name: one.query for one in list_searches(connection)}
        if (known := next((name for name, held in there.items() if held == query), None)) is not None:
            return known
        asks = ", ".join(chip.text for chip in filters.chips(asked.query))
        name = free_name(asks or say("tell.search"), there)
        return save_search(connection, name, query, now=visit.now, by=visit.by.who)

    try:
        name = visit.database.run_write(keep)
    except (WrongEvaluation, SearchThere) as error:
        return Done(say("saved.wrong", why=told(error)), wrong=True)
    return tell_of(visit, name, search=name)


def _sent(visit: Visit) -> Asked:
    """The search that a form of the page holds."""
    form = visit.form
    given = {name: form[name].split("\n") for name in SearchQuery.model_fields.keys() & form.keys()}
    return _asked(given, visit, passing=form.get("passing") == "true")


def forget(visit: Visit) -> Done:
    """Forget a search that was kept."""
    visit.database.run_write(partial(forget_search, name=visit.form.get("name", ""), by=visit.by))
    return Done(say("saved.forget"))


def read(visit: Visit) -> Asked:
    """The search of the address.

    Raises:
        WrongSearch: it asks for what cannot be.
    """
    params = visit.request.query_params
    names = set(SearchQuery.model_fields) - {"profile", "passing"}
    given = {name: [one for one in params.getlist(name) if one.strip()] for name in names if name in params}
    given = {name: values for name, values in given.items() if values and not _asks_nothing(name, values)}
    if SENT in params:
        given |= {name: [ANY] for name in _DEFAULTED if name not in given}
    return _asked(given, visit, passing=params.get("passing") == "true")


def _asks_nothing(name: str, values: list[str]) -> bool:
    """Whether the form says "any" where nothing is asked anyway."""
    return values == [ANY] and SearchQuery.model_fields[name].default in (None, ())


def _asked(given: Mapping[str, Sequence[str]], visit: Visit, *, passing: bool) -> Asked:
    typed = {name: _typed(name, list(values)) for name, values in given.items()}
    params: Params = {"sort": ["score"], **typed, "profile": [visit.profile_name]}
    return Asked(SearchQuery.from_params(params), passing)


def _typed(name: str, values: list[str]) -> list[str]:
    """As a person writes it in the form: words with commas between them, a day without its hour."""
    kind = next((one.kind for one in FILTERS if one.field == name), None)
    if kind == "words":
        return [word for value in values for part in value.split(",") if (word := part.strip())]
    if kind == "date":
        return [_midnight(value) for value in values]
    return values


def _midnight(text: str) -> str:
    try:
        day = date.fromisoformat(shown.typed_day(text))
    except ValueError:
        return text
    return datetime(day.year, day.month, day.day, tzinfo=SOFIA_TIME).isoformat()


def find(deck: Deck, asked: Asked, part: Part = everything, unknown_part: Part = everything) -> SearchResult:
    """Every flat that fulfils the search, or a part of them."""
    return search(
        deck.visit.database,
        asked.whole,
        now=deck.now,
        part=part,
        unknown_part=unknown_part,
        best_first=True,
        person=deck.visit.person,
    )


def _find_page(deck: Deck, asked: Asked) -> SearchResult:
    """How many there are, and those on the pages that are asked for; where only that is asked, none."""
    visit = deck.visit
    if visit.asked("count"):
        return visit.site.kept(
            ("count", *question(deck, asked)),
            lambda: find(deck, asked, lambda _: slice(0), lambda _: slice(0)),
        )
    pages = (visit.page_number(), visit.page_number(APART))
    return visit.site.kept(
        ("search", *question(deck, asked), pages),
        lambda: find(
            deck,
            asked,
            lambda total: pages_of(visit, total).part(),
            lambda total: pages_of(visit, total, APART).part(),
        ),
    )


def question(deck: Deck, asked: Asked) -> tuple[Hashable, ...]:
    """All that what is found depends on, beside the database."""
    person = deck.visit.person
    return asked.whole.model_dump_json(), person and person.id, deck.now // ANSWER_SECONDS


def _sorted_by(asked: Asked, flat: Flat, now: float) -> Note | None:
    """The number that the order is by, where the card does not show it large."""
    match asked.query.sort:
        case "newest" if flat.new_at is not None:
            return Note(say("today.note.new", ago=shown.ago(flat.new_at, now)))
        case "eur_sqm":
            return Note(shown.euro_per_sqm(flat.price_per_sqm_eur))
        case "days":
            return Note(say("card.on_market", days=shown.days(flat.days_on_market(now))))
        case _:
            return None


def _saved(one: SavedSearch) -> dict[str, str | None]:
    """A search that is kept, and its address; None when what is stored is no search any more."""
    try:
        query = SearchQuery.of(one.query)
    except WrongSearch:
        address = None
    else:
        address = Asked(query, passing=query.passing).address
    return {"name": one.name, "address": address, "saved": changed_line(one.saved_by, one.saved_at, "saved")}


def _row(card: Card, profile: Profile) -> dict[str, object]:
    flat = card.flat
    row = {
        "id": card.id,
        "price": flat.price_eur,
        "eur_sqm": flat.price_per_sqm_eur,
        "area": flat.area_sqm,
        "rooms": flat.rooms,
        "floor": flat.floor,
        "floors": flat.floors_total,
        "place": flat.neighbourhood,
        "building": named("construction", flat.construction) if flat.construction else None,
        "year": flat.year_built,
        "score": round(card.score.value, 2) if card.score and card.score.value is not None else None,
        "status": named("status", card.status),
        **{name: _known(name, flat) for name in ("metro_walk", "centre_travel", *Nearby._fields)},
        **{one.name: one.value if one.known else None for one in own_places(flat, profile)},
        "days": round(flat.days_on_market(card.now)),
        "title": flat.title,
        "url": flat.adverts[0].url if flat.adverts else None,
        "attribution": ATTRIBUTION,
    }
    return {name: shown.cell(value) for name, value in row.items()}


def _known(name: str, flat: Flat) -> str | None:
    """A fact in words; nothing where it is not known."""
    told = fact(name, value_of(name, flat))
    return None if told == shown.UNKNOWN else told


def _data(deck: Deck, asked: Asked, found: SearchResult, wrong: str | None) -> dict[str, object]:
    if wrong is not None:
        return {"error": wrong}
    if deck.visit.asked("count"):
        text = say("search.found", found=shown.count_line(found.total))
        return {"count": found.total, "unknown": found.unknown_total, "text": text}
    pages = pages_of(deck.visit, found.total)
    return {
        "count": found.total,
        "unknown": found.unknown_total,
        "page": pages.number,
        "pages": pages.count,
        "query": asked.params,
        "flats": [card.as_json() for card in deck.cards([one.flat for one in found.passed])],
    }
