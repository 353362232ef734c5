"""Alembic runs this file: the steps are done on the connection, and in the transaction, it is handed."""

from alembic import context

from sale_sofia.storage.all_tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,  # SQLite changes a column only by making the table anew
    on_version_apply=context.config.attributes.get("done", ()),
)
with context.begin_transaction():
    context.run_migrations()
