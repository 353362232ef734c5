"""Search: matching flats as cards, each with the number it is sorted by; the address holds all of it."""

import csv
import io
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
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
from sale_sofia.alerts.rules import AlertsError, check_unused
from sale_sofia.app import filters
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, Download, WebPage, error_page, with_parameter
from sale_sofia.app.deck import CardNote, Deck, FlatCard, open_deck, pages_of
from sale_sofia.app.facts import fact, own_places, value_of
from sale_sofia.app.filters import ANY, FILTERS, Choice
from sale_sofia.app.pages.alerts import tell as tell_of
from sale_sofia.app.settings import ANSWER_SECONDS, OWN_PLACE_MINUTES
from sale_sofia.app.visit import PageVisit, changed_line
from sale_sofia.app.words import say, translate, word_for
from sale_sofia.buyer.evaluations import WrongEvaluation
from sale_sofia.buyer.searches import (
    SavedSearch,
    SearchThere,
    UnknownSearch,
    forget_search,
    list_searches,
    save_search,
)
from sale_sofia.buyer.settings import LONGEST_SEARCH_NAME
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import asked_eur_sqm
from sale_sofia.geography.settings import ATTRIBUTION
from sale_sofia.geography.surroundings import Nearby
from sale_sofia.listings.dates import SOFIA as SOFIA_TIME

SORTS: Final = ("score", "newest", "price", "eur_sqm", "days")
UNKNOWNS: Final = ("apart", "ok", "no")
SENT: Final = "q"
"""In the address: the form was sent, so a list without a tick sets no condition."""
APART: Final = "unknown_page"
"""In the address: the page of flats listed apart."""
Params = dict[str, list[str]]
_DEFAULTED: Final = [
    facet.field for facet in FILTERS if facet.kind == "many" and SearchQuery.model_fields[facet.field].default
]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search as the address states it."""

    query: SearchQuery
    passing: bool
    """Whether flats must pass the profile's conditions."""

    @property
    def whole(self) -> SearchQuery:
        """The query with all conditions."""
        return self.query.model_copy(update={"passing": self.passing})

    @property
    def params(self) -> Params:
        """The parameters of its address, without the profile, which every page has."""
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
        """The form in which it is saved; the profile is part of it where its conditions are."""
        sort = "newest" if self.query.sort == "score" else self.query.sort
        own = {"passing": True} if self.passing else {"profile": None, "sort": sort}
        return self.query.model_copy(update=own).model_dump(mode="json", exclude_defaults=True)


def page(visit: PageVisit) -> WebPage:
    """The page."""
    deck = open_deck(visit)
    wrong: str | None = None
    try:
        request = read(visit)
    except WrongSearch as error:
        request = _read_possible(visit)
        wrong = say("search.wrong_address", why=translate(error))
    found = _find_page(deck, request) if wrong is None else SearchResult(0, (), 0, (), Around(visit.now))
    flats, apart = [hit.flat for hit in found.passed], [hit.flat for hit in found.unknown]
    notes = {
        flat.property_id: note for flat in (*flats, *apart) if (note := _sort_note(request, flat, visit.now))
    }
    values = {
        "request": request,
        "query": request.query,
        "error": wrong,
        "groups": filters.GROUPS,
        "filters": filters,
        "chips": filters.chips(request.query),
        "mine": _mine(request.query, visit.profile),
        "sorts": SORTS,
        "unknowns": UNKNOWNS,
        "count": found.total,
        "unknown_count": found.unknown_total,
        "empty": deck.empty,
        "cards": deck.cards(flats, notes),
        "pages": pages_of(visit, found.total),
        "apart": deck.cards(apart, notes),
        "apart_pages": pages_of(visit, found.unknown_total, APART),
        "saved": [_saved_row(saved) for saved in visit.database.run_read(list_searches)],
        "longest_name": LONGEST_SEARCH_NAME,
        "csv": request.address.replace("/search?", "/search.csv?", 1),
    }
    return WebPage("search.html", say("page.search"), values, lambda: _data(deck, request, found, wrong))


def _mine(query: SearchQuery, profile: Profile) -> dict[str, Any]:
    """Minutes to each of the buyer's own places, to choose from; and other places as typed."""
    names = {own.name: [str(minutes) for minutes in OWN_PLACE_MINUTES] for own in profile.places}
    others = []
    for limit in query.travel:
        minutes, _, name = limit.partition(":")
        own = next((candidate for candidate in names if candidate.casefold() == name.casefold()), None)
        if own is None:
            others.append(limit)
        elif minutes not in names[own]:
            names[own] = sorted([*names[own], minutes], key=int)
    chosen = {limit.casefold() for limit in query.travel}
    places = {
        name: [
            Choice(limit, fmt.walk(int(minutes), int(minutes)), limit.casefold() in chosen)
            for minutes, limit in ((minutes, f"{minutes}:{name}") for minutes in choices)
        ]
        for name, choices in names.items()
    }
    return {"places": places, "others": ", ".join(others)}


