"""Tell me: a tap on a search, on a flat or on Today makes the rule that tells of it."""

from typing import Any
from urllib.parse import urlencode

from sale_sofia.alerts.editing import RuleFile, Written
from sale_sofia.alerts.kept import free_name
from sale_sofia.app.application import Done, own_address
from sale_sofia.app.pages.alerts import stamp_of
from sale_sofia.app.pages.channels import WRONG, all_channels, who
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import Visit
from sale_sofia.app.words import mistakes, say
from sale_sofia.listings.text import plain


def tell(visit: Visit, called: str, **source: Any) -> Done:  # noqa: ANN401 - as it stands in the file
    """Tell who asks of this source, through their own channels; where there are none they set one up first.

    A rule that tells of it already gets their channels too.
    """
    back = own_address(visit.form.get("back", "/"))
    try:
        own = own_channels(visit)
        if not own:
            return Done(say("tell.channel_first"), back=f"/channels?{urlencode({'back': back})}")
        rules = RuleFile(visit.site.settings, visit.database, visit.by)
        if not rules.path.exists():
            rules.begin()
        return _kept(rules, called, source, own)
    except WRONG as error:
        return Done(plain(mistakes(error), LONGEST_MESSAGE), wrong=True)


def own_channels(visit: Visit) -> list[str]:
    """Those of who asks; else those that are nobody's own. Raises what is in WRONG."""
    found = all_channels(visit).values()
    own = [one.name for one in found if one.person is not None and one.person == who(visit)]
    return own or [one.name for one in found if one.person is None]


def _kept(rules: RuleFile, called: str, source: Written, own: list[str]) -> Done:
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
