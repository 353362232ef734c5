"""Imported by every Python with this folder on its path: fixed numbers of `config/` are other ones for it."""

import json
import os

from sale_sofia.config import parallel

vars(parallel).update(json.loads(os.environ["OTHER_NUMBERS"]))
