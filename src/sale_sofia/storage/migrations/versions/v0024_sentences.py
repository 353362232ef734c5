"""Codes instead of sentences: why jobs, sweeps, incidents and messages went wrong is a code with values.

The columns stay texts and hold JSON: {"code": …, "values": {…}}. What was stored in words is recognised by the
sentences of its time, which stand here for ever; words that none of them fits stay, under the code `other`.
"""

# ruff: noqa: E501 - a sentence is one line

import json
import re
from collections.abc import Iterator
from functools import cache
from string import Formatter
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0024_sentences"
down_revision = "0023_photos"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("jobs", "id", "error"),
    ("sweeps", "job_id", "reason"),
    ("sweeps", "job_id", "missing"),
    ("incidents", "id", "message"),
    ("alert_messages", "id", "last_error"),
)
_GAPS = {
    "n": r"(?:[\d.,]+(?: \d{3})*%?(?: €)?|none)",
    "url": r"https?://\S+",
    "kind": r"drift_\w+",
    "site": r"[\w-]+(?:\.[\w-]+)+",
    "word": r"[^;: ]+",
    "words": r".+?",
    "any": r".+?",
}
"""A number, an address, a kind, a portal, a word, words; of `any` the words are a sentence themselves."""
_PARTS: dict[str, dict[str, str]] = {
    "figures": {
        "sweep.seen": "{seen:n} of {all:n} seen",
        "sweep.seen_of_unknown": "{seen:n} seen of an unknown number",
    },
    "and": {"sweep.and": ", {what:figures}"},
    "more": {"sweep.more_capped": ", and {searches:n} searches have more"},
    "useless": {"sweep.useless": "; its filter {ways:words} changes nothing"},
    "of": {"sweep.of_all": " of {all:n}"},
    "stale": {"sweep.stale": ": its last {pages:n} pages brought nothing new"},
    "announced": {"sweep.announced": ", where it announced {all:n}"},
    "absent": {"sweep.absent_parts": ", {absent:n} of them are not there"},
    "meaning": {"price.per_sqm": "the price per m²", "price.part": "{part:n} of the price"},
    "share": {"drift.usual_share": ", where {usual:n} is usual"},
    "euro": {"drift.usual_eur": ", where {usual:n} € is usual"},
    "unread": {"drift.text_found": "; a text was found on {found:n}"},
    "known": {"drift.known": "; {count:n} known prices are {ratio:n} times what they were"},
    "where": {"drift.where": " ({selector:words})"},
    "page": {"drift.page": ", for example {url:url}"},
    "fact": {f"drift.fact.{name}": name for name in ("price", "area", "place", "type")},
    "check": {
        "drift.adverts": "{part:n} of {whole:n} pages of adverts cannot be read ({reason:word})",
        "drift.results": "{part:n} of {whole:n} pages of results cannot be read ({reason:word})",
        "drift.cards_per_page": "{part:n} cards on {whole:n} full pages, where {usual:n} is usual",
        "drift.cards_of_total": "{part:n} cards on {whole:n} adverts that the portal counts, where {usual:n} is usual",
        "drift.fill": "{key:word} is filled on {share:n} of {whole:n}{usual:share}{unread:unread}",
        "drift.first": "the first selector of {key:word} finds a text on {share:n} of {whole:n}{usual:share}",
        "drift.per_sqm": "{part:n} of {whole:n} prices ({key:word}) are those of a square metre",
        "drift.median": "the median of {key:word} is {now:n}{usual:euro}{known:known}",
        "drift.floor": "{fact:fact} on {part:n} of {whole:n} opened adverts (at least {least:n} expected)",
    },
    "finding": {
        "drift.check": "{found:check}{where:where}{page:page}",
        "drift.more": "and {count:n} more",
    },
}
"""What a gap of this kind holds; only those that begin with a sign may be left out."""
_SENTENCES = {
    "job.no_advert": "the portal shows no advert for this search",
    "job.empty": "the portal showed no advert",
    "job.failed": "no advert could be read",
    "job.partial": "too many adverts could not be read",
    "job.listed_removed": "it is listed, and its page says that it is removed",
    "job.none_read": "none of {adverts:n} adverts could be read; {first:any}",
    "job.few_read": "{unread:n} of {opened:n} opened adverts could not be read; {first:any}",
    "job.page": "{url:url}: {why:any}",
    "sweep.open": "{searches:n} searches were not read{figures:and}",
    "sweep.failed": "{failed:n} of {searches:n} searches failed{figures:and}",
    "sweep.limited": "limited to {adverts:n} adverts",
    "sweep.clock": "adverts were seen later than now: the clock was set back",
    "sweep.drift": "{kind:kind}: {why:any}",
    "sweep.collapsed": "collapsed: {count:n} adverts, where {usual:n} are usual",
    "sweep.absent": "{searches:n} searches are not there any more, for example {url:url}",
    "sweep.thin": "{seen:n} seen, where about {all:n} are known to be there",
    "sweep.sitemap": "{unique:n} different adverts among {listed:n} of the sitemap: it is being rebuilt",
    "sweep.short": "{figures:figures}, {why:any}",
    "sweep.capped": "the portal shows {most:n} of a query{more:more}{useless:useless}",
    "sweep.ended": "{url:url} ended after {shown:n}{of:of}{stale:stale}",
    "sweep.endless": "{url:url} went on without an end after {shown:n} adverts on {pages:n} pages{announced:announced}",
    "sweep.sitemaps": "{url:url} leads to sitemaps without an end",
    "sweep.unread": "{url:url} was not read",
    "sweep.parts": "the {parts:n} parts of {url:url} have {shown:n} of its {all:n}{absent:absent}",
    "drift.nothing_new": "{found:findings}; nothing is delisted; no advert is shown as new",
    "drift.nothing_delisted": "{found:findings}; nothing is delisted",
    "trouble.coverage": "{site:site}: {why:any}; nothing is delisted",
    "trouble.nothing_delisted": "{why:any}; nothing is delisted",
    "trouble.collapse": "{count:n} adverts, where {usual:n} are usual",
    "trouble.circuit": "the circuit was open for {seconds:n} seconds",
    "trouble.stuck_job": "nothing has moved for {seconds:n} seconds",
    "trouble.no_crawl": "the last complete crawl ended on {at:words}",
    "trouble.disk_low": "{free:n} MB are free where DATA_DIR is; at least {least:n} MB are wanted",
    "trouble.clock_ahead": "{what:words} of the database are up to {hours:n} hours ahead of the clock",
    "trouble.price_meaning": "advert {advert:words} shows {new:n} € where {old:n} € was: {why:meaning}; the old price is kept",
    "trouble.large_property": "{count:n} properties have more than {most:n} adverts: {named:words}; look at them with `sale-sofia properties show`",
    "trouble.matching_failed": "matching failed: {why:any}; `{again:words}` tries again",
    "trouble.scoring_failed": "scoring failed: {why:any}; `{again:words}` tries again",
    "trouble.alerts_failed": "alerts failed: {why:any}; `{again:words}` tries again",
    "trouble.channel_silent": "channel {channel:words} has taken nothing for {seconds:n} seconds: {why:any}",
    "channel.unknown": "alerts.yaml has no channel {channel:words}; there are: {there:words}",
    "channel.silent": "no answer within {seconds:n} seconds",
    "channel.refused": "the channel did not take it and did not say why",
}
"""Tried in this order."""


