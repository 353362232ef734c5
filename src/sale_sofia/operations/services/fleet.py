"""Redis, worker and beat of one data folder: started in order, supervised, stopped in reverse order.

One process at a time runs them. Others may use those of `sale-sofia up`, and start and stop nothing.
"""

import os
import shutil
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from sale_sofia.descriptions.settings import HEALTH_SECONDS, OLLAMA_START_SECONDS, OLLAMA_STOP_SECONDS
from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.celery import (
    BEAT_STEPS,
    WORKER_STEPS,
    beat_command,
    enricher_command,
    flower_command,
    flower_environment,
    program_environment,
    worker_command,
)
from sale_sofia.operations.services.dashboard import bound_port
from sale_sofia.operations.services.ownership import DiskRoom, Ownership
from sale_sofia.operations.services.processes import TERMINATE, Child, StopSignals
from sale_sofia.operations.services.redis import is_ready, known_redis_url, own_redis_died, running_redis
from sale_sofia.settings.errors import RedisDied, RedisUnreachable, ServiceFailed
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.settings import LOG_FOLDER


class ServiceDied(ServiceFailed):
    """A service died too often, and is not started again."""


class Restarts:
    """Counts the recent deaths of each service."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deaths: defaultdict[str, deque[float]] = defaultdict(deque)

    def note(self, name: str, last_words: str = "", most: int = fixed.MOST_RESTARTS) -> None:
        """Count a death; raises ServiceDied if there were more than `most` lately."""
        now, deaths = self._clock(), self._deaths[name]
        deaths.append(now)
        while deaths[0] < now - fixed.RESTARTS_WITHIN_SECONDS:
            deaths.popleft()
        if len(deaths) > most:
            minutes = fixed.RESTARTS_WITHIN_SECONDS / 60
            raise ServiceDied(f"{name} died {len(deaths)} times in {minutes:g} minutes{last_words}.")


Sign = tuple[object, float | None]
"""The process of a service, and its last sign of life."""


@dataclass(slots=True)
class Liveness:
    """How long each service has been silent, by the monotonic clock: the wall clock may be set."""

    silent_seconds: float = fixed.SERVICE_SILENT_SECONDS
    clock: Callable[[], float] = time.monotonic
    _heard: dict[str, tuple[Sign, float]] = field(default_factory=dict)

    def hangs(self, name: str, sign: Sign) -> bool:
        """Whether its sign has not changed for too long; a service that starts has more time."""
        last, since = self._heard.get(name, (None, 0.0))
        if last != sign:
            self._heard[name] = (sign, self.clock())
            return False
        patience = fixed.SERVICE_START_SECONDS if sign[1] is None else self.silent_seconds
        return self.clock() - since > patience

    def excuse_all(self) -> None:
        """Forget all signs: the silence has a reason, such as a Redis that is gone."""
        self._heard.clear()


@dataclass(slots=True)
class FlowerService:
    """Our Flower, the viewer of tasks, on this machine alone. Nothing here waits or raises."""

    settings: Settings
    child: Child
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _enabled: bool = False
    _asked_at: float | None = None
    _answered_at: float | None = None
    _liveness: Liveness = field(init=False)
    _restarts: Restarts = field(init=False)

    def __post_init__(self) -> None:
        self._liveness = Liveness(clock=self.clock)
        self._restarts = Restarts(self.clock)

    @property
    def url(self) -> str:
        """Its address for a browser of this machine."""
        return f"http://{fixed.FLOWER_HOST}:{self.settings.flower_port}"

    def start(self, redis_url: str) -> None:
        """Start it and keep it running from now on; without a password only say what it needs."""
        if self.settings.flower_password is None:
            self.say("no Flower: set FLOWER_PASSWORD (8 characters or more) to see the tasks in a browser")
            return
        self._enabled = True
        self._start(redis_url)

    def _start(self, redis_url: str) -> None:
        self._asked_at = self._answered_at = None
        port = self.settings.flower_port
        if not self.child.alive and bound_port(fixed.FLOWER_HOST, port) is None:
            self._give_up(f"no Flower: another program has port {port}; set FLOWER_PORT to one that is free")
            return
        command = flower_command(fixed.FLOWER_HOST, port)
        self.child.start(command, flower_environment(self.settings, redis_url))

    def supervise(self, redis_url: str) -> None:
        """Say its address when it first answers; restart it if it died or hangs."""
        if not self._enabled:
            return
        if self.child.alive:
            self._ask()
        if self.child.alive and self._liveness.hangs("Flower", (self.child.process, self._answered_at)):
            self.say("Flower hangs")
            self.child.end_leftovers()
        if not self.child.alive:
            self._revive(redis_url)
        self.child.put_log_aside()

    def _ask(self) -> None:
        now = self.clock()
        if (
            self._answered_at is not None
            and self._asked_at is not None
            and now - self._asked_at < fixed.FLOWER_LOOK_SECONDS
        ):
            return
        self._asked_at = now
        if _answers(f"{self.url}/healthcheck", fixed.FLOWER_ANSWER_SECONDS):
            if self._answered_at is None:
                self.say(f"Flower: {self.url}, user {fixed.FLOWER_USER}, password FLOWER_PASSWORD")
            self._answered_at = now

    def _revive(self, redis_url: str) -> None:
        try:
            self._restarts.note("Flower", self.child.last_words())
        except ServiceDied as often:
            self._give_up(f"{often} It is not started again; all else goes on.")
            return
        self.say("Flower died; started again")
        self._start(redis_url)

    def _give_up(self, sentence: str) -> None:
        self._enabled = False
        self.say(sentence)

    def stop(self) -> None:
        """Stop what we started, and nothing else."""
        self.child.stop(BEAT_STEPS)


def _answers(url: str, seconds: float) -> bool:
    try:
        return httpx.get(url, timeout=seconds, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def is_answering(url: str) -> bool:
    """Whether an Ollama says which models it has."""
    return _answers(f"{url}/api/tags", HEALTH_SECONDS)


@dataclass(frozen=True, slots=True)
class OllamaService:
    """Our Ollama. Without it descriptions are read by the rules alone, so nothing here raises."""

    settings: Settings
    child: Child
    say: Callable[[str], None]
    pause: Callable[[], None] = field(default=lambda: time.sleep(fixed.SERVICE_POLL_SECONDS))
    """Called between two checks of an Ollama that starts; it may raise Interrupted."""

    def start(self) -> bool:
        """Start Ollama unless one answers already; whether one answers now."""
        if is_answering(self.settings.ollama_url):
            return True
        program = shutil.which("ollama")
        if program is None:
            self.say("there is no `ollama` on this machine; descriptions are read by the rules alone")
            return False
        address = {"OLLAMA_HOST": urlsplit(self.settings.ollama_url).netloc}
        self.child.start([program, "serve"], {**os.environ, **address})
        end = time.monotonic() + OLLAMA_START_SECONDS
        while self.child.alive and time.monotonic() < end:
            if is_answering(self.settings.ollama_url):
                return True
            self.pause()
        self.say(f"Ollama did not start{self.child.last_words()}; descriptions are read by the rules alone")
        return False

    def stop(self) -> None:
        """Stop what we started, and nothing else."""
        self.child.stop(((TERMINATE, OLLAMA_STOP_SECONDS),))


@dataclass(slots=True)
class Fleet:
    """The services of a data folder. Every call is idempotent: what runs already is left alone."""

    settings: Settings
    signals: StopSignals
    say: Callable[[str], None]
    joined: bool = False
    """Whether another process runs the services for us."""
    liveness: Liveness = field(default_factory=Liveness)
    flower: FlowerService = field(init=False)
    room: DiskRoom = field(init=False)
    worker: Child = field(init=False)
    beat: Child = field(init=False)
    enricher: Child = field(init=False)
    """The worker that reads descriptions; it runs only where LLM_ENABLED."""
    ollama: OllamaService = field(init=False)
    """The language model; started only where OLLAMA_START, and only if nobody else runs it."""
    ownership: Ownership = field(init=False)
    _url: str | None = None
    _children_url: str | None = None
    """The Redis that worker and beat were started with."""
    _redis: ExitStack = field(default_factory=ExitStack)
    _restarts: Restarts = field(default_factory=Restarts)
    _most_deaths: int = fixed.MOST_START_DEATHS

    def __post_init__(self) -> None:
        folder = self.settings.data_dir
        flower, self.worker, self.beat, self.enricher, ollama = (
            Child(
                name,
                folder / fixed.RUN_FOLDER,
                folder / LOG_FOLDER / f"{name}.log",
                lambda: self.signals.forced,
            )
            for name in ("flower", "worker", "beat", "enricher", "ollama")
        )
        self.room = DiskRoom(folder, self.say)
        self.flower = FlowerService(self.settings, flower, self.say)
        self.ollama = OllamaService(self.settings, ollama, self.say, self._pause)
        self.ownership = Ownership(folder / fixed.RUN_FOLDER)

    @property
    def children(self) -> tuple[Child, ...]:
        """The programs that run when all is well."""
        both = (self.worker, self.beat)
        return (*both, self.enricher) if self.settings.llm_enabled and not self.joined else both

    def cleanup_stale_processes(self) -> list[int]:
        """Kill the programs that a dead owner left, known by pid, birth and nonce, never by name."""
        if self.joined:
            return []
        programs = (self.flower.child, self.beat, self.worker, self.enricher, self.ollama.child)
        return [pid for program in programs for pid in program.end_leftovers()]

    def start_redis(self) -> str:
        """The URL of a Redis that answers: REDIS_URL, or our own, started if it does not run."""
        if self.joined:
            end = time.monotonic() + fixed.SERVICE_JOIN_SECONDS
            while True:
                try:
                    return known_redis_url(self.settings)
                except RedisUnreachable:
                    if time.monotonic() > end:
                        raise
                self.check_joined()
                self._pause()
        if self._url is not None and own_redis_died(self.settings):
            self._note_death("Redis")
            self._url = None
        while self._url is None:
            try:
                self._url = self._redis.enter_context(running_redis(self.settings))
            except RedisDied as death:
                self._note_death("Redis", f"; {death}".rstrip("."))
                self._pause()
        return self._url

    def begin_worker_and_beat(self) -> None:
        """Start both, and Redis before them, without waiting until they are ready."""
        url = self.start_redis()
        if not self.joined:
            if self.settings.ollama_start:
                self.ollama.start()
            self._start_children(url)

    def start_worker_and_beat(self) -> None:
        """Start both, and Redis before them, and wait until they are ready."""
        self.begin_worker_and_beat()
        self._wait_until_ready()
        self._most_deaths = fixed.MOST_RESTARTS

    def start_flower(self) -> None:
        """Start the viewer of tasks if it has a password; `supervise` says when it answers."""
        self.flower.start(self.start_redis())

    def _start_children(self, url: str) -> None:
        environ = program_environment(self.settings, url)
        self._children_url = url
        self._start(self.worker, worker_command(), environ)
        if self.settings.llm_enabled:
            self._start(self.enricher, enricher_command(), environ)
        schedule = self.settings.data_dir / fixed.RUN_FOLDER / "beat-schedule"
        self._start(self.beat, beat_command(schedule), environ)

    def _start(self, child: Child, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start the program unless it runs; a death after this check is found by the next one."""
        if child.alive:
            return
        if child.process is not None:
            self._note_death(child.name, child.last_words())
        child.start(command, environ)

    def _wait_until_ready(self) -> None:
        """Wait until all are ready; a program that dies meanwhile, or Redis, is restarted at once."""
        seconds = fixed.SERVICE_JOIN_SECONDS if self.joined else fixed.SERVICE_START_SECONDS
        begun = reported = supervised = time.monotonic()
        while missing := [child for child in self.children if not child.ready]:
            # `supervise` asks Redis: called at every poll, it would slow the start down.
            late = time.monotonic() - supervised > fixed.SUPERVISE_SECONDS
            if late or self.joined or not all(child.alive for child in self.children):
                self.supervise()
                supervised = time.monotonic()
            if time.monotonic() - begun > seconds:
                first = missing[0]
                raise ServiceFailed(
                    f"The {first.name} was not at work after {seconds:g} s{first.last_words()}."
                )
            if time.monotonic() - reported > fixed.SERVICE_TELL_SECONDS:
                reported = time.monotonic()
                self.say(f"waiting for {' and '.join(f'the {child.name}' for child in missing)} to start")
            self._pause()

    def _pause(self) -> None:
        self.signals.check()
        time.sleep(fixed.SERVICE_POLL_SECONDS)

    def check_joined(self) -> None:
        """Raise ServiceFailed if the process whose services we use has ended."""
        if self.joined and self.ownership.holder() is None:
            raise ServiceFailed(
                "`sale-sofia up` has stopped its services; go on with `sale-sofia resume --parallel`."
            )

    def supervise(self) -> None:
        """Restart what died or hangs, and rotate the logs; raises ServiceFailed."""
        self.check_joined()
        if self.joined:
            return
        url = self.start_redis()
        if url != self._children_url:  # it had to change its port, and the others use the old one
            self._stop_children()
        if not is_ready(url):  # without Redis worker and beat can only wait in silence
            self.liveness.excuse_all()
        for child in self.children:
            # Killed: a program that hangs would ignore a polite signal too.
            if child.alive and self.liveness.hangs(child.name, (child.process, child.last_sign)):
                self.say(f"the {child.name} hangs")
                child.end_leftovers()
                self._note_death(child.name, child.last_words())
            child.put_log_aside()
        self.ollama.child.put_log_aside()
        self._start_children(url)
        self.flower.supervise(url)

    def _note_death(self, name: str, last_words: str = "") -> None:
        self.room.check()  # on a full disk everything dies, which must not count
        self._restarts.note(name, last_words, self._most_deaths)
        self.say(f"{name if name == 'Redis' else f'the {name}'} died; started again")

    def stop_all(self, before_redis: Callable[[], None]) -> None:
        """Stop what we started: Flower, beat, worker, Redis; an error with one does not spare the next."""
        if self.joined:
            return
        with ExitStack() as stack:
            stack.callback(self._forget_redis)
            stack.callback(before_redis)
            stack.callback(self.ollama.stop)
            stack.callback(self._stop_children)

    def _stop_children(self) -> None:
        with ExitStack() as stack:
            stack.callback(self.worker.stop, WORKER_STEPS)
            stack.callback(self.enricher.stop, WORKER_STEPS)
            stack.callback(self.beat.stop, BEAT_STEPS)
            stack.callback(self.flower.stop)

    def _forget_redis(self) -> None:
        self._url = None
        self._redis.close()
