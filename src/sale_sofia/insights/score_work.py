"""What a run of scores has to do: what has changed, and which scores are made of something else now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection

from sale_sofia.config.insights import REREAD_SHARE
from sale_sofia.config.scoring import SCORING_VERSION
from sale_sofia.config.settings import Settings
from sale_sofia.data import scores as store
from sale_sofia.data.scores import ScoredFlat
from sale_sofia.insights.flat_rows import read_flats
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.scoring import in_scope
from sale_sofia.insights.yardstick_rows import kept_yardsticks
from sale_sofia.insights.yardsticks import Comparable, Yardsticks, cell_of, comparable

Profiles = Mapping[str, Profile]
Digests = Mapping[int, str]
"""Property → what its score is made of."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a run has to do. Scores are by profile."""

    properties: int
    """All that there are."""
    changed: Sequence[ScoredFlat]
    vanished: set[int]
    """Properties that are none any more."""
    flats: Sequence[Flat]
    """All that have to be scored, for whichever profile."""
    yardsticks: Yardsticks
    wanted: Mapping[str, Digests]
    """Of what every score has to be made."""
    stale: Mapping[str, set[int]]
    """Scores that are made of something else, or not at all."""
    outdated: Mapping[str, set[int]]
    """Scores of what is gone, or is no longer looked for."""


def find_work(connection: Connection, settings: Settings, profiles: Profiles) -> Work:
    """Look through everything that is stored; only flats that have to be scored are read."""
    facts, known = store.read_facts(connection), store.read_scored_flats(connection)
    new = {one for one, digest in facts.items() if one not in known or known[one].facts != digest}
    flats = _read_flats(connection, new, len(facts))
    changed = [_scored_flat(flat, facts[one]) for one, flat in flats.items()]
    vanished = known.keys() - facts.keys()
    known |= {flat.property_id: flat for flat in changed}
    there = [flat for one, flat in known.items() if one not in vanished]
    yardsticks = _measure(there, Yardsticks(_comparables(there), settings, kept_yardsticks(connection)))
    wanted = {name: _digests(profile, there, yardsticks) for name, profile in profiles.items()}
    stored = {name: store.read_digests(connection, name) for name in profiles}
    stale = {name: _differing(wanted[name], stored[name]) for name in profiles}
    outdated = {name: stored[name].keys() - wanted[name].keys() for name in profiles}
    missing = set().union(*stale.values()) - flats.keys()
    flats |= _read_flats(connection, missing, len(facts))
    return Work(len(facts), changed, vanished, list(flats.values()), yardsticks, wanted, stale, outdated)


def _read_flats(connection: Connection, wanted: set[int], known: int) -> dict[int, Flat]:
    """These properties; where they are many, all are gone through, which is faster than asking for each."""
    asked = wanted if len(wanted) <= REREAD_SHARE * known else None
    found = read_flats(connection, asked, photos=0)
    return {flat.property_id: flat for flat in found if flat.property_id in wanted}


def _scored_flat(flat: Flat, facts: str) -> ScoredFlat:
    cell, compared = cell_of(flat.neighbourhood, flat.rooms), comparable(flat)
    return ScoredFlat(
        flat.property_id,
        facts,
        flat.deal,
        flat.property_type,
        flat.offered,
        flat.neighbourhood,
        cell[1] if cell else 0,
        compared.eur_sqm if compared else None,
    )


def _comparables(known: Sequence[ScoredFlat]) -> Iterator[Comparable]:
    for flat in known:
        if flat.eur_sqm is not None and flat.neighbourhood is not None:
            yield Comparable(flat.deal or "", flat.neighbourhood, flat.rooms, flat.eur_sqm)


def _measure(known: Sequence[ScoredFlat], yardsticks: Yardsticks) -> Yardsticks:
    """Make the yardsticks of all flats, whoever looks for them: those that are not made are forgotten."""
    for cell in {(flat.neighbourhood, flat.rooms) for flat in known if flat.neighbourhood is not None}:
        yardsticks.of(cell)
    return yardsticks


def _digests(profile: Profile, known: Sequence[ScoredFlat], yardsticks: Yardsticks) -> dict[int, str]:
    begun = blake2b(f"{SCORING_VERSION} {profile.model_dump_json()}".encode(), digest_size=16)
    return {
        flat.property_id: _digest(begun, flat, yardsticks)
        for flat in known
        if flat.offered and in_scope(profile, flat.deal, flat.property_type)
    }


def _digest(begun: Any, flat: ScoredFlat, yardsticks: Yardsticks) -> str:  # noqa: ANN401 - a hash that was begun
    measured = "" if flat.neighbourhood is None else yardsticks.digest((flat.neighbourhood, flat.rooms))
    made = begun.copy()
    made.update(f"{flat.facts} {measured}".encode())
    digest: str = made.hexdigest()
    return digest


def _differing(wanted: Digests, stored: Digests) -> set[int]:
    return {one for one, digest in wanted.items() if stored.get(one) != digest}
