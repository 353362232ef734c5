"""Flower, the viewer of tasks, as a service of `sale-sofia up`: only a window, its faults stop nobody."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from sale_sofia.config.services import (
    FLOWER_ANSWER_SECONDS,
    FLOWER_HOST,
    FLOWER_LOOK_SECONDS,
    FLOWER_USER,
)
from sale_sofia.config.settings import Settings
from sale_sofia.services.celery_programs import BEAT_STEPS, flower_command, flower_environment
from sale_sofia.services.child import Child
from sale_sofia.services.dashboard_server import bound_port
from sale_sofia.services.liveness import Liveness
from sale_sofia.services.restarts import Restarts, ServiceDied


@dataclass(slots=True)
class FlowerService:
    """Our Flower, on this machine alone. Nothing here waits, and nothing here is an error."""

    settings: Settings
    child: Child
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _wanted: bool = False
    _asked: float | None = None
    _answered: float | None = None
    _liveness: Liveness = field(init=False)
    _restarts: Restarts = field(init=False)

    def __post_init__(self) -> None:
        self._liveness = Liveness(clock=self.clock)
        self._restarts = Restarts(self.clock)

    @property
    def url(self) -> str:
        """Where a browser of this machine finds it."""
        return f"http://{FLOWER_HOST}:{self.settings.flower_port}"

    def start(self, redis_url: str) -> None:
        """Start it and keep it running from now on; without a password it is only said how it is had."""
        if self.settings.flower_password is None:
            self.say("no Flower: set FLOWER_PASSWORD (8 characters or more) to see the tasks in a browser")
            return
        self._wanted = True
        self._start(redis_url)

    def _start(self, redis_url: str) -> None:
        self._asked = self._answered = None
        port = self.settings.flower_port
        if not self.child.alive and bound_port(FLOWER_HOST, port) is None:
            self._give_up(f"no Flower: another program has port {port}; set FLOWER_PORT to one that is free")
            return
        command = flower_command(FLOWER_HOST, port)
        self.child.start(command, flower_environment(self.settings, redis_url))

    def supervise(self, redis_url: str) -> None:
        """Say its address when it first answers; start it again when it died or hangs."""
        if not self._wanted:
            return
        if self.child.alive:
            self._ask()
        if self.child.alive and self._liveness.hangs("Flower", (self.child.process, self._answered)):
            self.say("Flower hangs")
            self.child.end_leftovers()
        if not self.child.alive:
            self._revive(redis_url)
        self.child.put_log_aside()

    def _ask(self) -> None:
        now = self.clock()
        if self._answered is not None and self._asked is not None and now - self._asked < FLOWER_LOOK_SECONDS:
            return
        self._asked = now
        if self._answers():
            if self._answered is None:
                self.say(f"Flower: {self.url}, user {FLOWER_USER}, password FLOWER_PASSWORD")
            self._answered = now

    def _answers(self) -> bool:
        try:
            answer = httpx.get(f"{self.url}/healthcheck", timeout=FLOWER_ANSWER_SECONDS, trust_env=False)
        except httpx.HTTPError:
            return False
        return answer.is_success

    def _revive(self, redis_url: str) -> None:
        try:
            self._restarts.note("Flower", self.child.last_words())
        except ServiceDied as often:
            self._give_up(f"{often} It is not started again; all else goes on.")
            return
        self.say("Flower died; started again")
        self._start(redis_url)

    def _give_up(self, sentence: str) -> None:
        self._wanted = False
        self.say(sentence)

    def stop(self) -> None:
        """Stop what we started, and nothing else."""
        self.child.stop(BEAT_STEPS)
