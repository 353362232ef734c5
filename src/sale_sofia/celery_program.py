"""Celery's command, `python -P -m sale_sofia.celery_program -A sale_sofia.celery_app …`.

Celery would look for the app, and what that imports, in the folder it is started in; here both are loaded
before it looks.
"""

from celery.__main__ import main

import sale_sofia.celery_app  # noqa: F401 - see above
from sale_sofia.settings.programs import end_at_once

if __name__ == "__main__":
    end_at_once()
    main()
