"""Enrichment against an Ollama of our own: nothing invented is stored, whatever it answers."""

import asyncio
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from ollama_server import HOSTILE, LoopbackOllama
from ready_files import put_ready_file
from sale_sofia.descriptions.enrichment import Summary, ask_all, read_all, read_disagreements, unread_listings
from sale_sofia.descriptions.rulebook import rules_version
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.history.listings import save_listing
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

# The rules leave the condition open: they know the word, and no rule explains it.
OPEN_TEXT = "Светло жилище с южно изложение. Ремонтът е правен наскоро от собственика."
TRUTH = {"condition": {"value": "renovated", "quote": "Ремонтът е правен наскоро"}}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    put_ready_file(tmp_path / "x.db")
    made = Database(f"sqlite:///{tmp_path / 'x.db'}", busy_timeout_seconds=30, busy_retries=3)
    yield made
    made.dispose()


@pytest.fixture
def either_database(store_url: str) -> Iterator[Database]:
    """One of each kind."""
    made = Database(store_url, busy_timeout_seconds=30, busy_retries=3)
    yield made
    made.dispose()


def add(database: Database, number: int, text: str, **fields: Any) -> None:  # noqa: ANN401
    listing = Listing(
        site="imot.bg", external_id=f"id{number}", url=f"https://imot.bg/{number}", description=text, **fields
    )
    with database.write() as connection:
        save_listing(connection, listing, seen_at=float(number), job_id=None, page_digest=None)


def settings(server: LoopbackOllama, **more: Any) -> Settings:  # noqa: ANN401
    given = {"ollama_url": server.url, "llm_requests_per_minute": 6000.0, "ollama_timeout": 5.0, **more}
    return Settings(**given)


def enrich(database: Database, server: LoopbackOllama, **more: Any) -> Summary:  # noqa: ANN401
    summary = Summary()
    read_all(database, summary)
    asyncio.run(ask_all(settings(server, **more), database, summary))
    return summary


def attributes(database: Database, listing_id: int = 1) -> dict[str, Any]:
    table = description_reads
    found = select(table.c.attributes).where(table.c.listing_id == listing_id)
    return dict(database.run_read(lambda connection: connection.scalars(found).one()))


def test_a_right_answer_is_stored_with_its_words(either_database: Database) -> None:
    add(either_database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH) as server:
        summary = enrich(either_database, server)
    assert (summary.asked, summary.answered, summary.model) == (1, 1, "used")
    assert attributes(either_database)["condition"] == {
        "value": "renovated", "status": "stated", "quote": "Ремонтът е правен наскоро", "method": "model",
    }  # fmt: skip
    assert attributes(either_database)["orientation"]["method"] == "rules"


def test_the_schema_is_flat_and_asks_only_for_what_is_open(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH) as server:
        enrich(database, server)
    schema = server.questions[0]["format"]
    assert schema["required"] == ["condition"]
    assert not {"$ref", "anyOf", "$defs", "minimum", "const"} & set(str(schema).replace("'", " ").split())
    assert "unknown" in schema["properties"]["condition"]["properties"]["value"]["enum"]


@pytest.mark.parametrize("manner", ["wrong_enum", "invented", "misquoted", "broken_json", "format_ignored"])
def test_an_answer_that_cannot_be_shown_is_asked_for_once_more_and_then_dropped(
    database: Database, manner: str
) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH, manner) as server:
        summary = enrich(database, server)
        again = enrich(database, server)
    assert len(server.questions) == 2
    assert "cannot be used" in server.questions[1]["messages"][-1]["content"]
    assert (summary.asked, summary.answered) == (1, 0)
    assert (again.asked, again.cached) == (0, 0)
    assert "condition" not in attributes(database)
    assert attributes(database)["orientation"]["value"] == ["S"]


def test_one_repair_is_enough_for_a_model_that_listens(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH, "repaired") as server:
        summary = enrich(database, server)
    assert (len(server.questions), summary.answered) == (2, 1)
    assert attributes(database)["condition"]["value"] == "renovated"


@pytest.mark.parametrize("manner", ["500", "truncated", "slow"])
def test_a_model_that_fails_leaves_the_rules_result_and_is_asked_again_later(
    database: Database, manner: str
) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH, manner) as server:
        summary = enrich(database, server, ollama_timeout=0.3)
        assert (summary.failed, summary.answered) == (1, 0)
        assert attributes(database)["orientation"]["value"] == ["S"]
        server.manner = "right"
        assert enrich(database, server).answered == 1


def test_a_model_that_is_down_is_named_and_costs_nothing(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH) as server:
        pass
    summary = enrich(database, server)
    assert summary.read == 1
    assert "does not answer" in summary.model
    assert attributes(database)["orientation"]["value"] == ["S"]


def test_a_model_that_is_not_there_is_named(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH) as server:
        summary = enrich(database, server, ollama_model="other:1b")
    assert summary.model == "Ollama has no model other:1b; get it with `ollama pull other:1b`"
    assert server.questions == []


def test_the_breaker_opens(database: Database) -> None:
    for number in range(1, 9):
        add(database, number, f"{OPEN_TEXT} Номер {number}.")
    with LoopbackOllama(TRUTH, "500") as server:
        summary = enrich(database, server, circuit_breaker_fail_max=3)
    assert len(server.questions) == 3
    assert summary.model == "the model may not be asked now: circuit_open"


