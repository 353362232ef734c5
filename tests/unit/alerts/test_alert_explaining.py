"""Rules as sentences, in both languages."""

from typing import Any

import pytest

from sale_sofia.alerts.editing import sentence_of
from sale_sofia.alerts.rules import AlertsFile
from sale_sofia.settings.words import LANGUAGES

PROFILE = {"profile": "default", "tell": ["new", "cut"]}
NIGHT = {"from": "22:00", "to": "07:00"}
LATE = {"from": "22:30", "to": "08:00"}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, str] | None, str, str]] = {
    "a profile": (
        "buyer", PROFILE, NIGHT,
        "веднага, когато имот, който минава „default“, се появи или поевтинее с 3 %, не между 22 и 7",
        "at once, when a flat that passes “default” appears or gets cheaper by 3 %, not between 22 and 7",
    ),
    "points, once a day": (
        "buyer",
        {"profile": "p", "tell": ["cut"], "min_score": 3.5, "digest": "08:30", "cut_percent": 2.5}, None,
        "веднъж дневно в 08:30, когато имот, който минава „p“, с поне 3,5 точки поевтинее с 2,5 %",
        "once a day at 08:30, when a flat that passes “p” with 3.5 points or more gets cheaper by 2.5 %",
    ),
    "all known": (
        "buyer", {"profile": "p", "tell": ["new"], "unknown": False}, None,
        "веднага, когато имот, който минава „p“, се появи, ако всичко за него се знае",
        "at once, when a flat that passes “p” appears, if everything is known of it",
    ),
    "a search": (
        "buyer", {"search": "Ново", "tell": ["cheaper"]}, LATE,
        "веднага, когато имот от търсенето „Ново“ е с 2 % по-евтин в друг портал, не между 22:30 и 8",
        "at once, when a flat of the search “Ново” is 2 % cheaper on another portal, not between 22:30 and 8",
    ),
    "those one follows": (
        "buyer", {"shortlist": True, "tell": ["gone", "back", "cut"]}, None,
        "веднага, когато имот, който следите, изчезне, се върне или поевтинее с 3 %",
        "at once, when a flat that you follow is gone, comes back or gets cheaper by 3 %",
    ),
    "a flat": (
        "buyer", {"flat": 12, "tell": ["cut", "rise"], "cut_percent": 0}, None,
        "веднага, когато имот № 12 поевтинее или поскъпне",
        "at once, when flat no. 12 gets cheaper or gets dearer",
    ),
    "all incidents": (
        "operator", {}, NIGHT,
        "веднага, при всеки проблем, не между 22 и 7", "at once, on any trouble, not between 22 and 7",
    ),
    "an urgent incident": (
        "operator", {"incidents": ["collapse", "disk_low"], "urgent": True}, NIGHT,
        "веднага, при: много по-малко обяви от обикновено, малко място на диска, и през нощта",
        "at once, on: far fewer adverts than usual, little space on the disk, at night too",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_rule_is_a_sentence(case: str) -> None:
    kind, rule, quiet, *sentences = CASES[case]
    given = {"name": "R", "channels": ["mail"], **rule}
    hours = {"quiet_hours": quiet} if quiet else {}
    file = AlertsFile.model_validate({"channels": {"mail": "json://a/"}, kind: [given], **hours})
    ends = (", по mail", ", through mail")
    said = [sentence_of(file.rules[0], file, language) for language in LANGUAGES]
    assert said == [sentence + end for sentence, end in zip(sentences, ends, strict=True)]
