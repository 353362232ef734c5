"""Tell me: a tap on a search, on a flat or on Today makes the rule that tells of it.

Who has no channel yet is led to the screen of channels, with what they want to be told (`THEN`): the rule is
made when their channel is kept, without another tap.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from sale_sofia.alerts.editing import RuleFile, Written
from sale_sofia.alerts.kept import free_name
from sale_sofia.app.application import Done, own_address
from sale_sofia.app.pages.alerts import stamp_of
from sale_sofia.app.pages.channels import BACK, THEN, WRONG, all_channels, who
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import Visit
from sale_sofia.app.words import mistakes, say
from sale_sofia.listings.text import plain


def tell(visit: Visit, called: str, **source: Any) -> Done:  # noqa: ANN401 - as it stands in the file
    """Tell who asks of this source, through their own channels; where there are none they set one up first.

    A rule that tells of it already gets their channels too.
    """
    try:
        own = own_channels(visit)
        if not own:
            asked = {BACK: own_address(visit.form.get("back", "/")), THEN: json.dumps([called, source])}
            return Done(say("tell.channel_first"), back=f"/channels?{urlencode(asked)}")
        rules = RuleFile(visit.site.settings, visit.database, visit.by)
        if not rules.path.exists():
            rules.begin()
        there = [one for some in rules.written().values() for one in some]
        told = ", ".join(map(plain, own))
        for rule in there:
            if source.items() <= rule.items() and rule.get("enabled", True):
                more = [name for name in own if name not in rule["channels"]]
                if not more:
                    return Done(say("tell.already", channels=told))
                changed = {**rule, "channels": [*rule["channels"], *more]}
                rules.change(rule, changed)
                return Done(say("tell.kept", channels=told))
        rule = {"name": free_name(called, [one["name"] for one in there]), **source, "channels": own}
        rules.add("buyer", rule)
        undo = {"action": "/alerts/remove", "stamp": stamp_of(rule)}
        return Done(say("tell.kept", channels=told), undo=undo)
    except WRONG as error:
        return Done(plain(mistakes(error), LONGEST_MESSAGE), wrong=True)


_SOURCES: Final = frozenset({"profile", "search", "flat", "tell", "cut_percent"})
"""What `tell` is given; whatever else stands in an address is no wish of ours."""


def then_tell(work: Callable[[Visit], Done]) -> Callable[[Visit], Done]:
    """The form keeps a channel; where it came from "tell me", what was wanted is told through it at once."""

    def both(visit: Visit) -> Done:
        done = work(visit)
        wanted = None if done.wrong else _wanted(visit.form.get(THEN, ""))
        if wanted is None:
            return done
        told = tell(visit, wanted[0], **wanted[1])
        return replace(told, said=f"{done.said} {told.said}", back=done.back)

    return both


def _wanted(text: str) -> tuple[str, Written] | None:
    """What is to be told, and its name; None where nobody of ours wrote that."""
    try:
        called, source = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    ours = isinstance(called, str) and isinstance(source, dict) and source.keys() <= _SOURCES
    return (called, source) if ours else None


def own_channels(visit: Visit) -> list[str]:
    """Those of who asks; else those that are nobody's own. Raises what is in WRONG."""
    found = all_channels(visit).values()
    own = [one.name for one in found if one.person is not None and one.person == who(visit)]
    return own or [one.name for one in found if one.person is None]
