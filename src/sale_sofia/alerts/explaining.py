"""What a rule means: as a sentence, and by what it would have told lately."""

from collections.abc import Iterator
from datetime import time
from pathlib import Path

from sqlalchemy import Connection, select

from sale_sofia.alerts.deciding import FITS_NOT, View, decide, profiles_of, sources_of
from sale_sofia.alerts.rules import AlertsFile, BuyerRule, OperatorRule, QuietHours, Rule
from sale_sofia.alerts.settings import FLATS_AT_ONCE, PREVIEW_SECONDS
from sale_sofia.alerts.store import Item, as_of, matched
from sale_sofia.alerts.wording import Words, harmless, words_of
from sale_sofia.buyer.evaluations import statuses
from sale_sofia.flats.projection import load_flats
from sale_sofia.flats.rows import current_properties
from sale_sofia.history.tables import listings, market_events, price_points
from sale_sofia.settings.words import Language

# As a sentence.


def sentence_of(rule: Rule, file: AlertsFile, language: Language) -> str:
    """When the rule tells what, through which channels, and when not."""
    words = words_of(language)
    say = words["rule"]
    when = say["daily"].format(time=f"{rule.digest:%H:%M}") if rule.digest else say["at_once"]
    parts = [f"{when}, {_operator(rule, words) if isinstance(rule, OperatorRule) else _buyer(rule, words)}"]
    if isinstance(rule, OperatorRule) and rule.urgent:
        parts.append(say["urgent"])
    elif file.quiet_hours:
        parts.append(_quiet(file.quiet_hours, words))
    parts.append(say["through"].format(channels=", ".join(map(harmless, rule.channels))))
    return ", ".join(parts)


def _operator(rule: OperatorRule, words: Words) -> str:
    names = ", ".join(words["incident"].get(kind, kind) for kind in rule.incidents)
    return str(words["rule"]["incidents" if names else "any_incident"].format(names=names))


def _buyer(rule: Rule, words: Words) -> str:
    if not isinstance(rule, BuyerRule):
        return ""
    say = words["rule"]
    source = next((kind for kind in ("profile", "search", "flat") if getattr(rule, kind)), "shortlist")
    what = say[f"of_{source}"].format(name=harmless(getattr(rule, source)))
    points = say["points"].format(points=_plain(rule.min_score)) if rule.min_score else ""
    percents = {"cut": rule.cut_percent, "cheaper": rule.cheaper_percent}
    *events, last = [
        say["any_cut" if kind == "cut" and not rule.cut_percent else kind].format(
            percent=_plain(percents.get(kind, 0.0))
        )
        for kind in rule.tell
    ]
    told = f"{', '.join(events)} {say['or']} {last}" if events else last
    known = "" if rule.unknown else f", {say['known']}"
    return f"{say['when'].format(what=what + points, events=told)}{known}"


def _quiet(quiet: QuietHours, words: Words) -> str:
    return str(words["rule"]["not_between"].format(start=_hour(quiet.from_), end=_hour(quiet.to)))


def _hour(at: time) -> str:
    return f"{at:%H:%M}" if at.minute else f"{at.hour}"


def _plain(number: float) -> str:
    return f"{number:g}".replace(".", ",")


# By what it would have told.


def preview(connection: Connection, rule: BuyerRule, data_dir: Path, *, now: float) -> list[Item]:
    """What the rule would have told, had it begun PREVIEW_SECONDS ago: one news of a flat, the best first.

    Flats and scores are those of the database: who asks brings them up to date.

    Raises:
        AlertsError: the rule names what is not there.
    """
    since = now - PREVIEW_SECONDS
    source = sources_of(connection, [rule], profiles_of([rule], data_dir), now=now)[rule.name]
    status = statuses(connection)
    found: list[Item] = []
    changed = matched(connection, current_properties(connection, set(_changed(connection, since))))
    for first in range(0, len(changed), FLATS_AT_ONCE):
        flats = list(load_flats(connection, changed[first : first + FLATS_AT_ONCE]))
        judged = source.judge(flats)
        wanted = [flat for flat in flats if flat.property_id in judged]
        then = as_of(connection, {one.listing_id: since for flat in wanted for one in flat.adverts})
        for flat in wanted:
            known = {one.listing_id: then[one.listing_id] for one in flat.adverts if one.listing_id in then}
            said = status.get(flat.property_id, "new")
            view = View(flat, judged.get(flat.property_id, FITS_NOT), said, known, silent=False)
            found += decide(rule, view).items
    return sorted(found, key=lambda item: (-(item.facts["points"] or 0.0), item.property_id or 0))


def _changed(connection: Connection, since: float) -> Iterator[int]:
    """Adverts of which something happened since."""
    queries = (
        select(listings.c.id).where(listings.c.first_seen_at >= since),
        select(price_points.c.listing_id).where(price_points.c.seen_at >= since),
        select(market_events.c.listing_id).where(market_events.c.noted_at >= since),
    )
    for query in queries:
        yield from connection.scalars(query)
