"""Saved pages, one by one or by a manifest, as answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sale_sofia.listings.page import Page
from sale_sofia.websites.base import Site
from sale_sofia.websites.reading import Answer, error_answer, read_page
from sale_sofia.websites.registry import get_scraper

_KEYS = ("site", "file", "url")


class ManifestError(ValueError):
    """A manifest that cannot be used: which line, what is wrong, what is allowed."""


class Entry(NamedTuple):
    """One page of a manifest."""

    site: Site
    file: Path
    url: str


def read_file(site: Site, file: Path, url: str) -> Answer:
    """The answer for one saved page; a file that cannot be read is an answer too."""
    try:
        body = file.read_bytes()
    except OSError as error:
        return error_answer(site.name, url, "unreadable_file", f"{file}: {error.strerror}")
    return read_page(site, Page(url, body))


def read_manifest(path: Path) -> Iterator[Answer]:
    """One answer for each line, in order. Every line is checked before the first page is read."""
    entries = [_entry(path, number, line) for number, line in _lines(path)]
    return (read_file(*entry) for entry in entries)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ManifestError(f"{path}: not UTF-8 text") from None
    return ((number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip())


def _entry(path: Path, number: int, line: str) -> Entry:
    where = f"{path}, line {number}"
    try:
        given = json.loads(line)
    except ValueError:
        raise ManifestError(f"{where}: not JSON; a line is {{'site': …, 'file': …, 'url': …}}") from None
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in _KEYS):
        raise ManifestError(f"{where}: must have the texts {', '.join(_KEYS)}")
    try:
        site = get_scraper(given["site"])
    except ValueError as error:
        raise ManifestError(f"{where}: {error}") from None
    return Entry(site, _located(Path(given["file"]), path.parent), given["url"])


def _located(file: Path, beside: Path) -> Path:
    """A relative path counts from where the command runs, or else from beside the manifest."""
    return file if file.exists() or file.is_absolute() else beside / file
