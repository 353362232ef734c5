"""The tables of what the buyer decided, noted and planned."""
