"""All flats as a buyer sees them now, and the card of each with the first facts."""

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
from sale_sofia.advice.valuation.model import FairBand
from sale_sofia.advice.valuation.valuation import Verdict
from sale_sofia.app import formatting as fmt
from sale_sofia.app.facts import asked, metro_words
from sale_sofia.app.settings import CARDS_PER_PAGE, CONDITIONS_ON_CARD, PHOTOS_ON_CARD
from sale_sofia.app.visit import PageVisit
from sale_sofia.app.words import pluralise, say, word_for
from sale_sofia.buyer.opinions import Opinion, opinions_on, statuses_for
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import asked_eur_sqm, vat_due
from sale_sofia.flats.projection import load_flats
from sale_sofia.flats.rows import PriceStep, previous_price, price_steps
from sale_sofia.flats.tables import flats as flat_rows
from sale_sofia.flats.walks import Travel
from sale_sofia.history.revisions import latest
from sale_sofia.listings.parsers import offer
from sale_sofia.listings.text import plain


@dataclass(frozen=True, slots=True)
class CardNote:
    """A line above the price of a flat: what happened to it."""

    text: str
    colour: str = ""


def own_title(flat: Flat) -> str | None:
    """The advert's own title, unless it says no more than "Продава 2-СТАЕН, гр. София, Лозенец"."""
    title = flat.title
    return plain(title) if title and not offer("title", (title.partition(",")[0],)) else None


def title_of(flat: Flat) -> str:
    """The advert's own title, or what kind of home it is and where."""
    kind = word_for("rooms", min(flat.rooms, 5)) if flat.rooms is not None else None
    if kind is None and flat.property_type is not None:
        kind = word_for("property_type", flat.property_type)
    text = ", ".join(part for part in (kind, plain(flat.neighbourhood or "")) if part)
    return own_title(flat) or text[:1].upper() + text[1:] or say("card.no_title", id=flat.property_id)


