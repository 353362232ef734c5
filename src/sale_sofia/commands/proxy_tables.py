"""Proxies as tables for people; every address is masked."""

from collections.abc import Mapping, Sequence

from rich.table import Column, Table
from rich.text import Text

from sale_sofia.proxies.checker import Finding
from sale_sofia.proxies.model import DomainStats, Proxy
from sale_sofia.proxies.reading import Count

_NOTHING = "–"


def _folded(name: str) -> Column:
    """A column whose texts are shown whole, on several lines if need be."""
    return Column(name, overflow="fold")


def known_table(proxies: Sequence[Proxy]) -> Table:
    """Every proxy with what its last check found."""
    table = Table("id", _folded("proxy"), "tier", "exit", "anonymity", _folded("source"))
    for one in proxies:
        table.add_row(
            one.id, one.address.masked, one.tier, one.exit_address or _NOTHING, one.anonymity, one.source
        )
    return table


def findings_table(findings: Sequence[Finding]) -> Table:
    """What a check found, the usable ones first."""
    table = Table(_folded("proxy"), "found", "exit", "anonymity", "seconds", "why")
    for one in sorted(findings, key=lambda one: (not one.usable, one.label, one.proxy.id)):
        seen = (one.proxy.exit_address or _NOTHING, one.proxy.anonymity, f"{one.seconds:.1f}")
        table.add_row(one.proxy.address.masked, one.label, *seen, Text(one.why))
    return table


def stats_table(domain: str, rows: Sequence[DomainStats]) -> Table:
    """How each proxy does on a portal."""
    table = Table(
        _folded("proxy"),
        "tier",
        "expected",
        "score",
        "successes",
        "latency",
        "ready in",
        "last reason",
        title=domain,
    )
    for row in rows:
        latency = _NOTHING if row.latency_seconds is None else f"{row.latency_seconds:.2f} s"
        numbers = (f"{row.expected:.0%}", f"{row.score:.2f}", f"{row.successes} of {row.uses}", latency)
        table.add_row(row.address, row.tier, *numbers, _state(row), Text(row.last_reason or _NOTHING))
    return table


def _state(row: DomainStats) -> str:
    if row.quarantined:
        return "quarantined"
    state = "now" if not row.ready_in_seconds else f"{row.ready_in_seconds:.0f} s"
    return f"in use, {state}" if row.leased else state


def counts_sentence(counts: Mapping[str, int]) -> str:
    """How many of each kind, the most first."""
    told = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{number} {name}" for name, number in told) or "nothing"


def source_lines(name: str, count: Count) -> list[str]:
    """What was made of a source, and the first of its lines that are no proxies."""
    told = f"{name}: {count.taken} proxies, {count.duplicates} duplicates, {count.malformed} malformed"
    left = [f"  {count.left} more were left out"] if count.left else []
    return [told, *(f"  {line}" for line in count.shown), *left]
