"""The tables of what descriptions say."""
