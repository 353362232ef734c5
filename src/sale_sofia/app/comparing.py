"""Two to four flats side by side: what differs, who is better at what, and other weights tried out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sale_sofia.app import facts, safe
from sale_sofia.app import formatting as shown
from sale_sofia.app.deck import Deck
from sale_sofia.app.words import say
from sale_sofia.data.market import days_on_market
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.scoring import Score, Scorer, ranking


class Line(NamedTuple):
    """One line of the comparison: its name, how a flat's value is shown, and which value is better."""

    name: str
    text: Callable[[Flat], str]
    better: Callable[[Flat], float | None] | None = None
    """The higher the better; None where nothing is better by itself."""


def _lower(value: Callable[[Flat], float | None]) -> Callable[[Flat], float | None]:
    return lambda flat: None if (found := value(flat)) is None else -found


def lines(now: float) -> tuple[Line, ...]:
    """All lines, in the order of the table."""

    def days(flat: Flat) -> float:
        return days_on_market(flat.first_seen_at, None if flat.offered else flat.last_seen_at, None, now=now)

    measured = (
        Line("price", lambda flat: shown.euro(flat.price_eur), _lower(lambda flat: flat.price_eur)),
        Line(
            "eur_sqm",
            lambda flat: shown.euro_per_sqm(flat.price_per_sqm_eur),
            _lower(lambda flat: flat.price_per_sqm_eur),
        ),
        Line("days", lambda flat: shown.days(days(flat))),
        Line("portals", lambda flat: ", ".join(sorted({advert.site for advert in flat.adverts}))),
    )
    return (*measured, *(_fact_line(name) for name in facts.FACTS))


_BETTER: Final[Mapping[str, Callable[[Flat], float | None]]] = {
    "area_sqm": lambda flat: flat.area_sqm,
    "area_net_sqm": lambda flat: flat.area_net_sqm,
    "rooms": lambda flat: flat.rooms,
    "bedrooms": lambda flat: flat.bedrooms,
    "bathrooms": lambda flat: flat.bathrooms,
    "year_built": lambda flat: flat.year_built,
    "balconies": lambda flat: flat.balconies,
    "metro_distance_m": _lower(lambda flat: flat.metro_distance_m),
    "metro_minutes": _lower(lambda flat: flat.metro_minutes),
}


def _fact_line(name: str) -> Line:
    return Line(name, lambda flat: facts.fact(name, getattr(flat, name)), _BETTER.get(name))


def comparison_table(flats: Sequence[Flat], now: float, *, only_differences: bool) -> str:
    """The flats as columns of an HTML table; what differs and what is best are marked by signs too."""
    head = "".join(f"<th scope='col'>№ {flat.property_id}</th>" for flat in flats)
    rows = [_row(line, flats) for line in lines(now) if not only_differences or _differs(line, flats)]
    body = "".join(rows)
    return f"<table class='ss-table'><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"


def best_of(line: Line, flats: Sequence[Flat]) -> set[int]:
    """The places of the flats that are better here than some other; none while they are alike or unknown."""
    values = [line.better(flat) if line.better else None for flat in flats]
    known = [value for value in values if value is not None]
    if len(set(known)) < 2:  # noqa: PLR2004 - one value is no comparison
        return set()
    return {place for place, value in enumerate(values) if value == max(known)}


def try_weights(deck: Deck, flats: Sequence[Flat], weights: Mapping[str, float]) -> list[tuple[Flat, Score]]:
    """The flats in the order in which these weights rank them."""
    profile = with_weights(deck.profile, weights)
    scorer = Scorer(profile)
    scored = [(flat, scorer.score(deck.snapshot.looks[flat.property_id])) for flat in flats]
    return sorted(scored, key=lambda pair: ranking(pair[1]))


def with_weights(profile: Profile, weights: Mapping[str, float]) -> Profile:
    """The profile with other weights."""
    values: dict[str, Any] = profile.model_dump()
    return Profile.model_validate({**values, "weights": dict(weights)})


def _differs(line: Line, flats: Sequence[Flat]) -> bool:
    return len({line.text(flat) for flat in flats}) > 1


def _row(line: Line, flats: Sequence[Flat]) -> str:
    differs, best = _differs(line, flats), best_of(line, flats)
    mark = "≠ " if differs else ""
    cells = "".join(
        f"<td class='{'ss-good' if place in best else ''}'>"
        f"{'★ ' if place in best else ''}{safe.html(line.text(flat))}</td>"
        for place, flat in enumerate(flats)
    )
    name = say(f"fact.{line.name}") if line.name in facts.FACTS else say(f"compare.{line.name}")
    return f"<tr class='{'ss-differs' if differs else ''}'><th scope='row'>{mark}{name}</th>{cells}</tr>"
