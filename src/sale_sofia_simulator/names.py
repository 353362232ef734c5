"""Invented people, firms and telephone numbers. None of them is meant to exist."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from random import Random

from sale_sofia.settings.files import read_yaml
from sale_sofia_simulator.text import slug

WORDS: Mapping[str, Sequence[str]] = read_yaml(files(__package__).joinpath("words.yaml").read_text("utf-8"))
"""Every list of words and sentences, by name."""


def firm(rng: Random, *, builder: bool = False) -> str:
    """An agency's or a developer's name in capitals."""
    second = WORDS["builder_second" if builder else "firm_second"]
    return f"{rng.choice(WORDS['firm_first'])} {rng.choice(second)}"


def handle(name: str) -> str:
    """The name of a firm's subdomain."""
    return slug(name).replace("-", "")


def person(rng: Random) -> str:
    """A broker's name."""
    given = rng.choice(WORDS["given"])
    return f"{given} {rng.choice(WORDS['family'])}{'а' if given.endswith('а') else ''}"


def street(rng: Random) -> str:
    """A street or a boulevard with its prefix."""
    return rng.choice(WORDS["streets"])


def headline(rng: Random) -> tuple[str, str]:
    """A piece of news between the adverts, and the end of its address."""
    words = rng.choice(WORDS["headlines"])
    return words, f"{rng.randint(1_000_000, 1_099_999)}-{slug(words)}"


def mobile(rng: Random) -> str:
    """A valid Bulgarian mobile number in national digits."""
    return f"0888000{rng.randrange(1000):03d}"


def grouped(phone: str) -> str:
    """The same number as people write it: 0888 000 123."""
    return f"{phone[:4]} {phone[4:7]} {phone[7:]}"
