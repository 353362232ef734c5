"""The operator's sources, in a file that only its owner can read: it may hold passwords."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sale_sofia.config.proxies import FOLDER, KNOWN_FILE, SOURCES_FILE
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.sources import Source


class SourceListBroken(ValueError):
    """The file of sources was changed by hand and cannot be read."""


class SourceList:
    """Sources of one data folder; and, for runs without Redis, the proxies found usable by the last check."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / FOLDER

    def sources(self) -> list[Source]:
        """All sources, in the order in which they were added."""
        return [Source(**one) for one in self._read(SOURCES_FILE)]

    def add(self, source: Source) -> bool:
        """Remember a source; False where it was known: it has this tier from now on."""
        others = [one for one in self.sources() if one.place != source.place]
        new = len(others) == len(self.sources())
        self._write(SOURCES_FILE, [asdict(one) for one in [*others, source]])
        return new

    def known(self) -> list[Proxy]:
        """What the last check found usable."""
        return [Proxy.from_record(one) for one in self._read(KNOWN_FILE)]

    def remember(self, proxies: list[Proxy]) -> None:
        """Keep what a check found usable."""
        self._write(KNOWN_FILE, [one.as_record() for one in proxies])

    def remember_sweep(self, usable: list[Proxy], *, whole: bool) -> None:
        """Keep what a refresh found; one that found nothing, or did not end, takes nothing away."""
        if usable:
            found = {one.id for one in usable}
            before = [] if whole else [one for one in self.known() if one.id not in found]
            self.remember([*usable, *before])

    def _read(self, name: str) -> list[dict[str, Any]]:
        path = self.folder / name
        if not path.exists():
            return []
        try:
            found = json.loads(path.read_text("utf-8"))
            return [dict(one) for one in found]
        except (ValueError, TypeError, RecursionError):
            raise SourceListBroken(
                f"{path}: not the JSON that `sale-sofia proxies` writes; remove it"
            ) from None

    def _write(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Whole or not at all."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path, fresh = self.folder / name, self.folder / f"{name}.{os.getpid()}"
        with os.fdopen(
            os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            json.dump(rows, file, ensure_ascii=False, indent=1)
        fresh.replace(path)
