"""Sends what is due: `python -P -m sale_sofia.alerts.postman SECONDS LIFELINE`, by `alerts.delivery`."""

import json
import select
import sys
import time
from dataclasses import asdict

from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.delivery import Delivery
from sale_sofia.alerts.kept import kept_channels
from sale_sofia.alerts.outbox import Delivered
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.installation import open_database
from sale_sofia.settings.model import load_settings
from sale_sofia.settings.programs import end_at_once
from sale_sofia.telemetry.logs import log_as_service


def main(seconds: float, lifeline: int) -> None:
    """Send for so long, or until whoever started us is gone; print the counts."""
    settings = load_settings()
    log_as_service(settings)
    done, file = Delivered(), load_alerts(settings.data_dir)
    if file is not None:
        database = open_database(settings)
        end = time.monotonic() + seconds

        def go_on() -> bool:
            starter_gone, _, _ = select.select([lifeline], [], [], 0)
            return not starter_gone and time.monotonic() < end

        channels = channels_of(file, kept_channels(settings.data_dir))
        done = Delivery(settings, database, channels, file.quiet_hours, go_on=go_on).run()
        database.dispose()
    sys.stdout.write(json.dumps(asdict(done), ensure_ascii=False))


if __name__ == "__main__":
    end_at_once()
    main(float(sys.argv[1]), int(sys.argv[2]))
