"""Channels: where messages come to. Set up here, tried at once, and never shown again.

Everybody of the household sets up their own; an address of a server of one's own choice is for who operates,
as this machine's network is asked for it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
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
from sale_sofia.app.application import Done, Page, own_address
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import Values, Visit, changed_lines
from sale_sofia.app.words import language, mistakes, say
from sale_sofia.buyer.changes import What, note_change
from sale_sofia.buyer.people import all_people
from sale_sofia.listings.text import plain
from sale_sofia.settings.words import Said
from sale_sofia.websites.site_file import SiteConfigError

WRONG: Final = (NotSent, AlertsError, SiteConfigError, TelegramRefused)
"""Why a channel cannot be set up or used, in one sentence without a secret."""
BACK: Final = "back"
THEN: Final = "then"
"""In forms and addresses: where one came from, and what one wants to be told once there is a channel."""


def all_channels(visit: Visit) -> Mapping[str, Channel]:
    """Those of the screen and those of the file of rules, by name. Raises what is in WRONG."""
    folder = visit.site.settings.data_dir
    kept = ChannelFile(folder).read().channels
    if (file := load_alerts(folder)) is not None:
        return channels_of(file, kept)
    return {name: Channel(name, one.url, one.person) for name, one in kept.items()}


def who(visit: Visit) -> str | None:
    """Whose channels those of this visit are."""
    return visit.person.stamp if visit.person else None


def page(visit: Visit, bot: str | None = None, chats: Sequence[Chat] = ()) -> Page:
    """The page; with a bot of Telegram and who wrote to it, to choose from."""
    try:
        names = {one.stamp: one.name for one in visit.database.run_read(all_people)}
        kept = ChannelFile(visit.site.settings.data_dir).read().channels
        made = changed_lines(visit, "channel")
        rows = [
            _row(visit, one, names, one.name in kept) | {"changed": made.get(one.name, "")}
            for one in all_channels(visit).values()
        ]
        error = None
    except WRONG as wrong:
        rows, error = [], mistakes(wrong)
    back = visit.form.get(BACK) or visit.asked(BACK) or ""
    values: Values = {
        "channels": rows,
        "error": error,
        "back": own_address(back) if back else "",
        "then": visit.form.get(THEN) or visit.asked(THEN) or "",
        "bot": bot,
        "chats": chats,
        "modes": MAIL_MODES,
        "ntfy": NTFY_SERVER,
        "longest": LONGEST_FIELD,
    }
    data = [{"name": one["name"], "service": one["service"]} for one in rows]
    return Page("channels.html", say("page.channels"), values, lambda: {"channels": data, "error": error})


def _row(visit: Visit, one: Channel, names: Mapping[str, str], on_screen: bool) -> Values:  # noqa: FBT001 - said by its name
    if one.person is None:
        all_of_us = say("channels.of_all") if names else ""
        whose = " · ".join(filter(None, (say("channels.by_file") if not on_screen else "", all_of_us)))
    elif one.person == who(visit):
        whose = say("channels.mine")
    else:
        gone = one.person not in names
        whose = say("channels.of_gone") if gone else say("channels.of", name=names[one.person])
    may = may_change(visit, one)
    return {
        "name": plain(one.name),
        "service": plain(one.service),
        "whose": whose,
        "may_try": may,
        "may_remove": may and on_screen,
    }


def may_change(visit: Visit, channel: Channel) -> bool:
    """Whether who asks may try and remove it: whose it is, or who operates."""
    return visit.may_operate or (channel.person is not None and channel.person == who(visit))


# Setting one up: it is kept when it took a test message.


def telegram(visit: Visit) -> Page | Done:
    """The bot of a token, and who wrote to it; without a token the one that was given before."""
    try:
        file = ChannelFile(visit.site.settings.data_dir)
        given = _typed(visit, "token")
        bot = _bot(visit, given or file.bot_of(who(visit)) or "")
        name = bot.name()
        if given:
            file.keep_bot(who(visit), given)
        return page(visit, name, bot.chats())
    except WRONG as error:
        return _refused(visit, error)


def chat(visit: Visit) -> Done:
    """The chat that was chosen, by the bot that was given before."""
    try:
        bot = _bot(visit, ChannelFile(visit.site.settings.data_dir).bot_of(who(visit)) or "")
        chosen = next((one for one in bot.chats() if str(one.id) == _typed(visit, "chat")), None)
        if chosen is None:
            raise TelegramRefused(Said("telegram.no_chat"))
        return _keep(visit, f"Telegram {chosen.name}", f"tgram://{bot.token}/{chosen.id}")
    except WRONG as error:
        return _refused(visit, error)


def mail(visit: Visit) -> Done:
    """An address that sends to itself."""
    server = MailServer(*(_typed(visit, name) for name in MailServer._fields))
    if server.host and not visit.may_operate:
        return _say(visit, say("channels.not_yours"))
    try:
        address, password = _typed(visit, "address"), _typed(visit, "password")
        domain, url = mail_url(address, password, server if server.host else None)
        return _keep(visit, f"E-mail {domain}", url)
    except WRONG as error:
        return _refused(visit, error)


def ntfy(visit: Visit) -> Done:
    """A topic of ntfy."""
    server = _typed(visit, "server") or NTFY_SERVER
    if server != NTFY_SERVER and not visit.may_operate:
        return _say(visit, say("channels.not_yours"))
    try:
        return _keep(visit, "ntfy", ntfy_url(_typed(visit, "topic"), server))
    except WRONG as error:
        return _refused(visit, error)


def other(visit: Visit) -> Done:
    """Any address of Apprise."""
    if not visit.may_operate:
        return _say(visit, say("channels.not_yours"))
    try:
        url = _typed(visit, "url")
        return _keep(visit, url.partition("://")[0], url)
    except WRONG as error:
        return _refused(visit, error)


def _typed(visit: Visit, name: str) -> str:
    return visit.form.get(name, "").strip()[:LONGEST_FIELD]


def _bot(visit: Visit, token: str) -> Bot:
    settings = visit.site.settings
    return Bot(settings.alert_telegram_url, token, settings.alert_send_seconds)


def _keep(visit: Visit, called: str, url: str) -> Done:
    """Raises what is in WRONG; then nothing is kept."""
    settings, address = visit.site.settings, usable_url(url)
    try_out(visit, Channel(called, address))
    rules = RuleFile(settings, visit.database)
    if not rules.path.exists():
        rules.begin()
    taken = all_channels(visit).keys()
    name = ChannelFile(settings.data_dir).keep(called, KeptChannel(url=address, person=who(visit)), taken)
    _note(visit, name, "made")
    back = visit.form.get(BACK, "")
    return Done(say("channels.kept", name=name), back=own_address(back) if back else "/channels")


def _note(visit: Visit, name: str, what: What) -> None:
    """Keep who did so."""
    visit.database.run_write(partial(note_change, about="channel", name=name, what=what, by=visit.by))


def try_out(visit: Visit, channel: Channel) -> None:
    """Send a test message now. Raises what is in WRONG."""
    settings = visit.site.settings
    sender = ChannelSender(settings.alert_send_seconds, settings.alert_telegram_url)
    sender.send(channel, word_test(language()), uuid4().hex)


# What is there.


def try_one(visit: Visit) -> Done:
    """Send a test message through a channel, and tell what came of it."""
    try:
        channel = all_channels(visit).get(visit.form.get("channel", ""))
        if channel is None:
            return _say(visit, say("conflict"))
        if not may_change(visit, channel):
            return _say(visit, say("channels.not_yours"))
        try_out(visit, channel)
    except WRONG as error:
        return _refused(visit, error)
    return Done(f"{plain(channel.name)}: {say('alerts.taken')}", back="/channels")


def remove(visit: Visit) -> Done:
    """Forget a channel; rules do without it."""
    settings, name = visit.site.settings, visit.form.get("channel", "")
    try:
        file = ChannelFile(settings.data_dir)
        kept = file.read().channels.get(name)
        if kept is None:
            return _say(visit, say("conflict"))
        if not may_change(visit, Channel(name, kept.url, kept.person)):
            return _say(visit, say("channels.not_yours"))
        rules = RuleFile(settings, visit.database, visit.by)
        if rules.path.exists():
            rules.drop_channel(name)
        file.remove(name)
        _note(visit, name, "removed")
    except WRONG as error:
        return _refused(visit, error)
    return Done(say("channels.removed", name=plain(name)), back="/channels")


def _refused(visit: Visit, error: Exception) -> Done:
    return _say(visit, plain(mistakes(error), LONGEST_MESSAGE))


def _say(visit: Visit, wrong: str) -> Done:
    came = {name: visit.form[name] for name in (BACK, THEN) if visit.form.get(name)}
    return Done(wrong, back=f"/channels?{urlencode(came)}" if came else "/channels", wrong=True)
