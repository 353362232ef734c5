"""The tables of alerts: rules, the outbox, and what was sent."""
