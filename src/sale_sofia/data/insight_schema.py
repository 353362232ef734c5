"""The tables of scores and of the fair-price model."""
