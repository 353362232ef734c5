-- What release 2.0 adds to the tables of release 1.0.0, for PostgreSQL; where SQLite has other words, `scripts.py` knows them.
CREATE TABLE people (
    id BIGSERIAL NOT NULL,
    name VARCHAR(80) NOT NULL,
    language VARCHAR(2) NOT NULL,
    role VARCHAR(10) NOT NULL,
    password VARCHAR(200),
    made_at FLOAT NOT NULL,
    entered_at FLOAT,
    CONSTRAINT pk_people PRIMARY KEY (id),
    CONSTRAINT uq_people_name UNIQUE (name)
);
CREATE TABLE advert_photos (
    id BIGSERIAL NOT NULL,
    listing_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    url TEXT NOT NULL,
    requests INTEGER NOT NULL,
    asked_at FLOAT NOT NULL,
    code VARCHAR(60),
    again BOOLEAN NOT NULL,
    signature BYTEA,
    picture BIGINT,
    stock BOOLEAN NOT NULL,
    thumbnail BYTEA,
    CONSTRAINT pk_advert_photos PRIMARY KEY (id),
    CONSTRAINT fk_advert_photos_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id),
    CONSTRAINT uq_advert_photos_listing_id_position UNIQUE (listing_id, position)
);
CREATE INDEX ix_advert_photos_picture ON advert_photos (picture);
CREATE TABLE alert_waiting (
    property_id BIGINT NOT NULL,
    CONSTRAINT pk_alert_waiting PRIMARY KEY (property_id),
    CONSTRAINT fk_alert_waiting_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
CREATE TABLE corrections (
    id BIGSERIAL NOT NULL,
    property_id BIGINT NOT NULL,
    fact VARCHAR(40) NOT NULL,
    value JSON,
    said_by VARCHAR(80) NOT NULL,
    said_at FLOAT NOT NULL,
    CONSTRAINT pk_corrections PRIMARY KEY (id),
    CONSTRAINT fk_corrections_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
CREATE INDEX ix_corrections_property_id ON corrections (property_id);
CREATE TABLE flat_contents (
    property_id BIGINT NOT NULL,
    content TEXT NOT NULL,
    CONSTRAINT pk_flat_contents PRIMARY KEY (property_id)
);
CREATE TABLE flats (
    property_id BIGINT NOT NULL,
    digest VARCHAR(32) NOT NULL,
    revision BIGINT NOT NULL,
    deal VARCHAR(10),
    property_type VARCHAR(20),
    price_eur FLOAT,
    price_least FLOAT,
    price_most FLOAT,
    eur_sqm FLOAT,
    area_sqm FLOAT,
    area_net_sqm FLOAT,
    metro_least FLOAT,
    metro_most FLOAT,
    metro_metres_least FLOAT,
    metro_metres_most FLOAT,
    lat FLOAT,
    lon FLOAT,
    gone_at FLOAT,
    new_at FLOAT,
    saving_eur FLOAT,
    rooms INTEGER,
    bathrooms INTEGER,
    floor INTEGER,
    floors_total INTEGER,
    year_built INTEGER,
    city TEXT,
    district TEXT,
    neighbourhood TEXT,
    construction TEXT,
    condition TEXT,
    furnishing TEXT,
    act TEXT,
    heating TEXT NOT NULL,
    orientation TEXT NOT NULL,
    sites TEXT NOT NULL,
    sellers TEXT NOT NULL,
    flags TEXT NOT NULL,
    balcony BOOLEAN,
    parking BOOLEAN,
    elevator BOOLEAN,
    offered BOOLEAN NOT NULL,
    contradicted BOOLEAN NOT NULL,
    without_vat BOOLEAN NOT NULL,
    first_seen_at FLOAT NOT NULL,
    since_at FLOAT NOT NULL,
    school_least INTEGER,
    school_most INTEGER,
    rank_least INTEGER,
    rank_most INTEGER,
    shop_least INTEGER,
    shop_most INTEGER,
    stop_least INTEGER,
    stop_most INTEGER,
    road_least INTEGER,
    road_most INTEGER,
    lines TEXT,
    some_lines TEXT,
    CONSTRAINT pk_flats PRIMARY KEY (property_id)
);
CREATE INDEX ix_flats_new_at ON flats (new_at);
CREATE INDEX ix_flats_saving_eur ON flats (saving_eur);
CREATE TABLE followers (
    name VARCHAR(40) NOT NULL,
    version VARCHAR(64) NOT NULL,
    revision BIGINT NOT NULL,
    CONSTRAINT pk_followers PRIMARY KEY (name)
);
CREATE TABLE frontier_places (
    job_id VARCHAR(40) NOT NULL,
    place VARCHAR(120) NOT NULL,
    adverts INTEGER NOT NULL,
    CONSTRAINT pk_frontier_places PRIMARY KEY (job_id, place),
    CONSTRAINT fk_frontier_places_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE household_changes (
    id BIGSERIAL NOT NULL,
    about VARCHAR(10) NOT NULL,
    name VARCHAR(200) NOT NULL,
    what VARCHAR(10) NOT NULL,
    changed_by VARCHAR(80) NOT NULL,
    changed_at FLOAT NOT NULL,
    CONSTRAINT pk_household_changes PRIMARY KEY (id)
);
CREATE INDEX ix_household_changes_about ON household_changes (about);
CREATE TABLE learnt (
    site VARCHAR(80) NOT NULL,
    name VARCHAR(120) NOT NULL,
    value JSON NOT NULL,
    learnt_at FLOAT NOT NULL,
    CONSTRAINT pk_learnt PRIMARY KEY (site, name)
);
CREATE TABLE link_keys (
    id INTEGER NOT NULL,
    key VARCHAR(64) NOT NULL,
    CONSTRAINT pk_link_keys PRIMARY KEY (id)
);
CREATE TABLE opinions (
    id BIGSERIAL NOT NULL,
    property_id BIGINT NOT NULL,
    person_id BIGINT NOT NULL,
    opinion VARCHAR(10),
    reason TEXT,
    said_at FLOAT NOT NULL,
    stars INTEGER,
    CONSTRAINT pk_opinions PRIMARY KEY (id),
    CONSTRAINT fk_opinions_property_id FOREIGN KEY(property_id) REFERENCES listings (id),
    CONSTRAINT fk_opinions_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);
CREATE INDEX ix_opinions_property_id ON opinions (property_id);
CREATE TABLE outliers (
    listing_id BIGINT NOT NULL,
    code VARCHAR(40) NOT NULL,
    least FLOAT NOT NULL,
    most FLOAT NOT NULL,
    CONSTRAINT pk_outliers PRIMARY KEY (listing_id, code),
    CONSTRAINT fk_outliers_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE TABLE own_photos (
    id BIGSERIAL NOT NULL,
    property_id BIGINT NOT NULL,
    name VARCHAR(40) NOT NULL,
    added_by VARCHAR(80) NOT NULL,
    added_at FLOAT NOT NULL,
    CONSTRAINT pk_own_photos PRIMARY KEY (id),
    CONSTRAINT fk_own_photos_property_id FOREIGN KEY(property_id) REFERENCES listings (id),
    CONSTRAINT uq_own_photos_name UNIQUE (name)
);
CREATE INDEX ix_own_photos_property_id ON own_photos (property_id);
CREATE TABLE revision_counter (
    id INTEGER NOT NULL,
    value BIGINT NOT NULL,
    CONSTRAINT pk_revision_counter PRIMARY KEY (id)
);
CREATE TABLE revisions (
    listing_id BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    CONSTRAINT pk_revisions PRIMARY KEY (listing_id),
    CONSTRAINT fk_revisions_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE INDEX ix_revisions_revision ON revisions (revision);
CREATE TABLE searches (
    id BIGSERIAL NOT NULL,
    job_id VARCHAR(40) NOT NULL,
    parent_id BIGINT,
    url TEXT NOT NULL,
    way VARCHAR(80),
    announced INTEGER,
    exact BOOLEAN DEFAULT false NOT NULL,
    pages INTEGER DEFAULT 0 NOT NULL,
    shown INTEGER DEFAULT 0 NOT NULL,
    first_digest VARCHAR(64),
    last_digest VARCHAR(64),
    next_url TEXT,
    ended VARCHAR(12),
    different INTEGER DEFAULT 0 NOT NULL,
    stale INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_searches PRIMARY KEY (id),
    CONSTRAINT fk_searches_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE INDEX ix_searches_job_id ON searches (job_id);
CREATE TABLE shared_links (
    id BIGSERIAL NOT NULL,
    digest VARCHAR(64) NOT NULL,
    property_id BIGINT NOT NULL,
    made_by VARCHAR(80) NOT NULL,
    made_at FLOAT NOT NULL,
    ends_at FLOAT NOT NULL,
    CONSTRAINT pk_shared_links PRIMARY KEY (id),
    CONSTRAINT uq_shared_links_digest UNIQUE (digest),
    CONSTRAINT fk_shared_links_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
CREATE INDEX ix_shared_links_property_id ON shared_links (property_id);
CREATE TABLE shown_adverts (
    search_id BIGINT NOT NULL,
    external_id VARCHAR(80) NOT NULL,
    CONSTRAINT pk_shown_adverts PRIMARY KEY (search_id, external_id)
);
CREATE TABLE sign_ins (
    digest VARCHAR(64) NOT NULL,
    person_id BIGINT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    device VARCHAR(120),
    made_at FLOAT NOT NULL,
    seen_at FLOAT NOT NULL,
    ends_at FLOAT NOT NULL,
    CONSTRAINT pk_sign_ins PRIMARY KEY (digest),
    CONSTRAINT fk_sign_ins_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);
CREATE INDEX ix_sign_ins_person_id ON sign_ins (person_id);
CREATE TABLE spent_links (
    digest VARCHAR(64) NOT NULL,
    ends_at FLOAT NOT NULL,
    CONSTRAINT pk_spent_links PRIMARY KEY (digest)
);
ALTER TABLE cards ADD COLUMN facts JSON;
ALTER TABLE cards ADD COLUMN price_eur FLOAT;
ALTER TABLE frontier ADD COLUMN search_id BIGINT;
ALTER TABLE frontier ADD COLUMN put_off_at FLOAT;
ALTER TABLE frontier ADD COLUMN tried TEXT;
ALTER TABLE frontier ADD COLUMN code VARCHAR(60);
ALTER TABLE frontier ADD COLUMN rank INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE frontier ADD COLUMN kin VARCHAR(10);
CREATE INDEX ix_frontier_job_id_state_rank_not_before ON frontier (job_id, state, rank, not_before);
ALTER TABLE jobs ADD COLUMN shut_until FLOAT;
ALTER TABLE jobs ADD COLUMN shut_at FLOAT;
ALTER TABLE jobs ADD COLUMN chunks INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE jobs ADD COLUMN ranked_by VARCHAR(64);
ALTER TABLE jobs ADD COLUMN looks_for JSON;
ALTER TABLE jobs ADD COLUMN linked INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE jobs ADD COLUMN sampled INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE jobs ADD COLUMN disagreed INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE jobs ADD COLUMN differing INTEGER DEFAULT 0 NOT NULL;
ALTER TABLE listings ADD COLUMN held_by VARCHAR(40);
ALTER TABLE listings ADD COLUMN new_at FLOAT;
ALTER TABLE listings ADD COLUMN unseen JSON;
ALTER TABLE listings ADD COLUMN opened_at FLOAT;
ALTER TABLE listings ADD COLUMN price_by_card BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE listings ADD COLUMN copy_of BIGINT;
CREATE INDEX ix_listings_held_by ON listings (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX ix_listings_new_at ON listings (new_at) WHERE new_at IS NOT NULL;
CREATE INDEX ix_listings_site_last_seen_at ON listings (site, last_seen_at);
CREATE INDEX ix_listings_family_id ON listings (family_id) WHERE family_id IS NOT NULL;
ALTER TABLE match_decisions ADD COLUMN said_by VARCHAR(80);
ALTER TABLE scrape_history ADD COLUMN unseen JSON;
ALTER TABLE scrape_history ADD COLUMN held_gaps BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE scrape_history ADD COLUMN said JSON;
CREATE INDEX ix_scrape_history_held_gaps ON scrape_history (job_id) WHERE held_gaps IS true;
ALTER TABLE sweeps ADD COLUMN announced INTEGER;
ALTER TABLE sweeps ADD COLUMN reachable INTEGER;
ALTER TABLE sweeps ADD COLUMN opened INTEGER;
ALTER TABLE sweeps ADD COLUMN stored INTEGER;
ALTER TABLE sweeps ADD COLUMN missing TEXT;
CREATE INDEX ix_scored_flats_neighbourhood ON scored_flats (neighbourhood);
CREATE INDEX ix_price_points_moved ON price_points (seen_at) WHERE kind = 'price';
DROP INDEX ix_listings_id_content_hash;
DROP TABLE alert_seen;
INSERT INTO revision_counter (id, value) SELECT 1, 1 WHERE EXISTS (SELECT 1 FROM listings);
INSERT INTO revisions (listing_id, revision) SELECT id, 1 FROM listings;
UPDATE listings SET opened_at = visited_at;
UPDATE frontier SET code = 'unchanged', reason = NULL WHERE reason = 'its card is unchanged';
UPDATE frontier SET code = 'useless_part', reason = NULL WHERE reason = 'a part by a filter that changes nothing';
UPDATE frontier SET code = 'worker_died' WHERE reason LIKE 'its worker died %';
UPDATE frontier SET code = substr(reason, 1, strpos(reason, ': ') - 1), reason = substr(reason, strpos(reason, ': ') + 2)
    WHERE code IS NULL AND strpos(reason, ': ') BETWEEN 2 AND 60;
UPDATE frontier SET code = reason, reason = NULL WHERE code IS NULL AND length(reason) <= 60;
UPDATE jobs SET error = CAST(json_build_object('code', 'other', 'values', json_build_object('words', error)) AS TEXT) WHERE error IS NOT NULL;
UPDATE sweeps SET reason = CAST(json_build_object('code', 'other', 'values', json_build_object('words', reason)) AS TEXT) WHERE reason IS NOT NULL;
UPDATE incidents SET message = CAST(json_build_object('code', 'other', 'values', json_build_object('words', message)) AS TEXT) WHERE message IS NOT NULL;
UPDATE alert_messages SET last_error = CAST(json_build_object('code', 'other', 'values', json_build_object('words', last_error)) AS TEXT) WHERE last_error IS NOT NULL;
