"""Imported by every Python with this folder on its path: fixed numbers of the crawl are other ones for it."""

import json
import os

from sale_sofia.crawl import settings

vars(settings).update(json.loads(os.environ["OTHER_NUMBERS"]))
