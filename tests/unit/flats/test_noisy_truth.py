"""Matching beside the truth: on noisy adverts of our own, and on real ones by what it must not use."""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from noisy_adverts import AGREEMENT, NoisyAdverts, noisy_adverts
from property_worlds import SECRET, matcher, pairs_in
from sale_sofia.flats.matching.comparison import PairComparison
from sale_sofia.flats.matching.files import AdvertsFileError, match_file, read_adverts
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter
from sale_sofia.flats.settings import ROWS_AT_ONCE
from sale_sofia.settings.model import Settings
from shared import SHARED

Row = dict[str, Any]
COUNT = 12_000
SEED = 20261115
REAL = SHARED / "data" / "sofia_adverts_dev.parquet"


@pytest.fixture(scope="module")
def noisy() -> NoisyAdverts:
    return noisy_adverts(COUNT, SEED)


def test_the_noise_is_as_measured(noisy: NoisyAdverts) -> None:
    one, two = np.array(sorted(pairs_in(noisy.truth))).T
    for name, expected in AGREEMENT.items():
        values = noisy.fields[name]
        known = (values[one] != -1) & (values[two] != -1)
        agree = float((values[one] == values[two])[known].mean())
        assert agree == pytest.approx(expected, abs=0.015), name
    phones = noisy.fields["phones"]
    known = (phones[one] != -1) & (phones[two] != -1)
    assert float((phones[one] == phones[two])[known].mean()) == pytest.approx(0.58, abs=0.02)
    assert 1 - len(np.unique(noisy.truth)) / COUNT == pytest.approx(0.45, abs=0.01)


@pytest.mark.slow
def test_the_texts_are_as_alike_as_measured(noisy: NoisyAdverts) -> None:
    words = [_triples(text) for text in noisy.fields["description"].tolist()]
    shares = [_alike(words[one], words[two]) for one, two in sorted(pairs_in(noisy.truth))]
    assert float(np.mean(np.array(shares) >= 0.7)) == pytest.approx(0.36, abs=0.04)
    assert float(np.mean(np.array(shares) >= 0.4)) == pytest.approx(0.60, abs=0.06)


def _triples(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return set(zip(words, words[1:], words[2:], strict=False))


def _alike(one: set[tuple[str, ...]], two: set[tuple[str, ...]]) -> float:
    return len(one & two) / len(one | two)


@pytest.mark.slow
def test_on_the_noisy_truth_few_pairs_are_wrong_and_few_are_missed(noisy: NoisyAdverts) -> None:
    adverts = Adverts.of(range(COUNT), PropertyFingerprinter(SECRET).fingerprints(noisy.rows()))
    matched = matcher().match(adverts)
    found, true = pairs_in(matched.groups), pairs_in(noisy.truth)
    precision, recall = len(found & true) / len(found), len(found & true) / len(true)
    assert (precision >= 0.995, recall >= 0.92) == (True, True), (precision, recall, SEED)
    one, two = np.array(sorted(found)).T
    assert not PairComparison(adverts, one, two).at("floor", "other").any()


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the real adverts (../shared/data) are not here")
def test_on_real_adverts_a_tenth_more_pairs_than_the_strict_rule_and_fewer_conflicts(
    tmp_path: Path,
) -> None:
    written = match_file(REAL, tmp_path / "pairs.csv", Settings())
    rows = {
        f"{row['site']}|{row['listing_key']}": row for row in pq.read_table(REAL).to_pylist() if _counts(row)
    }
    lines = [tuple(line.split(",")) for line in (tmp_path / "pairs.csv").read_text("utf-8").splitlines()]
    assert (lines[0], len(lines) - 1) == (("a", "b"), written.pairs)
    ours = [(rows[one], rows[two]) for one, two in lines[1:] if one in rows and two in rows]
    strict = _strict_pairs(rows.values())
    assert len(ours) >= 1.1 * len(strict)
    assert _conflicts(ours) <= min(_conflicts(strict), 0.004)
    differ = [one["floor"] != two["floor"] for one, two in ours if None not in {one["floor"], two["floor"]}]
    assert sum(differ) <= 0.005 * len(differ)


def _counts(row: Row) -> bool:
    return str(row["last_seen"]) >= "2026-01-19" and None not in {row["price"], row["area"]}


def _strict_pairs(rows: Iterable[Row]) -> list[tuple[Row, Row]]:
    """One quarter and floor, area within half a metre, storeys within one, price within 3 %."""
    together: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row["floor"] is not None:
            together.setdefault((row["neighbourhood"], row["floor"]), []).append(row)
    return [pair for some in together.values() for pair in combinations(some, 2) if _strict(*pair)]


def _strict(one: Row, two: Row) -> bool:
    storeys = (one["total_floors"], two["total_floors"])
    return (
        abs(one["area"] - two["area"]) <= 0.5
        and abs(one["price"] - two["price"]) <= 0.03 * max(one["price"], two["price"])
        and (None in storeys or abs(storeys[0] - storeys[1]) <= 1)
    )


def _conflicts(pairs: Sequence[tuple[Row, Row]]) -> float:
    """The share of pairs with years in both snippets that are 15 years apart or more."""
    years = [tuple(map(_year, pair)) for pair in pairs]
    judged = [(one, two) for one, two in years if one and two]
    return sum(abs(one - two) >= 15 for one, two in judged) / len(judged)


def _year(row: Row) -> int | None:
    found = re.search(r"((19|20)\d\d)( - (19|20)\d\d)? г", row["snippet"] or "")
    return int(found[1]) if found else None


def test_the_year_in_a_snippet_is_withheld(tmp_path: Path) -> None:
    old, new = _written(tmp_path / "old.parquet", 1972), _written(tmp_path / "new.parquet", 2024)
    records = [
        PropertyFingerprinter(SECRET).fingerprints(read_adverts(path)).tobytes() for path in (old, new)
    ]
    assert records[0] == records[1]
    [row] = read_adverts(old)
    assert (row["floor"], row["floors_total"], row["area_sqm"]) == (3, 9, 71.0)
    assert row["neighbourhood"] == "Лозенец"


def _written(path: Path, year: int) -> Path:
    row = {
        "site": "imotbg", "listing_key": "1", "price": 100_000.0, "neighbourhood": "лозенец / софийска",
        "property_type": "тристаен", "area": None, "floor": None, "total_floors": None, "phone_hash": "ab12",
        "agency_hash": "cd", "snippet": f"71 кв.м, 3-ти ет. от 9, Въведен {year} г., тиха уличка с липи",
    }  # fmt: skip
    types = {"area": pa.float64(), "floor": pa.int32(), "total_floors": pa.int32()}
    pq.write_table(pa.table({name: pa.array([value], types.get(name)) for name, value in row.items()}), path)
    return path


@pytest.mark.parametrize("content", [None, b"no parquet", b""])
def test_a_file_that_is_no_table_of_adverts_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AdvertsFileError, match=r"^[^\n]*x\.parquet: [^\n]*$"):
        match_file(path, tmp_path / "pairs.csv", Settings())
    assert not (tmp_path / "pairs.csv").exists()