def upgrade() -> None:
    """Every stored sentence becomes its code and its values."""
    connection = op.get_bind()
    for table, key, column in _COLUMNS:
        rows = connection.execute(sa.text(f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL"))  # noqa: S608
        change = sa.text(f"UPDATE {table} SET {column} = :said WHERE {key} = :key")  # noqa: S608 - names of ours
        for row_key, words in rows.all():
            said = json.dumps(recognised(words), ensure_ascii=False)
            connection.execute(change, {"said": said, "key": row_key})


def recognised(words: str) -> dict[str, Any]:
    """The sentence as its code and its values."""
    return _said(words, _SENTENCES) or {"code": "other", "values": {"words": words}}


def _said(words: str, among: dict[str, str]) -> dict[str, Any] | None:
    for code, sentence in among.items():
        if found := _pattern(sentence).fullmatch(words):
            kinds = {name: kind for _, name, kind, _ in Formatter().parse(sentence) if name}
            values = {name: _value(kind or "", found[name]) for name, kind in kinds.items()}
            return {"code": code, "values": values}
    return None


def _value(kind: str, words: str | None) -> Any:  # noqa: ANN401 - as the gap is
    if words is None:
        return None
    if kind == "findings":
        finding = re.compile(rf"(?:^|; )({_any_of('finding')})(?=; |$)", re.DOTALL)
        return [_said(one[1], _PARTS["finding"]) for one in finding.finditer(words)]
    if kind in _PARTS:
        return _said(words, _PARTS[kind])
    if kind == "any":
        return recognised(words)
    plain = words.replace(" ", "") if kind == "n" else ""
    return int(plain) if plain.isdecimal() else words


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    return re.compile("".join(_pieces(sentence, named=True)), re.DOTALL)


def _pieces(sentence: str, *, named: bool) -> Iterator[str]:
    for text, name, kind, _ in Formatter().parse(sentence):
        yield re.escape(text)
        if name:
            group = f"?P<{name}>" if named else "?:"
            if kind == "findings":
                yield f"({group}(?:{_any_of('finding')})(?:; (?:{_any_of('finding')}))*)"
            elif kind in _PARTS:
                may_be_absent = all(one[0] in ";:, " for one in _PARTS[kind].values())
                yield f"({group}{_any_of(kind)}){'?' if may_be_absent else ''}"
            else:
                yield f"({group}{_GAPS[kind or '']})"


@cache
def _any_of(kind: str) -> str:
    return "|".join("".join(_pieces(one, named=False)) for one in _PARTS[kind].values())
