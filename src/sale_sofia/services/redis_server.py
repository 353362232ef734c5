"""Our own Redis server: a process of its own on a loopback port, its data in a folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from sale_sofia.config.services import REDIS_KILL_SECONDS, REDIS_STOP_SECONDS
from sale_sofia.services.errors import ServiceError
from sale_sofia.services.processes import KILL, TERMINATE, Process, born
from sale_sofia.services.redis_client import identity
from sale_sofia.services.redis_record import ServerRecord, forget_record, read_record, write_record
from sale_sofia.services.redis_start import data_file, server_url, start_server, wait_until_ready


@dataclass(slots=True)
class RedisServer:
    """One running server of ours. What it does to a process, it does to that server and to no other.

    It outlives whoever started it, until somebody calls `stop`. Every write is in its log within a second.
    """

    folder: Path
    port: int
    options: tuple[str, ...]
    process: Process
    nonce: str
    password: str = field(default="", repr=False)

    @classmethod
    def start(
        cls, folder: Path, *, port: int | None = None, options: Sequence[str] = (), password: str = ""
    ) -> Self:
        """Start a server with the folder's data; without a `port` on the folder's last one or a free one.

        Raises:
            NoRedisServer: there is no program to start.
            RedisNotStarted: it did not come up.
        """
        folder = folder.absolute()
        return cls._of(folder, start_server(folder, port, options, password))

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """The folder's server, when it runs and answers; never a stranger that has its port or number."""
        folder = folder.absolute()
        record = read_record(folder)
        # Where our process is gone, who listens is a stranger: it must not even hear the password.
        if record is None or _is_dead(record):
            return None
        told = identity(server_url(record))
        if told is None or told[0] != data_file(record.nonce):
            return None
        record = _completed(folder, record, told[1])
        server = cls._of(folder, record)
        return server if server.pid == told[1] and server.alive else None

    @classmethod
    def _of(cls, folder: Path, record: ServerRecord) -> Self:
        process = Process(record.pid or 0, record.born or "")
        return cls(folder, record.port, tuple(record.options), process, record.nonce, record.password)

    @property
    def url(self) -> str:
        """Address of its first database, with its password if it has one."""
        return server_url(ServerRecord(port=self.port, nonce=self.nonce, password=self.password))

    @property
    def pid(self) -> int:
        """Number of its process."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether its process still runs."""
        return self.process.alive

    def stop(self) -> None:
        """Let it write its data and leave, or kill it when it does not; nothing when it is gone already."""
        self.process.send(TERMINATE)
        if not self.process.gone_within(REDIS_STOP_SECONDS):
            self.process.send(KILL)
        self._wait_for_its_end()
        forget_record(self.folder, self.nonce)

    def kill(self) -> None:
        """End it at once, as a power cut would; its record stays behind."""
        self.process.send(KILL)
        self._wait_for_its_end()

    def restart(self) -> None:
        """Stop it, when it runs, and start it with the same data, port and password."""
        self.stop()
        again = self.start(self.folder, port=self.port, options=self.options, password=self.password)
        self.process, self.nonce = again.process, again.nonce

    def _wait_for_its_end(self) -> None:
        if not self.process.gone_within(REDIS_KILL_SECONDS):
            raise ServiceError(f"Redis, process {self.pid}, cannot be ended; see whether its disk hangs.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _is_dead(record: ServerRecord) -> bool:
    return bool(record.pid and record.born) and not Process(record.pid or 0, record.born or "").alive


def _completed(folder: Path, record: ServerRecord, pid: int) -> ServerRecord:
    """The record with its process. Whoever started it may have died before it could write that down."""
    if record.pid is not None:
        return record
    full = record.model_copy(update={"pid": pid, "born": born(pid)})
    wait_until_ready(folder, record, Process(pid, full.born or ""))
    write_record(folder, full)
    return full
