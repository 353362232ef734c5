"""Handing one message over to one channel."""

import signal
import smtplib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, NoReturn

from sale_sofia.alerts.channels import Channel, open_service, quiet_apprise
from sale_sofia.alerts.mail import MailRefused, reason_of, send_mail
from sale_sofia.alerts.wording import Text


class NotSent(Exception):
    """The message was not taken, or nobody knows; the text says why, without secrets."""


class _TooSlow(BaseException):
    """The time is over. No handler of a library may swallow it."""


@dataclass(slots=True)
class Sender:
    """Sends to channels, each opened once. A message is one request: nothing is split or tried again here."""

    seconds: float
    """Longest time for one message."""
    _services: dict[str, Any] = field(default_factory=dict)

    def send(self, channel: Channel, text: Text, uid: str, answers: str | None = None) -> None:
        """Hand the message over under its id; when this returns, the channel has taken it.

        `answers` is the id of the message that this one belongs to.

        Raises:
            NotSent: it did not, or did not say so in time.
            AlertsError: Apprise cannot use the channel's URL.
        """
        service = self._services.get(channel.name) or open_service(channel, self.seconds)
        self._services[channel.name] = service
        try:
            with time_limit(self.seconds):
                _hand_over(channel, service, text, uid, answers)
        except NotSent:
            raise
        except _TooSlow:
            raise NotSent(f"no answer within {self.seconds:g} seconds") from None
        except (OSError, smtplib.SMTPException, MailRefused) as error:
            raise NotSent(channel.masked(reason_of(error))) from None
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; its words may hold secrets
            raise NotSent(channel.masked(f"{type(error).__name__}: {error}")) from None


def _hand_over(channel: Channel, service: Any, text: Text, uid: str, answers: str | None) -> None:  # noqa: ANN401
    if channel.is_mail:
        send_mail(service, text, uid, answers)
        return
    _mark(service, uid)
    with quiet_apprise() as said:
        taken = service.notify(body=text.body, title=text.subject, body_format="text", overflow="truncate")
    if not taken:
        raise NotSent(channel.masked("; ".join(said)) or "the channel did not take it and did not say why")


def _mark(service: Any, uid: str) -> None:  # noqa: ANN401 - Apprise's
    """Where a service takes headers or fields of ours, whoever gets a message twice sees it by its id."""
    if isinstance(headers := getattr(service, "headers", None), dict):
        headers |= {"X-Message-Id": uid, "Idempotency-Key": uid}
    if isinstance(extras := getattr(service, "payload_extras", None), dict):
        extras |= {"message_id": uid}


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Whatever goes on within it ends after so long; where the system has no such clock, it does not."""
    if not hasattr(signal, "setitimer") or current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _strike)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _strike(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _TooSlow