def test_a_table_without_a_column_is_one_sentence(tmp_path: Path) -> None:
    pq.write_table(pa.table({"site": ["x"]}), tmp_path / "x.parquet")
    with pytest.raises(AdvertsFileError, match="with the columns site, listing_key, price"):
        match_file(tmp_path / "x.parquet", tmp_path / "pairs.csv", Settings())


@pytest.mark.parametrize(("name", "value"), [("price", "dear"), ("floor", "first")])
def test_a_word_where_a_number_belongs_is_one_sentence(tmp_path: Path, name: str, value: str) -> None:
    table = pq.read_table(_written(tmp_path / "x.parquet", 1999)).drop_columns(name)
    pq.write_table(table.append_column(name, pa.array([value])), tmp_path / "x.parquet")
    with pytest.raises(AdvertsFileError, match=f"not a Parquet table with the columns .*{value}"):
        match_file(tmp_path / "x.parquet", tmp_path / "pairs.csv", Settings())


def test_a_word_in_the_last_row_is_one_sentence_and_writes_no_pairs(tmp_path: Path) -> None:
    table = pq.read_table(_written(tmp_path / "x.parquet", 1999)).drop_columns("price")
    prices = [*["1000"] * ROWS_AT_ONCE, "dear"]
    many = pa.concat_tables([table] * len(prices)).append_column("price", pa.array(prices))
    pq.write_table(many, tmp_path / "x.parquet")
    with pytest.raises(AdvertsFileError, match=r"^[^\n]*x\.parquet: [^\n]*dear[^\n]*$"):
        match_file(tmp_path / "x.parquet", tmp_path / "pairs.csv", Settings())
    assert not (tmp_path / "pairs.csv").exists()


def test_only_some_rows_of_a_table_are_in_memory(tmp_path: Path) -> None:
    table = pq.read_table(_written(tmp_path / "x.parquet", 1999)).drop_columns("snippet")
    texts = pa.array([f"{number} " + "тухла " * 300 for number in range(10_000)])
    many = pa.concat_tables([table] * len(texts)).append_column("snippet", texts)
    pq.write_table(many, tmp_path / "x.parquet")
    before = pa.total_allocated_bytes()
    adverts = read_adverts(tmp_path / "x.parquet")
    assert next(adverts)["description"] == texts[0].as_py()
    assert pa.total_allocated_bytes() - before < many.nbytes / 2


def test_a_hashed_phone_may_be_any_text(tmp_path: Path) -> None:
    table = pq.read_table(_written(tmp_path / "x.parquet", 1999)).drop_columns("phone_hash")
    pq.write_table(table.append_column("phone_hash", pa.array(["no hex at all"])), tmp_path / "x.parquet")
    assert match_file(tmp_path / "x.parquet", tmp_path / "pairs.csv", Settings()).adverts == 1


def test_pairs_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere"):
        match_file(_written(tmp_path / "x.parquet", 1999), tmp_path / "nowhere" / "pairs.csv", Settings())
    assert [one.name for one in tmp_path.iterdir()] == ["x.parquet"]
