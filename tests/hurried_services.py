"""Orchestrators whose Celery programs start at once and pause for less long."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from celery_server import spawn_forked
from parallel_world import HURRIED
from sale_sofia.operations.services import processes

HURRIED_PROGRAMS = {
    "PYTHONPATH": os.pathsep.join(
        filter(None, [str(Path(__file__).with_name("hurried")), os.environ.get("PYTHONPATH")])
    ),
    "OTHER_NUMBERS": json.dumps(dict(HURRIED)),
}
"""Variables with which programs that are started anew, and those that they start, pause for less long."""


@contextmanager
def forked_programs(numbers: Mapping[str, float] = HURRIED) -> Iterator[None]:
    """Inside, programs of Celery that this process starts are forked, with these fixed numbers.

    They are processes of their own, found by what is written down about them and by their environment.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "spawn", partial(spawn_forked, numbers))
        yield
