"""Every file that people write, read as the commands read it: what each would refuse is told before."""

from collections.abc import Callable, Iterator
from typing import Final

from sale_sofia.alerts.checking import check_file
from sale_sofia.config.alert_file import load_alerts
from sale_sofia.config.matching import SECRET_FILE
from sale_sofia.config.schedule import load_schedule
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import available_sites, load_site_config, load_start_urls
from sale_sofia.data.errors import DatabaseError
from sale_sofia.data.migrate import HEAD, current_revision
from sale_sofia.insights.profiles import load_profiles
from sale_sofia.monitoring.doctor_check import Check, verdict
from sale_sofia.properties.secret import load_secret
from sale_sofia.proxies.source_list import SourceList
from sale_sofia.scraping.store import open_database
from sale_sofia.websites.registry import page_limits
from sale_sofia.websites.table_site import TableSite

Mistakes = Iterator[Exception]
_CORRECT: Final = "Correct the file, or take it from a backup."


def check_files(settings: Settings) -> list[Check]:
    """A verdict for each kind of file, or for each mistake: which file, where in it, what is allowed."""
    return [found for name, look in _LOOKS.items() for found in _verdicts(name, look, settings)]


def _verdicts(name: str, look: Callable[[Settings], Mistakes], settings: Settings) -> Iterator[Check]:
    mistakes = list(look(settings))
    for line in (line for mistake in mistakes for line in str(mistake).splitlines()):
        yield verdict(name, line, _CORRECT)
    if not mistakes:
        yield verdict(name, "as they should be")


def _tried(*work: Callable[[], object]) -> Mistakes:
    for one in work:
        try:
            one()
        except (ValueError, OSError) as error:
            yield error


def _sites(_settings: Settings) -> Mistakes:
    yield from _tried(load_start_urls)
    for name in available_sites():
        yield from _tried(lambda name=name: TableSite(load_site_config(name), page_limits()))  # type: ignore[misc]


def _schedule(settings: Settings) -> Mistakes:
    return _tried(lambda: load_schedule(settings.data_dir))


def _alerts(settings: Settings) -> Mistakes:
    return _tried(lambda: _check_alerts(settings))


def _check_alerts(settings: Settings) -> None:
    """What the rules name is looked up where there is a database that can be asked."""
    if (file := load_alerts(settings.data_dir)) is None:
        return
    database = open_database(settings)
    try:
        if current_revision(database) == HEAD:
            check_file(settings, database, file)
    except DatabaseError:
        return  # told by the check of the database
    finally:
        database.dispose()


def _profiles(settings: Settings) -> Mistakes:
    return iter(load_profiles(settings.data_dir).mistakes.values())


def _proxies(settings: Settings) -> Mistakes:
    kept = SourceList(settings.data_dir)
    return _tried(kept.sources, kept.known)


def _phone_key(settings: Settings) -> Mistakes:
    there = (settings.data_dir / SECRET_FILE).exists()
    return _tried(lambda: load_secret(settings.data_dir)) if there else iter(())


_LOOKS: Final[dict[str, Callable[[Settings], Mistakes]]] = {
    "site files": _sites,
    "schedule": _schedule,
    "alerts": _alerts,
    "profiles": _profiles,
    "proxies": _proxies,
    "phone key": _phone_key,
}
