"""Plain mail. Apprise gives a mail another Message-ID with every try; ours keeps the one of its message.

By that id mailboxes and people recognise a mail that came twice. What its URL means and how the mail is
written is Apprise's own; a server that drips or never ends its answers is not waited for.
"""

import smtplib
from contextlib import suppress
from email import policy
from email.parser import Parser
from typing import Any, Final

from sale_sofia.alerts.mail_server import STARTTLS, connect, tls_context
from sale_sofia.alerts.wording import Text

_DOMAIN: Final = "sale-sofia.invalid"
"""The right side of our ids: a name that can be nobody's."""


class MailRefused(Exception):
    """The server did not take the mail; the text says why."""


def message_id(uid: str) -> str:
    """The Message-ID of a message of ours."""
    return f"<{uid}@{_DOMAIN}>"


def send_mail(service: Any, text: Text, uid: str, answers: str | None) -> None:  # noqa: ANN401 - Apprise's
    """Hand the mail over; when this returns, the server has taken it.

    Raises:
        MailRefused, OSError, smtplib.SMTPException: it has not, or nobody knows.
    """
    recipient, mail = _written(service, text, uid, answers)
    server = connect(service)
    try:
        _introduce(server, service)
        refused = server.sendmail(service.from_addr[1], [recipient], mail)
    finally:
        with suppress(OSError, smtplib.SMTPException):  # what it says to a farewell changes nothing
            server.quit()
        server.close()
    if refused:
        raise MailRefused(f"the server refused the reader: {refused[recipient]}")


def _introduce(server: smtplib.SMTP, service: Any) -> None:  # noqa: ANN401 - Apprise's
    """With a key where the URL asks for one: a server that offers none gets neither password nor mail."""
    if service.secure_mode == STARTTLS:
        server.starttls(context=tls_context(service))
    if service.user and service.password:
        server.login(service.user, service.password)


def _written(service: Any, text: Text, uid: str, answers: str | None) -> tuple[str, str]:  # noqa: ANN401
    from apprise import NotifyFormat  # noqa: PLC0415 - slow to load
    from apprise.plugins.email.base import NotifyEmail  # noqa: PLC0415

    (mail,) = NotifyEmail.prepare_emails(
        subject=text.subject,
        body=text.body,
        from_addr=service.from_addr,
        to=service.targets,
        smtp_host=service.smtp_host,
        notify_format=NotifyFormat.TEXT,
        headers={"X-Application": "sale-sofia", "X-Message-Id": uid, **service.headers},
        names=service.names,
    )
    return mail.recipient, _with_id(mail.body, uid, answers)


def _with_id(mail: str, uid: str, answers: str | None) -> str:
    message = Parser(policy=policy.compat32).parsestr(mail)
    message.replace_header("Message-ID", message_id(uid))
    if answers is not None:
        message["In-Reply-To"] = message["References"] = message_id(answers)
    return message.as_string()


def reason_of(error: Exception) -> str:
    """Why a mail was not taken, in the server's words where there are any."""
    if isinstance(error, smtplib.SMTPResponseException):
        words = (
            error.smtp_error.decode("utf-8", "replace")
            if isinstance(error.smtp_error, bytes)
            else error.smtp_error
        )
        return f"the mail server says {error.smtp_code} {words}"
    return f"the mail server cannot be reached: {error or type(error).__name__}"