@dataclass(frozen=True, slots=True)
class FlatCard:
    """A flat with scores and opinions, as text for its card."""

    flat: Flat
    score: Score | None
    status: str
    previous_eur: float | None
    """The price before the last change, if any."""
    now: float
    note: CardNote | None = None
    ticked: bool = False
    opinions: Sequence[Opinion] = ()
    """The household's opinions."""
    fair: tuple[Verdict, FairBand] | None = None
    """Where its price lies beside the fair range; None where it cannot be judged."""
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
        return fmt.photos(self.flat)[:PHOTOS_ON_CARD]

    @property
    def price(self) -> str:
        """The price as printed."""
        return asked(self.flat)

    @property
    def without_vat(self) -> bool:
        """Whether VAT comes on top of the price, as the portal or the description says."""
        return vat_due(self.flat) is True

    @property
    def moved(self) -> CardNote | None:
        """The last change of the price."""
        price, before = self.flat.price_eur, self.previous_eur
        if before is None or price is None or before == price:
            return None
        sign, colour = ("▼", "good") if price < before else ("▲", "bad")
        return CardNote(f"{sign} {fmt.percent_change(before, price)}", colour)

    @property
    def badge(self) -> CardNote | None:
        """The price compared with the fair one; None where that is unknown."""
        eur_sqm = asked_eur_sqm(self.flat)
        if self.fair is None or eur_sqm is None:
            return None
        verdict, band = self.fair
        colour = {"below": "good", "above": "bad"}.get(verdict, "")
        return CardNote(
            say(f"card.fair.{verdict}", percent=fmt.percent(abs(eur_sqm / band.middle - 1))), colour
        )

    @property
    def place(self) -> str:
        """The neighbourhood."""
        return plain(self.flat.neighbourhood) if self.flat.neighbourhood else say("card.no_place")

    @property
    def metro(self) -> str | None:
        """The walk to the metro, where it is known."""
        walk = metro_words(self.flat)
        if walk == fmt.UNKNOWN:
            return None
        return f"{walk} ({plain(self.flat.metro_station)})" if self.flat.metro_station else walk

    @property
    def ways(self) -> str:
        """Minutes to the buyer's own places, as far as known."""
        reachable = ((name, way) for name, way in self.travel.items() if way)
        return " · ".join(f"{plain(name)}: {fmt.walk(way.least, way.most)}" for name, way in reachable)

    @property
    def facts(self) -> list[str]:
        """Known facts of size, rooms, floor and building."""
        flat = self.flat
        texts = (
            fmt.area(flat.area_sqm),
            fmt.euro_per_sqm(asked_eur_sqm(flat)),
            word_for("rooms", min(flat.rooms, 5)) if flat.rooms is not None else fmt.UNKNOWN,
            f"{say('card.floor')} {fmt.floor(flat.floor, flat.floors_total)}",
            word_for("construction", flat.construction) if flat.construction else fmt.UNKNOWN,
        )
        return [text for text in texts if fmt.UNKNOWN not in text]

    @property
    def unknown(self) -> str:
        """How many facts of the card are unknown."""
        flat = self.flat
        values = (
            flat.price_eur, flat.area_sqm, flat.floor, flat.floors_total, flat.neighbourhood, flat.rooms,
            flat.construction, flat.year_built, self.metro,
        )  # fmt: skip
        count = sum(value is None for value in values)
        return pluralise("card.unknown", count, fmt.number(count)) if count else ""

    @property
    def days(self) -> str:
        """How long it has been on the market."""
        return say("card.on_market", days=fmt.days(self.flat.days_on_market(self.now)))

    @property
    def since(self) -> str:
        """The source of that duration."""
        return say(f"since.{self.flat.since.source}")

    @property
    def portals(self) -> str:
        """The portals that offer it."""
        return ", ".join(map(plain, self.flat.portals))

    @property
    def fails(self) -> str:
        """The failed conditions; of many the first, and the count of the rest."""
        return self._condition_names(State.FAIL)

    @property
    def unsure(self) -> str:
        """The conditions that are unknown."""
        return self._condition_names(State.UNKNOWN)

    def _condition_names(self, state: State) -> str:
        names = [say(f"breaker.{name}") for name in self.score.breakers_in(state)] if self.score else []
        more = f" +{len(names) - CONDITIONS_ON_CARD}" if len(names) > CONDITIONS_ON_CARD else ""
        return ", ".join(names[:CONDITIONS_ON_CARD]) + more

    def _fair_price(self) -> dict[str, Any] | None:
        if self.fair is None:
            return None
        verdict, band = self.fair
        return {"verdict": verdict, "eur_sqm": {name: round(price) for name, price in band._asdict().items()}}

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
            "price_per_sqm_eur": asked_eur_sqm(flat),
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
            "opinions": [asdict(opinion) for opinion in self.opinions],
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
    """Sort key, the best first: flats that pass, may pass, fail, have no score."""

    verdict: int
    minus_points: float
    property_id: int

    @property
    def fails(self) -> bool:
        """Whether the flat fails the profile's conditions, or is no candidate for it."""
        return self.verdict >= VERDICTS.index(State.FAIL)


