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


def tilde_list(text: str) -> list[int]:
    """The numbers of a filter of that family: 6~10~11~."""
    return [int(part) for part in text.split("~") if part.isdecimal()]
