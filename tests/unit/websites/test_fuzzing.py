"""No text and no page breaks a parser or an adapter: a short form of `bench/fuzz.py`."""

import json
import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing import parse_any, read_any, seeds, spoiled, texts, values
from sale_sofia.listings.page import Page
from sale_sofia.listings.parsers import PARSERS
from sale_sofia.websites.registry import AVAILABLE_SITES
from seeds import SEED

SHORT = settings(max_examples=10, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@pytest.mark.parametrize("parser", sorted(PARSERS))
@SHORT
@given(given_texts=texts)
def test_a_parser_takes_any_text(parser: str, given_texts: tuple[str, ...]) -> None:
    parse_any(parser, given_texts)


@pytest.mark.slow
@pytest.mark.parametrize("site", AVAILABLE_SITES)
@SHORT
@given(body=st.binary(max_size=400), tail=st.sampled_from((b"", "имот</html>".encode())))
def test_an_adapter_takes_any_bytes(site: str, body: bytes, tail: bytes) -> None:
    for page in seeds(site):
        read_any(site, Page(page.url, body + tail))


@pytest.mark.parametrize("site", ["homes.bg", "imoti.com", "olx.bg"])
@SHORT
@given(value=values)
def test_an_adapter_takes_any_json(site: str, value: object) -> None:
    text = json.dumps(value)
    states = (
        f'<script>window.__PRELOADED_STATE__ = {{"data": {{"offer": {text}}}}};</script>',
        f"<script>window.__PRERENDERED_STATE__= {json.dumps(json.dumps({'ad': {'ad': value}}))};</script>",
        f'<script id="ng-state">{{"x": {{"body": {{"data": {text}}}}}}}</script>',
    )
    bodies = (
        text,
        f'{{"result": [{text}], "data": [{text}]}}',
        *(f"<html>имот{state}</html>" for state in states),
    )
    for page in seeds(site):
        for body in bodies:
            read_any(site, Page(page.url, body.encode("utf-8", "replace")))


@pytest.mark.slow
@pytest.mark.parametrize("site", AVAILABLE_SITES)
def test_an_adapter_takes_any_spoiled_page(site: str, record_property: Callable[[str, object], None]) -> None:
    record_property("seed", SEED)
    for turn in range(12):
        for page in seeds(site):
            body = spoiled(page.body, random.Random(f"{SEED}:{turn}"), 1 + turn % 4)
            assert read_any(site, Page(page.url, body))["kind"], f"seed {SEED}"
