"""Which patterns can be slow is known before they see a text, and what is said of them is true."""

import re
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from own_patterns import own_patterns
from sale_sofia.websites.patterns import ALLOWED, slowness
from sale_sofia.websites.site_file import SiteConfig, available_sites, load_site_config, sentences
from tables import each_row

SLOW = (
    r"(\d[\d ]*) обяви",
    r",\s*(\d[\d ,.]*\s*(?:m²|м²|дка))$",
    r"<link [^>]*rel=",
    r"^([^()]+?)[\s,]*(?:\(.*)?x",
    r"\s+x",
    r'"a"(?=.*b)c',
    r"^(.+?)(?:\s+без ДДС)?$",
)
DOUBLED = (r"^(\w+\s?)*$", r"(a|aa)+$", r"^(\d|\d\d)*x")
HOLLOW = (r"(a*)*b", r"(?:a?){30}b", r"(?:a{0,300}){0,300}b")
QUICK = (
    r"(\d[\d ]{0,14}) обяви",
    r"^(\d[\d ]*) обяви",
    r"(?<!\d)(\d+) м",
    r"\b(\d+) м",
    r"(\d+)",
    r'"([^"]*)"',
    r"^(.+?)(?: в .+)?$",
    r'<link [^>]{0,200}rel="canonical" href="([^"]{1,400})"',
    r"(?:^|\n)(ТЕЦ|Газ)(?=\n|$)",
    r"^/offer/(?:[^/]+/)*(?P<id>[a-z]{2}\d{3,9})/?$",
    r"(?:25[0-5]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?:25[0-5]|1[0-9]{2}|[1-9]?[0-9])){3}x",
)


@each_row("pattern", SLOW)
def test_a_slow_pattern_is_found_with_a_text_on_which_it_is_slow(pattern: str) -> None:
    assert growth(pattern, 400, 1600) > 6  # four times as much: 4 where it is in proportion, 16 squared


@pytest.mark.slow
@pytest.mark.parametrize("pattern", DOUBLED)
def test_one_that_doubles_is_found_with_a_text_on_which_it_does(pattern: str) -> None:
    assert growth(pattern, 16, 20) > 3


def growth(pattern: str, few: int, many: int) -> float:
    """How much longer it takes on more of the text that is named."""
    found = slowness(pattern, re.DOTALL)
    assert found is not None
    compiled = re.compile(pattern, re.DOTALL)
    shorter, longer = (
        found.before + found.text * (size // len(found.text)) + "!\n\n" for size in (few, many)
    )
    # The short text takes a tenth of a millisecond, so that a disturbance could hide the growth: more tries.
    return seconds(compiled, longer, tries=3) / seconds(compiled, shorter, tries=30)


def seconds(pattern: re.Pattern[str], text: str, tries: int) -> float:
    return min(_once(pattern, text) for _ in range(tries))


def _once(pattern: re.Pattern[str], text: str) -> float:
    began = time.process_time()
    pattern.search(text)
    return time.process_time() - began


@pytest.mark.parametrize("pattern", HOLLOW)
def test_what_may_be_empty_is_not_repeated(pattern: str) -> None:
    assert "may be empty" in str(slowness(pattern))


@each_row("pattern", QUICK)
def test_a_pattern_that_cannot_be_slow_is_let_through(pattern: str) -> None:
    assert slowness(pattern, re.DOTALL) is None


@pytest.mark.slow
def test_no_pattern_of_the_package_can_be_slow() -> None:
    """However it is written down: as a constant, in a list, in a rule file, or made by a function."""
    used = list(own_patterns())
    assert len(used) > 140
    judged = [(use, slowness(use.pattern.pattern, use.pattern.flags, use.how)) for use in used]
    slow = [(use.where, use.how, use.pattern.pattern, str(why)) for use, why in judged if why]
    assert slow == []


def test_every_shipped_site_file_is_loaded_and_so_checked() -> None:
    for site in available_sites():
        assert load_site_config(site).site == site


def test_the_sentence_names_file_field_pattern_fault_and_what_is_allowed() -> None:
    values = load_site_config("alo.bg").model_dump(by_alias=True)
    values["listing"]["fields"]["title"]["from"] = [{"css": "h1", "match": r"(\d[\d ]*) обяви"}]
    with pytest.raises(ValidationError) as wrong:
        SiteConfig.model_validate(values)
    [sentence] = sentences(Path("own.yaml"), wrong.value, SiteConfig).splitlines()
    assert sentence == (
        r"own.yaml: listing.fields.title.from.0.match: the pattern '(\\d[\\d ]*) обяви' may be too slow: "
        "every place of a text may begin a repeat that has no bound and reads on; try it on '00' repeated; "
        f"{ALLOWED}"
    )
