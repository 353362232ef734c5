"""Any advert that the model allows and a portal could print."""

from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin

from hypothesis import strategies as st

from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.model import Listing

# A page with a NUL in it is refused before it is read, and PostgreSQL has none in its texts.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
COUNTS = st.integers(1, 2**31 - 1)
POSITIVE = st.floats(0, exclude_min=True, allow_nan=False, allow_infinity=False)
DEGREES = st.floats(-90, 90).map(lambda number: number + 0.0)  # SQLite has no negative zero


def listings(**fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Listing]:
    return st.builds(Listing, **({name: _field(name) for name in Listing.model_fields} | fixed))


def moments(*, imaginary: bool = True) -> st.SearchStrategy[datetime]:
    """On Sofia's clock, also in the hour that comes twice and the one that never comes."""
    near_change = st.builds(
        lambda hour, minute, month, day, fold: datetime(
            2026, month, day, hour, minute, tzinfo=SOFIA, fold=fold
        ),
        st.integers(0, 4),
        st.integers(0, 59),
        st.just(10),
        st.just(25),
        st.sampled_from([0, 1]),
    )
    any_time = st.datetimes(
        datetime(1990, 1, 1),  # noqa: DTZ001 - the zone is given beside it
        datetime(2040, 1, 1),  # noqa: DTZ001
        timezones=st.just(SOFIA),
        allow_imaginary=imaginary,
    )
    return any_time | near_change


def _field(name: str) -> st.SearchStrategy[Any]:
    annotation = Listing.model_fields[name].annotation
    kinds = [kind for kind in get_args(annotation) or (annotation,) if kind is not NoneType]
    known = _known(name, annotation, kinds)
    return st.none() | known if NoneType in get_args(annotation) else known


def _known(name: str, annotation: Any, kinds: list[Any]) -> st.SearchStrategy[Any]:  # noqa: ANN401 - a type
    if get_origin(annotation) is tuple:
        return st.lists(_plain(name, kinds[0]), max_size=4).map(tuple)
    if all(isinstance(kind, str) for kind in kinds):
        return st.sampled_from(kinds)
    return _plain(name, kinds[0])


def _plain(name: str, kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - a type
    if name in ("lat", "lon"):
        return DEGREES
    if choices := [choice for choice in get_args(kind) if isinstance(choice, str)]:
        return st.sampled_from(choices)
    plain = (get_args(kind) or (kind,))[0]
    return {str: TEXTS, float: POSITIVE, int: COUNTS, bool: st.booleans(), datetime: moments()}[plain]
