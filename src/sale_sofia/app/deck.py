"""All flats as one buyer sees them now, and the card of each: what one wants to know first."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.judging import VERDICTS, State
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import FlatFacts, Score, Scorer, look, ranking
from sale_sofia.advice.scoring.store import read_yardsticks
from sale_sofia.advice.scoring.yardsticks import Yardstick
from sale_sofia.advice.tables import scores as stored_scores
from sale_sofia.advice.valuation.flats import asked_eur_sqm
from sale_sofia.advice.valuation.model import FairBand
from sale_sofia.advice.valuation.valuation import Verdict
from sale_sofia.app import formatting as shown
from sale_sofia.app.facts import metro_words
from sale_sofia.app.settings import CARDS_PER_PAGE, CONDITIONS_ON_CARD, PHOTOS_ON_CARD
from sale_sofia.app.visit import Visit
from sale_sofia.app.words import counted, named, say
from sale_sofia.buyer.opinions import Opinion, opinions_on, statuses_for
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import load_flats
from sale_sofia.flats.rows import PriceStep, previous_price, price_steps
from sale_sofia.flats.tables import flats as flat_rows
from sale_sofia.flats.walks import Travel
from sale_sofia.history.revisions import latest
from sale_sofia.listings.parsers import offer
from sale_sofia.listings.text import plain


@dataclass(frozen=True, slots=True)
class Note:
    """What happened to a flat, in a line above its price."""

    text: str
    colour: str = ""


def own_title(flat: Flat) -> str | None:
    """The advert's own title, unless it says no more than "Продава 2-СТАЕН, гр. София, Лозенец"."""
    title = flat.title
    return plain(title) if title and not offer("title", (title.partition(",")[0],)) else None


def title_of(flat: Flat) -> str:
    """The advert's own title, or what kind of home it is and where."""
    kind = named("rooms", min(flat.rooms, 5)) if flat.rooms is not None else None
    if kind is None and flat.property_type is not None:
        kind = named("property_type", flat.property_type)
    made = ", ".join(part for part in (kind, plain(flat.neighbourhood or "")) if part)
    return own_title(flat) or made[:1].upper() + made[1:] or say("card.no_title", id=flat.property_id)


