-- Whatever was touched counts as touched by more than a score; `traps` is filled as each release merges all flats.
ALTER TABLE revisions ADD COLUMN facts_revision BIGINT;
UPDATE revisions SET facts_revision = revision;
ALTER TABLE flats ADD COLUMN traps TEXT;
