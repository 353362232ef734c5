-- The tables of release 1.0.0, for PostgreSQL; where SQLite has other words, `scripts.py` knows them.
CREATE TABLE alert_looks (
    id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    looked_at FLOAT NOT NULL,
    CONSTRAINT pk_alert_looks PRIMARY KEY (id)
);
CREATE TABLE alert_messages (
    id BIGSERIAL NOT NULL,
    uid VARCHAR(40) NOT NULL,
    channel VARCHAR(80) NOT NULL,
    audience VARCHAR(10) NOT NULL,
    urgent BOOLEAN NOT NULL,
    digest BOOLEAN NOT NULL,
    after_id BIGINT,
    state VARCHAR(10) NOT NULL,
    made_at FLOAT NOT NULL,
    not_before FLOAT NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    breaks INTEGER DEFAULT 0 NOT NULL,
    token VARCHAR(40),
    lease_until FLOAT,
    first_tried_at FLOAT,
    sent_at FLOAT,
    last_error TEXT,
    CONSTRAINT pk_alert_messages PRIMARY KEY (id),
    CONSTRAINT uq_alert_messages_uid UNIQUE (uid)
);
CREATE INDEX ix_alert_messages_channel_state ON alert_messages (channel, state);
CREATE INDEX ix_alert_messages_state_not_before ON alert_messages (state, not_before);
CREATE TABLE alert_rules (
    name VARCHAR(80) NOT NULL,
    fingerprint VARCHAR(64) NOT NULL,
    since FLOAT NOT NULL,
    CONSTRAINT pk_alert_rules PRIMARY KEY (name)
);
CREATE TABLE alert_seen (
    property_id BIGINT NOT NULL,
    digest VARCHAR(32) NOT NULL,
    CONSTRAINT pk_alert_seen PRIMARY KEY (property_id)
);
CREATE TABLE dashboard_visits (
    visitor VARCHAR(120) NOT NULL,
    since FLOAT NOT NULL,
    began_at FLOAT NOT NULL,
    seen_at FLOAT NOT NULL,
    CONSTRAINT pk_dashboard_visits PRIMARY KEY (visitor)
);
CREATE TABLE jobs (
    id VARCHAR(40) NOT NULL,
    site VARCHAR(80) NOT NULL,
    state VARCHAR(20) NOT NULL,
    start_urls JSON NOT NULL,
    listing_limit INTEGER,
    created_at FLOAT NOT NULL,
    started_at FLOAT,
    finished_at FLOAT,
    error TEXT,
    requests INTEGER DEFAULT 0 NOT NULL,
    new_listings INTEGER DEFAULT 0 NOT NULL,
    changed_listings INTEGER DEFAULT 0 NOT NULL,
    seconds FLOAT DEFAULT 0 NOT NULL,
    runner VARCHAR(80),
    generation INTEGER DEFAULT 0 NOT NULL,
    woken_at FLOAT,
    CONSTRAINT pk_jobs PRIMARY KEY (id)
);
CREATE INDEX ix_jobs_site_created_at ON jobs (site, created_at);
CREATE TABLE listings (
    id BIGSERIAL NOT NULL,
    site VARCHAR(80) NOT NULL,
    external_id VARCHAR(80) NOT NULL,
    url TEXT NOT NULL,
    family_id TEXT,
    deal TEXT,
    property_type TEXT,
    title TEXT,
    description TEXT,
    vat TEXT,
    construction TEXT,
    act_status TEXT,
    furnishing TEXT,
    condition TEXT,
    city TEXT,
    district TEXT,
    neighbourhood TEXT,
    street TEXT,
    metro_station TEXT,
    seller_kind TEXT,
    seller_name TEXT,
    posted_at TEXT,
    updated_at TEXT,
    price_eur FLOAT,
    price_bgn FLOAT,
    previous_price_eur FLOAT,
    area_sqm FLOAT,
    area_net_sqm FLOAT,
    yard_sqm FLOAT,
    lat FLOAT,
    lon FLOAT,
    rooms INTEGER,
    floor INTEGER,
    floors_total INTEGER,
    year_built INTEGER,
    metro_distance_m INTEGER,
    views INTEGER,
    under_construction BOOLEAN,
    elevator BOOLEAN,
    heating JSON NOT NULL,
    orientation JSON NOT NULL,
    parking JSON NOT NULL,
    phones JSON NOT NULL,
    photo_urls JSON NOT NULL,
    features JSON NOT NULL,
    flags JSON NOT NULL,
    content_hash VARCHAR(64) NOT NULL,
    first_seen_at FLOAT NOT NULL,
    last_seen_at FLOAT NOT NULL,
    page_digest VARCHAR(64),
    generation INTEGER DEFAULT 1 NOT NULL,
    visited_at FLOAT NOT NULL,
    consecutive_unchanged INTEGER DEFAULT 0 NOT NULL,
    revisit_seconds FLOAT NOT NULL,
    revisit_at FLOAT NOT NULL,
    odd_price_eur FLOAT,
    odd_visits INTEGER DEFAULT 0 NOT NULL,
    gone_at FLOAT,
    closed_at FLOAT,
    closed_reason VARCHAR(20),
    etag TEXT,
    last_modified TEXT,
    CONSTRAINT pk_listings PRIMARY KEY (id),
    CONSTRAINT uq_listings_site_external_id_generation UNIQUE (site, external_id, generation)
);
CREATE INDEX ix_listings_first_seen_at ON listings (first_seen_at);
CREATE INDEX ix_listings_id_content_hash ON listings (id, content_hash);
CREATE INDEX ix_listings_last_seen_at ON listings (last_seen_at);
CREATE INDEX ix_listings_neighbourhood ON listings (neighbourhood);
CREATE UNIQUE INDEX uq_listings_open ON listings (site, external_id) WHERE closed_at IS NULL;
CREATE TABLE llm_answers (
    "key" VARCHAR(64) NOT NULL,
    text_hash VARCHAR(64) NOT NULL,
    schema_hash VARCHAR(64) NOT NULL,
    rules VARCHAR(64) NOT NULL,
    model VARCHAR(200) NOT NULL,
    answer JSON NOT NULL,
    created_at FLOAT NOT NULL,
    CONSTRAINT pk_llm_answers PRIMARY KEY ("key")
);
CREATE INDEX ix_llm_answers_created_at ON llm_answers (created_at);
CREATE TABLE match_state (
    id INTEGER NOT NULL,
    version TEXT NOT NULL,
    runs INTEGER NOT NULL,
    matched_at FLOAT NOT NULL,
    CONSTRAINT pk_match_state PRIMARY KEY (id)
);
CREATE TABLE pages (
    id BIGSERIAL NOT NULL,
    site VARCHAR(80) NOT NULL,
    url TEXT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    digest VARCHAR(64) NOT NULL,
    content_type TEXT,
    fetched_at FLOAT NOT NULL,
    CONSTRAINT pk_pages PRIMARY KEY (id)
);
CREATE INDEX ix_pages_digest ON pages (digest);
CREATE INDEX ix_pages_site_url ON pages (site, url);
CREATE TABLE saved_searches (
    name VARCHAR(60) NOT NULL,
    "query" JSON NOT NULL,
    saved_at FLOAT NOT NULL,
    CONSTRAINT pk_saved_searches PRIMARY KEY (name)
);
CREATE TABLE schedule_slots (
    name VARCHAR(80) NOT NULL,
    slot VARCHAR(40) NOT NULL,
    taken_at FLOAT NOT NULL,
    CONSTRAINT pk_schedule_slots PRIMARY KEY (name, slot)
);
CREATE TABLE scopes (
    id BIGSERIAL NOT NULL,
    site VARCHAR(80) NOT NULL,
    digest VARCHAR(64) NOT NULL,
    start_urls JSON NOT NULL,
    CONSTRAINT pk_scopes PRIMARY KEY (id)
);
CREATE UNIQUE INDEX uq_scopes_site_digest ON scopes (site, digest);
CREATE TABLE score_yardsticks (
    neighbourhood TEXT NOT NULL,
    rooms INTEGER NOT NULL,
    marks JSON NOT NULL,
    scope VARCHAR(20),
    flats INTEGER NOT NULL,
    rent_eur_sqm FLOAT,
    rents INTEGER NOT NULL,
    CONSTRAINT pk_score_yardsticks PRIMARY KEY (neighbourhood, rooms)
);
CREATE TABLE scored_flats (
    property_id BIGINT NOT NULL,
    facts VARCHAR(32) NOT NULL,
    deal VARCHAR(10),
    property_type VARCHAR(20),
    offered BOOLEAN NOT NULL,
    neighbourhood TEXT,
    rooms INTEGER NOT NULL,
    eur_sqm FLOAT,
    CONSTRAINT pk_scored_flats PRIMARY KEY (property_id)
);
CREATE TABLE scores (
    property_id BIGINT NOT NULL,
    profile VARCHAR(80) NOT NULL,
    digest VARCHAR(32) NOT NULL,
    value FLOAT,
    known FLOAT NOT NULL,
    points FLOAT NOT NULL,
    verdict VARCHAR(10) NOT NULL,
    failed JSON NOT NULL,
    unknown JSON NOT NULL,
    criteria JSON NOT NULL,
    scored_at FLOAT NOT NULL,
    CONSTRAINT pk_scores PRIMARY KEY (property_id, profile)
);
CREATE INDEX ix_scores_profile_verdict_points ON scores (profile, verdict, points);
CREATE TABLE valuation_models (
    digest VARCHAR(64) NOT NULL,
    format INTEGER NOT NULL,
    made_at FLOAT NOT NULL,
    flats INTEGER NOT NULL,
    report JSON NOT NULL,
    CONSTRAINT pk_valuation_models PRIMARY KEY (digest)
);
CREATE INDEX ix_valuation_models_made_at ON valuation_models (made_at);
CREATE TABLE alert_watch (
    rule VARCHAR(80) NOT NULL,
    listing_id BIGINT NOT NULL,
    price_eur FLOAT,
    vat VARCHAR(20),
    gone_at FLOAT,
    CONSTRAINT pk_alert_watch PRIMARY KEY (rule, listing_id),
    CONSTRAINT fk_alert_watch_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE INDEX ix_alert_watch_listing_id ON alert_watch (listing_id);
CREATE TABLE cards (
    scope_id BIGINT NOT NULL,
    external_id VARCHAR(80) NOT NULL,
    site VARCHAR(80) NOT NULL,
    card_hash VARCHAR(64) NOT NULL,
    opened_hash VARCHAR(64),
    seen_at FLOAT NOT NULL,
    missed_at FLOAT,
    misses INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_cards PRIMARY KEY (scope_id, external_id),
    CONSTRAINT fk_cards_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
);
CREATE INDEX ix_cards_scope_id_seen_at ON cards (scope_id, seen_at);
CREATE INDEX ix_cards_site_external_id ON cards (site, external_id);
CREATE TABLE dashboard_later (
    visitor VARCHAR(120) NOT NULL,
    property_id BIGINT NOT NULL,
    put_off_at FLOAT NOT NULL,
    CONSTRAINT pk_dashboard_later PRIMARY KEY (visitor, property_id),
    CONSTRAINT fk_dashboard_later_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
CREATE TABLE description_disagreements (
    listing_id BIGINT NOT NULL,
    field VARCHAR(40) NOT NULL,
    portal JSON,
    text JSON,
    quote TEXT NOT NULL,
    seen_at FLOAT NOT NULL,
    CONSTRAINT pk_description_disagreements PRIMARY KEY (listing_id, field),
    CONSTRAINT fk_description_disagreements_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE TABLE description_reads (
    listing_id BIGINT NOT NULL,
    content_hash VARCHAR(64) NOT NULL,
    rules VARCHAR(64) NOT NULL,
    attributes JSON NOT NULL,
    open_fields JSON NOT NULL,
    open_count INTEGER NOT NULL,
    asked VARCHAR(64),
    read_at FLOAT NOT NULL,
    CONSTRAINT pk_description_reads PRIMARY KEY (listing_id),
    CONSTRAINT fk_description_reads_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE INDEX ix_description_reads_read_at ON description_reads (read_at);
CREATE INDEX ix_description_reads_rules ON description_reads (rules);
CREATE TABLE drift_runs (
    job_id VARCHAR(40) NOT NULL,
    site VARCHAR(80) NOT NULL,
    counters JSON NOT NULL,
    scope_id INTEGER,
    listing_limit INTEGER,
    firsts JSON,
    findings JSON,
    sound BOOLEAN,
    judged_at FLOAT,
    CONSTRAINT pk_drift_runs PRIMARY KEY (job_id),
    CONSTRAINT fk_drift_runs_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE INDEX ix_drift_runs_site_judged_at ON drift_runs (site, judged_at);
CREATE TABLE frontier (
    id BIGSERIAL NOT NULL,
    job_id VARCHAR(40) NOT NULL,
    kind VARCHAR(10) NOT NULL,
    url TEXT NOT NULL,
    url_key VARCHAR(500) NOT NULL,
    state VARCHAR(10) DEFAULT 'pending' NOT NULL,
    reason TEXT,
    attempts INTEGER DEFAULT 0 NOT NULL,
    not_before FLOAT DEFAULT 0 NOT NULL,
    lease_owner VARCHAR(80),
    lease_until FLOAT,
    fence INTEGER DEFAULT 0 NOT NULL,
    deaths INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_frontier PRIMARY KEY (id),
    CONSTRAINT uq_frontier_job_id_url_key UNIQUE (job_id, url_key),
    CONSTRAINT fk_frontier_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE INDEX ix_frontier_job_id_state_not_before ON frontier (job_id, state, not_before);
CREATE TABLE frontier_pruned (
    job_id VARCHAR(40) NOT NULL,
    kind VARCHAR(10) NOT NULL,
    state VARCHAR(10) NOT NULL,
    pages INTEGER NOT NULL,
    CONSTRAINT pk_frontier_pruned PRIMARY KEY (job_id, kind, state),
    CONSTRAINT fk_frontier_pruned_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE incidents (
    id BIGSERIAL NOT NULL,
    kind VARCHAR(40) NOT NULL,
    site VARCHAR(80) NOT NULL,
    job_id VARCHAR(40),
    opened_at FLOAT NOT NULL,
    seen_at FLOAT NOT NULL,
    closed_at FLOAT,
    message TEXT NOT NULL,
    details JSON NOT NULL,
    CONSTRAINT pk_incidents PRIMARY KEY (id),
    CONSTRAINT fk_incidents_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE UNIQUE INDEX uq_incidents_open ON incidents (kind, site) WHERE closed_at IS NULL;
CREATE TABLE listing_changes (
    id BIGSERIAL NOT NULL,
    listing_id BIGINT NOT NULL,
    visit_id BIGINT NOT NULL,
    field VARCHAR(40) NOT NULL,
    old JSON,
    new JSON,
    seen_at FLOAT NOT NULL,
    CONSTRAINT pk_listing_changes PRIMARY KEY (id),
    CONSTRAINT fk_listing_changes_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE INDEX ix_listing_changes_listing_id_seen_at ON listing_changes (listing_id, seen_at);
CREATE INDEX ix_listing_changes_seen_at ON listing_changes (seen_at);
CREATE TABLE market_events (
    id BIGSERIAL NOT NULL,
    listing_id BIGINT NOT NULL,
    kind VARCHAR(10) NOT NULL,
    at FLOAT NOT NULL,
    noted_at FLOAT NOT NULL,
    reason VARCHAR(40) NOT NULL,
    CONSTRAINT pk_market_events PRIMARY KEY (id),
    CONSTRAINT fk_market_events_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE INDEX ix_market_events_listing_id_at ON market_events (listing_id, at);
CREATE INDEX ix_market_events_noted_at ON market_events (noted_at);
CREATE TABLE match_decisions (
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    same BOOLEAN NOT NULL,
    decided_at FLOAT NOT NULL,
    CONSTRAINT pk_match_decisions PRIMARY KEY (low, high),
    CONSTRAINT fk_match_decisions_low FOREIGN KEY(low) REFERENCES listings (id),
    CONSTRAINT fk_match_decisions_high FOREIGN KEY(high) REFERENCES listings (id)
);
CREATE TABLE match_doubts (
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    said_at FLOAT NOT NULL,
    CONSTRAINT pk_match_doubts PRIMARY KEY (low, high),
    CONSTRAINT fk_match_doubts_low FOREIGN KEY(low) REFERENCES listings (id),
    CONSTRAINT fk_match_doubts_high FOREIGN KEY(high) REFERENCES listings (id)
);
CREATE TABLE match_fingerprints (
    listing_id BIGINT NOT NULL,
    content_hash VARCHAR(64) NOT NULL,
    record BYTEA NOT NULL,
    CONSTRAINT pk_match_fingerprints PRIMARY KEY (listing_id),
    CONSTRAINT fk_match_fingerprints_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE TABLE match_links (
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    probability FLOAT NOT NULL,
    kind INTEGER NOT NULL,
    CONSTRAINT pk_match_links PRIMARY KEY (low, high),
    CONSTRAINT fk_match_links_low FOREIGN KEY(low) REFERENCES listings (id),
    CONSTRAINT fk_match_links_high FOREIGN KEY(high) REFERENCES listings (id)
);
CREATE INDEX ix_match_links_high ON match_links (high);
CREATE INDEX ix_match_links_kind ON match_links (kind);
CREATE TABLE price_points (
    id BIGSERIAL NOT NULL,
    listing_id BIGINT NOT NULL,
    price_eur FLOAT,
    price_bgn FLOAT,
    vat VARCHAR(20),
    kind VARCHAR(10) NOT NULL,
    visit_id BIGINT NOT NULL,
    seen_at FLOAT NOT NULL,
    CONSTRAINT pk_price_points PRIMARY KEY (id),
    CONSTRAINT fk_price_points_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
CREATE INDEX ix_price_points_listing_id_seen_at ON price_points (listing_id, seen_at);
CREATE TABLE properties (
    id BIGINT NOT NULL,
    merged_into BIGINT,
    made_at FLOAT NOT NULL,
    CONSTRAINT pk_properties PRIMARY KEY (id),
    CONSTRAINT fk_properties_id FOREIGN KEY(id) REFERENCES listings (id)
);
CREATE TABLE property_notes (
    id BIGSERIAL NOT NULL,
    property_id BIGINT NOT NULL,
    text TEXT NOT NULL,
    written_by VARCHAR(80) NOT NULL,
    written_at FLOAT NOT NULL,
    CONSTRAINT pk_property_notes PRIMARY KEY (id),
    CONSTRAINT fk_property_notes_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
CREATE INDEX ix_property_notes_property_id ON property_notes (property_id);
CREATE TABLE run_metrics (
    job_id VARCHAR(40) NOT NULL,
    domain VARCHAR(80) NOT NULL,
    counters JSON NOT NULL,
    writers JSON NOT NULL,
    updated_at FLOAT NOT NULL,
    CONSTRAINT pk_run_metrics PRIMARY KEY (job_id, domain),
    CONSTRAINT fk_run_metrics_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE TABLE scrape_history (
    id BIGSERIAL NOT NULL,
    site VARCHAR(80) NOT NULL,
    url_key VARCHAR(500) NOT NULL,
    job_id VARCHAR(40),
    fetched_at FLOAT NOT NULL,
    verdict VARCHAR(40) NOT NULL,
    seconds FLOAT,
    content_hash VARCHAR(64),
    page_digest VARCHAR(64),
    listing_id BIGINT,
    result VARCHAR(12),
    odd JSON,
    held BOOLEAN DEFAULT false NOT NULL,
    held_type BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_scrape_history PRIMARY KEY (id),
    CONSTRAINT fk_scrape_history_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
CREATE INDEX ix_scrape_history_held ON scrape_history (job_id) WHERE held IS true;
CREATE INDEX ix_scrape_history_site_url_key_fetched_at ON scrape_history (site, url_key, fetched_at);
CREATE TABLE sweeps (
    job_id VARCHAR(40) NOT NULL,
    scope_id BIGINT NOT NULL,
    site VARCHAR(80) NOT NULL,
    everything BOOLEAN DEFAULT false NOT NULL,
    started_at FLOAT NOT NULL,
    finished_at FLOAT,
    complete BOOLEAN,
    reason TEXT,
    adverts INTEGER,
    gone INTEGER,
    CONSTRAINT pk_sweeps PRIMARY KEY (job_id),
    CONSTRAINT fk_sweeps_job_id FOREIGN KEY(job_id) REFERENCES jobs (id),
    CONSTRAINT fk_sweeps_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
);
CREATE INDEX ix_sweeps_scope_id_started_at ON sweeps (scope_id, started_at);
CREATE TABLE viewings (
    id BIGSERIAL NOT NULL,
    property_id BIGINT NOT NULL,
    uid VARCHAR(80) NOT NULL,
    revision INTEGER NOT NULL,
    state VARCHAR(10) NOT NULL,
    starts_at FLOAT NOT NULL,
    minutes INTEGER NOT NULL,
    agent TEXT,
    phone TEXT,
    place TEXT,
    remarks TEXT,
    outcome TEXT,
    positives JSON NOT NULL,
    negatives JSON NOT NULL,
    made_at FLOAT NOT NULL,
    changed_at FLOAT NOT NULL,
    CONSTRAINT pk_viewings PRIMARY KEY (id),
    CONSTRAINT uq_viewings_uid UNIQUE (uid),
    CONSTRAINT fk_viewings_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
CREATE INDEX ix_viewings_property_id ON viewings (property_id);
CREATE INDEX ix_viewings_starts_at ON viewings (starts_at);
CREATE TABLE alert_items (
    id BIGSERIAL NOT NULL,
    "key" VARCHAR(200) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    rules JSON NOT NULL,
    property_id BIGINT,
    incident_id BIGINT,
    facts JSON NOT NULL,
    decided_at FLOAT NOT NULL,
    CONSTRAINT pk_alert_items PRIMARY KEY (id),
    CONSTRAINT uq_alert_items_key UNIQUE ("key"),
    CONSTRAINT fk_alert_items_incident_id FOREIGN KEY(incident_id) REFERENCES incidents (id)
);
CREATE INDEX ix_alert_items_incident_id ON alert_items (incident_id);
CREATE TABLE evaluation_changes (
    id BIGSERIAL NOT NULL,
    property_id BIGINT NOT NULL,
    viewing_id BIGINT,
    field VARCHAR(20) NOT NULL,
    old JSON,
    new JSON,
    changed_by VARCHAR(80) NOT NULL,
    changed_at FLOAT NOT NULL,
    CONSTRAINT pk_evaluation_changes PRIMARY KEY (id),
    CONSTRAINT fk_evaluation_changes_property_id FOREIGN KEY(property_id) REFERENCES listings (id),
    CONSTRAINT fk_evaluation_changes_viewing_id FOREIGN KEY(viewing_id) REFERENCES viewings (id)
);
CREATE INDEX ix_evaluation_changes_property_id ON evaluation_changes (property_id);
CREATE INDEX ix_evaluation_changes_viewing_id ON evaluation_changes (viewing_id);
CREATE TABLE listing_sources (
    listing_id BIGINT NOT NULL,
    property_id BIGINT NOT NULL,
    probability FLOAT NOT NULL,
    decided_by VARCHAR(10) NOT NULL,
    evidence JSON NOT NULL,
    decided_at FLOAT NOT NULL,
    CONSTRAINT pk_listing_sources PRIMARY KEY (listing_id),
    CONSTRAINT fk_listing_sources_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id),
    CONSTRAINT fk_listing_sources_property_id FOREIGN KEY(property_id) REFERENCES properties (id)
);
CREATE INDEX ix_listing_sources_property_id ON listing_sources (property_id);
CREATE TABLE alert_message_items (
    message_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    CONSTRAINT pk_alert_message_items PRIMARY KEY (message_id, item_id),
    CONSTRAINT fk_alert_message_items_message_id FOREIGN KEY(message_id) REFERENCES alert_messages (id),
    CONSTRAINT fk_alert_message_items_item_id FOREIGN KEY(item_id) REFERENCES alert_items (id)
);
CREATE INDEX ix_alert_message_items_item_id ON alert_message_items (item_id);
