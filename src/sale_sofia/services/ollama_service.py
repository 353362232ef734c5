"""Ollama as a service of ours: started when it is asked for and not there, stopped if we started it."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import httpx

from sale_sofia.config.llm import HEALTH_SECONDS, OLLAMA_START_SECONDS, OLLAMA_STOP_SECONDS
from sale_sofia.config.services import SERVICE_POLL_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.services.child import Child
from sale_sofia.services.processes import TERMINATE

OLLAMA_STEPS: Final = ((TERMINATE, OLLAMA_STOP_SECONDS),)


def is_answering(url: str) -> bool:
    """Whether an Ollama says which models it has."""
    try:
        return httpx.get(f"{url}/api/tags", timeout=HEALTH_SECONDS, trust_env=False).is_success
    except httpx.HTTPError:
        return False


@dataclass(frozen=True, slots=True)
class OllamaService:
    """Our Ollama. Without it descriptions are read by the rules alone, so that nothing here is an error."""

    settings: Settings
    child: Child
    say: Callable[[str], None]
    pause: Callable[[], None] = field(default=lambda: time.sleep(SERVICE_POLL_SECONDS))
    """A moment between two looks at one that starts; who asks for an end is heard there."""

    def start(self) -> bool:
        """Whether Ollama answers: one that runs already, which stays as it is, or one of ours."""
        if is_answering(self.settings.ollama_url):
            return True
        program = shutil.which("ollama")
        if program is None:
            self.say("there is no `ollama` on this machine; descriptions are read by the rules alone")
            return False
        address = {"OLLAMA_HOST": urlsplit(self.settings.ollama_url).netloc}
        self.child.start([program, "serve"], {**os.environ, **address})
        return self._wait()

    def _wait(self) -> bool:
        end = time.monotonic() + OLLAMA_START_SECONDS
        while self.child.alive and time.monotonic() < end:
            if is_answering(self.settings.ollama_url):
                return True
            self.pause()
        self.say(f"Ollama did not start{self.child.last_words()}; descriptions are read by the rules alone")
        return False

    def stop(self) -> None:
        """Stop what we started, and nothing else."""
        self.child.stop(OLLAMA_STEPS)
