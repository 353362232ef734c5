"""The buyer's decisions that properties are the same or not. They always win over scores.

`by` is the name of the person.
"""

from collections.abc import Sequence
from functools import partial
from itertools import product

from sqlalchemy import Connection

from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import members_of, read_decisions, resolve, save_decisions, save_doubt
from sale_sofia.settings.words import Said


class WrongDecision(ValueError):
    """The decision makes no sense; the message says why. Nothing was changed."""


def link(matching: PropertyMatching, property_id: int, other_id: int, *, by: str | None = None) -> int:
    """Join two properties from now on; returns the id of the result, the older of the two."""

    def decide(connection: Connection) -> list[int]:
        first, second = sorted((resolve(connection, property_id), resolve(connection, other_id)))
        if first == second:
            raise WrongDecision(f"{property_id} and {other_id} are one property already: {first}")
        ours, theirs = _members(connection, first), _members(connection, second)
        parted = {pair for pair, same in read_decisions(connection).items() if not same}
        between = {(min(pair), max(pair)) for pair in product(ours, theirs)}
        pairs = (parted & between) | {(ours[0], theirs[0])}
        save_decisions(connection, pairs, same=True, now=matching.clock(), by=by)
        return [*ours, *theirs]

    matching.match_new(also=matching.database.run_write(decide))
    return matching.database.run_read(partial(resolve, property_id=property_id))


def split(
    matching: PropertyMatching, property_id: int, listing_ids: Sequence[int], *, by: str | None = None
) -> int:
    """Separate these adverts from this property; returns the id of the property they have now."""

    def decide(connection: Connection) -> list[int]:
        found = resolve(connection, property_id)
        members = _members(connection, found)
        if strangers := sorted(set(listing_ids) - set(members)):
            wrong = Said("wrong_split.stranger", property=found, advert=strangers[0], there=members)
            raise WrongDecision(wrong)
        rest = [member for member in members if member not in listing_ids]
        if not rest:
            raise WrongDecision(Said("wrong_split.all", property=found))
        save_decisions(connection, product(listing_ids, rest), same=False, now=matching.clock(), by=by)
        return members

    matching.match_new(also=matching.database.run_write(decide))
    return matching.database.run_read(partial(resolve, property_id=min(listing_ids)))


def part(matching: PropertyMatching, property_id: int, other_id: int, *, by: str | None = None) -> None:
    """Keep two properties apart, however alike their adverts are."""

    def decide(connection: Connection) -> list[int]:
        first, second = resolve(connection, property_id), resolve(connection, other_id)
        if first == second:
            raise WrongDecision(
                f"{property_id} and {other_id} are one property: {first}; split it by its adverts"
            )
        ours, theirs = _members(connection, first), _members(connection, second)
        save_decisions(connection, product(ours, theirs), same=False, now=matching.clock(), by=by)
        return [*ours, *theirs]

    matching.match_new(also=matching.database.run_write(decide))


def leave_open(matching: PropertyMatching, property_id: int, other_id: int) -> None:
    """Record that the buyer is unsure: nothing changes, but all other pairs are asked first."""

    def decide(connection: Connection) -> None:
        first, second = resolve(connection, property_id), resolve(connection, other_id)
        if first == second:
            raise WrongDecision(
                f"{property_id} and {other_id} are one property: {first}; there is nothing to be unsure of"
            )
        save_doubt(connection, first, second, now=matching.clock())

    matching.database.run_write(decide)


def _members(connection: Connection, property_id: int) -> list[int]:
    return [source.listing_id for source in members_of(connection, [property_id])]