@dataclass(frozen=True, slots=True)
class Deck:
    """All flats as a buyer sees them now."""

    visit: PageVisit
    profile: Profile
    statuses: Mapping[int, str]
    empty: bool
    """Whether there is no flat at all."""

    @property
    def now(self) -> float:
        """The moment of the request."""
        return self.visit.now

    def status(self, property_id: int) -> str:
        """The buyer's status of the flat."""
        return self.statuses.get(property_id, "new")

    def fitting(self) -> Mapping[int, tuple[str, float]]:
        """Stored verdicts and points of flats on offer that do not fail the profile's conditions.

        They are read again when an advert or a score has changed.
        """
        database, profile = self.visit.database, self.visit.profile_name
        c = stored_scores.c
        query = select(c.property_id, c.verdict, c.points).where(
            c.profile == profile, c.verdict.in_([State.PASS, State.UNKNOWN])
        )

        def read(connection: Connection) -> Mapping[int, tuple[str, float]]:
            rows = connection.execute(query).all()
            return {number: (verdict, points) for number, verdict, points in rows}

        return self.visit.state.cached(
            ("fitting", profile), lambda: database.run_read(read), version=database.run_read(latest)
        )

    def flats(self, property_ids: Collection[int]) -> list[Flat]:
        """The flats of these properties that exist, in this order."""
        by_id = self.visit.database.run_read(
            lambda connection: {flat.property_id: flat for flat in load_flats(connection, property_ids)}
        )
        return [by_id[number] for number in property_ids if number in by_id]

    def looks(self, flats: Sequence[Flat]) -> list[FlatFacts]:
        """These flats, each with the yardsticks of its neighbourhood."""
        places = {flat.neighbourhood for flat in flats if flat.neighbourhood is not None}
        yardsticks = self.visit.database.run_read(lambda connection: read_yardsticks(connection, places))
        return [look(flat, lambda cell: yardsticks.get(cell, Yardstick())) for flat in flats]

    def scores(self, flats: Sequence[Flat]) -> dict[int, Score]:
        """Scores by property, of the candidates for the profile."""
        scorer = Scorer(self.profile)
        candidates = [flat for flat in flats if scorer.is_candidate(flat)]
        return {seen.flat.property_id: scorer.score(seen) for seen in self.looks(candidates)}

    def ranks(self, property_ids: Collection[int]) -> dict[int, Rank]:
        """The ranks of flats now, even of flats that are gone."""
        scored = self.scores(self.flats(property_ids)).values() if property_ids else ()
        ranks = {score.property_id: Rank(*ranking(score)) for score in scored}
        return {number: ranks.get(number) or Rank(len(VERDICTS), 0.0, number) for number in property_ids}

    def cards(self, flats: Sequence[Flat], notes: Mapping[int, CardNote] | None = None) -> list[FlatCard]:
        """The cards of these flats."""
        steps, scores = read_steps(self.visit, flats), self.scores(flats)
        fair = self.visit.state.verdicts(flats)
        ticked = set(self.visit.ticked)
        ids = [flat.property_id for flat in flats]
        opinions: Mapping[int, Sequence[Opinion]] = {}
        if self.visit.person and ids:
            opinions = self.visit.database.run_read(lambda connection: opinions_on(connection, ids))
        return [
            FlatCard(
                flat,
                scores.get(flat.property_id),
                self.status(flat.property_id),
                _previous(flat, steps),
                self.now,
                (notes or {}).get(flat.property_id),
                flat.property_id in ticked,
                opinions.get(flat.property_id, ()),
                fair.get(flat.property_id),
                {own.name: flat.travel_to(own.place) for own in self.profile.places},
            )
            for flat in flats
        ]


def open_deck(visit: PageVisit) -> Deck:
    """The deck for the profile of the visit, brought up to date."""
    visit.state.refresh(visit.profiles)

    def read(connection: Connection) -> tuple[Mapping[int, str], bool]:
        return statuses_for(connection, visit.person), connection.scalar(
            select(flat_rows.c.property_id).limit(1)
        ) is None

    return Deck(visit, visit.profile, *visit.database.run_read(read))


@dataclass(frozen=True, slots=True)
class Pages:
    """A page of a list, and the number of pages."""

    number: int
    count: int
    name: str = "page"
    """Its parameter in the address."""

    def part(self, size: int = CARDS_PER_PAGE) -> slice:
        """The slice of the list on this page."""
        return slice((self.number - 1) * size, self.number * size)


_Item = TypeVar("_Item")


def page_of(
    visit: PageVisit, items: Sequence[_Item], name: str = "page", size: int = CARDS_PER_PAGE
) -> tuple[Sequence[_Item], Pages]:
    """The items of the requested page; of the last one where there are fewer pages."""
    pages = pages_of(visit, len(items), name, size)
    return items[pages.part(size)], pages


def pages_of(visit: PageVisit, total: int, name: str = "page", size: int = CARDS_PER_PAGE) -> Pages:
    """The requested page of a list with `total` items."""
    count = max(1, -(-total // size))
    return Pages(min(visit.page_number(name), count), count, name)


def read_steps(visit: PageVisit, flats: Iterable[Flat]) -> Mapping[int, Sequence[PriceStep]]:
    """The prices of all adverts of these flats."""
    ids = [advert.listing_id for flat in flats for advert in flat.adverts]

    def read(connection: Connection) -> Mapping[int, Sequence[PriceStep]]:
        return price_steps(connection, ids)

    return visit.database.run_read(read) if ids else {}


def _previous(flat: Flat, steps: Mapping[int, Sequence[PriceStep]]) -> float | None:
    """The previous price of the advert with the flat's price."""
    cheapest = flat.adverts[0] if flat.adverts else None
    return previous_price(steps.get(cheapest.listing_id, ())) if cheapest else None