def test_the_budget_ends_the_asking_and_the_next_run_goes_on(database: Database) -> None:
    for number in range(1, 21):
        add(database, number, f"{OPEN_TEXT} Номер {number}.")
    with LoopbackOllama(TRUTH, "slow", seconds=0.2) as server:
        summary = enrich(database, server, llm_run_seconds=1.0)
        assert summary.model == "the time for asking the model is used up"
        assert summary.answered <= 5, "each takes a fifth of the time"
        server.manner = "right"
        rest = enrich(database, server)
    assert summary.answered + rest.answered == 20


def test_what_was_answered_is_not_asked_again_for_another_advert_with_the_same_text(
    either_database: Database,
) -> None:
    add(either_database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH) as server:
        enrich(either_database, server)
        add(either_database, 2, OPEN_TEXT.replace(" ", "  "))
        summary = enrich(either_database, server)
    assert (len(server.questions), summary.cached, summary.asked) == (1, 1, 0)
    assert attributes(either_database, 2)["condition"]["value"] == "renovated"


def test_other_rules_or_another_model_ask_anew_and_the_old_answers_stay(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(database, 1, OPEN_TEXT)
    old = rules_version()
    with LoopbackOllama(TRUTH) as server:
        enrich(database, server)
        use_rules(monkeypatch, "b" * 64)
        changed = enrich(database, server)
        assert (changed.read, changed.asked) == (1, 1)  # nothing of the old rules is taken for new
        use_rules(monkeypatch, old)
        back = enrich(database, server)
        assert (back.read, back.asked, back.cached) == (1, 0, 1)  # and what was known is known again
        server.digest = "c" * 64
        other = enrich(database, server)
        assert (other.read, other.asked, other.cached) == (0, 0, 0)  # nothing is open any more
    assert attributes(database)["condition"]["value"] == "renovated"


def use_rules(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    for module in ("enrichment", "asking"):
        monkeypatch.setattr(f"sale_sofia.descriptions.{module}.rules_version", lambda: version)


def test_another_model_is_asked_about_what_the_first_left_open(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH, "invented") as server:
        enrich(database, server)
        server.digest, server.manner = "c" * 64, "right"
        assert enrich(database, server).answered == 1


def test_the_portal_wins_and_the_difference_is_kept(either_database: Database) -> None:
    add(either_database, 1, "Апартаментът е на трети етаж и има 80 кв.м.", floor=4, area_sqm=80.4, rooms=2)
    read_all(either_database, Summary())
    rows = either_database.run_read(lambda connection: read_disagreements(connection, 10))
    assert [(row["field"], row["portal"], row["text"], row["quote"]) for row in rows] == [
        ("floor", 4, 3, "трети етаж")
    ]
    with either_database.read() as connection:
        row = unread_listings(connection, "other rules", range(10))[0]
    assert row["floor"] == 4


def test_a_changed_description_is_read_again_and_an_unchanged_one_is_not(either_database: Database) -> None:
    add(either_database, 1, "Има асансьор.")
    first, second, third = Summary(), Summary(), Summary()
    read_all(either_database, first)
    read_all(either_database, second)
    with either_database.write() as connection:
        listing = Listing(
            site="imot.bg", external_id="id1", url="https://imot.bg/1", description="Няма асансьор."
        )
        save_listing(connection, listing, seen_at=9.0, job_id=None, page_digest=None)
    read_all(either_database, third)
    assert (first.read, second.read, third.read) == (1, 0, 1)
    assert attributes(either_database)["elevator"]["value"] is False


def test_without_the_model_nobody_asks_it(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH) as server:
        read_all(database, Summary())
    assert (server.questions, server.health_checks) == ([], 0)


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("manner", HOSTILE)
def test_a_hostile_server_costs_its_answer_and_nothing_else(database: Database, manner: str) -> None:
    add(database, 1, OPEN_TEXT)
    before = peak_megabytes()
    with LoopbackOllama(TRUTH, manner=manner) as server:
        summary = enrich(database, server, ollama_timeout=0.5)
    assert (summary.asked + summary.failed, summary.answered) == (1, 0)
    assert "condition" not in attributes(database) or attributes(database)["condition"]["value"] is None
    assert attributes(database)["orientation"]["method"] == "rules"
    assert len(server.questions) <= 2  # one repair; a failure is not asked again
    assert peak_megabytes() - before < 90  # the server is in this process and needs some too


def test_what_it_says_of_itself_is_told_in_one_short_line(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    words = b'{"error": "\\u001b[31m\\u202e' + b"x" * 100_000 + b'"}'
    with LoopbackOllama(TRUTH, complaint=words) as server:
        summary = enrich(database, server)
    assert re.fullmatch(rf"Ollama at {server.url} does not answer: \[31mx{{100,300}}…", summary.model)


def test_it_may_have_ten_thousand_other_models(database: Database) -> None:
    add(database, 1, OPEN_TEXT)
    with LoopbackOllama(TRUTH, others=10_000) as server:
        summary = enrich(database, server)
    assert (summary.asked, summary.answered, summary.model) == (1, 1, "used")