@dataclass(frozen=True, slots=True)
class Card:
    """A flat with what is thought of it, in words that are ready to be shown."""

    flat: Flat
    score: Score | None
    status: str
    previous_eur: float | None
    """The price before the last change, where that is worth telling."""
    now: float
    note: Note | None = None
    ticked: bool = False
    opinions: Sequence[Opinion] = ()
    """What the people of the household think of it."""
    fair: tuple[Verdict, FairBand] | None = None
    """Where its price lies, and what would be fair; None where that cannot be judged."""
    travel: Mapping[str, Travel | None] = field(default_factory=dict)
    """Minutes to each of the buyer's own places."""

    @property
    def id(self) -> int:
        """The number of the flat."""
        return self.flat.property_id

    @property
    def own_title(self) -> str | None:
        """The advert's own title, where it says something."""
        return own_title(self.flat)

    @property
    def title(self) -> str:
        """The advert's own title, or what kind of home it is and where."""
        return title_of(self.flat)

    @property
    def photos(self) -> list[str]:
        """The first photos."""
        return shown.photos(self.flat)[:PHOTOS_ON_CARD]

    @property
    def moved(self) -> Note | None:
        """How the price changed last."""
        price, before = self.flat.price_eur, self.previous_eur
        if before is None or price is None or before == price:
            return None
        sign, colour = ("▼", "good") if price < before else ("▲", "bad")
        return Note(f"{sign} {shown.percent_change(before, price)}", colour)

    @property
    def badge(self) -> Note | None:
        """How the price lies beside the fair one; nothing where nobody can tell."""
        asked = asked_eur_sqm(self.flat)
        if self.fair is None or asked is None:
            return None
        verdict, band = self.fair
        colour = {"below": "good", "above": "bad"}.get(verdict, "")
        return Note(say(f"card.fair.{verdict}", percent=shown.percent(abs(asked / band.middle - 1))), colour)

    @property
    def place(self) -> str:
        """The neighbourhood."""
        return plain(self.flat.neighbourhood) if self.flat.neighbourhood else say("card.no_place")

    @property
    def metro(self) -> str | None:
        """The walk to the metro, where it is known."""
        found = metro_words(self.flat)
        if found == shown.UNKNOWN:
            return None
        return f"{found} ({plain(self.flat.metro_station)})" if self.flat.metro_station else found

    @property
    def ways(self) -> str:
        """Minutes to the buyer's own places, of those that are known."""
        known = ((name, way) for name, way in self.travel.items() if way)
        return " · ".join(f"{plain(name)}: {shown.walk(way.least, way.most)}" for name, way in known)

    @property
    def facts(self) -> list[str]:
        """What is known of size, rooms, floor and building."""
        flat = self.flat
        told = (
            shown.area(flat.area_sqm),
            shown.euro_per_sqm(flat.price_per_sqm_eur),
            named("rooms", min(flat.rooms, 5)) if flat.rooms is not None else shown.UNKNOWN,
            f"{say('card.floor')} {shown.floor(flat.floor, flat.floors_total)}",
            named("construction", flat.construction) if flat.construction else shown.UNKNOWN,
        )
        return [one for one in told if shown.UNKNOWN not in one]

    @property
    def unknown(self) -> str:
        """How many of the facts on the card are not known."""
        flat = self.flat
        told = (
            flat.price_eur, flat.area_sqm, flat.floor, flat.floors_total, flat.neighbourhood, flat.rooms,
            flat.construction, flat.year_built, self.metro,
        )  # fmt: skip
        count = sum(one is None for one in told)
        return counted("card.unknown", count, shown.number(count)) if count else ""

    @property
    def days(self) -> str:
        """How long it is on the market."""
        return say("card.on_market", days=shown.days(self.flat.days_on_market(self.now)))

    @property
    def since(self) -> str:
        """By what that is known."""
        return say(f"since.{self.flat.since.source}")

    @property
    def portals(self) -> str:
        """Where it is offered."""
        return ", ".join(map(plain, self.flat.portals))

    @property
    def fails(self) -> str:
        """The conditions that it fails; of many the first, and how many more."""
        return self._named(State.FAIL)

    @property
    def unsure(self) -> str:
        """The conditions of which nobody knows."""
        return self._named(State.UNKNOWN)

    def _named(self, state: State) -> str:
        names = [say(f"breaker.{name}") for name in self.score.breakers_in(state)] if self.score else []
        more = f" +{len(names) - CONDITIONS_ON_CARD}" if len(names) > CONDITIONS_ON_CARD else ""
        return ", ".join(names[:CONDITIONS_ON_CARD]) + more

    def _fair_price(self) -> dict[str, Any] | None:
        if self.fair is None:
            return None
        verdict, band = self.fair
        return {"verdict": verdict, "eur_sqm": {name: round(one) for name, one in band._asdict().items()}}

    def as_json(self) -> dict[str, Any]:
        """The card as data."""
        flat, score = self.flat, self.score
        return {
            "id": self.id,
            "title": flat.title,
            "price_eur": flat.price_eur,
            "vat": flat.vat,
            "previous_price_eur": self.previous_eur,
            "fair_price": self._fair_price(),
            "price_per_sqm_eur": flat.price_per_sqm_eur,
            "area_sqm": flat.area_sqm,
            "rooms": flat.rooms,
            "floor": flat.floor,
            "floors_total": flat.floors_total,
            "construction": flat.construction,
            "neighbourhood": flat.neighbourhood,
            "metro_station": flat.metro_station,
            "metro_walk_minutes": [flat.metro_walk.least, flat.metro_walk.most] if flat.metro_walk else None,
            "metro_minutes": flat.metro_minutes,
            "metro_distance_m": flat.metro_distance_m,
            "travel_minutes": {name: way and [way.least, way.most] for name, way in self.travel.items()},
            "days_on_market": flat.days_on_market(self.now),
            "offered": flat.offered,
            "status": self.status,
            "opinions": [asdict(one) for one in self.opinions],
            "score": score.value if score else None,
            "known": score.known if score else None,
            "points": score.points if score else None,
            "verdict": score.verdict.value if score else None,
            "fails": list(score.breakers_in(State.FAIL)) if score else [],
            "unknown": list(score.breakers_in(State.UNKNOWN)) if score else [],
            "portals": flat.portals,
            "url": f"/flat/{self.id}",
        }


class Rank(NamedTuple):
    """Sorts flats, the best first: what passes, then what may, then what fails; what has no score last."""

    verdict: int
    minus_points: float
    property_id: int

    @property
    def fails(self) -> bool:
        """Whether the flat is out by the profile's conditions, or is not what it looks for."""
        return self.verdict >= VERDICTS.index(State.FAIL)


