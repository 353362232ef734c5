"""The tables of what the buyer decided, noted and planned."""

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from sale_sofia.storage.tables import Id, metadata

# `property_id` is everywhere the id the property had then, which is that of its oldest advert. So what was
# said follows that advert through all that matching joins and parts; see `buyer/evaluations.py`.

# Every change, and nothing but changes: what a property's status is, the newest row says.
evaluation_changes = Table(
    "evaluation_changes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    # Of a change of a viewing: which.
    Column("viewing_id", ForeignKey("viewings.id")),
    Column("field", String(20), nullable=False),
    Column("old", JSON(none_as_null=True)),
    Column("new", JSON(none_as_null=True)),
    Column("changed_by", String(80), nullable=False),
    Column("changed_at", Float, nullable=False),
    Index(None, "property_id"),
    Index(None, "viewing_id"),
)

property_notes = Table(
    "property_notes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    Column("text", Text, nullable=False),
    Column("written_by", String(80), nullable=False),
    Column("written_at", Float, nullable=False),
    Index(None, "property_id"),
)

viewings = Table(
    "viewings",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    # By this name calendars know it; `revision` tells them which of two exports is the newer.
    Column("uid", String(80), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("starts_at", Float, nullable=False),
    Column("minutes", Integer, nullable=False),
    *(Column(name, Text) for name in ("agent", "phone", "place", "remarks", "outcome")),
    *(Column(name, JSON, nullable=False) for name in ("positives", "negatives")),
    Column("made_at", Float, nullable=False),
    Column("changed_at", Float, nullable=False),
    UniqueConstraint("uid"),
    Index(None, "property_id"),
    Index(None, "starts_at"),
)

saved_searches = Table(
    "saved_searches",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("query", JSON, nullable=False),
    Column("saved_at", Float, nullable=False),
)


# The tables of who looked at the dashboard, and what they put off.

# A visitor is one browser with one profile. What happened after `since` is new to them until they come again.
dashboard_visits = Table(
    "dashboard_visits",
    metadata,
    Column("visitor", String(120), primary_key=True),
    Column("since", Float, nullable=False),
    Column("began_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
)

# Flats that a visitor will decide on later; `property_id` is the id of then, as in evaluations.
dashboard_later = Table(
    "dashboard_later",
    metadata,
    Column("visitor", String(120), primary_key=True),
    Column("property_id", ForeignKey("listings.id"), primary_key=True),
    Column("put_off_at", Float, nullable=False),
)

# The people of the household. A name stays in what they wrote, also when they are no longer here.
people = Table(
    "people",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("name", String(80), nullable=False),
    Column("language", String(2), nullable=False),
    Column("role", String(10), nullable=False),
    # Hashed, with its salt; None for who enters by links alone.
    Column("password", String(200)),
    Column("made_at", Float, nullable=False),
    # When they first came in by themselves.
    Column("entered_at", Float),
    UniqueConstraint("name"),
)

# What each person thinks of a flat; of several rows the last counts, whole. `property_id` is the id of then.
opinions = Table(
    "opinions",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    Column("person_id", ForeignKey("people.id"), nullable=False),
    # None takes back what was said.
    Column("opinion", String(10)),
    Column("reason", Text),
    # How good they find it, from one to five; None: not said.
    Column("stars", Integer),
    Column("said_at", Float, nullable=False),
    Index(None, "property_id"),
)

# What lets a person in: a link, once, or a browser's session. Of either only a digest is here.
sign_ins = Table(
    "sign_ins",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("person_id", ForeignKey("people.id"), nullable=False),
    Column("kind", String(10), nullable=False),
    # What the browser calls itself.
    Column("device", String(120)),
    Column("made_at", Float, nullable=False),
    Column("seen_at", Float, nullable=False),
    Column("ends_at", Float, nullable=False),
    Index(None, "person_id"),
)

# What shows one flat to who is not of the household, until it ends or is taken back. Only a digest is here.
shared_links = Table(
    "shared_links",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("digest", String(64), nullable=False),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    Column("made_by", String(80), nullable=False),
    Column("made_at", Float, nullable=False),
    Column("ends_at", Float, nullable=False),
    UniqueConstraint("digest"),
    Index(None, "property_id"),
)

# Every change of what the household shares and no flat has, and nothing but changes; see `buyer/changes.py`.
household_changes = Table(
    "household_changes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("about", String(10), nullable=False),
    Column("name", String(200), nullable=False),
    Column("what", String(10), nullable=False),
    Column("changed_by", String(80), nullable=False),
    Column("changed_at", Float, nullable=False),
    Index(None, "about"),
)

# Photos that the household took itself; the pictures are files of the data folder.
own_photos = Table(
    "own_photos",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("property_id", ForeignKey("listings.id"), nullable=False),
    # Of the file, without its ending; nobody can guess it.
    Column("name", String(40), nullable=False),
    Column("added_by", String(80), nullable=False),
    Column("added_at", Float, nullable=False),
    UniqueConstraint("name"),
    Index(None, "property_id"),
)
