"""The dashboard's server as a program, started by `sale-sofia dashboard` as serving HOST PORT."""

import ipaddress
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import streamlit as st
from starlette.middleware import Middleware

from sale_sofia.advice.scoring.profile import load_profiles
from sale_sofia.app import market, snapshot, state
from sale_sofia.installation import open_database
from sale_sofia.operations.settings import (
    DASHBOARD_MOST_MESSAGE_MB,
    DASHBOARD_MOST_UPLOAD_MB,
)
from sale_sofia.settings.model import load_settings
from sale_sofia.settings.programs import end_at_once
from sale_sofia.settings.types import Network
from sale_sofia.telemetry.logs import log_as_service
from sale_sofia.web.guard import OwnHosts, OwnPages, PasswordGate

# What the first visit after a start would wait for, read before anybody comes.

log: Final = logging.getLogger(__name__)


def warm() -> None:
    """Read all flats, score them by the profile that opens first, and work out the market; never raises.

    Whoever comes meanwhile waits for the same reading. A database that is not there yet is left to be made by
    whoever first needs it.
    """
    try:
        if open_database(state.settings()).exists():
            _read_all()
    except Exception:  # whatever it is, the pages meet it again and say so
        log.exception("the flats could not be read before the first visit")


def _read_all() -> None:
    for name, profile in sorted(load_profiles(state.settings().data_dir).profiles.items())[:1]:
        log.info("reading all flats, scored by %s", name)
        snapshot.keeper().ranked(profile)
    market.current("sale")


ENTRY: Final = Path(__file__).with_name("main.py")
_STDIN: Final = 0
_FIXED: Final[dict[str, Any]] = {
    "global.developmentMode": False,
    "server.headless": True,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.enableStaticServing": False,
    "server.maxUploadSize": DASHBOARD_MOST_UPLOAD_MB,
    "server.maxMessageSize": DASHBOARD_MOST_MESSAGE_MB,
    "browser.gatherUsageStats": False,
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "minimal",
    "runner.magicEnabled": False,
    # Dark enough that white words on it can be read; the usual red is not.
    "theme.base": "light",
    "theme.primaryColor": "#1d5fb4",
    "theme.textColor": "#1c2430",
    "theme.linkColor": "#1a56a6",
}
"""What holds whatever the person's own Streamlit settings say."""


def options(host: str, port: int) -> dict[str, Any]:
    """Streamlit's options for this address."""
    return {**_FIXED, "server.address": host, "server.port": port}


def application() -> st.App:
    """The pages, behind the password where one is set, else for who asks this machine by its own name."""
    password = state.settings().dashboard_password
    guard = Middleware(OwnHosts)
    if password:
        guard = Middleware(PasswordGate, password=password.get_secret_value())
    return st.App(ENTRY, middleware=[Middleware(OwnPages), guard], lifespan=_warmed)


@asynccontextmanager
async def _warmed(app: st.App) -> AsyncIterator[None]:
    """The server answers at once; beside it the flats are read, so that the first visit need not wait."""
    del app
    threading.Thread(target=warm, daemon=True).start()
    yield


def serve(host: str, port: int) -> None:
    """Serve the pages until SIGTERM, or until standard input ends: the command that started it is gone."""
    # The server under Streamlit hears of it in no other way; unset, it would believe all of this machine.
    os.environ["FORWARDED_ALLOW_IPS"] = ",".join(_spelled(state.settings().dashboard_trusted_proxies or ()))
    threading.Thread(target=_stop_at_end, daemon=True).start()
    application().run(config=options(host, port))


def _spelled(proxies: Iterable[Network]) -> Iterator[str]:
    """Each as it may look at a socket: where IPv6 is listened on, an IPv4 address comes inside one of it."""
    for one in proxies:
        yield str(one)
        if isinstance(one, ipaddress.IPv4Network):
            yield f"::ffff:{one.network_address}/{96 + one.prefixlen}"


def _stop_at_end() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """The program."""
    end_at_once()
    log_as_service(load_settings())
    serve(sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
