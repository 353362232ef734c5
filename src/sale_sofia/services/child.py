"""A program of ours in the background: started, watched, stopped, and found again after our own death."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sale_sofia.config.logs import LOG_MOST_BYTES
from sale_sofia.config.services import SERVICE_KILL_SECONDS, SERVICE_POLL_SECONDS
from sale_sofia.services.child_record import (
    NONCE,
    READY_FILE,
    ChildRecord,
    processes_of,
    read_child,
    write_child,
)
from sale_sofia.services.errors import ServiceError
from sale_sofia.services.log_files import last_line, put_aside
from sale_sofia.services.processes import KILL, Process, spawn
from sale_sofia.services.stop_signals import Step


@dataclass(slots=True)
class Child:
    """One program. What it does to processes, it does to those of the last start and to no others."""

    name: str
    run_folder: Path
    log: Path
    forced: Callable[[], bool] = field(default=lambda: False)
    """Whether all patience is at its end: what stops is killed at once."""

    @property
    def record_file(self) -> Path:
        """Where the start is written down."""
        return self.run_folder / f"{self.name}.json"

    @property
    def ready_file(self) -> Path:
        """Where the program says that it is at work."""
        return self.run_folder / f"{self.name}.ready"

    @property
    def process(self) -> Process | None:
        """The first process of the last start."""
        record = read_child(self.record_file)
        return record.process if record else None

    @property
    def alive(self) -> bool:
        """Whether the program runs."""
        process = self.process
        return process is not None and process.alive

    @property
    def ready(self) -> bool:
        """Whether the program that was started last is at work."""
        record = read_child(self.record_file)
        try:
            return record is not None and self.ready_file.read_text("ascii") == record.nonce
        except (OSError, UnicodeDecodeError):
            return False

    @property
    def last_sign(self) -> float | None:
        """When the program last said that it is at work, only good for comparing; None before it is."""
        with suppress(OSError):
            return self.ready_file.stat().st_mtime if self.ready else None
        return None

    def start(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start the program in a session of its own; nothing when it runs already."""
        if self.alive:
            return
        self.end_leftovers()
        for folder in (self.run_folder, self.log.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.put_log_aside(0)
        # Written down before there is a process: should we die now, its nonce still leads to it.
        record = ChildRecord(nonce=secrets.token_hex(16))
        write_child(self.record_file, record)
        own = {NONCE: record.nonce, READY_FILE: str(self.ready_file.absolute()), "SPT_NOENV": "1"}
        process = spawn(command, self.log, environ={**environ, **own})
        started = record.model_copy(update={"pid": process.pid, "born": process.born or None})
        write_child(self.record_file, started)

    def stop(self, steps: Sequence[Step]) -> None:
        """Ask it to leave, each step more firmly; what is left after the last one is killed."""
        process = self.process
        for number, seconds in steps:
            if process is None or not process.alive:
                break
            process.send(number)
            self._gone_within(process, seconds)
        self.end_leftovers()

    def _gone_within(self, process: Process, seconds: float) -> None:
        end = time.monotonic() + seconds
        while process.alive and time.monotonic() < end and not self.forced():
            time.sleep(SERVICE_POLL_SECONDS)

    def end_leftovers(self) -> list[int]:
        """Kill what still runs of the last start, and forget it; the numbers of those killed."""
        record = read_child(self.record_file)
        left = processes_of(record) if record else []
        for process in left:
            process.send(KILL)
        for process in left:
            if not process.gone_within(SERVICE_KILL_SECONDS):
                raise ServiceError(f"{self.name}, process {process.pid}, cannot be ended.")
        if record and processes_of(record):  # a child that was born while we looked
            return [process.pid for process in left] + self.end_leftovers()
        for file in (self.record_file, self.ready_file):
            with suppress(OSError):
                file.unlink()
        return [process.pid for process in left]

    def put_log_aside(self, beyond: int = LOG_MOST_BYTES) -> None:
        """Keep the log within bounds: a larger one begins anew, the last ones stay beside it."""
        put_aside(self.log, beyond)

    def last_words(self) -> str:
        """The last line of its log, for an error's sentence."""
        said = last_line(self.log)
        return f"; its last words: {said!r} (all of them in {self.log})" if said else ""
