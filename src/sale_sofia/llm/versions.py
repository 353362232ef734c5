"""What a reading depends on, as one short text: when a rule, a word or the code changes, it changes."""

import hashlib
from functools import cache
from importlib.resources import files


@cache
def rules_version() -> str:
    """A digest of every rule, every word and the code that applies them."""
    digest = hashlib.sha256(files("sale_sofia.config").joinpath("llm.py").read_bytes())
    folder = files("sale_sofia.llm")
    for place in (folder, folder.joinpath("rules")):
        for file in sorted(place.iterdir(), key=lambda one: one.name):
            if file.name.endswith((".py", ".yaml")):
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()
