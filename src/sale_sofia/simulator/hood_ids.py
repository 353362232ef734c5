"""The numbers under which a portal of its own files Sofia's neighbourhoods."""

from collections.abc import Mapping

from sale_sofia.listings.places import Neighbourhood, neighbourhoods

_UNKNOWN = 10_000


def hood_ids(known: Mapping[str, int]) -> dict[int, Neighbourhood]:
    """Every neighbourhood by its number: the portal's own where it is `known` by name, else one made up."""
    return {known.get(hood.name, _UNKNOWN + hood.id): hood for hood in neighbourhoods()}


def family_ids() -> dict[int, Neighbourhood]:
    """As the imot.bg family numbers them."""
    return {hood.id: hood for hood in neighbourhoods()}


def tilde_list(query: Mapping[str, list[str]], name: str) -> list[int]:
    """The numbers of a filter of that family: 6~10~11~."""
    return [int(part) for part in query.get(name, [""])[0].split("~") if part.isdecimal()]


def with_tildes(query: Mapping[str, list[str]], *names: str) -> str:
    """These filters as an address has them, with its question mark; nothing where none is set."""
    set_ones = {name: numbers for name in names if (numbers := tilde_list(query, name))}
    spelled = [f"{name}={''.join(f'{number}~' for number in numbers)}" for name, numbers in set_ones.items()]
    return "?" + "&".join(spelled) if spelled else ""
