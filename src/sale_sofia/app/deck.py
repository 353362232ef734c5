"""What pages of cards are drawn from: the flats, what the profile makes of them, the buyer's word."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st
from sqlalchemy import Connection

from sale_sofia.app import card, formatting, snapshot, state
from sale_sofia.app.card import Card
from sale_sofia.app.profiles import chosen_profile
from sale_sofia.app.words import counted, say
from sale_sofia.config.screens import CARDS_PER_PAGE, CARDS_PER_ROW
from sale_sofia.data.evaluations import statuses
from sale_sofia.data.price_steps import PriceStep, previous_price, price_steps
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.score_book import Ranked
from sale_sofia.insights.scoring import Score, ranking


@dataclass(frozen=True, slots=True)
class Deck:
    """All flats as one buyer sees them now."""

    snapshot: snapshot.Snapshot
    profile_name: str
    profile: Profile
    ranked: Ranked
    statuses: Mapping[int, str]
    now: float

    @property
    def scores(self) -> Mapping[int, Score]:
        """By property; of those that may be what the profile looks for at all."""
        return self.ranked.scores

    def status(self, flat: Flat) -> str:
        """What the buyer said of the flat."""
        return self.statuses.get(flat.property_id, "new")

    def order(self, flat: Flat) -> tuple[int, float, int]:
        """The best first: what passes, then what may, then what fails; flats without a score last."""
        score = self.scores.get(flat.property_id)
        return (len(State), 0.0, flat.property_id) if score is None else ranking(score)

    def fails(self, flat: Flat) -> bool:
        """Whether the flat is out by the profile's conditions, or is not what it looks for."""
        score = self.scores.get(flat.property_id)
        return score is None or score.verdict == State.FAIL

    def card(self, flat: Flat, steps: Mapping[int, Sequence[PriceStep]]) -> Card:
        """The flat's card; `steps` are the prices of its adverts."""
        score = self.scores.get(flat.property_id)
        return Card(
            flat,
            score=score.value if score else None,
            known=score.known if score else None,
            fails=_names(score, State.FAIL),
            unsure=_names(score, State.UNKNOWN),
            judged=score is not None,
            status=self.status(flat),
            previous_eur=_previous(flat, steps),
        )


def open_deck() -> Deck:
    """Everything as it is now, for the profile that is chosen at the side."""
    name, profile = chosen_profile()
    taken, ranked = snapshot.keeper().ranked(profile)
    said = state.database().run_read(statuses)
    return Deck(taken, name, profile, ranked, said, state.now())


def read_steps(flats: Iterable[Flat]) -> Mapping[int, Sequence[PriceStep]]:
    """The prices of all adverts of these flats."""
    ids = [advert.listing_id for flat in flats for advert in flat.adverts]

    def read(connection: Connection) -> Mapping[int, Sequence[PriceStep]]:
        return price_steps(connection, ids)

    return state.database().run_read(read) if ids else {}


def show_cards(
    deck: Deck, flats: Sequence[Flat], key: str, note: Callable[[Flat], str] = lambda _: ""
) -> None:
    """The flats as cards, a page of them at a time; how many there are is always said."""
    pages = max(1, -(-len(flats) // CARDS_PER_PAGE))
    number = _page_number(key, pages)
    shown = flats[(number - 1) * CARDS_PER_PAGE : number * CARDS_PER_PAGE]
    steps = read_steps(shown)
    for start in range(0, len(shown), CARDS_PER_ROW):
        row = shown[start : start + CARDS_PER_ROW]
        for column, flat in zip(st.columns(CARDS_PER_ROW), row, strict=False):
            with column:
                card.show(deck.card(flat, steps), deck.now, note(flat))
    if pages > 1:
        st.pagination(pages, key=key)


def count_line(count: int) -> str:
    """`12 имота`."""
    return counted("properties", count, formatting.number(count))


def _page_number(key: str, pages: int) -> int:
    """The page chosen beneath the cards, as far as there are so many."""
    chosen = st.session_state.get(key, 1)
    if chosen > pages:
        st.session_state[key] = pages
    return min(int(chosen), pages)


def _names(score: Score | None, state_: State) -> tuple[str, ...]:
    return tuple(say(f"breaker.{name}") for name in score.named(state_)) if score else ()


def _previous(flat: Flat, steps: Mapping[int, Sequence[PriceStep]]) -> float | None:
    """What the advert with the flat's price asked before."""
    cheapest = flat.adverts[0] if flat.adverts else None
    return previous_price(steps.get(cheapest.listing_id, ())) if cheapest else None