@dataclass(frozen=True, slots=True)
class Deck:
    """All flats as one buyer sees them now."""

    visit: Visit
    profile: Profile
    statuses: Mapping[int, str]
    empty: bool
    """Whether there is no flat at all."""

    @property
    def now(self) -> float:
        """The moment of the request."""
        return self.visit.now

    def status(self, property_id: int) -> str:
        """What the buyer said of the flat."""
        return self.statuses.get(property_id, "new")

    def fitting(self) -> Mapping[int, tuple[str, float]]:
        """All flats on offer that the profile's conditions do not rule out: their stored verdicts and points.

        They are read again when an advert or a score is another: who only looks changes neither.
        """
        database, profile = self.visit.database, self.visit.profile_name
        own = stored_scores.c
        chosen = select(own.property_id, own.verdict, own.points).where(
            own.profile == profile, own.verdict.in_([State.PASS, State.UNKNOWN])
        )

        def read(connection: Connection) -> Mapping[int, tuple[str, float]]:
            rows = connection.execute(chosen).all()
            return {number: (verdict, points) for number, verdict, points in rows}

        return self.visit.site.kept(
            ("fitting", profile), lambda: database.run_read(read), version=database.run_read(latest)
        )

    def flats(self, property_ids: Collection[int]) -> list[Flat]:
        """Those of these properties that there are, in this order."""
        found = self.visit.database.run_read(
            lambda connection: {flat.property_id: flat for flat in load_flats(connection, property_ids)}
        )
        return [found[number] for number in property_ids if number in found]

    def looks(self, flats: Sequence[Flat]) -> list[FlatFacts]:
        """These flats, each beside its neighbours."""
        places = {flat.neighbourhood for flat in flats if flat.neighbourhood is not None}
        kept = self.visit.database.run_read(lambda connection: read_yardsticks(connection, places))
        return [look(flat, lambda cell: kept.get(cell, Yardstick())) for flat in flats]

    def scores(self, flats: Sequence[Flat]) -> dict[int, Score]:
        """By property; of those that may be what the profile looks for at all."""
        scorer = Scorer(self.profile)
        wanted = [flat for flat in flats if scorer.is_candidate(flat)]
        return {seen.flat.property_id: scorer.score(seen) for seen in self.looks(wanted)}

    def ranks(self, property_ids: Collection[int]) -> dict[int, Rank]:
        """How good flats are now, which may be gone."""
        scored = self.scores(self.flats(property_ids)).values() if property_ids else ()
        found = {score.property_id: Rank(*ranking(score)) for score in scored}
        return {one: found.get(one) or Rank(len(VERDICTS), 0.0, one) for one in property_ids}

    def cards(self, flats: Sequence[Flat], notes: Mapping[int, Note] | None = None) -> list[Card]:
        """The cards of these flats."""
        steps, scores = read_steps(self.visit, flats), self.scores(flats)
        fair = self.visit.site.verdicts(flats)
        ticked = set(self.visit.ticked)
        ids = [flat.property_id for flat in flats]
        said: Mapping[int, Sequence[Opinion]] = {}
        if self.visit.person and ids:
            said = self.visit.database.run_read(lambda connection: opinions_on(connection, ids))
        return [
            Card(
                flat,
                scores.get(flat.property_id),
                self.status(flat.property_id),
                _previous(flat, steps),
                self.now,
                (notes or {}).get(flat.property_id),
                flat.property_id in ticked,
                said.get(flat.property_id, ()),
                fair.get(flat.property_id),
                {one.name: flat.travel_to(one.place) for one in self.profile.places},
            )
            for flat in flats
        ]


def open_deck(visit: Visit) -> Deck:
    """Everything as it is now, for the profile of the visit."""
    visit.site.refresh(visit.profiles)

    def read(connection: Connection) -> tuple[Mapping[int, str], bool]:
        return statuses_for(connection, visit.person), connection.scalar(
            select(flat_rows.c.property_id).limit(1)
        ) is None

    return Deck(visit, visit.profile, *visit.database.run_read(read))


@dataclass(frozen=True, slots=True)
class Pages:
    """One page of a list; how many there are in all is always said."""

    number: int
    count: int
    name: str = "page"
    """What the address calls it."""

    def part(self, size: int = CARDS_PER_PAGE) -> slice:
        """Which things are on it."""
        return slice((self.number - 1) * size, self.number * size)


_Item = TypeVar("_Item")


def page_of(
    visit: Visit, items: Sequence[_Item], name: str = "page", size: int = CARDS_PER_PAGE
) -> tuple[Sequence[_Item], Pages]:
    """What is on the page that is asked for; the last one where there are not so many."""
    pages = pages_of(visit, len(items), name, size)
    return items[pages.part(size)], pages


def pages_of(visit: Visit, total: int, name: str = "page", size: int = CARDS_PER_PAGE) -> Pages:
    """The page that is asked for, of so many things."""
    count = max(1, -(-total // size))
    return Pages(min(visit.page_number(name), count), count, name)


def read_steps(visit: Visit, flats: Iterable[Flat]) -> Mapping[int, Sequence[PriceStep]]:
    """The prices of all adverts of these flats."""
    ids = [advert.listing_id for flat in flats for advert in flat.adverts]

    def read(connection: Connection) -> Mapping[int, Sequence[PriceStep]]:
        return price_steps(connection, ids)

    return visit.database.run_read(read) if ids else {}


def _previous(flat: Flat, steps: Mapping[int, Sequence[PriceStep]]) -> float | None:
    """What the advert with the flat's price asked before."""
    cheapest = flat.adverts[0] if flat.adverts else None
    return previous_price(steps.get(cheapest.listing_id, ())) if cheapest else None