def export(visit: PageVisit) -> Download | WebPage:
    """The flats found, as CSV for a spreadsheet."""
    deck = open_deck(visit)
    try:
        found = find(deck, read(visit))
    except WrongSearch as error:
        return error_page("page.search", [say("search.wrong_address", why=translate(error))], 400)
    text = io.StringIO()
    rows = [
        _row(card, deck.profile) for card in deck.cards([hit.flat for hit in (*found.passed, *found.unknown)])
    ]
    writer = csv.DictWriter(text, _columns(deck.profile))
    writer.writeheader()
    writer.writerows(rows)
    return Download(text.getvalue().encode("utf-8-sig"), "text/csv; charset=utf-8", "sale-sofia.csv")


def save(visit: PageVisit) -> Done:
    """Save the search under a name."""
    form = visit.form
    try:
        request = _read_form(visit)
        name = visit.database.run_write(
            lambda connection: save_search(
                connection,
                form.get("name", ""),
                request.stored(),
                now=visit.now,
                replace="replace" in form,
                by=visit.by.who,
            )
        )
    except (WrongEvaluation, WrongSearch, SearchThere) as error:
        return Done(say("saved.wrong", why=translate(error)), wrong=True)
    return Done(say("saved.done", name=name))


def tell(visit: PageVisit) -> Done:
    """Add an alert on the search; one that is not saved yet is saved, named by its conditions."""
    try:
        request = _read_form(visit)
    except WrongSearch as error:
        return Done(say("saved.wrong", why=translate(error)), wrong=True)
    query = request.stored()

    def keep(connection: Connection) -> str:
        queries = {saved.name: saved.query for saved in list_searches(connection)}
        for name, stored in queries.items():
            if stored == query:
                return name
        summary = ", ".join(chip.text for chip in filters.chips(request.query))
        name = free_name(summary or say("tell.search"), queries)
        return save_search(connection, name, query, now=visit.now, by=visit.by.who)

    try:
        name = visit.database.run_write(keep)
    except (WrongEvaluation, SearchThere) as error:
        return Done(say("saved.wrong", why=translate(error)), wrong=True)
    return tell_of(visit, name, search=name)


def _read_form(visit: PageVisit) -> SearchRequest:
    """The search in a form of the page."""
    form = visit.form
    conditions = {name: form[name].split("\n") for name in SearchQuery.model_fields.keys() & form.keys()}
    return _build_request(conditions, visit, passing=form.get("passing") == "true")


def forget(visit: PageVisit) -> Done:
    """Delete a saved search that no rule of alerts names."""
    name = visit.form.get("name", "")
    try:
        check_unused(visit.state.settings.data_dir, name)
        visit.database.run_write(partial(forget_search, name=name, by=visit.by))
    except AlertsError as error:
        return Done(translate(error), wrong=True)
    except UnknownSearch:  # somebody else was first
        return Done(say("conflict"), wrong=True)
    return Done(say("saved.forget"))


def read(visit: PageVisit) -> SearchRequest:
    """The search of the address.

    Raises:
        WrongSearch: it has an impossible condition.
    """
    return _build_request(_conditions(visit), visit, passing=_passing(visit))


def _read_possible(visit: PageVisit) -> SearchRequest:
    """The search of the address without its impossible conditions: the form keeps all others."""
    asked, passing = _conditions(visit), _passing(visit)
    possible: Params = {}
    for name in 2 * [name for name in SearchQuery.model_fields if name in asked]:  # one may need a later one
        with suppress(WrongSearch):
            _build_request({**possible, name: asked[name]}, visit, passing=passing)
            possible[name] = asked[name]
    return _build_request(possible, visit, passing=passing)


def _passing(visit: PageVisit) -> bool:
    return visit.request.query_params.get("passing") == "true"


def _conditions(visit: PageVisit) -> Params:
    """The conditions of the address, as texts."""
    params = visit.request.query_params
    names = set(SearchQuery.model_fields) - {"profile", "passing"}
    conditions = {
        name: [value for value in params.getlist(name) if value.strip()] for name in names if name in params
    }
    conditions = {
        name: values for name, values in conditions.items() if values and not _asks_nothing(name, values)
    }
    if SENT in params:
        conditions |= {name: [ANY] for name in _DEFAULTED if name not in conditions}
    return conditions


def _asks_nothing(name: str, values: list[str]) -> bool:
    """Whether the form says "any" for a field without a default."""
    return values == [ANY] and SearchQuery.model_fields[name].default in (None, ())


def _build_request(
    conditions: Mapping[str, Sequence[str]], visit: PageVisit, *, passing: bool
) -> SearchRequest:
    parsed = {name: _parse_values(name, list(values)) for name, values in conditions.items()}
    params: Params = {"sort": ["score"], **parsed, "profile": [visit.profile_name]}
    return SearchRequest(SearchQuery.from_params(params), passing)


def _parse_values(name: str, values: list[str]) -> list[str]:
    """Values as people type them in the form: words separated by commas, a day without its hour."""
    kind = next((facet.kind for facet in FILTERS if facet.field == name), None)
    if kind == "words":
        return [word for value in values for part in value.split(",") if (word := part.strip())]
    if kind == "date":
        return [_midnight(value) for value in values]
    return values


