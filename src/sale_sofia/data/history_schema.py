"""The tables of what was seen and what is gone."""
