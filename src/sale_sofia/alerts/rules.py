"""The rules of alerts: `DATA_DIR/alerts.yaml`, if there is one. `docs/alerts.md` shows an example."""

import os
import re
from datetime import time, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_args
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from sale_sofia.alerts.kept import kept_channels
from sale_sofia.alerts.settings import (
    ALERTS_FILE,
    CHANNEL_SCHEMES,
    LONGEST_NAME,
    MOST_RULES,
    REMINDED_BEFORE_QUIET_SECONDS,
    WAYS_AROUND,
)
from sale_sofia.listings.dates import day_of, moment_of, quiet_span, quiet_until
from sale_sofia.settings.types import at_key, password_in, why_refused
from sale_sofia.settings.words import Said
from sale_sofia.websites.site_file import SiteConfigError, Table, parse_yaml, read_text, sentences

BuyerKind = Literal["new", "cut", "back", "gone", "cheaper", "rise"]
BUYER_KINDS: Final[tuple[BuyerKind, ...]] = get_args(BuyerKind)
USUAL_KINDS: Final = BUYER_KINDS[:-1]
"""What a rule tells by default: of many flats nobody wants to know which got dearer."""
RuleKind = Literal["buyer", "operator"]
RULE_KINDS: Final[tuple[RuleKind, ...]] = get_args(RuleKind)
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_NAME: Final = re.compile(r"[^\W_][\w .-]*")
_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_URL: Final = re.compile(r"([a-z][a-z0-9]*)://\S+")
NONE: Final = "none"
"""Instead of names, where there are none."""


class AlertsError(ValueError):
    """The alerts file cannot be used: one sentence for each mistake, none with a secret in it."""


def wrong_rules(key: str, why: Said) -> AlertsError:
    """What is wrong at a key of the file."""
    return AlertsError(Said("wrong_file.at", path=ALERTS_FILE, why=at_key((key,), why)))


def _time_of_day(value: object) -> time:
    parts = _TIME.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise ValueError(Said("wrong_rule.time", given=repr(value)))
    return time(int(parts[1]), int(parts[2]))


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(Said("wrong_rule.name", name=text))
    return text


def _filled(value: object) -> SecretStr:
    """The URL with each `${NAME}` replaced from the environment; a value within a URL is percent-encoded.

    What was typed on the screen comes as a secret and is not filled: nobody can read the environment of this
    machine through it.
    """
    if isinstance(value, SecretStr):
        return value
    if not isinstance(value, str):
        raise ValueError("must be one Apprise URL, as text")  # noqa: TRY004 - pydantic listens to this one
    if whole := _PLACEHOLDER.fullmatch(value):
        return SecretStr(_value_of(whole[1]))
    return SecretStr(_PLACEHOLDER.sub(lambda match: quote(_value_of(match[1]), safe=""), value))


def _value_of(name: str) -> str:
    if file := os.environ.get(f"{name}_FILE"):
        return password_in(Path(file))
    if value := os.environ.get(name):
        return value
    raise ValueError(f"${{{name}}} is not set; set {name} or {name}_FILE in the environment")


def _network_url(secret: SecretStr) -> SecretStr:
    url = secret.get_secret_value()
    parts = _URL.fullmatch(url)
    if parts is None:
        raise ValueError(Said("channel.no_url"))
    if parts[1] not in CHANNEL_SCHEMES:
        raise ValueError(Said("channel.scheme", scheme=parts[1], allowed=sorted(CHANNEL_SCHEMES)))
    try:
        query = urlsplit(url).query
    except ValueError:  # its message may hold the password
        raise ValueError(Said("channel.host")) from None
    options = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    if refused := sorted(options & WAYS_AROUND):
        raise ValueError(Said("channel.option", names=refused))
    return secret


TimeOfDay = Annotated[time, BeforeValidator(_time_of_day)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_name)]
ChannelUrl = Annotated[SecretStr, BeforeValidator(_filled), AfterValidator(_network_url)]
Percent = Annotated[float, Field(ge=0, le=100)]


class QuietHours(Table):
    """When messages wait, on Sofia's clock; it may go over midnight."""

    from_: TimeOfDay = Field(alias="from")
    to: TimeOfDay

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.from_ == self.to:
            raise ValueError("`from` and `to` are the same moment; leave quiet_hours out to have none")
        return self


class AlertRule(Table):
    """What every rule has."""

    name: Name
    channels: Annotated[tuple[str, ...], Field(min_length=1)]
    digest: TimeOfDay | None = None
    """Once a day at this time, instead of at once."""
    enabled: bool = True
    """A disabled rule tells nothing; enabled again it starts afresh."""


class BuyerRule(AlertRule):
    """A rule about the flats of a profile, of a saved search, of the shortlist, or about one flat."""

    profile: str | None = None
    search: str | None = None
    shortlist: bool = False
    flat: Annotated[int | None, Field(strict=True, ge=1)] = None
    tell: Annotated[tuple[BuyerKind, ...], Field(min_length=1)] = USUAL_KINDS
    min_score: Annotated[float | None, Field(ge=0, le=5)] = None
    unknown: bool = True
    """Also flats with unknown conditions; the message names these."""
    cut_percent: Percent = 3.0
    cheaper_percent: Percent = 2.0

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = [self.profile is not None, self.search is not None, self.shortlist, self.flat is not None]
        if sources.count(True) != 1:
            raise ValueError(Said("wrong_rule.source"))
        if self.min_score is not None and self.profile is None:
            raise ValueError(Said("wrong_rule.min_score"))
        if self.shortlist and "new" in self.tell and "tell" in self.model_fields_set:
            raise ValueError(Said("wrong_rule.shortlist"))
        return self


