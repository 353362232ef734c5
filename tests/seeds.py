"""The seed of all that tests leave to chance: always the same, so that a failure is one every time.

SEED=7 make test tries another one; bench/fuzz.py and bench/chaos.py draw new ones at every run.
"""

import os

SEED = int(os.environ.get("SEED", "20261115"))
