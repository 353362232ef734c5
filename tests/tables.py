"""Tests that walk a table: one test for all rows, since a test of its own costs more than most rows do."""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = 160


def each_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """As `pytest.mark.parametrize`, but one test, which tells all wrong rows together.

    Fixtures are made once for all rows: for tests that leave nothing behind.
    """
    table = [{names: row} if isinstance(names, str) else dict(zip(names, row, strict=True)) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def walk(**fixtures: object) -> None:
            assert table, "a table without rows proves nothing"
            wrong = [error for row in table if (error := _wrong(test, row, fixtures)) is not None]
            if wrong:
                raise ExceptionGroup(f"{len(wrong)} of {len(table)} rows are wrong", wrong)

        walk.__signature__ = _without(test, names)  # type: ignore[attr-defined]
        return walk

    return decorate


def _wrong(test: Callable[..., None], row: dict[str, Any], fixtures: dict[str, object]) -> Exception | None:
    try:
        test(**row, **fixtures)
    except Exception as error:  # noqa: BLE001 - each is raised again, with the others
        error.add_note(f"row: {_shown.repr(row)}")
        return error
    return None


def _without(test: Callable[..., None], names: str | tuple[str, ...]) -> inspect.Signature:
    whole = inspect.signature(test)
    given = {names} if isinstance(names, str) else set(names)
    assert given <= set(whole.parameters), f"{test.__name__} takes no {given - set(whole.parameters)}"
    return whole.replace(parameters=[one for name, one in whole.parameters.items() if name not in given])
