"""The process that sends, apart from the one that wants it.

Who started it may be killed: the message in hand is still sent and noted. So that kill cannot fall between
the two (decision 014).
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any, Final

from sale_sofia.alerts.results import Delivered
from sale_sofia.config.alerts import LIFELINE_LOOK_SECONDS, POSTMAN_GRACE_SECONDS
from sale_sofia.config.programs import own_program
from sale_sofia.config.settings import Settings
from sale_sofia.config.settings_environment import environment_of

_PROGRAM: Final = "sale_sofia.commands.postman"


class PostmanFailed(OSError):
    """The process that sends did not do its work; messages stay where they are, and the next one goes on."""


def send_out(settings: Settings, seconds: float) -> Delivered:
    """Send what is due for so long, by a process of its own.

    Raises:
        PostmanFailed: it ended badly, or not at all.
    """
    lifeline, our_end = os.pipe()
    try:
        process = _start(settings, seconds, lifeline)
        return _await(process, seconds + settings.alert_send_seconds + POSTMAN_GRACE_SECONDS)
    finally:
        os.close(lifeline)
        os.close(our_end)


def _start(settings: Settings, seconds: float, lifeline: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # noqa: S603 - our own program
        own_program(_PROGRAM, f"{seconds:g}", str(lifeline)),
        env=environment_of(settings, os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(lifeline,),
        start_new_session=True,
        text=True,
    )


def _await(process: "subprocess.Popen[str]", patience: float) -> Delivered:
    with process:
        try:
            said, complaint = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise PostmanFailed(f"sending took more than {patience:g} seconds and was ended") from None
    if process.returncode:
        last = complaint.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise PostmanFailed(f"sending failed: {last[0]}")
    return _delivered(json.loads(said))


def _delivered(answer: dict[str, Any]) -> Delivered:
    return Delivered(answer["sent"], answer["failed"], answer["errors"])


def until(seconds: float, lifeline: int) -> Callable[[], bool]:
    """Whether another message may be begun: the time is not over, and whoever started us is still there."""
    end = time.monotonic() + seconds

    def go_on() -> bool:
        ended, _, _ = select.select([lifeline], [], [], LIFELINE_LOOK_SECONDS)
        return not ended and time.monotonic() < end

    return go_on
