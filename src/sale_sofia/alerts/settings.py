"""Constants and settings of alerts; each states its unit and its reason."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.settings.types import SERVER_ALLOWED, ServerUrl, decimal, described, notes, switch, whole

ALERTS_FILE: Final = "alerts.yaml"
"""The file of rules and channels, in DATA_DIR."""
CHANNELS_FILE: Final = "channels.yaml"
"""The file of channels that were set up on the screen, in DATA_DIR; nobody writes it by hand."""
MOST_CHANNELS: Final = 50
"""Channels that are set up on the screen: several of each person of a household."""
ALERTS_FILE_SECONDS: Final = 10.0
"""Longest wait for somebody else who is changing the file; a change takes milliseconds."""
CHANNEL_SCHEMES: Final = frozenset(
    {
        "mailto", "mailtos", "json", "jsons", "xml", "xmls", "form", "forms", "tgram", "ntfy", "ntfys",
        "discord", "slack", "gotify", "gotifys", "pover", "pbul", "signal", "signals", "matrix", "matrixs",
        "mmost", "mmosts", "rocket", "rockets", "workflows", "gchat", "zulip", "viber", "whatsapp", "twilio",
        "vonage", "hassio", "hassios", "mailgun", "sendgrid", "postmark", "brevo", "ses", "sns", "mqtt",
        "mqtts", "pagerduty", "opsgenie", "webex", "threema", "line", "bark", "barks", "nctalk", "nctalks",
    }
)  # fmt: skip
"""Network services that Apprise may use; none that opens windows or runs programs on this machine."""
WAYS_AROUND: Final = frozenset(
    {"cc", "bcc", "pgp", "pgppub", "pgpprv", "wkd", "retry", "wait", "optional", "template"}
)
"""Options of a channel that are refused: several readers, keys of this machine, tries that nobody counts."""
MOST_RULES: Final = 200
"""Rules in one file; more is a mistake of a program that wrote it."""
LONGEST_NAME: Final = 60
"""Characters of the name of a rule or channel."""

FLATS_AT_ONCE: Final = 2_000
"""Flats that are read and judged in one go."""
PRICE_ROUNDING_EUR: Final = 0.5
"""Prices are whole euros: a share of one is met to within half of it."""
LOOKS_MOST: Final = 5
"""How often a look begins anew when another process has looked meanwhile; then that one has seen it all."""
ROWS_WRITTEN_AT_ONCE: Final = 5_000
"""Rows of one statement: what a look has seen may be every flat there is."""
DUE_AT_ONCE: Final = 50
"""Messages that are due and looked through for one to take."""
LEASE_FACTOR: Final = 2.0
"""A lease lasts so many times the longest sending; after that its holder is taken for dead."""
POSTMAN_GRACE_SECONDS: Final = 20.0
"""How long beyond its time the sending process is waited for: it loads Apprise, which takes seconds."""
BEAT_SECONDS: Final = 60.0
"""How often workers run a round of alerts."""

LONGEST_SUBJECT: Final = 120
"""Characters of a subject: what mail programs show in a line."""
LONGEST_WORD: Final = 80
"""Characters of anything a portal wrote."""
LONGEST_URL: Final = 500
"""Characters of an address of an advert; a longer one is left out."""
LONGEST_ERROR: Final = 300
"""Characters that are kept of why a message could not be sent."""
MOST_IN_MESSAGE: Final = 40
"""Items in full in one message; for the others it says how many they are and where to see them."""
LONGEST_BODY: Final = 30_000
"""Characters of a message."""
LINK_PATH: Final = "/do/"
"""Where a link of a message leads, before its token."""
LINK_SECONDS: Final = 14 * 86_400.0
"""How long a link in a message may be used: flats are decided on within two weeks."""
MOST_WITH_LINKS: Final = 10
"""Flats of a message up to which each has its links; a longer message has none."""
PREVIEW_SECONDS: Final = 14 * 86_400.0
"""How far back the preview of a rule goes: two weeks of a market."""
PREVIEW_SHOWN: Final = 40
"""Flats of that which are named; the rest is counted."""
BEST_NAMED: Final = 3
"""Criteria that a message names as what speaks for a flat."""
GOOD_VALUE: Final = 3.5
"""Of 5: from here on a criterion speaks for a flat."""
SHOWN_MESSAGES: Final = 30
"""Messages that `alerts log` shows by default."""

MAIL_SERVERS: Final[Mapping[str, tuple[str, int, str]]] = {
    "gmail.com": ("smtp.gmail.com", 587, "starttls"),
    "abv.bg": ("smtp.abv.bg", 465, "ssl"),
    "mail.bg": ("smtp.mail.bg", 465, "ssl"),
    "outlook.com": ("smtp-mail.outlook.com", 587, "starttls"),
    "hotmail.com": ("smtp-mail.outlook.com", 587, "starttls"),
    "live.com": ("smtp-mail.outlook.com", 587, "starttls"),
    "yahoo.com": ("smtp.mail.yahoo.com", 465, "ssl"),
    "icloud.com": ("smtp.mail.me.com", 587, "starttls"),
}
"""By the domain of an address: its mail server, the port, and the mode of encryption."""
NTFY_SERVER: Final = "https://ntfy.sh"
"""The server of ntfy that everybody may use."""
TELEGRAM_LONGEST: Final = 4096
"""Characters of a message that Telegram takes."""
LONGEST_FIELD: Final = 1000
"""Characters of what is typed into a field of a channel."""
REMINDED_HOURS: Final = (2, 24)
"""Reminders come so many hours before a viewing: time to go, and time to move it."""
REMINDED_BEFORE_QUIET_SECONDS: Final = 3600.0
"""How long before quiet hours a reminder comes that they would hold past its viewing."""
MAIL_WORDS_BYTES: Final = 100_000
"""What a mail server may say in one conversation; a good one says less than a thousand bytes."""
MAIL_READ_BYTES: Final = 4096
"""Bytes of it that are read in one go."""


class AlertSettings(BaseModel, defer_build=True):
    """Settings of alerts: language, limits, retries and reminders."""

    alert_language: Literal["bg", "en"] = Field(
        default="bg", description="The language of alerts.", json_schema_extra=notes("bg or en", "language")
    )
    alert_telegram_url: ServerUrl = described(
        "https://api.telegram.org", SERVER_ALLOWED, "URL", "Where bots of Telegram are asked."
    )
    alert_burst: int = whole(
        20, 1, 1000, "messages", "More messages for one channel at once than this are sent as one."
    )
    alert_send_seconds: float = decimal(
        30, 1, 600, "seconds", "Longest time for handing over one message; then it is tried again later."
    )
    alert_run_seconds: float = decimal(
        60, 1, 3600, "seconds", "For so long messages are sent in one go; the others wait for the next."
    )
    alert_crawl_seconds: float = decimal(
        30, 0, 3600, "seconds", "For so long messages are sent at the end of a local crawl; 0: none are."
    )
    alert_retry_seconds: float = decimal(
        60, 0.1, 86_400, "seconds", "Wait before a message is tried again; doubles with every further try."
    )
    alert_retry_most_seconds: float = decimal(
        3600, 0.1, 604_800, "seconds", "Longest wait between two tries; not below the first one."
    )
    alert_silence_seconds: float = decimal(
        7200, 60, 604_800, "seconds", "A channel that takes nothing for so long is an incident."
    )
    alert_viewings: bool = switch(
        default=True,
        sentence="Remind of viewings a day and two hours before, by the channels of all rules for buyers.",
    )
    incident_crawl_hours: float = decimal(
        26, 1, 8760, "hours", "A portal without a complete crawl for so long is an incident."
    )

    @field_validator("alert_retry_most_seconds")
    @classmethod
    def _not_below_first(cls, most: float, info: ValidationInfo) -> float:
        first = info.data.get("alert_retry_seconds", 0.0)
        if most < first:
            raise ValueError(f"not less than ALERT_RETRY_SECONDS, which is {first}")
        return most
