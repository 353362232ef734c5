"""YAML as all of us read it: plain values and nothing else, by the fast reader where there is one."""

from typing import Any, Final

import yaml

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str) -> Any:  # noqa: ANN401 - each text has a shape of its own
    """What the text holds; a tag that asks for an object of ours is an error.

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    try:
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 - either of the two is a safe loader
    except (ValueError, LookupError, AttributeError) as error:  # a date or a number that there cannot be
        raise yaml.YAMLError(f"a value cannot be read: {error}") from None
