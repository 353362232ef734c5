"""The tables of how pages usually look."""
