"""`extract` and `enrich` as a person runs them."""

import json
from pathlib import Path

import pytest
import typer

from crawls import run
from ollama_server import LoopbackOllama
from sale_sofia.cli.pages import enrich, extract
from sale_sofia.history.listings import save_listing
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

TEXT = "Тристаен апартамент на 4-ти етаж от 8, без асансьор."


def test_one_text_as_json_and_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "advert.txt"
    file.write_text(TEXT, "utf-8")
    answer = json.loads(run(tmp_path, "extract", "--text-file", file, "--json").stdout)
    assert answer["attributes"]["rooms"] == {"value": 3, "status": "stated", "quote": "Тристаен"}
    assert answer["attributes"]["elevator"] == {"value": False, "status": "negated", "quote": "асансьор"}
    extract(text_file=file)
    table = capsys.readouterr().out
    assert ("elevator" in table, "асансьор" in table) == (True, True)


def test_many_texts_are_answered_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"id": f"x{number}", "text": f"Жилище на {number} етаж."} for number in range(1, 30)]
    manifest = tmp_path / "texts.jsonl"
    manifest.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", "utf-8")
    extract(manifest=manifest)
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["id"] for answer in answers] == [line["id"] for line in lines]
    assert [answer["attributes"]["floor"]["value"] for answer in answers] == list(range(1, 30))
    assert set(answers[0]) == {"id", "attributes"}


def test_a_bad_line_ends_the_run_with_one_sentence(tmp_path: Path) -> None:
    manifest = tmp_path / "texts.jsonl"
    good = json.dumps({"id": "a", "text": TEXT})
    manifest.write_text(f"{good}\n{{oops\n{good}\n", "utf-8")
    done = run(tmp_path, "extract", "--manifest", manifest)
    assert (done.returncode, len(done.stdout.splitlines())) == (2, 1)
    assert "line 2: no JSON" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (b'{"id": "b"}', 'line 1: "text" is no text'),
        (b'{"id": 5, "text": "x"}', 'line 1: "id" is no text'),
        (b"[]", 'line 1: "id" is no text'),
        (b"\xff", "line 1: no JSON"),
        (b"[" * 100_000, "line 1: no JSON"),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path: Path, bad: bytes, sentence: str) -> None:
    manifest = tmp_path / "texts.jsonl"
    manifest.write_bytes(bad)
    with pytest.raises(ValueError, match=sentence):
        extract(manifest=manifest)


def test_wrong_input_is_one_sentence(tmp_path: Path) -> None:
    binary = tmp_path / "page.bin"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"no UTF-8 text \(byte 0\)"):
        extract(text_file=binary)
    with pytest.raises(typer.BadParameter, match="give either --text-file or --manifest"):
        extract()


def fill(data: Path) -> None:
    data.mkdir(parents=True, exist_ok=True)
    database = Database(f"sqlite:///{data / 'sale_sofia.db'}", busy_timeout_seconds=10, busy_retries=3)
    initialize_database(database)
    advert = {"site": "imot.bg", "external_id": "a1", "url": "https://imot.bg/a1", "floor": 5}
    text = f"{TEXT} Ремонтът е правен наскоро."
    with database.write() as connection:
        listing = Listing.model_validate({**advert, "description": text})
        save_listing(connection, listing, seen_at=1.0, job_id=None, page_digest=None)
    database.dispose()


def test_enrich_reads_once_shows_where_the_portal_differs_and_asks_when_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path)
    first = json.loads(run(tmp_path, "enrich", "--json").stdout)
    assert (first["read"], first["model"], first["disagreements"]) == (1, "off", {"floor": 1})
    assert first["newest"] == [
        {"url": "https://imot.bg/a1", "field": "floor", "portal": 5, "text": 4, "quote": "4-ти етаж от 8"}
    ]
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    enrich()
    assert "4-ти етаж" in capsys.readouterr().out
    truth = {"condition": {"value": "renovated", "quote": "Ремонтът е правен наскоро"}}
    with LoopbackOllama(truth) as server:
        monkeypatch.setenv("OLLAMA_URL", server.url)
        enrich(llm=True, as_json=True)
    asked = json.loads(capsys.readouterr().out)
    assert (asked["read"], asked["asked"], asked["answered"], asked["model"]) == (0, 1, 1, "used")
    enrich(llm=True)
    assert "does not answer" in capsys.readouterr().err
