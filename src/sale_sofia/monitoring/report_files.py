"""The files of runs' reports, `DATA_DIR/reports/<job>.json` and `.html`: each whole, and kept for a while."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sale_sofia.config.monitoring import REPORTS_FOLDER
from sale_sofia.config.settings import Settings
from sale_sofia.config.whole_files import whole_or_not_at_all
from sale_sofia.monitoring.report_page import report_page

_OURS: Final = frozenset({".json", ".html", ".part"})
"""The endings of reports, and of those that somebody was killed over."""


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The reports of one installation."""

    settings: Settings

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self.settings.data_dir / REPORTS_FOLDER

    def write(self, job_id: str, session: Mapping[str, Any], *, now: float) -> Path:
        """Keep the report of a session of one run, for programs and for people, and let old ones go."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # A job's name is a file's name here, also one out of a database that somebody else made.
        path = self.folder / f"{quote(job_id, safe='')}.json"
        write_whole(path, json.dumps(session["runs"][0], ensure_ascii=False, indent=2) + "\n")
        write_whole(path.with_suffix(".html"), report_page(session))
        self.prune(now=now)
        return path

    def prune(self, *, now: float) -> int:
        """Remove reports older than REPORT_RETENTION_DAYS, and say how many files there were."""
        before = now - timedelta(days=self.settings.report_retention_days).total_seconds()
        return sum(_remove_older(path, before) for path in self._files())

    def _files(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return [path for path in self.folder.iterdir() if path.suffix in _OURS and path.is_file()]


def _remove_older(path: Path, before: float) -> bool:
    try:
        old = path.lstat().st_mtime < before
        if old:
            path.unlink()
    except FileNotFoundError:  # somebody else prunes at the same time
        return False
    return old


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole, or as it was before."""
    with whole_or_not_at_all(path) as unfinished:
        unfinished.write_text(text, "utf-8")
