"""Numbers and dates as a Bulgarian reader writes them, and words in two languages."""

import re
from datetime import datetime
from pathlib import Path
from string import Formatter

import sale_sofia
from sale_sofia.advice.scoring.profile import BREAKERS
from sale_sofia.app import formatting as shown
from sale_sofia.app.words import named, say
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.files import read_yaml
from sale_sofia.settings.words import FILES, LANGUAGES, dictionary
from tables import each_row

APP = Path(sale_sofia.__file__).parent / "app"
KEY = re.compile(r"""\bsay\(\s*f?(["'])([^"']+)\1""")


@each_row(
    ("text", "expected"),
    [
        (shown.euro(245_000), "€ 245 000"),
        (shown.euro(None), "?"),
        (shown.euro_per_sqm(2450.4), "€ 2 450/m²"),
        (shown.area(102.0), "102 m²"),
        (shown.area(98.5), "98,5 m²"),
        (shown.number(-1234.56, 1), "−1 234,6"),
        (shown.number(-0.01, 1), "0,0"),
        (shown.percent(0.123, 1), "12,3 %"),
        (shown.percent_change(200_000, 190_000), "−5,0 %"),
        (shown.percent_change(0, 190_000), "?"),
        (shown.percent_change(None, 1), "?"),
        (shown.euro_change(200_000, 195_000), "−€ 5 000"),
        (shown.floor(0, 8), "партер/8"),
        (shown.floor(None, 8), "?/8"),
        (shown.floor(None, None), "?"),
        (shown.distance(450, 6), "450 m · 6 мин"),
        (shown.distance(None, None), "?"),
        (shown.days(0.4), "днес"),
        (shown.days(1.9), "1 ден"),
        (shown.days(14.2), "14 дни"),
        (shown.yes_no(None), "?"),
        (shown.score(3.84), "3,8"),
    ],
)
def test_values(text: str, expected: str) -> None:
    assert text.replace("\N{NO-BREAK SPACE}", " ") == expected


def test_moments_are_on_sofias_clock() -> None:
    at = datetime(2026, 7, 1, 23, 30, tzinfo=SOFIA).timestamp()
    assert (shown.day(at), shown.moment(at), shown.day(None)) == ("01.07.2026", "01.07.2026 23:30", "?")


@each_row(
    ("seconds", "told"),
    [
        (5, "току-що"),
        (60 * 119, "преди 119\xa0мин"),
        (3600 * 47, "преди 47\xa0ч"),
        (86_400 * 3, "преди 3\xa0дни"),
        (86_400 * 440, "преди 14\xa0месеца"),
    ],
)
def test_ages(seconds: float, told: str) -> None:
    assert shown.ago(1e9, 1e9 + seconds).replace(" ", "\xa0") == told.replace(" ", "\xa0")
    assert shown.ago(None, 1e9) == "никога"


def test_every_key_has_both_languages_and_the_same_gaps() -> None:
    sentences = read_yaml(FILES[1].read_text("utf-8"))
    for key, texts in dictionary().items():
        assert set(texts) == set(LANGUAGES), key
        gaps = [{name for _, name, _, _ in Formatter().parse(texts[one]) if name} for one in LANGUAGES]
        # What commands say in English may name more than a page has to.
        assert gaps[0] == gaps[1] or (key in sentences and gaps[0] < gaps[1]), key


def test_no_key_stands_there_twice() -> None:
    """The later one would count, unseen."""
    text = "".join(file.read_text("utf-8") for file in FILES)
    keys = re.findall(r'^"?([\w.]+)"?:', text, re.MULTILINE)
    assert sorted(keys) == sorted(dictionary())


def test_every_key_that_the_pages_say_is_there() -> None:
    said = {match[2] for path in APP.rglob("*.py") for match in KEY.finditer(path.read_text("utf-8"))}
    plain = {key for key in said if "{" not in key}
    assert len(plain) > 100
    assert plain - set(dictionary()) == set()
    begun = {key.partition("{")[0] for key in said - plain}
    assert {start for start in begun if not any(key.startswith(start) for key in dictionary())} == set()
    assert {f"breaker.{name}" for name in BREAKERS} - set(dictionary()) == set()


def test_a_value_without_a_name_is_shown_as_it_is() -> None:
    assert (named("construction", "brick"), named("construction", "straw")) == ("тухла", "straw")
    assert say("card.was") == "беше"


def test_streamlit_finds_no_pages_of_its_own() -> None:
    """A folder `pages` beside main.py would be served file by file, without the password."""
    assert not (APP / "pages").exists()
