"""The dashboard's server as a program, started by `sale-sofia dashboard` as serving HOST PORT."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Final

from streamlit.web import bootstrap

from sale_sofia.config.dashboard_server import DASHBOARD_MOST_MESSAGE_MB, DASHBOARD_MOST_UPLOAD_MB

ENTRY: Final = Path(__file__).with_name("main.py")
_STDIN: Final = 0
_FIXED: Final[dict[str, Any]] = {
    "global_developmentMode": False,
    "server_headless": True,
    "server_fileWatcherType": "none",
    "server_runOnSave": False,
    "server_enableCORS": True,
    "server_enableXsrfProtection": True,
    "server_enableStaticServing": False,
    "server_maxUploadSize": DASHBOARD_MOST_UPLOAD_MB,
    "server_maxMessageSize": DASHBOARD_MOST_MESSAGE_MB,
    "browser_gatherUsageStats": False,
    "client_showErrorDetails": "none",
    "client_showErrorLinks": False,
    "client_toolbarMode": "minimal",
    "runner_magicEnabled": False,
    # Dark enough that white words on it can be read; the usual red is not.
    "theme_base": "light",
    "theme_primaryColor": "#1d5fb4",
    "theme_textColor": "#1c2430",
    "theme_linkColor": "#1a56a6",
}
"""What holds whatever the person's own Streamlit settings say."""


def flags(host: str, port: int) -> dict[str, Any]:
    """Streamlit's options for this address."""
    return {**_FIXED, "server_address": host, "server_port": port}


def serve(host: str, port: int) -> None:
    """Serve the pages until SIGTERM, or until standard input ends: the command that started it is gone."""
    threading.Thread(target=_stop_at_end, daemon=True).start()
    options = flags(host, port)
    bootstrap.load_config_options(flag_options=options)
    bootstrap.run(str(ENTRY), is_hello=False, args=[], flag_options=options)


def _stop_at_end() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
