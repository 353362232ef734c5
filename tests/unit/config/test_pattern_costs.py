"""Which patterns can be slow is known before they see a text, and what is said of them is true."""

import re
import time

import pytest
from own_patterns import own_patterns

from sale_sofia.config.pattern_costs import slowness
from sale_sofia.config.site_config import SiteConfigError, available_sites, load_site_config

SLOW = {
    r"(\d[\d ]*) обяви": "search",
    r",\s*(\d[\d ,.]*\s*(?:m²|м²|дка))$": "search",
    r"<link [^>]*rel=": "search",
    r"^([^()]+?)[\s,]*(?:\(.*)?x": "search",
    r"^(\w+\s?)*$": "search",
    r"(a|aa)+$": "match",
    r"\s+x": "search",
    r"\b([\d ]+) м": "search",
    r'"a"(?!.*b)c': "search",
    r"(\w+)\1x": "search",
}
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


@pytest.mark.parametrize("pattern", SLOW)
def test_a_slow_pattern_is_found_with_a_text_on_which_it_is_slow(pattern: str) -> None:
    how = SLOW[pattern]
    found = slowness(pattern, re.DOTALL, how)
    assert found is not None
    assert found.text
    small, large = (seconds(pattern, how, found.text, times) for times in (1, 2))
    assert large > 2.8 * small


def seconds(pattern: str, how: str, text: str, times: int) -> float:
    """CPU time on the text repeated so often that the least of these takes some milliseconds, and twice that."""
    use, length = getattr(re.compile(pattern, re.DOTALL), how), 8
    while True:
        began = time.process_time()
        use(text * length + "!\n\n")
        if time.process_time() - began > 0.005:
            break
        length = length * 5 // 4 + 1
    return min(timed(use, text * (length * times) + "!\n\n") for _ in range(3))


def timed(use: object, text: str) -> float:
    began = time.process_time()
    use(text)  # type: ignore[operator]
    return time.process_time() - began


@pytest.mark.parametrize("pattern", HOLLOW)
def test_what_may_be_empty_is_not_repeated(pattern: str) -> None:
    assert "may be empty" in str(slowness(pattern))


@pytest.mark.parametrize("pattern", QUICK)
def test_a_pattern_that_cannot_be_slow_is_let_through(pattern: str) -> None:
    assert slowness(pattern, re.DOTALL) is None


def test_no_pattern_of_the_package_can_be_slow() -> None:
    """However it is written down: as a constant, in a list, in a rule file, or made by a function."""
    used = list(own_patterns())
    assert len(used) > 140
    slow = {one.where: str(why) for one in used if (why := slowness(one.pattern.pattern, one.pattern.flags, one.how))}
    assert slow == {}


def test_every_shipped_site_file_is_loaded_and_so_checked() -> None:
    for site in available_sites():
        assert load_site_config(site).site == site


def test_the_sentence_names_file_field_pattern_fault_and_what_is_allowed(tmp_path: object) -> None:
    with pytest.raises(SiteConfigError, match="allowed is a repeat with a bound") as told:
        load_changed()
    [sentence] = str(told.value).splitlines()
    assert sentence.startswith("own.yaml: listing.fields.title.from.0.match: the pattern '(\\\\d[\\\\d ]*) обяви'")
    assert "every place of a text may begin a repeat that has no bound" in sentence


def load_changed() -> None:
    from pathlib import Path

    from pydantic import ValidationError

    from sale_sofia.config.site_config import SiteConfig, sentences

    values = load_site_config("alo.bg").model_dump(by_alias=True)
    values["listing"]["fields"]["title"]["from"] = [{"css": "h1", "match": r"(\d[\d ]*) обяви"}]
    try:
        SiteConfig.model_validate(values)
    except ValidationError as error:
        raise SiteConfigError(sentences(Path("own.yaml"), error)) from None
