"""`sale-sofia settings`: every setting, its value and what is allowed."""

import os
import sys

from sale_sofia.commands.console import AsJson, out
from sale_sofia.config.settings import load_settings
from sale_sofia.config.settings_report import effective_settings, settings_as_json, settings_table


def settings(as_json: AsJson = False) -> None:
    """Print every setting: its value, where it came from and what is allowed. Secrets are masked.

    A setting is an environment variable: DATA_DIR=/srv/flats sale-sofia crawl
    """
    rows = effective_settings(load_settings(), os.environ)
    if as_json:
        sys.stdout.write(settings_as_json(rows) + "\n")
    else:
        out.print(settings_table(rows))
