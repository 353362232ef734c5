"""The tables of properties and agencies."""