def _midnight(text: str) -> str:
    try:
        day = date.fromisoformat(fmt.iso_day(text))
    except ValueError:
        return text
    return datetime(day.year, day.month, day.day, tzinfo=SOFIA_TIME).isoformat()


def find(
    deck: Deck, request: SearchRequest, part: Part = everything, unknown_part: Part = everything
) -> SearchResult:
    """The flats that match the search, or a part of them."""
    return search(
        deck.visit.database,
        request.whole,
        now=deck.now,
        part=part,
        unknown_part=unknown_part,
        best_first=True,
        person=deck.visit.person,
    )


def _find_page(deck: Deck, request: SearchRequest) -> SearchResult:
    """The count, and the flats of the requested pages; with `count` in the address, no flats."""
    visit = deck.visit
    if visit.param("count"):
        return visit.state.cached(
            ("count", *cache_key(deck, request)),
            lambda: find(deck, request, lambda _: slice(0), lambda _: slice(0)),
        )
    pages = (visit.page_number(), visit.page_number(APART))
    return visit.state.cached(
        ("search", *cache_key(deck, request), pages),
        lambda: find(
            deck,
            request,
            lambda total: pages_of(visit, total).part(),
            lambda total: pages_of(visit, total, APART).part(),
        ),
    )


def cache_key(deck: Deck, request: SearchRequest) -> tuple[Hashable, ...]:
    """All that the result depends on beside the database."""
    person = deck.visit.person
    return request.whole.model_dump_json(), person and person.id, deck.now // ANSWER_SECONDS


def _sort_note(request: SearchRequest, flat: Flat, now: float) -> CardNote | None:
    """The number that flats are sorted by, where the card does not show it large."""
    match request.query.sort:
        case "newest" if flat.new_at is not None:
            return CardNote(say("today.note.new", ago=fmt.ago(flat.new_at, now)))
        case "eur_sqm":
            return CardNote(fmt.euro_per_sqm(asked_eur_sqm(flat)))
        case "days":
            return CardNote(say("card.on_market", days=fmt.days(flat.days_on_market(now))))
        case _:
            return None


def _saved_row(saved: SavedSearch) -> dict[str, str | None]:
    """A saved search and its address, which is None where the stored query is no longer valid."""
    try:
        query = SearchQuery.of(saved.query)
    except WrongSearch:
        address = None
    else:
        address = SearchRequest(query, passing=query.passing).address
        if query.profile:  # its own, whichever the visitor has chosen
            address = with_parameter(address, "profile", query.profile)
    return {
        "name": saved.name,
        "address": address,
        "saved": changed_line(saved.saved_by, saved.saved_at, "saved"),
    }


_FACTS: Final = ("metro_walk", "centre_travel", *Nearby._fields)


def _columns(profile: Profile) -> list[str]:
    """The names of the values of `_row`, in order."""
    return [
        *("id", "price", "eur_sqm", "area", "rooms", "floor", "floors", "place", "building", "year", "score"),
        *("status", *_FACTS),
        *(say("fact.own_place", name=own.name) for own in profile.places),
        *("days", "title", "url", "attribution"),
    ]


def _row(card: FlatCard, profile: Profile) -> dict[str, object]:
    flat = card.flat
    row = {
        "id": card.id,
        "price": flat.price_eur,
        "eur_sqm": asked_eur_sqm(flat),
        "area": flat.area_sqm,
        "rooms": flat.rooms,
        "floor": flat.floor,
        "floors": flat.floors_total,
        "place": flat.neighbourhood,
        "building": word_for("construction", flat.construction) if flat.construction else None,
        "year": flat.year_built,
        "score": round(card.score.value, 2) if card.score and card.score.value is not None else None,
        "status": word_for("status", card.status),
        **{name: _fact_or_none(name, flat) for name in _FACTS},
        **{place.name: place.value if place.is_known else None for place in own_places(flat, profile)},
        "days": round(flat.days_on_market(card.now)),
        "title": flat.title,
        "url": flat.adverts[0].url if flat.adverts else None,
        "attribution": ATTRIBUTION,
    }
    return {name: fmt.cell(value) for name, value in row.items()}


def _fact_or_none(name: str, flat: Flat) -> str | None:
    """A fact as text; None where it is unknown."""
    text = fact(name, value_of(name, flat))
    return None if text == fmt.UNKNOWN else text


def _data(deck: Deck, request: SearchRequest, found: SearchResult, wrong: str | None) -> dict[str, object]:
    if wrong is not None:
        return {"error": wrong}
    if deck.visit.param("count"):
        text = say("search.found", found=fmt.count_line(found.total))
        return {"count": found.total, "unknown": found.unknown_total, "text": text}
    pages = pages_of(deck.visit, found.total)
    return {
        "count": found.total,
        "unknown": found.unknown_total,
        "page": pages.number,
        "pages": pages.count,
        "query": request.params,
        "flats": [card.as_json() for card in deck.cards([hit.flat for hit in found.passed])],
    }
