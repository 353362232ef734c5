"""Sends what is due: `python -P -m sale_sofia.alerts.postman SECONDS LIFELINE`, by `alerts.postman`."""

import json
import sys

from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.delivery import Delivery, until
from sale_sofia.alerts.outbox import Delivered
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.installation import open_database
from sale_sofia.settings.model import load_settings
from sale_sofia.settings.programs import end_at_once
from sale_sofia.telemetry.logs import log_as_service


def main(seconds: str, lifeline: str) -> None:
    """Send for so long, or until whoever started us is gone; print the counts."""
    settings = load_settings()
    log_as_service(settings)
    file = load_alerts(settings.data_dir)
    if file is None:
        done = Delivered()
    else:
        database = open_database(settings)
        go_on = until(float(seconds), int(lifeline))
        delivery = Delivery(settings, database, channels_of(file), file.quiet_hours, go_on=go_on)
        done = delivery.run()
        database.dispose()
    sys.stdout.write(json.dumps(done.as_json(), ensure_ascii=False))


if __name__ == "__main__":
    end_at_once()
    main(*sys.argv[1:])
