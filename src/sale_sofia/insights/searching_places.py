"""Names that a search may use: neighbourhoods, districts, towns, portals; each as the data spells it."""

from collections.abc import Iterable
from functools import cache

from sale_sofia.config.site_config import available_sites
from sale_sofia.listings.place_names import place_key
from sale_sofia.listings.places import districts, find_neighbourhood, neighbourhoods
from sale_sofia.listings.text import squeeze
from sale_sofia.listings.towns import town


def known_neighbourhood(text: str) -> str:
    """The neighbourhood of Sofia that this text names, in any known writing.

    Raises:
        ValueError: it names none, or several.
    """
    found = find_neighbourhood(text)
    if found is None:
        raise ValueError(f"no neighbourhood of Sofia is called so{_near(text)}")
    return found.name


def known_district(text: str) -> str:
    """The district of Sofia that this text names.

    Raises:
        ValueError: it names none.
    """
    found = _districts().get(place_key(text))
    if found is None:
        raise ValueError(f"no district of Sofia is called so; there are {', '.join(districts())}")
    return found


def known_city(text: str) -> str:
    """The town as adverts print it; Sofia in any writing.

    Raises:
        ValueError: the text is empty.
    """
    plain = squeeze(text)
    if not plain:
        raise ValueError("the name of the town is empty")
    return town(plain) or plain


def known_portal(text: str) -> str:
    """The portal of this name.

    Raises:
        ValueError: there is none.
    """
    if text not in available_sites():
        raise ValueError(f"no portal is called so; there are {', '.join(available_sites())}")
    return text


def _near(text: str) -> str:
    """Those whose names begin with the same words, or hold them."""
    key = place_key(text)
    like = [place.name for place in neighbourhoods() if key and key in place_key(place.name)]
    return f"; there are {_listed(like)}" if like else "; `sale-sofia search --help` says how to write it"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


@cache
def _districts() -> dict[str, str]:
    return {place_key(name): name for name in districts()}