class OperatorRule(AlertRule):
    """A rule about incidents: their beginning, and their end."""

    incidents: tuple[str, ...] = ()
    """Kinds; none named: all."""
    urgent: bool = False
    """Quiet hours do not hold it back."""
    ends: bool = True


class AlertsFile(Table):
    """All rules and channels."""

    channels: dict[Name, ChannelUrl] = Field(default_factory=dict)
    quiet_hours: QuietHours | None = None
    buyer: Annotated[tuple[BuyerRule, ...], Field(max_length=MOST_RULES)] = ()
    operator: Annotated[tuple[OperatorRule, ...], Field(max_length=MOST_RULES)] = ()

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [rule.name for rule in self.rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(Said("wrong_rule.twice", names=twice))
        for rule in self.rules:
            if unknown := sorted(set(rule.channels) - self.channels.keys()):
                there = list(self.channels) or NONE
                raise ValueError(Said("wrong_rule.channel", rule=rule.name, channels=unknown, there=there))
        return self

    @property
    def rules(self) -> tuple[AlertRule, ...]:
        """All of them."""
        return (*self.buyer, *self.operator)

    def at_work(self) -> Self:
        """The same without disabled rules."""
        on: dict[str, Any] = {
            kind: tuple(rule for rule in getattr(self, kind) if rule.enabled) for kind in RULE_KINDS
        }
        return self.model_copy(update=on)


def load_alerts(folder: Path) -> AlertsFile | None:
    """The rules and channels of an installation; None where there is no file.

    Raises:
        AlertsError: the file cannot be used; one sentence for each mistake, without secrets.
    """
    path = folder / ALERTS_FILE
    return check_alerts(path, read_alerts(path)) if path.exists() else None


def check_unused(folder: Path, search: str) -> None:
    """Raise AlertsError if a rule names this saved search: without it no rule at all would tell anything."""
    try:
        file = load_alerts(folder)
    except AlertsError:  # nothing is told anyway
        return
    called = " ".join(search.split())  # as it is saved
    if names := [rule.name for rule in file.buyer if rule.search == called] if file else []:
        raise AlertsError(Said("wrong_search.in_rules", name=called, rules=names))


def read_alerts(path: Path) -> str:
    """The text of the file. Raises AlertsError if it cannot be read."""
    try:
        return read_text(path)
    except SiteConfigError as error:
        raise AlertsError(Said.of(error)) from None


def check_alerts(path: Path, text: str) -> AlertsFile:
    """The rules and channels of this text, with the channels set up on the screen.

    Raises:
        AlertsError: it cannot be used; one sentence for each mistake, without secrets.
    """
    try:
        values = parse_yaml(path, text)
        own = values.get("channels", {})
        if isinstance(own, dict):
            from_screen = {name: channel.url for name, channel in kept_channels(path.parent).items()}
            values = {**values, "channels": {**from_screen, **own}}
        return AlertsFile.model_validate(values)
    except ValidationError as error:
        raise AlertsError(sentences(path, error, AlertsFile)) from None
    except SiteConfigError as error:
        raise AlertsError(Said.of(error)) from None


def usable_url(url: str) -> SecretStr:
    """The address of a channel as it was typed. Raises AlertsError if it cannot be one."""
    try:
        return TypeAdapter(ChannelUrl).validate_python(SecretStr(url))
    except ValidationError as error:
        raise AlertsError(why_refused(error.errors()[0], AlertsFile)) from None


# When a message may be sent: quiet hours and digests, on Sofia's clock.


def next_time(moment: float, at: time) -> float:
    """The first moment after this one at which Sofia's clock shows this time."""
    moments = (moment_of(day_of(moment) + timedelta(days=days), at) for days in range(3))
    return next(later for later in moments if later > moment)


def is_quiet(moment: float, quiet: QuietHours | None) -> bool:
    """Whether messages wait at this moment; the end of quiet hours is not quiet any more."""
    return quiet is not None and quiet_until(moment, quiet.from_, quiet.to) is not None


def not_quiet(moment: float, quiet: QuietHours | None) -> float:
    """This moment, or the end of the quiet hours it falls into."""
    until = None if quiet is None else quiet_until(moment, quiet.from_, quiet.to)
    return moment if until is None else until


def in_time(moment: float, event: float, quiet: QuietHours | None) -> float:
    """When to tell what is due at this moment; before quiet hours, if these would hold it until the event.

    REMINDED_BEFORE_QUIET_SECONDS before they begin, as rules are checked only now and then.
    """
    span = None if quiet is None else quiet_span(moment, quiet.from_, quiet.to)
    return moment if span is None or span[1] < event else span[0] - REMINDED_BEFORE_QUIET_SECONDS
