"""Saved pages, one by one or by a manifest, as answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sale_sofia.listings.page import Page
from sale_sofia.websites.base import Site
from sale_sofia.websites.reading import Answer, error_answer, read_page
from sale_sofia.websites.registry import UnknownSite, get_scraper

_KEYS = ("site", "file", "url")


BAD_LINE = "bad_line"
"""The error of a line of a manifest that leads to no page."""


class ManifestError(ValueError):
    """A manifest that cannot be read at all."""


class _BadLine(ValueError):
    """What is wrong with a line, and what is allowed."""


def read_file(site: Site, file: Path, url: str) -> Answer:
    """The answer for one saved page; a file that cannot be read is an answer too."""
    try:
        body = file.read_bytes()
    except OSError as error:
        return error_answer(site.name, url, "unreadable_file", f"{file}: {error.strerror}")
    return read_page(site, Page(url, body))


def read_manifest(path: Path) -> Iterator[Answer]:
    """One answer for each line, in order; one that leads to no page is an error with its number.

    Raises:
        ManifestError: the manifest itself cannot be read.
    """
    return (_answer(path, number, line) for number, line in _lines(path))


def _answer(path: Path, number: int, line: str) -> Answer:
    given = _given(line)
    try:
        site, file, url = _checked(given)
        body = _located(file, path.parent).read_bytes()
    except _BadLine as error:
        wrong = str(error)
    except OSError as error:
        wrong = f"{given['file']}: {error.strerror}"
    else:
        return read_page(site, Page(url, body))
    named = given if isinstance(given, dict) else {}
    return error_answer(named.get("site"), named.get("url"), BAD_LINE, f"{path}, line {number}: {wrong}")


def _given(line: str) -> Any:  # noqa: ANN401 - whatever the line holds
    """What a line says; None where it is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _checked(given: Any) -> tuple[Site, Path, str]:  # noqa: ANN401 - whatever the line holds
    if given is None:
        raise _BadLine("not JSON; a line is {'site': …, 'file': …, 'url': …}")
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in _KEYS):
        raise _BadLine(f"must have the texts {', '.join(_KEYS)}")
    try:
        return get_scraper(given["site"]), Path(given["file"]), given["url"]
    except UnknownSite as error:
        raise _BadLine(str(error)) from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ManifestError(f"{path}: not UTF-8 text") from None
    return ((number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip())


def _located(file: Path, beside: Path) -> Path:
    """A relative path counts from where the command runs, or else from beside the manifest."""
    return file if file.exists() or file.is_absolute() else beside / file
