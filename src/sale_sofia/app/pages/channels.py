"""Channels: where messages go. Set up here, tested at once, and their addresses never shown again.

Everybody of the household sets up their own; only an operator may name a server, as it is asked from this
machine's network.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode
from uuid import uuid4

from sale_sofia.alerts.channels import (
    Bot,
    Channel,
    ChannelSender,
    Chat,
    NotSent,
    TelegramRefused,
    channels_of,
)
from sale_sofia.alerts.editing import RuleFile
from sale_sofia.alerts.kept import MAIL_MODES, ChannelFile, KeptChannel, MailServer, mail_url, ntfy_url
from sale_sofia.alerts.rules import AlertsError, load_alerts, usable_url
from sale_sofia.alerts.settings import LONGEST_FIELD, NTFY_SERVER
from sale_sofia.alerts.wording import word_test
from sale_sofia.app.application import Done, WebPage, own_address
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import PageVisit, Values, changed_lines
from sale_sofia.app.words import language, mistakes, say
from sale_sofia.buyer.people import all_people
from sale_sofia.listings.text import plain
from sale_sofia.settings.words import Said
from sale_sofia.websites.site_file import SiteConfigError

WRONG: Final = (NotSent, AlertsError, SiteConfigError, TelegramRefused)
"""Why a channel cannot be set up or used; their messages hold no secret."""
BACK: Final = "back"
THEN: Final = "then"
"""In forms and addresses: the page to go back to, and the alert to add once there is a channel."""


def all_channels(visit: PageVisit) -> Mapping[str, Channel]:
    """Those set up on the screen and those of the rules file, by name. Raises what is in WRONG."""
    folder = visit.state.settings.data_dir
    stored = ChannelFile(folder).read().channels
    if (file := load_alerts(folder)) is not None:
        return channels_of(file, stored)
    return {name: Channel(name, channel.url, channel.person) for name, channel in stored.items()}


def owner_of(visit: PageVisit) -> str | None:
    """The owner of channels set up in this visit; None without people."""
    return visit.person.stamp if visit.person else None


def page(visit: PageVisit, bot: str | None = None, chats: Sequence[Chat] = ()) -> WebPage:
    """The page; with a Telegram bot and the chats that wrote to it, to choose from."""
    try:
        names = {person.stamp: person.name for person in visit.database.run_read(all_people)}
        stored = ChannelFile(visit.state.settings.data_dir).read().channels
        made = changed_lines(visit, "channel")
        rows = [
            _row(visit, channel, names, channel.name in stored) | {"changed": made.get(channel.name, "")}
            for channel in all_channels(visit).values()
        ]
        error = None
    except WRONG as wrong:
        rows, error = [], mistakes(wrong)
    back = visit.form.get(BACK) or visit.param(BACK) or ""
    values: Values = {
        "channels": rows,
        "error": error,
        "back": own_address(back) if back else "",
        "then": visit.form.get(THEN) or visit.param(THEN) or "",
        "bot": bot,
        "chats": chats,
        "modes": MAIL_MODES,
        "ntfy": NTFY_SERVER,
        "longest": LONGEST_FIELD,
    }
    data = [{"name": row["name"], "service": row["service"]} for row in rows]
    return WebPage("channels.html", say("page.channels"), values, lambda: {"channels": data, "error": error})


def _row(visit: PageVisit, channel: Channel, names: Mapping[str, str], on_screen: bool) -> Values:  # noqa: FBT001 - said by its name
    if channel.person is None:
        all_of_us = say("channels.of_all") if names else ""
        whose = " · ".join(filter(None, (say("channels.by_file") if not on_screen else "", all_of_us)))
    elif channel.person == owner_of(visit):
        whose = say("channels.mine")
    else:
        gone = channel.person not in names
        whose = say("channels.of_gone") if gone else say("channels.of", name=names[channel.person])
    may = may_change(visit, channel)
    return {
        "name": plain(channel.name),
        "service": plain(channel.service),
        "whose": whose,
        "may_try": may,
        "may_remove": may and on_screen,
    }


def may_change(visit: PageVisit, channel: Channel) -> bool:
    """Whether this visit may test and remove it: as its owner, or as an operator."""
    return visit.may_operate or (channel.person is not None and channel.person == owner_of(visit))


# Setting up: a channel is stored once it has accepted a test message.


def telegram(visit: PageVisit) -> WebPage | Done:
    """Show the bot of a token and the chats that wrote to it; without a token, of the stored one."""
    try:
        file = ChannelFile(visit.state.settings.data_dir)
        token = _typed(visit, "token")
        bot = _bot(visit, token or file.bot_of(owner_of(visit)) or "")
        name = bot.name()
        if token:
            file.keep_bot(owner_of(visit), token)
        return page(visit, name, bot.chats())
    except WRONG as error:
        return _refuse(visit, error)


def chat(visit: PageVisit) -> Done:
    """Add the chosen chat of the stored bot."""
    try:
        bot = _bot(visit, ChannelFile(visit.state.settings.data_dir).bot_of(owner_of(visit)) or "")
        chosen = next(
            (candidate for candidate in bot.chats() if str(candidate.id) == _typed(visit, "chat")), None
        )
        if chosen is None:
            raise TelegramRefused(Said("telegram.no_chat"))
        return _keep(visit, f"Telegram {chosen.name}", f"tgram://{bot.token}/{chosen.id}")
    except WRONG as error:
        return _refuse(visit, error)


def mail(visit: PageVisit) -> Done:
    """Add a mail address that sends to itself."""
    server = MailServer(*(_typed(visit, name) for name in MailServer._fields))
    if server.host and not visit.may_operate:
        return _refuse_with(visit, say("channels.not_yours"))
    try:
        address, password = _typed(visit, "address"), _typed(visit, "password")
        domain, url = mail_url(address, password, server if server.host else None)
        return _keep(visit, f"E-mail {domain}", url)
    except WRONG as error:
        return _refuse(visit, error)


def ntfy(visit: PageVisit) -> Done:
    """Add a topic of ntfy."""
    server = _typed(visit, "server") or NTFY_SERVER
    if server != NTFY_SERVER and not visit.may_operate:
        return _refuse_with(visit, say("channels.not_yours"))
    try:
        return _keep(visit, "ntfy", ntfy_url(_typed(visit, "topic"), server))
    except WRONG as error:
        return _refuse(visit, error)


def other(visit: PageVisit) -> Done:
    """Add any Apprise address."""
    if not visit.may_operate:
        return _refuse_with(visit, say("channels.not_yours"))
    try:
        url = _typed(visit, "url")
        return _keep(visit, url.partition("://")[0], url)
    except WRONG as error:
        return _refuse(visit, error)


def _typed(visit: PageVisit, name: str) -> str:
    return visit.form.get(name, "").strip()[:LONGEST_FIELD]


def _bot(visit: PageVisit, token: str) -> Bot:
    settings = visit.state.settings
    return Bot(settings.alert_telegram_url, token, settings.alert_send_seconds)


def _keep(visit: PageVisit, suggested: str, url: str) -> Done:
    """Test and store a channel. Raises what is in WRONG; then nothing is stored."""
    settings, address = visit.state.settings, usable_url(url)
    try_out(visit, Channel(suggested, address))
    rules = RuleFile(settings, visit.database)
    if not rules.path.exists():
        rules.begin()
    names = all_channels(visit).keys()
    name = ChannelFile(settings.data_dir).keep(
        suggested, KeptChannel(url=address, person=owner_of(visit)), names
    )
    visit.note_change("channel", name, "made")
    back = visit.form.get(BACK, "")
    return Done(say("channels.kept", name=name), back=own_address(back) if back else "/channels")


def try_out(visit: PageVisit, channel: Channel) -> None:
    """Send a test message now. Raises what is in WRONG."""
    settings = visit.state.settings
    sender = ChannelSender(settings.alert_send_seconds, settings.alert_telegram_url)
    sender.send(channel, word_test(language()), uuid4().hex)


# Existing channels.


def send_test(visit: PageVisit) -> Done:
    """Send a test message through a channel, and report the outcome."""
    try:
        channel = all_channels(visit).get(visit.form.get("channel", ""))
        if channel is None:
            return _refuse_with(visit, say("conflict"))
        if not may_change(visit, channel):
            return _refuse_with(visit, say("channels.not_yours"))
        try_out(visit, channel)
    except WRONG as error:
        return _refuse(visit, error)
    return Done(f"{plain(channel.name)}: {say('alerts.taken')}", back="/channels")


def remove(visit: PageVisit) -> Done:
    """Remove a channel, also from the rules that use it; what waits for it is dropped."""
    settings, name = visit.state.settings, visit.form.get("channel", "")
    try:
        file = ChannelFile(settings.data_dir)
        stored = file.read().channels.get(name)
        if stored is None:
            return _refuse_with(visit, say("conflict"))
        if not may_change(visit, Channel(name, stored.url, stored.person)):
            return _refuse_with(visit, say("channels.not_yours"))
        RuleFile(settings, visit.database, visit.by).drop_channel(name)
        file.remove(name)
        visit.note_change("channel", name, "removed")
    except WRONG as error:
        return _refuse(visit, error)
    return Done(say("channels.removed", name=plain(name)), back="/channels")


def _refuse(visit: PageVisit, error: Exception) -> Done:
    return _refuse_with(visit, plain(mistakes(error), LONGEST_MESSAGE))


def _refuse_with(visit: PageVisit, wrong: str) -> Done:
    params = {name: visit.form[name] for name in (BACK, THEN) if visit.form.get(name)}
    return Done(wrong, back=f"/channels?{urlencode(params)}" if params else "/channels", wrong=True)
