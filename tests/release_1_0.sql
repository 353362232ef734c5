-- A database as release 1.0.0 made it (revision 0013_pruned): its own program crawled two simulated portals,
-- bazar.bg and imot.bg, on three days, matched, scored and noted what a buyer said; a row by hand where
-- that left a table empty, in the very form that it writes.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0013_pruned');
CREATE TABLE alert_items (
	id INTEGER NOT NULL, 
	"key" VARCHAR(200) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	rules JSON NOT NULL, 
	property_id INTEGER, 
	incident_id INTEGER, 
	facts JSON NOT NULL, 
	decided_at FLOAT NOT NULL, 
	CONSTRAINT pk_alert_items PRIMARY KEY (id), 
	CONSTRAINT uq_alert_items_key UNIQUE ("key"), 
	CONSTRAINT fk_alert_items_incident_id FOREIGN KEY(incident_id) REFERENCES incidents (id)
);
INSERT INTO "alert_items" VALUES(1,'new|5|mine','new','["mine"]',5,NULL,'{"property_type": "apartment", "rooms": 3, "area_sqm": 102.0, "floor": 4, "floors_total": 17, "neighbourhood": "\u0413\u043e\u0440\u043d\u0430 \u0431\u0430\u043d\u044f", "under_construction": true, "site": "imot.bg", "url": "http://127.0.0.1:18701/obiava-1c176587943861943-prodava-tristaen-apartament-grad-sofiya-gorna-banya", "price_eur": 171641.0, "vat": null, "points": null, "score": null, "known": null, "unknown": [], "portals": ["bazar.bg", "imot.bg"]}',1794941620.0);
INSERT INTO "alert_items" VALUES(2,'incident|2','incident','["crawls"]',NULL,2,'{"kind": "circuit_open_long", "site": "bazar.bg", "job_id": "bazar.bg-20261117-185305-967a30", "opened_at": 1794941620.0, "closed_at": null, "message": "the circuit was open for 900 seconds"}',1794941620.0);
CREATE TABLE alert_looks (
	id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	looked_at FLOAT NOT NULL, 
	CONSTRAINT pk_alert_looks PRIMARY KEY (id)
);
INSERT INTO "alert_looks" VALUES(1,3,1794941620.0);
CREATE TABLE alert_message_items (
	message_id INTEGER NOT NULL, 
	item_id INTEGER NOT NULL, 
	CONSTRAINT pk_alert_message_items PRIMARY KEY (message_id, item_id), 
	CONSTRAINT fk_alert_message_items_message_id FOREIGN KEY(message_id) REFERENCES alert_messages (id), 
	CONSTRAINT fk_alert_message_items_item_id FOREIGN KEY(item_id) REFERENCES alert_items (id)
);
INSERT INTO "alert_message_items" VALUES(1,1);
INSERT INTO "alert_message_items" VALUES(2,1);
INSERT INTO "alert_message_items" VALUES(3,2);
CREATE TABLE alert_messages (
	id INTEGER NOT NULL, 
	uid VARCHAR(40) NOT NULL, 
	channel VARCHAR(80) NOT NULL, 
	audience VARCHAR(10) NOT NULL, 
	urgent BOOLEAN NOT NULL, 
	digest BOOLEAN NOT NULL, 
	after_id INTEGER, 
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
INSERT INTO "alert_messages" VALUES(1,'3f0c9d1e5b7a4826a1d4c7e09b2f6835','phone','buyer',0,0,NULL,'sent',1794941620.0,1794941620.0,1,0,NULL,NULL,1794941621.0,1794941622.0,NULL);
INSERT INTO "alert_messages" VALUES(2,'b85e27c04f9d4a1693e6d0f1a7c2584b','mail','buyer',0,1,NULL,'waiting',1794941620.0,1794941620.0,2,0,NULL,NULL,1794941621.0,NULL,'no answer within 30 seconds');
INSERT INTO "alert_messages" VALUES(3,'6d21e9af0b3c4875a4f0d8c7b6e51932','mail','operator',0,0,NULL,'sent',1794941620.0,1794941620.0,1,0,NULL,NULL,1794941621.0,1794941622.0,NULL);
CREATE TABLE alert_rules (
	name VARCHAR(80) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	since FLOAT NOT NULL, 
	CONSTRAINT pk_alert_rules PRIMARY KEY (name)
);
INSERT INTO "alert_rules" VALUES('mine','ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',1794941620.0);
INSERT INTO "alert_rules" VALUES('crawls','operator',1794941620.0);
CREATE TABLE alert_seen (
	property_id INTEGER NOT NULL, 
	digest VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_alert_seen PRIMARY KEY (property_id)
);
INSERT INTO "alert_seen" VALUES(5,'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee');
CREATE TABLE alert_watch (
	rule VARCHAR(80) NOT NULL, 
	listing_id INTEGER NOT NULL, 
	price_eur FLOAT, 
	vat VARCHAR(20), 
	gone_at FLOAT, 
	CONSTRAINT pk_alert_watch PRIMARY KEY (rule, listing_id), 
	CONSTRAINT fk_alert_watch_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
INSERT INTO "alert_watch" VALUES('mine',5,171641.0,NULL,NULL);
INSERT INTO "alert_watch" VALUES('mine',7,171641.0,NULL,NULL);
CREATE TABLE cards (
	scope_id INTEGER NOT NULL, 
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
INSERT INTO "cards" VALUES(1,'1b177071848731713','imot.bg','c3e5a1f48be4afffdc265b799d6f033752f1800928a8b9d5956ef5fae32a28f8','c3e5a1f48be4afffdc265b799d6f033752f1800928a8b9d5956ef5fae32a28f8',1.79494158559110140796e+09,NULL,0);
INSERT INTO "cards" VALUES(1,'1c176587943861943','imot.bg','14fc9faf3b28963d56c7abc1607a47826be6ad35067b3ccd76265f6968ee0168','14fc9faf3b28963d56c7abc1607a47826be6ad35067b3ccd76265f6968ee0168',1.79494158559110140796e+09,NULL,0);
INSERT INTO "cards" VALUES(1,'1f176612344209915','imot.bg','39da4f63b4d0a97b92395f56db927db14fc3aa9931b5f50b6278eb93d02a925a','39da4f63b4d0a97b92395f56db927db14fc3aa9931b5f50b6278eb93d02a925a',1.79494158559110140796e+09,NULL,0);
INSERT INTO "cards" VALUES(1,'1g177229405936816','imot.bg','13e0cac681e94c97697c5f98ef168bd390b7c43aac2cf8f4b21a9f10b9db6776','13e0cac681e94c97697c5f98ef168bd390b7c43aac2cf8f4b21a9f10b9db6776',1.79494158559110140796e+09,NULL,0);
INSERT INTO "cards" VALUES(2,'50000031','bazar.bg','d1225a2b2b5208d154d133304705f80f6508af47012bef3f59cf6577da67937d','d1225a2b2b5208d154d133304705f80f6508af47012bef3f59cf6577da67937d',1.7949415856045818329e+09,NULL,0);
INSERT INTO "cards" VALUES(2,'50000056','bazar.bg','9faa0acb4d206ce86f877f78a953aff80bce7a7590d1dab8e1f3a41ae575a0d0','9faa0acb4d206ce86f877f78a953aff80bce7a7590d1dab8e1f3a41ae575a0d0',1.7949415856045818329e+09,NULL,0);
INSERT INTO "cards" VALUES(2,'50000113','bazar.bg','4b1df593d59dcc0ab2d4bc6d2087017a6c5d6edca2ae02ce7b62d49de45b8ad5','4b1df593d59dcc0ab2d4bc6d2087017a6c5d6edca2ae02ce7b62d49de45b8ad5',1.7949415856045818329e+09,NULL,0);
INSERT INTO "cards" VALUES(2,'50000152','bazar.bg','513d247ee3752fd85be785e52ef03e3be17b4a28da73eefd998445a3a5aa87a1','513d247ee3752fd85be785e52ef03e3be17b4a28da73eefd998445a3a5aa87a1',1.7949415856045818329e+09,NULL,0);
INSERT INTO "cards" VALUES(1,'2b176761571108173','imot.bg','c1d56e098fbf9325d49834c575769a3d655604ba1fe2eb3e17f6dcbd79f902a8','c1d56e098fbf9325d49834c575769a3d655604ba1fe2eb3e17f6dcbd79f902a8',1.79494158560485959049e+09,NULL,0);
INSERT INTO "cards" VALUES(1,'2c177653817534431','imot.bg','362788c7f58f27ebbf5b7ca5b95cbc357f0ce26fe2fa24894afd5801a3554cf1','362788c7f58f27ebbf5b7ca5b95cbc357f0ce26fe2fa24894afd5801a3554cf1',1.79494158560485959049e+09,NULL,0);
INSERT INTO "cards" VALUES(1,'2d177337951044820','imot.bg','0afac4a8cbe46d2312d53ad4251a2f08b629e88e194ffb1192f762b28118c15a','0afac4a8cbe46d2312d53ad4251a2f08b629e88e194ffb1192f762b28118c15a',1.79494158560485959049e+09,NULL,0);
INSERT INTO "cards" VALUES(2,'50000081','bazar.bg','20c5c572dbd4e5b523e39cd509e81848a900a1ed232d7e5ad5d25a49bd3c5512','20c5c572dbd4e5b523e39cd509e81848a900a1ed232d7e5ad5d25a49bd3c5512',1.79494158560557150842e+09,NULL,0);
INSERT INTO "cards" VALUES(2,'50000221','bazar.bg','0253607a4ebad36dc50ad76ce0866f3b9a5358b41bb9633723498f08712463de','0253607a4ebad36dc50ad76ce0866f3b9a5358b41bb9633723498f08712463de',1.79494158560557150842e+09,NULL,0);
INSERT INTO "cards" VALUES(2,'50000230','bazar.bg','9a57ac519297c5b083f85bced0b3aa2602866be0ef53ecaba952a1958d049ff9','9a57ac519297c5b083f85bced0b3aa2602866be0ef53ecaba952a1958d049ff9',1.79494158560557150842e+09,NULL,0);
CREATE TABLE dashboard_later (
	visitor VARCHAR(120) NOT NULL, 
	property_id INTEGER NOT NULL, 
	put_off_at FLOAT NOT NULL, 
	CONSTRAINT pk_dashboard_later PRIMARY KEY (visitor, property_id), 
	CONSTRAINT fk_dashboard_later_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
INSERT INTO "dashboard_later" VALUES('root',2,1794941620.0);
CREATE TABLE dashboard_visits (
	visitor VARCHAR(120) NOT NULL, 
	since FLOAT NOT NULL, 
	began_at FLOAT NOT NULL, 
	seen_at FLOAT NOT NULL, 
	CONSTRAINT pk_dashboard_visits PRIMARY KEY (visitor)
);
INSERT INTO "dashboard_visits" VALUES('root',1794941620.0,1794941620.0,1794941680.0);
CREATE TABLE description_disagreements (
	listing_id INTEGER NOT NULL, 
	field VARCHAR(40) NOT NULL, 
	portal JSON, 
	text JSON, 
	quote TEXT NOT NULL, 
	seen_at FLOAT NOT NULL, 
	CONSTRAINT pk_description_disagreements PRIMARY KEY (listing_id, field), 
	CONSTRAINT fk_description_disagreements_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
INSERT INTO "description_disagreements" VALUES(1,'floor',4,6,'6-ти етаж',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(1,'area_sqm',180,227,'227 кв.м',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(6,'floor',1,3,'на 3 етажа',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(6,'floors_total',2,3,'Сградата е на 3 етажа',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(8,'floor',1,4,'4-ти етаж',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(8,'area_sqm',47,81,'81 кв.м',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(9,'floor',4,6,'6-ти етаж',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(9,'area_sqm',180,227,'227 кв.м',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(10,'floor',-1,12,'на 12 етажа',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(10,'floors_total',14,12,'Сградата е на 12 етажа',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(11,'floor',1,4,'4-ти етаж',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(11,'area_sqm',47,81,'81 кв.м',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(13,'floor',1,5,'5-ти етаж',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(14,'floor',1,5,'5-ти етаж',1.79494155796628165246e+09);
INSERT INTO "description_disagreements" VALUES(5,'floor',4,5,'5-ти етаж',1.79494158846826219562e+09);
INSERT INTO "description_disagreements" VALUES(5,'area_sqm',102,128,'128 кв.м',1.79494158846826219562e+09);
INSERT INTO "description_disagreements" VALUES(7,'floor',4,5,'5-ти етаж',1.79494158846826219562e+09);
INSERT INTO "description_disagreements" VALUES(7,'area_sqm',102,128,'128 кв.м',1.79494158846826219562e+09);
CREATE TABLE description_reads (
	listing_id INTEGER NOT NULL, 
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
INSERT INTO "description_reads" VALUES(1,'7eaa3aa5bc8207c32718ded399ab5f3eede9bbc4baaf5a5f3fadf5887ec72fe5','bc10a2fd690317c93d23400050c727e65499303b9f265826fa0bb276c4acc6ad','{"floor": {"value": 6, "status": "stated", "quote": "6-\u0442\u0438 \u0435\u0442\u0430\u0436", "method": "rules"}, "area": {"value": 227, "status": "stated", "quote": "227 \u043a\u0432.\u043c", "method": "rules"}, "parking_status": {"value": "included", "status": "stated", "quote": "\u041f\u0430\u0440\u043a\u043e\u043c\u044f\u0441\u0442\u043e", "method": "rules"}, "balconies": {"value": 2, "status": "stated", "quote": "\u0434\u0432\u0435 \u0442\u0435\u0440\u0430\u0441\u0438", "method": "rules"}, "has_balcony": {"value": true, "status": "derived", "quote": "\u0434\u0432\u0435 \u0442\u0435\u0440\u0430\u0441\u0438", "method": "rules"}, "storage": {"value": ["closet"], "status": "stated", "quote": "\u043a\u0438\u043b\u0435\u0440", "method": "rules"}, "price_from": {"value": true, "status": "stated", "quote": "\u0426\u0435\u043d\u0430 \u043e\u0442 1", "method": "rules"}}','[]',0,NULL,1.79494155796628165246e+09);
INSERT INTO "description_reads" VALUES(2,'2e38e2a51a73cce32716f306bc9d313786984d761e53ad62b1053234e9d5d9b5','bc10a2fd690317c93d23400050c727e65499303b9f265826fa0bb276c4acc6ad','{"area_built": {"value": 102, "status": "stated", "quote": "102 \u043a\u0432.\u043c", "method": "rules"}, "storage": {"value": ["basement", "attic"], "status": "stated", "quote": "\u043c\u0430\u0437\u0435 \u0441 \u043f\u043b\u043e\u0449 9 m\u00b2 \u0438 \u0442\u0430\u0432\u0430\u043d\u0441\u043a\u043e \u043f\u043e\u043c\u0435\u0449\u0435\u043d\u0438\u0435", "method": "rules"}}','["condition", "parking_status", "act"]',3,NULL,1.79494155796628165246e+09);
INSERT INTO "description_reads" VALUES(3,'47ff102fd26e9e209d9836dc459a913fbad1a2910a6a46a2d83eaafb03751012','bc10a2fd690317c93d23400050c727e65499303b9f265826fa0bb276c4acc6ad','{"area_built": {"value": 47, "status": "stated", "quote": "47 \u043a\u0432.\u043c", "method": "rules"}, "balconies": {"value": 2, "status": "stated", "quote": "\u0434\u0432\u0435 \u0442\u0435\u0440\u0430\u0441\u0438", "method": "rules"}, "has_balcony": {"value": true, "status": "derived", "quote": "\u0434\u0432\u0435 \u0442\u0435\u0440\u0430\u0441\u0438", "method": "rules"}, "storage": {"value": ["basement", "attic", "closet"], "status": "stated", "quote": "\u043c\u0430\u0437\u0435 \u0441 \u043f\u043b\u043e\u0449 7 m\u00b2 \u0438 \u0442\u0430\u0432\u0430\u043d\u0441\u043a\u043e \u043f\u043e\u043c\u0435\u0449\u0435\u043d\u0438\u0435.\n\u0421\u044a\u0441\u0442\u043e\u0438 \u0441\u0435 \u043e\u0442 \u0430\u043d\u0442\u0440\u0435, \u0432\u0441\u0435\u043a\u0438\u0434\u043d\u0435\u0432\u043d\u0430 \u0441 \u0442\u0440\u0430\u043f\u0435\u0437\u0430\u0440\u0438\u044f, \u043a\u0438\u043b\u0435\u0440", "method": "rules"}}','["parking_status"]',1,NULL,1.79494155796628165246e+09);
INSERT INTO "description_reads" VALUES(4,'8516bfa71034f8810a6b1cf9e687ff658cc877a79a68bb22c5926d87619949ab','bc10a2fd690317c93d23400050c727e65499303b9f265826fa0bb276c4acc6ad','{"area_built": {"value": 47, "status": "stated", "quote": "47 \u043a\u0432.\u043c", "method": "rules"}, "balconies": {"value": 2, "status": "stated", "quote": "\u0434\u0432\u0435 \u0442\u0435\u0440\u0430\u0441\u0438", "method": "rules"}, "has_balcony": {"value": true, "status": "derived", "quote": "\u0434\u0432\u0435 \u0442\u0435\u0440\u0430\u0441\u0438", "method": "rules"}, "storage": {"value": ["basement", "attic", "closet"], "status": "stated", "quote": "\u043c\u0430\u0437\u0435 \u0441 \u043f\u043b\u043e\u0449 7 m\u00b2 \u0438 \u0442\u0430\u0432\u0430\u043d\u0441\u043a\u043e \u043f\u043e\u043c\u0435\u0449\u0435\u043d\u0438\u0435.\u0421\u044a\u0441\u0442\u043e\u0438 \u0441\u0435 \u043e\u0442 \u0430\u043d\u0442\u0440\u0435, \u0432\u0441\u0435\u043a\u0438\u0434\u043d\u0435\u0432\u043d\u0430 \u0441 \u0442\u0440\u0430\u043f\u0435\u0437\u0430\u0440\u0438\u044f, \u043a\u0438\u043b\u0435\u0440", "method": "rules"}}','["parking_status"]',1,NULL,1.79494155796628165246e+09);
INSERT INTO "description_reads" VALUES(5,'198a75000699f71956c50bc543d5fe4b50984eeaf55c10b0a34eac0d3d67043d','bc10a2fd690317c93d23400050c727e65499303b9f265826fa0bb276c4acc6ad','{"bathrooms": {"value": 1, "status": "stated", "quote": "\u0431\u0430\u043d\u044f", "method": "rules"}, "floor": {"value": 5, "status": "stated", "quote": "5-\u0442\u0438 \u0435\u0442\u0430\u0436", "method": "rules"}, "area": {"value": 128, "status": "stated", "quote": "128 \u043a\u0432.\u043c", "method": "rules"}, "orientation": {"value": ["S", "E"], "status": "stated", "quote": "\u044e\u0433 \u0438 \u0438\u0437\u0442\u043e\u043a", "method": "rules"}, "parking_status": {"value": "included", "status": "stated", "quote": "\u041f\u0430\u0440\u043a\u043e\u043c\u044f\u0441\u0442\u043e", "method": "rules"}, "balconies": {"value": 1, "status": "stated", "quote": "\u0431\u0430\u043b\u043a\u043e\u043d", "method": "rules"}, "has_balcony": {"value": true, "status": "derived", "quote": "\u0431\u0430\u043b\u043a\u043e\u043d", "method": "rules"}, "storage": {"value": ["basement", "attic"], "status": "stated", "quote": "\u043c\u0430\u0437\u0435 \u0441 \u043f\u043b\u043e\u0449 9 m\u00b2 \u0438 \u0442\u0430\u0432\u0430\u043d\u0441\u043a\u043e \u043f\u043e\u043c\u0435\u0449\u0435\u043d\u0438\u0435", "method": "rules"}, "metro_near": {"value": true, "status": "stated", "quote": "\u041c\u0435\u0442\u0440\u043e\u0441\u0442\u0430\u043d\u0446\u0438\u044f\u0442\u0430", "method": "rules"}, "metro_minutes": {"value": 9, "status": "stated", "quote": "\u041c\u0435\u0442\u0440\u043e\u0441\u0442\u0430\u043d\u0446\u0438\u044f\u0442\u0430 \u0435 \u043d\u0430 9 \u043c\u0438\u043d\u0443\u0442\u0438", "method": "rules"}, "price_from": {"value": true, "status": "stated", "quote": "\u0426\u0435\u043d\u0430 \u043e\u0442 3", "method": "rules"}}','[]',0,NULL,1.79494158846826219562e+09);
INSERT INTO "description_reads" VALUES(6,'18f305002d9e4460d2700863dfef25cdbbbdacef016b96cc972339470936d8b1','bc10a2fd690317c93d23400050c727e65499303b9f265826fa0bb276c4acc6ad','{"bedrooms": {"value": 2, "status": "stated", "quote": "2 \u0441\u043f\u0430\u043b\u043d\u0438", "method": "rules"}, "bathrooms": {"value": 1, "status": "stated", "quote": "\u0431\u0430\u043d\u044f", "method": "rules"}, "floor": {"value": 3, "status": "stated", "quote": "\u043d\u0430 3 \u0435\u0442\u0430\u0436\u0430", "method": "rules"}, "total_floors": {"value": 3, "status": "stated", "quote": "\u0421\u0433\u0440\u0430\u0434\u0430\u0442\u0430 \u0435 \u043d\u0430 3 \u0435\u0442\u0430\u0436\u0430", "method": "rules"}, "area_built": {"value": 42, "status": "stated", "quote": "42 \u043a\u0432.\u043c", "method": "rules"}, "condition": {"value": "good", "status": "stated", "quote": "\u0434\u043e\u0431\u0440\u0435 \u043f\u043e\u0434\u0434\u044a\u0440\u0436\u0430\u043d \u0438\u043c\u043e\u0442", "method": "rules"}, "elevator": {"value": true, "status": "stated", "quote": "\u0430\u0441\u0430\u043d\u0441\u044c\u043e\u0440\u044a\u0442", "method": "rules"}, "balconies": {"value": 2, "status": "stated", "quote": "\u0434\u0432\u0435 \u0442\u0435\u0440\u0430\u0441\u0438", "method": "rules"}, "has_balcony": {"value": true, "status": "derived", "quote": "\u0431\u0430\u043b\u043a\u043e\u043d", "method": "rules"}, "storage": {"value": ["closet"], "status": "stated", "quote": "\u043a\u0438\u043b\u0435\u0440", "method": "rules"}, "act": {"value": "act16", "status": "stated", "quote": "\u0410\u043a\u0442 16", "method": "rules"}, "metro_near": {"value": true, "status": "stated", "quote": "\u041c\u0435\u0442\u0440\u043e\u0441\u0442\u0430\u043d\u0446\u0438\u044f\u0442\u0430", "method": "rules"}, "metro_minutes": {"value": 6, "status": "stated", "quote": "\u041c\u0435\u0442\u0440\u043e\u0441\u0442\u0430\u043d\u0446\u0438\u044f\u0442\u0430 \u0435 \u043d\u0430 6 \u043c\u0438\u043d\u0443\u0442\u0438", "method": "rules"}}','[]',0,NULL,1.79494155796628165246e+09);
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
INSERT INTO "drift_runs" VALUES('bazar.bg-20261117-185234-455c83','bazar.bg','{"listing": {"pages": 7, "seen": 7, "full_pages": 0, "full_cards": 0, "told": 0, "priced": 7, "per_sqm": 0, "few_cards": 0, "puzzle": null, "few": null, "odd": null, "unreadable": {}, "prices": {"total": 1384035000, "least": 180675000, "most": 752000000, "buckets": {"951": 1, "952": 1, "971": 1, "1022": 1}}, "ratios": {"total": 0, "least": null, "most": null, "buckets": {}}, "fields": {"area_sqm": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "building": {"read": 5, "links": {"0": 5}, "missing": ["http://127.0.0.1:18702/obiava-50000221/dawa-pod-naem-3-staen-gr-sofiia-w-z-bunkera", "3ce1345d39cbc3c152828870efb2792d3fc25ff3e805164dd8f26d2a5888e4b7"], "other": null}, "category": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "description": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "family_id": {"read": 6, "links": {"0": 7}, "missing": ["http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german", "5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce"], "other": null}, "floor": {"read": 5, "links": {"0": 5}, "missing": ["http://127.0.0.1:18702/obiava-50000056/prodawa-2-staen-gr-sofiia-lozenets", "1b5d8424b1038eec22c205a0ab96646e446d07c931ded39d7a00b412616f7c67"], "other": null}, "floors_total": {"read": 1, "links": {"0": 1}, "missing": ["http://127.0.0.1:18702/obiava-50000056/prodawa-2-staen-gr-sofiia-lozenets", "1b5d8424b1038eec22c205a0ab96646e446d07c931ded39d7a00b412616f7c67"], "other": null}, "lat": {"read": 1, "links": {"0": 1}, "missing": ["http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german", "5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce"], "other": null}, "lon": {"read": 1, "links": {"0": 1}, "missing": ["http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german", "5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce"], "other": null}, "offer": {"read": 6, "links": {"0": 6}, "missing": ["http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german", "5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce"], "other": null}, "photo_urls": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "place": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "previous_price": {"read": 0, "links": {}, "missing": ["http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german", "5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce"], "other": null}, "price": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "rooms": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "seller_name": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "title": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "updated_at": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "vat": {"read": 4, "links": {"0": 4}, "missing": ["http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german", "5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce"], "other": null}, "views": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "year_built": {"read": 4, "links": {"0": 4}, "missing": ["http://127.0.0.1:18702/obiava-50000113/prodawa-3-staen-gr-sofiia-gorna-bania", "a1f60f354ef8c68ea8109356c6a3fbf1662c5913fb1ad2b60e125b38cd2d815f"], "other": null}}}, "search": {"pages": 2, "seen": 7, "full_pages": 0, "full_cards": 0, "told": 7, "priced": 7, "per_sqm": 0, "few_cards": 3, "puzzle": null, "few": ["http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia", "ded10710df4b4b4be36ab20081ddba1ac305d34ee4c014d3fe1e6a571add4bee"], "odd": null, "unreadable": {}, "prices": {"total": 1384035000, "least": 180675000, "most": 752000000, "buckets": {"951": 1, "952": 1, "971": 1, "1022": 1}}, "ratios": {"total": 0, "least": null, "most": null, "buckets": {}}, "fields": {"offer": {"read": 6, "links": {"0": 6}, "missing": ["http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia", "de9768c34ef34fab2e65bc63609e9555a2c5016994a8622fad99939acc7c8f35"], "other": null}, "place": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}, "price": {"read": 7, "links": {"0": 7}, "missing": null, "other": null}}}}',2,NULL,'{"listing.family_id": "css: .gallery-element img, attr: src, all: True", "listing.title": "css: .adName", "listing.offer": "css: .adName, match: ^(.+?), (?:\u0433\u0440|\u0441|\u043a\\.\u043a)\\. ", "listing.rooms": "row: \u0422\u0438\u043f \u0430\u043f\u0430\u0440\u0442\u0430\u043c\u0435\u043d\u0442", "listing.category": "row: \u0422\u0438\u043f \u0441\u0434\u0435\u043b\u043a\u0430, match: ^(.+?) \u0432 ", "listing.place": "css: #see_on_map", "listing.price": "css: .adPrice .current-price, own_text: True", "listing.previous_price": "css: .adPrice .old-price, own_text: True, all: True", "listing.vat": "css: .adPrice .price-vat-type-content", "listing.area_sqm": "row: \u041a\u0432\u0430\u0434\u0440\u0430\u0442\u0443\u0440\u0430", "listing.floor": "row: \u0415\u0442\u0430\u0436", "listing.floors_total": "row: \u0411\u0440\u043e\u0439 \u0435\u0442\u0430\u0436\u0438", "listing.building": "row: \u0412\u0438\u0434 \u0441\u0442\u0440\u043e\u0438\u0442\u0435\u043b\u0441\u0442\u0432\u043e", "listing.year_built": "row: \u0413\u043e\u0434\u0438\u043d\u0430", "listing.lat": "css: #see_on_map, attr: data-lat", "listing.lon": "css: #see_on_map, attr: data-long", "listing.description": "css: .bObiavaItem [itemprop=\"description\"], glue: True", "listing.seller_name": "css: .adSeller .usrName", "listing.updated_at": "jsonld: Product, path: [offers.priceValidUntil]", "listing.views": "css: .bObiavaItem .row-fluid > span, match: ^\u041f\u0440\u0435\u0433\u043b\u0435\u0436\u0434\u0430\u043d\u0438\u044f:\\s*(\\d[\\d ]*)", "listing.photo_urls": "css: .gallery-element img, attr: src, all: True", "search.offer": "css: span.title, match: ^(.+?), (?:\u0433\u0440|\u0441|\u043a\\.\u043a)\\. ", "search.place": "css: span.location", "search.price": "css: span.price, all: True", "search.cards": "a.listItemLink[data-id]", "listing.ids": "css: link[rel=\"canonical\"], attr: href, match: /obiava-(\\d{6,10})(?:/|$)"}','[]',1,1.79494155521131420138e+09);
CREATE TABLE evaluation_changes (
	id INTEGER NOT NULL, 
	property_id INTEGER NOT NULL, 
	viewing_id INTEGER, 
	field VARCHAR(20) NOT NULL, 
	old JSON, 
	new JSON, 
	changed_by VARCHAR(80) NOT NULL, 
	changed_at FLOAT NOT NULL, 
	CONSTRAINT pk_evaluation_changes PRIMARY KEY (id), 
	CONSTRAINT fk_evaluation_changes_property_id FOREIGN KEY(property_id) REFERENCES listings (id), 
	CONSTRAINT fk_evaluation_changes_viewing_id FOREIGN KEY(viewing_id) REFERENCES viewings (id)
);
INSERT INTO "evaluation_changes" VALUES(1,5,NULL,'status','"new"','"shortlist"','root',1.79494160449272203441e+09);
INSERT INTO "evaluation_changes" VALUES(2,5,NULL,'decision',NULL,NULL,'root',1.79494160449272203441e+09);
INSERT INTO "evaluation_changes" VALUES(3,5,NULL,'reason',NULL,NULL,'root',1.79494160449272203441e+09);
INSERT INTO "evaluation_changes" VALUES(4,5,1,'minutes',NULL,30,'root',1.79494161129453706736e+09);
INSERT INTO "evaluation_changes" VALUES(5,5,1,'starts_at',NULL,1796112000,'root',1.79494161129453706736e+09);
INSERT INTO "evaluation_changes" VALUES(6,5,1,'state',NULL,'"planned"','root',1.79494161129453706736e+09);
INSERT INTO "evaluation_changes" VALUES(7,3,NULL,'status','"new"','"rejected"','root',1.79494161354883265493e+09);
INSERT INTO "evaluation_changes" VALUES(8,3,NULL,'decision',NULL,'"no"','root',1.79494161354883265493e+09);
INSERT INTO "evaluation_changes" VALUES(9,3,NULL,'reason',NULL,'"noise"','root',1.79494161354883265493e+09);
INSERT INTO "evaluation_changes" VALUES(10,5,NULL,'renovation_eur',NULL,5000,'root',1.79494161689349460597e+09);
CREATE TABLE frontier (
	id INTEGER NOT NULL, 
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
	fence INTEGER DEFAULT 0 NOT NULL, deaths INTEGER DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_frontier PRIMARY KEY (id), 
	CONSTRAINT fk_frontier_job_id FOREIGN KEY(job_id) REFERENCES jobs (id), 
	CONSTRAINT uq_frontier_job_id_url_key UNIQUE (job_id, url_key)
);
INSERT INTO "frontier" VALUES(3,'bazar.bg-20261117-185234-455c83','search','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','done',NULL,1,-1.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158445168638235e+09,1,0);
INSERT INTO "frontier" VALUES(4,'bazar.bg-20261117-185234-455c83','search','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','done',NULL,1,-1.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158445168638235e+09,1,0);
INSERT INTO "frontier" VALUES(9,'bazar.bg-20261117-185234-455c83','listing','http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german','listing:50000031','done',NULL,1,0.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158478260231012e+09,1,0);
INSERT INTO "frontier" VALUES(10,'bazar.bg-20261117-185234-455c83','listing','http://127.0.0.1:18702/obiava-50000056/prodawa-2-staen-gr-sofiia-lozenets','listing:50000056','done',NULL,1,0.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158478260231012e+09,1,0);
INSERT INTO "frontier" VALUES(11,'bazar.bg-20261117-185234-455c83','listing','http://127.0.0.1:18702/obiava-50000113/prodawa-3-staen-gr-sofiia-gorna-bania','listing:50000113','done',NULL,1,0.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158495565867428e+09,1,0);
INSERT INTO "frontier" VALUES(12,'bazar.bg-20261117-185234-455c83','listing','http://127.0.0.1:18702/obiava-50000152/prodawa-mezonet-gr-sofiia-lyulin-5','listing:50000152','done',NULL,1,0.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158495565867428e+09,1,0);
INSERT INTO "frontier" VALUES(16,'bazar.bg-20261117-185234-455c83','listing','http://127.0.0.1:18702/obiava-50000081/dawa-pod-naem-2-staen-gr-sofiia-s-dolni-bogrow','listing:50000081','done',NULL,1,0.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158501234626771e+09,1,0);
INSERT INTO "frontier" VALUES(17,'bazar.bg-20261117-185234-455c83','listing','http://127.0.0.1:18702/obiava-50000221/dawa-pod-naem-3-staen-gr-sofiia-w-z-bunkera','listing:50000221','done',NULL,1,0.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158501234626771e+09,1,0);
INSERT INTO "frontier" VALUES(18,'bazar.bg-20261117-185234-455c83','listing','http://127.0.0.1:18702/obiava-50000230/dawa-pod-naem-1-staen-gr-sofiia-s-kokaliane','listing:50000230','done',NULL,1,0.0,'vm/pid:[4026531836]|3912|48c6db0f.2353862',1.79494158507450699805e+09,1,0);
INSERT INTO "frontier" VALUES(19,'imot.bg-20261117-185250-f4d85f','search','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','done',NULL,1,-1.0,'vm/pid:[4026531836]|4236|48c6db0f.2355556',1794941600.8354,1,0);
INSERT INTO "frontier" VALUES(20,'imot.bg-20261117-185250-f4d85f','search','http://127.0.0.1:18701/obiavi/naemi/grad-sofiya','search:127.0.0.1:18701/obiavi/naemi/grad-sofiya','done',NULL,1,-1.0,'vm/pid:[4026531836]|4236|48c6db0f.2355556',1794941600.8354,1,0);
INSERT INTO "frontier" VALUES(21,'bazar.bg-20261117-185250-1f9478','search','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','done',NULL,1,-1.0,'vm/pid:[4026531836]|4236|48c6db0f.2355556',1.7949416008603162765e+09,1,0);
INSERT INTO "frontier" VALUES(22,'bazar.bg-20261117-185250-1f9478','search','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','done',NULL,1,-1.0,'vm/pid:[4026531836]|4236|48c6db0f.2355556',1.7949416008603162765e+09,1,0);
INSERT INTO "frontier" VALUES(23,'imot.bg-20261117-185250-f4d85f','listing','http://127.0.0.1:18701/obiava-1f176612344209915-prodava-mezonet-grad-sofiya-lyulin-5-ul-srebarna-lipa','listing:1f176612344209915','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(24,'imot.bg-20261117-185250-f4d85f','listing','http://127.0.0.1:18701/obiava-1b177071848731713-prodava-dvustaen-apartament-grad-sofiya-lozenets-ul-kamenna-cheshma','listing:1b177071848731713','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(25,'imot.bg-20261117-185250-f4d85f','listing','http://127.0.0.1:18701/obiava-1c176587943861943-prodava-tristaen-apartament-grad-sofiya-gorna-banya','listing:1c176587943861943','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(26,'imot.bg-20261117-185250-f4d85f','listing','http://127.0.0.1:18701/obiava-1g177229405936816-prodava-ofis-grad-sofiya-m-t-gardova-glava-ul-kamenna-cheshma','listing:1g177229405936816','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(27,'bazar.bg-20261117-185250-1f9478','listing','http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german','listing:50000031','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(28,'bazar.bg-20261117-185250-1f9478','listing','http://127.0.0.1:18702/obiava-50000056/prodawa-2-staen-gr-sofiia-lozenets','listing:50000056','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(29,'bazar.bg-20261117-185250-1f9478','listing','http://127.0.0.1:18702/obiava-50000113/prodawa-3-staen-gr-sofiia-gorna-bania','listing:50000113','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(30,'bazar.bg-20261117-185250-1f9478','listing','http://127.0.0.1:18702/obiava-50000152/prodawa-mezonet-gr-sofiia-lyulin-5','listing:50000152','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(31,'imot.bg-20261117-185250-f4d85f','listing','http://127.0.0.1:18701/obiava-2c177653817534431-dava-pod-naem-dvustaen-apartament-grad-sofiya-s-dolni-bogrov','listing:2c177653817534431','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(32,'imot.bg-20261117-185250-f4d85f','listing','http://127.0.0.1:18701/obiava-2d177337951044820-dava-pod-naem-tristaen-apartament-grad-sofiya-v-z-bunkera','listing:2d177337951044820','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(33,'imot.bg-20261117-185250-f4d85f','listing','http://127.0.0.1:18701/obiava-2b176761571108173-dava-pod-naem-ednostaen-apartament-grad-sofiya-s-kokalyane-bul-dalag-most','listing:2b176761571108173','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(34,'bazar.bg-20261117-185250-1f9478','listing','http://127.0.0.1:18702/obiava-50000081/dawa-pod-naem-2-staen-gr-sofiia-s-dolni-bogrow','listing:50000081','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(35,'bazar.bg-20261117-185250-1f9478','listing','http://127.0.0.1:18702/obiava-50000221/dawa-pod-naem-3-staen-gr-sofiia-w-z-bunkera','listing:50000221','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(36,'bazar.bg-20261117-185250-1f9478','listing','http://127.0.0.1:18702/obiava-50000230/dawa-pod-naem-1-staen-gr-sofiia-s-kokaliane','listing:50000230','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(37,'imot.bg-20261117-185305-fc47f9','search','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','done',NULL,1,-1.0,'vm/pid:[4026531836]|4472|48c6db0f.2356959',1.79494161558312368396e+09,1,0);
INSERT INTO "frontier" VALUES(38,'imot.bg-20261117-185305-fc47f9','search','http://127.0.0.1:18701/obiavi/naemi/grad-sofiya','search:127.0.0.1:18701/obiavi/naemi/grad-sofiya','done',NULL,1,-1.0,'vm/pid:[4026531836]|4472|48c6db0f.2356959',1.79494161558312368396e+09,1,0);
INSERT INTO "frontier" VALUES(39,'bazar.bg-20261117-185305-967a30','search','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','done',NULL,1,-1.0,'vm/pid:[4026531836]|4472|48c6db0f.2356959',1.79494161559629631045e+09,1,0);
INSERT INTO "frontier" VALUES(40,'bazar.bg-20261117-185305-967a30','search','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','done',NULL,1,-1.0,'vm/pid:[4026531836]|4472|48c6db0f.2356959',1.79494161559629631045e+09,1,0);
INSERT INTO "frontier" VALUES(41,'imot.bg-20261117-185305-fc47f9','listing','http://127.0.0.1:18701/obiava-1c176587943861943-prodava-tristaen-apartament-grad-sofiya-gorna-banya','listing:1c176587943861943','done',NULL,1,0.0,'vm/pid:[4026531836]|4472|48c6db0f.2356959',1.79494161588427901272e+09,1,0);
INSERT INTO "frontier" VALUES(42,'imot.bg-20261117-185305-fc47f9','listing','http://127.0.0.1:18701/obiava-1f176612344209915-prodava-mezonet-grad-sofiya-lyulin-5-ul-srebarna-lipa','listing:1f176612344209915','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(43,'imot.bg-20261117-185305-fc47f9','listing','http://127.0.0.1:18701/obiava-1b177071848731713-prodava-dvustaen-apartament-grad-sofiya-lozenets-ul-kamenna-cheshma','listing:1b177071848731713','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(44,'imot.bg-20261117-185305-fc47f9','listing','http://127.0.0.1:18701/obiava-1g177229405936816-prodava-ofis-grad-sofiya-m-t-gardova-glava-ul-kamenna-cheshma','listing:1g177229405936816','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(45,'bazar.bg-20261117-185305-967a30','listing','http://127.0.0.1:18702/obiava-50000113/prodawa-3-staen-gr-sofiia-gorna-bania','listing:50000113','done',NULL,1,0.0,'vm/pid:[4026531836]|4472|48c6db0f.2356959',1.79494161594451332093e+09,1,0);
INSERT INTO "frontier" VALUES(46,'bazar.bg-20261117-185305-967a30','listing','http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german','listing:50000031','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(47,'bazar.bg-20261117-185305-967a30','listing','http://127.0.0.1:18702/obiava-50000056/prodawa-2-staen-gr-sofiia-lozenets','listing:50000056','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(48,'bazar.bg-20261117-185305-967a30','listing','http://127.0.0.1:18702/obiava-50000152/prodawa-mezonet-gr-sofiia-lyulin-5','listing:50000152','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(49,'imot.bg-20261117-185305-fc47f9','listing','http://127.0.0.1:18701/obiava-2c177653817534431-dava-pod-naem-dvustaen-apartament-grad-sofiya-s-dolni-bogrov','listing:2c177653817534431','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(50,'imot.bg-20261117-185305-fc47f9','listing','http://127.0.0.1:18701/obiava-2d177337951044820-dava-pod-naem-tristaen-apartament-grad-sofiya-v-z-bunkera','listing:2d177337951044820','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(51,'imot.bg-20261117-185305-fc47f9','listing','http://127.0.0.1:18701/obiava-2b176761571108173-dava-pod-naem-ednostaen-apartament-grad-sofiya-s-kokalyane-bul-dalag-most','listing:2b176761571108173','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(52,'bazar.bg-20261117-185305-967a30','listing','http://127.0.0.1:18702/obiava-50000081/dawa-pod-naem-2-staen-gr-sofiia-s-dolni-bogrow','listing:50000081','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(53,'bazar.bg-20261117-185305-967a30','listing','http://127.0.0.1:18702/obiava-50000221/dawa-pod-naem-3-staen-gr-sofiia-w-z-bunkera','listing:50000221','done','its card is unchanged',0,0.0,NULL,NULL,0,0);
INSERT INTO "frontier" VALUES(54,'bazar.bg-20261117-185305-967a30','listing','http://127.0.0.1:18702/obiava-50000230/dawa-pod-naem-1-staen-gr-sofiia-s-kokaliane','listing:50000230','failed','ParseSelector: layout_changed: the page does not give its advert''s id where it should stand (skip)',3,0.0,NULL,NULL,0,0);
CREATE TABLE frontier_pruned (
	job_id VARCHAR(40) NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	pages INTEGER NOT NULL, 
	CONSTRAINT pk_frontier_pruned PRIMARY KEY (job_id, kind, state), 
	CONSTRAINT fk_frontier_pruned_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
INSERT INTO "frontier_pruned" VALUES('imot.bg-20261117-185234-7888b7','search','done',2);
INSERT INTO "frontier_pruned" VALUES('imot.bg-20261117-185234-7888b7','listing','done',7);
CREATE TABLE incidents (
	id INTEGER NOT NULL, 
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
INSERT INTO "incidents" VALUES(1,'stuck_job','imot.bg','imot.bg-20261117-185234-7888b7',1794941620.0,1794941680.0,1794941740.0,'nothing has moved for 3600 seconds','{}');
INSERT INTO "incidents" VALUES(2,'circuit_open_long','bazar.bg','bazar.bg-20261117-185305-967a30',1794941620.0,1794941680.0,NULL,'the circuit was open for 900 seconds','{"adverts": 7, "failed_pages": 1, "requests": 3, "block_share": 0.0, "circuit_open_seconds": 900.0}');
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
	seconds FLOAT DEFAULT 0 NOT NULL, runner VARCHAR(80), generation INTEGER DEFAULT 0 NOT NULL, woken_at FLOAT, 
	CONSTRAINT pk_jobs PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('imot.bg-20261117-185234-7888b7','imot.bg','COMPLETE','["http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya", "http://127.0.0.1:18701/obiavi/naemi/grad-sofiya"]',NULL,1.79494155409554886817e+09,1.7949415544081263542e+09,1.79494155515249490732e+09,NULL,9,7,0,9.16795094002736732363e-01,'local@vm',0,NULL);
INSERT INTO "jobs" VALUES('bazar.bg-20261117-185234-455c83','bazar.bg','COMPLETE','["http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia", "http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia"]',NULL,1.79494155411561655995e+09,1.79494155441949987416e+09,1.79494155521131420138e+09,NULL,9,7,0,9.42825971997081069275e-01,'local@vm',0,NULL);
INSERT INTO "jobs" VALUES('imot.bg-20261117-185250-f4d85f','imot.bg','COMPLETE','["http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya", "http://127.0.0.1:18701/obiavi/naemi/grad-sofiya"]',NULL,1.79494157046002459528e+09,1.79494157079113745689e+09,1.79494157118175315856e+09,NULL,2,0,0,4.46663626997178653255e-01,'local@vm',0,NULL);
INSERT INTO "jobs" VALUES('bazar.bg-20261117-185250-1f9478','bazar.bg','COMPLETE','["http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia", "http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia"]',NULL,1.79494157049972105025e+09,1.79494157081673884387e+09,1.7949415712031013965e+09,NULL,2,0,0,4.26675972001248737797e-01,'local@vm',0,NULL);
INSERT INTO "jobs" VALUES('imot.bg-20261117-185305-fc47f9','imot.bg','COMPLETE','["http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya", "http://127.0.0.1:18701/obiavi/naemi/grad-sofiya"]',NULL,1.79494158533605933187e+09,1.79494158556259512903e+09,1.79494158599268150335e+09,NULL,3,0,1,5.40528333000111160799e-01,'local@vm',0,NULL);
INSERT INTO "jobs" VALUES('bazar.bg-20261117-185305-967a30','bazar.bg','COMPLETE','["http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia", "http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia"]',7,1.79494158536085367207e+09,1.7949415855734343529e+09,1.79494158605079102519e+09,NULL,3,0,1,5.51341909998882329091e-01,'local@vm',0,NULL);
CREATE TABLE listing_changes (
	id INTEGER NOT NULL, 
	listing_id INTEGER NOT NULL, 
	visit_id INTEGER NOT NULL, 
	field VARCHAR(40) NOT NULL, 
	old JSON, 
	new JSON, 
	seen_at FLOAT NOT NULL, 
	CONSTRAINT pk_listing_changes PRIMARY KEY (id), 
	CONSTRAINT fk_listing_changes_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
INSERT INTO "listing_changes" VALUES(1,5,27,'price_eur',180675,171641,1.79494158589244794848e+09);
INSERT INTO "listing_changes" VALUES(2,7,28,'price_eur',180675,171641,1.79494158595244455338e+09);
INSERT INTO "listing_changes" VALUES(3,7,28,'price_bgn',353369.59,335700.62,1.79494158595244455338e+09);
INSERT INTO "listing_changes" VALUES(4,7,28,'previous_price_eur','null',180675,1.79494158595244455338e+09);
CREATE TABLE listing_sources (
	listing_id INTEGER NOT NULL, 
	property_id INTEGER NOT NULL, 
	probability FLOAT NOT NULL, 
	decided_by VARCHAR(10) NOT NULL, 
	evidence JSON NOT NULL, 
	decided_at FLOAT NOT NULL, 
	CONSTRAINT pk_listing_sources PRIMARY KEY (listing_id), 
	CONSTRAINT fk_listing_sources_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id), 
	CONSTRAINT fk_listing_sources_property_id FOREIGN KEY(property_id) REFERENCES properties (id)
);
INSERT INTO "listing_sources" VALUES(1,1,0.9999,'evidence','{"with": 9, "family_id": "same", "place": ["same", 1.719], "area": ["same", 1.187], "price": ["same", 4.2], "floor": ["same", 2.087], "year": ["same", 1.6], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(2,2,1.0,'alone','{}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(3,3,0.9999,'evidence','{"with": 4, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 1.35], "price": ["same", 3.195], "year": ["same", 1.6], "contact": ["other", -0.5], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(4,3,0.9999,'evidence','{"with": 3, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 1.35], "price": ["same", 3.195], "year": ["same", 1.6], "contact": ["other", -0.5], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(5,5,0.9999,'evidence','{"with": 7, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "floor": ["same", 2.087], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0], "reference": ["same", 7.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(6,6,1.0,'alone','{}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(7,5,0.9999,'evidence','{"with": 5, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "floor": ["same", 2.087], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0], "reference": ["same", 7.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(8,8,0.9999,'evidence','{"with": 11, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "floor": ["same", 2.087], "year": ["same", 1.6], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(9,1,0.9999,'evidence','{"with": 1, "family_id": "same", "place": ["same", 1.719], "area": ["same", 1.187], "price": ["same", 4.2], "floor": ["same", 2.087], "year": ["same", 1.6], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(10,10,0.9999,'evidence','{"with": 12, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(11,8,0.9999,'evidence','{"with": 8, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "floor": ["same", 2.087], "year": ["same", 1.6], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(12,10,0.9999,'evidence','{"with": 10, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["several", 5.0]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(13,13,0.9999,'evidence','{"with": 14, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "floor": ["same", 2.087], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["one", 2.5]}',1.79494155821448373791e+09);
INSERT INTO "listing_sources" VALUES(14,13,0.9999,'evidence','{"with": 13, "family_id": "same", "place": ["same", 1.719], "rooms": ["same", 0.342], "area": ["same", 2.0], "price": ["same", 3.195], "floor": ["same", 2.087], "contact": ["agency", 1.52], "text": ["same", 3.662], "photos": ["one", 2.5]}',1.79494155821448373791e+09);
CREATE TABLE "listings" (
	id INTEGER NOT NULL, 
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
INSERT INTO "listings" VALUES(1,'imot.bg','1f176612344209915','http://127.0.0.1:18701/obiava-1f176612344209915-prodava-mezonet-grad-sofiya-lyulin-5-ul-srebarna-lipa','1f176612344209915','sale','maisonette','Продава МЕЗОНЕТ','Предлагаме на Вашето внимание светъл имот в Люлин 5.
Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 9 кв.м.
Цена от 1 590 до 1 940 EUR/м2 според етажа. Паркомясто: 32 000 €.
Има и втори имот на 6-ти етаж с площ 227 кв.м. на цена 522 000 €.
Месечната такса за поддръжка е 52 лв.
Наблизо: детска градина "Щурче", аптека & поща, спирка на 103 автобус.
Кварталът е спокоен, с широки алеи и стари дървета. Моля, звънете след 10:00 ч.','included','beam',NULL,NULL,NULL,'София','Люлин','Люлин 5','ул. Сребърна липа',NULL,'agency','КЕРЕМИДЕНО ПТИЧЕ ХАУС','2025-12-19T07:50:42+02:00','2026-04-19T07:57:00+03:00',752000.0,1470784.16,NULL,180.0,NULL,NULL,NULL,NULL,NULL,4,16,2029,NULL,3366,1,NULL,'["local"]','[]','["garage"]','["+359888000351"]','["https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_id.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_OZ.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_NE.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_WF.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_w1.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_Ae.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_QT.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_rm.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_eM.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_c3.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_Lz.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_QF.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915//big1/1f176612344209915_Yq.jpg"]','["\u0413\u0440\u0435\u0434\u043e\u0440\u0435\u0434", "\u0421 \u0433\u0430\u0440\u0430\u0436", "\u041e\u0445\u0440\u0430\u043d\u0430"]','[]','7eaa3aa5bc8207c32718ded399ab5f3eede9bbc4baaf5a5f3fadf5887ec72fe5',1.79494155478181743618e+09,1.79494158559110140796e+09,'ed1ff288b40fe687e652701b1aa48a113f47f4176b24f753492d2ec62b414be7',1,1.79494155478181743618e+09,0,1728000.0,1.79598619975612354277e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(2,'bazar.bg','50000031','http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german',NULL,'sale','apartment','4-стаен за продажба в с. Герман','НОВО ПРЕДЛОЖЕНИЕ! с. Герман, тиха вътрешна улица, на две крачки от парка.Застроената площ е 102 кв.м., а общите части са 9 кв.м. Към имота има мазе с площ 9 m² и таванско помещение.Цената за кв.м. излиза 2 630 EUR, а гаражът се заплаща отделно: 56 000 евро.Месечната такса за поддръжка е 45 лв.Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16.Районът е с отлична комуникация и лесен достъп до околовръстното.Кварталът е спокоен, с широки алеи и стари дървета.Моля, звънете след 10:00 ч.',NULL,'brick',NULL,NULL,NULL,'София','Панчарево','с. Герман',NULL,NULL,NULL,'Тихомир',NULL,'2026-04-21T15:38:51+03:00',267000.0,522206.61,NULL,119.0,NULL,NULL,NULL,NULL,4,6,9,2027,NULL,1197,NULL,NULL,'[]','[]','[]','[]','["https://cdn6.focus.bg/bazar/f5/pics/f5a86502d2b7c791762e07d00c3fe8e0.webp", "https://cdn5.focus.bg/bazar/9b/pics/9bb262d73082c829d6ac912e859a2857.webp", "https://cdn8.focus.bg/bazar/d6/pics/d6f7de689f784b5c103dd49dbe2a7b96.webp", "https://cdn6.focus.bg/bazar/ec/pics/ec90acd1c596a6437fa6530daef57abb.webp", "https://cdn8.focus.bg/bazar/f8/pics/f80726d5ce3cb0e22880545332f88abb.webp", "https://cdn8.focus.bg/bazar/79/pics/79b91d8f8d37bd57876ca382cc35c223.webp", "https://cdn5.focus.bg/bazar/df/pics/df5275b233e56c7c1aa0f3280c853984.webp", "https://cdn8.focus.bg/bazar/31/pics/31c1c836a342689cc5880436b4be7a92.webp", "https://cdn6.focus.bg/bazar/70/pics/7053eaeef7dbb9928014a7692ff39a2f.webp", "https://cdn8.focus.bg/bazar/96/pics/96a856327f44417b13f4abf719bd319a.webp", "https://cdn8.focus.bg/bazar/16/pics/16e48f181e81bb7d0bf70775c010bccd.webp", "https://cdn7.focus.bg/bazar/e3/pics/e370ca7bede932ff59a3aed39c8d24e6.webp", "https://cdn7.focus.bg/bazar/87/pics/87cee4ceedbe6c3e9c8770c44c592990.webp"]','[]','[]','2e38e2a51a73cce32716f306bc9d313786984d761e53ad62b1053234e9d5d9b5',1.79494155478962516786e+09,1.7949415856045818329e+09,'5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce',1,1.79494155478962516786e+09,0,1728000.0,1795979606.15737,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(3,'imot.bg','1b177071848731713','http://127.0.0.1:18701/obiava-1b177071848731713-prodava-dvustaen-apartament-grad-sofiya-lozenets-ul-kamenna-cheshma','1b177071848731713','sale','apartment','Продава 2-СТАЕН','Предлагаме на Вашето внимание светъл имот в Лозенец.
Застроената площ е 47 кв.м., а общите части са 7 кв.м.
Към имота има мазе с площ 7 m² и таванско помещение.
Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 7 кв.м.
Месечната такса за поддръжка е 28 лв.
Цената за кв.м. излиза 3 240 EUR, а гаражът се заплаща отделно: 18 000 евро.
☎ Отговаряме на всяко обаждане!','none','epk','commissioned','furnished',NULL,'София','Лозенец','Лозенец','ул. Каменна чешма',NULL,'developer','ПЕТ СТАИ СТРОЙ','2026-02-10T12:14:47+02:00','2026-02-26T12:03:00+02:00',184360.0,360576.82,NULL,55.0,NULL,NULL,NULL,NULL,2,0,17,2021,NULL,6533,0,NULL,'["district"]','[]','[]','["+359888000904"]','["https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_UX.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_wd.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_v8.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_iO.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_By.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_eC.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_y2.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_kx.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_ku.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_Bb.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_VS.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_N7.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_Vl.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_W1.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713//big1/1b177071848731713_T1.jpg"]','["\u0421 \u043f\u0430\u0440\u043a\u0438\u043d\u0433", "\u0418\u043f\u043e\u0442\u0435\u043a\u0438\u0440\u0430\u043d", "\u0418\u043d\u0442\u0435\u0440\u043d\u0435\u0442 \u0432\u0440\u044a\u0437\u043a\u0430", "\u041e\u0431\u0437\u0430\u0432\u0435\u0434\u0435\u043d", "\u0412\u0438\u0434\u0435\u043e \u043d\u0430\u0431\u043b\u044e\u0434\u0435\u043d\u0438\u0435", "\u0421\u0430\u043d\u0438\u0440\u0430\u043d", "\u0412 \u0437\u0430\u0442\u0432\u043e\u0440\u0435\u043d \u043a\u043e\u043c\u043f\u043b\u0435\u043a\u0441"]','[]','47ff102fd26e9e209d9836dc459a913fbad1a2910a6a46a2d83eaafb03751012',1.79494155478987359999e+09,1.79494158559110140796e+09,'23d1e8f678feab9e8a6ff25529c1c221fc6201d9fbc6e1f9d1b78d6ad3916285',1,1.79494155478987359999e+09,0,1728000.0,1.79612170385981607433e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(4,'bazar.bg','50000056','http://127.0.0.1:18702/obiava-50000056/prodawa-2-staen-gr-sofiia-lozenets','1b177071848731713','sale','apartment','Продава 2-СТАЕН, гр. София, Лозенец','Предлагаме на Вашето внимание светъл имот в Лозенец.Застроената площ е 47 кв.м., а общите части са 7 кв.м. Към имота има мазе с площ 7 m² и таванско помещение.Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 7 кв.м.Месечната такса за поддръжка е 28 лв.Цената за кв.м. излиза 3 240 EUR, а гаражът се заплаща отделно: 18 000 евро. ☎ Отговаряме на всяко обаждане!','none','epk',NULL,NULL,NULL,'София','Лозенец','Лозенец',NULL,NULL,NULL,'Потребител 4191099','2026-02-10T12:14:47+02:00','2026-04-16T15:25:58+03:00',184360.0,360576.82,NULL,55.0,NULL,NULL,42.67405317274,23.32454851578,2,NULL,NULL,2021,NULL,2682,NULL,NULL,'[]','[]','[]','[]','["https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_UX.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_wd.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_v8.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_iO.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_By.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_eC.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_y2.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_kx.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_ku.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_Bb.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_VS.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_N7.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_Vl.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_W1.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/713/big1/1b177071848731713_T1.jpg"]','[]','[]','8516bfa71034f8810a6b1cf9e687ff658cc877a79a68bb22c5926d87619949ab',1.79494155480063390735e+09,1.7949415856045818329e+09,'1b5d8424b1038eec22c205a0ab96646e446d07c931ded39d7a00b412616f7c67',1,1.79494155480063390735e+09,0,1728000.0,1.796032480687056303e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(5,'imot.bg','1c176587943861943','http://127.0.0.1:18701/obiava-1c176587943861943-prodava-tristaen-apartament-grad-sofiya-gorna-banya','1c176587943861943','sale','apartment','Продава 3-СТАЕН','Реф. № 351402. Имот с характер в Горна баня, подходящ и за инвестиция.
Разпределение: коридор, дневна с кухненски бокс, 1 спални, баня с тоалетна и балкон.
Към имота има мазе с площ 9 m² и таванско помещение.
Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.
Месечната такса за поддръжка е 53 лв.
Има и втори имот на 5-ти етаж с площ 128 кв.м. на цена 548 000 €.
Цена от 3 600 до 3 950 EUR/м2 според етажа. Паркомясто: 54 000 €.
Цената за кв.м. излиза 3 600 EUR, а гаражът се заплаща отделно: 54 000 евро.
Метростанцията е на 9 минути пеша. Наблизо: детска градина "Щурче", аптека & поща, спирка на 115 автобус.
Огледи след уговорка, включително в почивните дни.',NULL,'brick',NULL,NULL,NULL,'София','Овча купел','Горна баня',NULL,NULL,'agency','ЮЖЕН КОМИН ИНВЕСТ','2025-12-16T12:03:58+02:00','2026-04-25T10:23:00+03:00',171641.0,NULL,NULL,102.0,NULL,NULL,NULL,NULL,3,4,17,NULL,NULL,7731,1,1,'[]','[]','[]','["+359888000879"]','["https://imotstatic1.focus.bg/imot/photosimotbg/1/943//big/1c176587943861943_th.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/943//big/1c176587943861943_LW.jpg"]','["\u0422\u0443\u0445\u043b\u0430", "\u0412 \u0441\u0442\u0440\u043e\u0435\u0436", "\u0421 \u043f\u0440\u0435\u0445\u043e\u0434", "\u0410\u0441\u0430\u043d\u0441\u044c\u043e\u0440", "\u0418\u043d\u0442\u0435\u0440\u043d\u0435\u0442 \u0432\u0440\u044a\u0437\u043a\u0430", "\u0412\u0438\u0434\u0435\u043e \u043d\u0430\u0431\u043b\u044e\u0434\u0435\u043d\u0438\u0435", "\u0421\u0430\u043d\u0438\u0440\u0430\u043d"]','[]','198a75000699f71956c50bc543d5fe4b50984eeaf55c10b0a34eac0d3d67043d',1.79494155494355463976e+09,1.79494158589244794848e+09,'6b8b218d7c7799dadfd194509dd5aa9d34876d29343fce85f1e1f6dd3a3ecb69',1,1.79494158589244794848e+09,0,864000.0,1.79567014163525199895e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(6,'imot.bg','1g177229405936816','http://127.0.0.1:18701/obiava-1g177229405936816-prodava-ofis-grad-sofiya-m-t-gardova-glava-ul-kamenna-cheshma','1g177229405936816','sale','office','Продава ОФИС','Собственик предлага добре поддържан имот с изглед към зелен двор.
Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 8 кв.м. Разпределение: коридор, дневна с кухненски бокс, 2 спални, баня с тоалетна и балкон. Застроената площ е 42 кв.м., а общите части са 8 кв.м.
Сградата е на 3 етажа, а асансьорът спира на всеки от тях.
Входът беше обновен през 2010 г., покривът е ремонтиран през 2032 г.
Сградата е с Акт 14, а Акт 16 се очаква до края на 2032 г. Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16. Метростанцията е на 6 минути пеша.
Наблизо: детска градина "Щурче", аптека & поща, спирка на 69 автобус.
Кварталът е спокоен, с широки алеи и стари дървета.
За повече информация и оглед се обадете. Говорим и на английски.',NULL,'brick',NULL,NULL,NULL,'София','Витоша','м-т Гърдова глава','ул. Каменна чешма',NULL,'agency','ЗЕЛЕНА ВРАТА ДОМ','2026-02-28T17:54:19+02:00','2026-02-28T17:54:00+02:00',NULL,NULL,NULL,49.0,NULL,NULL,NULL,NULL,NULL,1,2,2029,NULL,6778,1,NULL,'["gas"]','[]','["garage"]','["+359888000070"]','["https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_L8.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_F3.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_C5.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_Ge.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_p5.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_yf.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_dq.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_fF.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_p1.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_iE.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_hb.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_tG.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_pB.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_Hc.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_ri.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/816//big1/1g177229405936816_vX.jpg"]','["\u0422\u0443\u0445\u043b\u0430", "\u0421 \u0433\u0430\u0440\u0430\u0436", "\u0412\u0438\u0434\u0435\u043e \u043d\u0430\u0431\u043b\u044e\u0434\u0435\u043d\u0438\u0435", "\u041a\u043e\u043d\u0442\u0440\u043e\u043b \u043d\u0430 \u0434\u043e\u0441\u0442\u044a\u043f\u0430", "\u041e\u0445\u0440\u0430\u043d\u0430"]','[]','18f305002d9e4460d2700863dfef25cdbbbdacef016b96cc972339470936d8b1',1794941554.95764,1.79494158559110140796e+09,'d4e15c40dcc71fffa45f2b05dcd9488b6bdfa141d5703f9acfc331faf86350db',1,1794941554.95764,0,1728000.0,1.79620506641207313544e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(7,'bazar.bg','50000113','http://127.0.0.1:18702/obiava-50000113/prodawa-3-staen-gr-sofiia-gorna-bania','1c176587943861943','sale','apartment','Продава 3-СТАЕН, гр. София, Горна баня','Реф. № 351402. Имот с характер в Горна баня, подходящ и за инвестиция. Разпределение: коридор, дневна с кухненски бокс, 1 спални, баня с тоалетна и балкон.Към имота има мазе с площ 9 m² и таванско помещение.Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.Месечната такса за поддръжка е 53 лв.Има и втори имот на 5-ти етаж с площ 128 кв.м. на цена 548 000 €.Цена от 3 600 до 3 950 EUR/м2 според етажа. Паркомясто: 54 000 €.Цената за кв.м. излиза 3 600 EUR, а гаражът се заплаща отделно: 54 000 евро.Метростанцията е на 9 минути пеша. Наблизо: детска градина "Щурче", аптека & поща, спирка на 115 автобус.Огледи след уговорка, включително в почивните дни.',NULL,'brick',NULL,NULL,NULL,'София','Овча купел','Горна баня',NULL,NULL,NULL,'ЮЖЕН КОМИН ИНВЕСТ','2025-12-16T12:03:58+02:00','2026-04-25T10:23:00+03:00',171641.0,335700.62,180675.0,102.0,NULL,NULL,NULL,NULL,3,4,NULL,NULL,NULL,2446,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic1.focus.bg/imot/photosimotbg/1/943/big/1c176587943861943_th.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/943/big/1c176587943861943_LW.jpg"]','[]','[]','69cea453f8d02ae38e81043335fdaef9b7d39de276fac6cef1bab01e0c46caa0',1.79494155496610116951e+09,1.79494158595244455338e+09,'a2c3c47703a3430d1e2be97703366cdd6b9d0f47e4a1845884f0dbad42379947',1,1.79494158595244455338e+09,0,864000.0,1.7955235737346584797e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(8,'imot.bg','2c177653817534431','http://127.0.0.1:18701/obiava-2c177653817534431-dava-pod-naem-dvustaen-apartament-grad-sofiya-s-dolni-bogrov','2c177653817534431','rent','apartment','Дава под наем 2-СТАЕН','Собственик предлага добре поддържан имот с изглед към зелен двор.
Цената за кв.м. излиза 3 980 EUR, а гаражът се заплаща отделно: 22 000 евро.
Има и втори имот на 4-ти етаж с площ 81 кв.м. на цена 470 000 €.
Месечната такса за поддръжка е 81 лв.
Цена от 3 980 до 4 330 EUR/м2 според етажа. Паркомясто: 22 000 €.
Огледи след уговорка, включително в почивните дни.',NULL,'panel',NULL,NULL,NULL,'София','Кремиковци','с. Долни Богров',NULL,NULL,'agency','СКЪРЦАЩ ПРАГ ЕСТЕЙТ','2026-04-18T21:49:35+03:00','2026-04-20T17:07:00+03:00',322.0,629.78,NULL,47.0,NULL,NULL,NULL,NULL,2,1,3,2015,NULL,9301,NULL,NULL,'["gas"]','[]','[]','["+359888000986"]','["https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_cz.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_u3.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_mK.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_N1.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_uk.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_GD.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_zi.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_Im.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_lJ.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431//big1/2c177653817534431_sN.jpg"]','["\u041f\u0430\u043d\u0435\u043b"]','[]','201f172ae285ee289c73f988e34cb84958c0985bcbeaf21c1bdc4d25e2d45096',1.79494155497966408722e+09,1.79494158560485959049e+09,'e9a8557dadb14977fa2e13e5d26e0cd6eda8bc1cb3bdccfc84885e6d1e5be6b5',1,1.79494155497966408722e+09,0,1728000.0,1.79656304446967387197e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(9,'bazar.bg','50000152','http://127.0.0.1:18702/obiava-50000152/prodawa-mezonet-gr-sofiia-lyulin-5','1f176612344209915','sale','maisonette','Продава МЕЗОНЕТ, гр. София, Люлин 5','Предлагаме на Вашето внимание светъл имот в Люлин 5.Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 9 кв.м.Цена от 1 590 до 1 940 EUR/м2 според етажа. Паркомясто: 32 000 €.Има и втори имот на 6-ти етаж с площ 227 кв.м. на цена 522 000 €.Месечната такса за поддръжка е 52 лв. Наблизо: детска градина "Щурче", аптека & поща, спирка на 103 автобус.Кварталът е спокоен, с широки алеи и стари дървета. Моля, звънете след 10:00 ч.','included','beam',NULL,NULL,NULL,'София','Люлин','Люлин 5',NULL,NULL,NULL,'КЕРЕМИДЕНО ПТИЧЕ ХАУС','2025-12-19T07:50:42+02:00','2026-04-16T10:41:00+03:00',752000.0,1470784.16,NULL,180.0,NULL,NULL,NULL,NULL,NULL,4,NULL,2029,NULL,2350,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_id.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_OZ.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_NE.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_WF.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_w1.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_Ae.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_QT.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_rm.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_eM.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_c3.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_Lz.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_QF.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/1/915/big1/1f176612344209915_Yq.jpg"]','[]','[]','6820f8bcb0e7308e193830773001bdccd567ba94917715deb0f7eb5f81381fbd',1.79494155497609901434e+09,1.7949415856045818329e+09,'05366a043ff2dfff6f5f1d82b38cac1fce366c2c2c7702272cba95ea623d7639',1,1.79494155497609901434e+09,0,1728000.0,1.79590127701231908798e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(10,'imot.bg','2d177337951044820','http://127.0.0.1:18701/obiava-2d177337951044820-dava-pod-naem-tristaen-apartament-grad-sofiya-v-z-bunkera','2d177337951044820','rent','apartment','Дава под наем 3-СТАЕН','Собственик предлага добре поддържан имот с изглед към зелен двор.
Застроената площ е 85 кв.м., а общите части са 9 кв.м.
Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 9 кв.м. Към имота има мазе с площ 9 m² и таванско помещение.
Сградата е с Акт 14, а Акт 16 се очаква до края на 2023 г.
Входът беше обновен през 2016 г., покривът е ремонтиран през 2023 г. Сградата е на 12 етажа, а асансьорът спира на всеки от тях.
Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16. Цената за кв.м. излиза 4 010 EUR, а гаражът се заплаща отделно: 46 000 евро.
Цена от 4 010 до 4 360 EUR/м2 според етажа. Паркомясто: 46 000 €.
Районът е с отлична комуникация и лесен достъп до околовръстното.
Моля, звънете след 10:00 ч.','included',NULL,NULL,NULL,NULL,'София','Панчарево','в.з.Бункера',NULL,NULL,'agency','ЧЕРВЕН ПОКРИВ КОНСУЛТ','2026-03-13T07:25:10+02:00','2026-03-27T21:15:00+02:00',1464.0,NULL,NULL,99.0,NULL,NULL,NULL,NULL,3,-1,14,NULL,NULL,7010,NULL,NULL,'["district"]','[]','["garage"]','["+359888000009"]','["https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_kp.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_G0.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_Jn.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_xs.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_q4.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_o6.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_lg.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_Db.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820//big1/2d177337951044820_yT.jpg"]','["\u0421 \u0433\u0430\u0440\u0430\u0436", "\u0418\u043f\u043e\u0442\u0435\u043a\u0438\u0440\u0430\u043d", "\u0421\u0430\u043d\u0438\u0440\u0430\u043d"]','[]','5ec3919d559d47fbc20c5a263467dc98fdbb82355c2a550dac19c9f983a8302e',1.79494155498125696184e+09,1.79494158560485959049e+09,'3d1312fefed23d8ea31ed6329ba6c5a7d807fc441b4f1e85240604a8ae049f2c',1,1.79494155498125696184e+09,0,1728000.0,1.79630695378306794165e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(11,'bazar.bg','50000081','http://127.0.0.1:18702/obiava-50000081/dawa-pod-naem-2-staen-gr-sofiia-s-dolni-bogrow','2c177653817534431','rent','apartment','Дава под наем 2-СТАЕН, гр. София, с. Долни Богров','Собственик предлага добре поддържан имот с изглед към зелен двор.Цената за кв.м. излиза 3 980 EUR, а гаражът се заплаща отделно: 22 000 евро.Има и втори имот на 4-ти етаж с площ 81 кв.м. на цена 470 000 €.Месечната такса за поддръжка е 81 лв. Цена от 3 980 до 4 330 EUR/м2 според етажа. Паркомясто: 22 000 €.Огледи след уговорка, включително в почивните дни.',NULL,'panel',NULL,NULL,NULL,'София','Кремиковци','с. Долни Богров',NULL,NULL,NULL,'СКЪРЦАЩ ПРАГ ЕСТЕЙТ','2026-04-18T21:49:35+03:00','2026-04-20T16:19:14+03:00',322.0,629.78,NULL,47.0,NULL,NULL,NULL,NULL,2,1,NULL,2015,NULL,1989,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_cz.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_u3.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_mK.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_N1.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_uk.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_GD.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_zi.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_Im.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_lJ.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/2/431/big1/2c177653817534431_sN.jpg"]','[]','[]','75f401a49f3a483315b59284a3827c9b929fbe7ea0434e226b07dec35b2546f3',1.79494155501519560809e+09,1.79494158560557150842e+09,'1e68d7f49d8aa5c7e0df2cc055e62a5d5a5e0a4b31e172be3c276820bae57501',1,1.79494155501519560809e+09,0,1728000.0,1.79620009801377773285e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(12,'bazar.bg','50000221','http://127.0.0.1:18702/obiava-50000221/dawa-pod-naem-3-staen-gr-sofiia-w-z-bunkera','2d177337951044820','rent','apartment','Дава под наем 3-СТАЕН, гр. София, в.з.Бункера','Собственик предлага добре поддържан имот с изглед към зелен двор.Застроената площ е 85 кв.м., а общите части са 9 кв.м.Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 9 кв.м. Към имота има мазе с площ 9 m² и таванско помещение.Сградата е с Акт 14, а Акт 16 се очаква до края на 2023 г.Входът беше обновен през 2016 г., покривът е ремонтиран през 2023 г. Сградата е на 12 етажа, а асансьорът спира на всеки от тях. Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16. Цената за кв.м. излиза 4 010 EUR, а гаражът се заплаща отделно: 46 000 евро.Цена от 4 010 до 4 360 EUR/м2 според етажа. Паркомясто: 46 000 €.Районът е с отлична комуникация и лесен достъп до околовръстното.Моля, звънете след 10:00 ч.','included',NULL,NULL,NULL,NULL,'София','Панчарево','в.з.Бункера',NULL,NULL,NULL,'ЧЕРВЕН ПОКРИВ КОНСУЛТ','2026-03-13T07:25:10+02:00','2026-04-20T13:22:00+03:00',1464.0,2863.34,NULL,99.0,NULL,NULL,NULL,NULL,3,NULL,NULL,NULL,NULL,2073,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_kp.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_G0.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_Jn.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_xs.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_q4.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_o6.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_lg.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_Db.jpg", "https://imotstatic4.focus.bg/imot/photosimotbg/2/820/big1/2d177337951044820_yT.jpg"]','[]','[]','0c0bd80317753f8deecc870a43a08a617f32eccb401517dcf3191f1c7690f61a',1.79494155502462935441e+09,1.79494158560557150842e+09,'3ce1345d39cbc3c152828870efb2792d3fc25ff3e805164dd8f26d2a5888e4b7',1,1.79494155502462935441e+09,0,1728000.0,1.79636765772691178321e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(13,'imot.bg','2b176761571108173','http://127.0.0.1:18701/obiava-2b176761571108173-dava-pod-naem-ednostaen-apartament-grad-sofiya-s-kokalyane-bul-dalag-most','2b176761571108173','rent','apartment','Дава под наем 1-СТАЕН','*** БЕЗ КОМИСИОНА *** Просторен имот в близост до училище и пазар.
Към имота има мазе с площ 4 m² и таванско помещение.
Под нас, на 5-ти етаж, живеят тихи съседи.
Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет. Сградата е с Акт 14, а Акт 16 се очаква до края на 2022 г.
Входът беше обновен през 2018 г., покривът е ремонтиран през 2022 г. За повече информация и оглед се обадете. Говорим и на английски.','none',NULL,NULL,NULL,NULL,'София','Панчарево','с. Кокаляне','бул. Дълъг мост',NULL,'agency','КАМЕНЕН ТАРАЛЕЖ БРОКЕРИ','2026-01-05T14:21:51+02:00','2026-04-14T16:03:00+03:00',375.0,NULL,NULL,48.0,NULL,NULL,NULL,NULL,1,1,10,NULL,NULL,8419,NULL,NULL,'["district"]','[]','[]','["+359888000968"]','["https://imotstatic2.focus.bg/imot/photosimotbg/2/173//big1/2b176761571108173_Hk.jpg"]','["\u0418\u043d\u0442\u0435\u0440\u043d\u0435\u0442 \u0432\u0440\u044a\u0437\u043a\u0430", "\u0412\u0438\u0434\u0435\u043e \u043d\u0430\u0431\u043b\u044e\u0434\u0435\u043d\u0438\u0435", "\u041a\u043e\u043d\u0442\u0440\u043e\u043b \u043d\u0430 \u0434\u043e\u0441\u0442\u044a\u043f\u0430", "\u0412\u044a\u0437\u043c\u043e\u0436\u043d\u043e\u0441\u0442 \u0437\u0430 \u0434\u0430\u043d. \u043a\u0440\u0435\u0434\u0438\u0442"]','[]','357d788c416450fa8bd9dc5e10ac01cf9008acbc2cd4d378bbf170278da645b8',1.79494155503174734117e+09,1.79494158560485959049e+09,'b898b1fb1990d127d8bff6deac00be5303fc2451b4ec7a00c423fad4d9f5c859',1,1.79494155503174734117e+09,0,1728000.0,1.79624691490232276918e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "listings" VALUES(14,'bazar.bg','50000230','http://127.0.0.1:18702/obiava-50000230/dawa-pod-naem-1-staen-gr-sofiia-s-kokaliane','2b176761571108173','rent','apartment','Дава под наем 1-СТАЕН, гр. София, с. Кокаляне','*** БЕЗ КОМИСИОНА *** Просторен имот в близост до училище и пазар. Към имота има мазе с площ 4 m² и таванско помещение.Под нас, на 5-ти етаж, живеят тихи съседи. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет. Сградата е с Акт 14, а Акт 16 се очаква до края на 2022 г. Входът беше обновен през 2018 г., покривът е ремонтиран през 2022 г. За повече информация и оглед се обадете. Говорим и на английски.','none',NULL,NULL,NULL,NULL,'София','Панчарево','с. Кокаляне',NULL,NULL,NULL,'КАМЕНЕН ТАРАЛЕЖ БРОКЕРИ','2026-01-05T14:21:51+02:00','2026-04-16T14:15:23+03:00',375.0,733.44,NULL,48.0,NULL,NULL,NULL,NULL,1,1,NULL,NULL,NULL,2635,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic2.focus.bg/imot/photosimotbg/2/173/big1/2b176761571108173_Hk.jpg"]','[]','[]','560750227a98ce1ca5d1a25dc3d7bb23dea0cbcf3cf3507557fc5bdbfd3dc04a',1.79494155508456277843e+09,1.79494158560557150842e+09,'466eeaabc44909a71e6745cf5d2ec158db7fc2a2dcb56e7a1cf49e08f670a892',1,1.79494155508456277843e+09,0,1728000.0,1.79593756685011720656e+09,NULL,0,NULL,NULL,NULL,NULL,NULL);
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
INSERT INTO "llm_answers" VALUES('0029bcd5f771468fb5bb00b46f5d80f1d2190ae0fa0e728a223a15f4bf3a6e1f','982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1','df0ad6e43880f09c90ebf95f19110178aba6890df0010ebda7485029e2b543b4','bc10a2fd690317c93d23400050c727e65499303b9f265826fa0bb276c4acc6ad','9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4','{"parking_status": {"value": "included", "status": "stated", "quote": "\u043f\u0430\u0440\u043a\u043e\u043c\u044f\u0441\u0442\u043e", "method": "model"}}',1794941620.0);
CREATE TABLE market_events (
	id INTEGER NOT NULL, 
	listing_id INTEGER NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	at FLOAT NOT NULL, 
	noted_at FLOAT NOT NULL, 
	reason VARCHAR(40) NOT NULL, 
	CONSTRAINT pk_market_events PRIMARY KEY (id), 
	CONSTRAINT fk_market_events_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
INSERT INTO "market_events" VALUES(1,4,'gone',1794941620.0,1794941625.0,'removed');
INSERT INTO "market_events" VALUES(2,4,'back',1794941670.0,1794941670.0,'seen again');
CREATE TABLE match_decisions (
	low INTEGER NOT NULL, 
	high INTEGER NOT NULL, 
	same BOOLEAN NOT NULL, 
	decided_at FLOAT NOT NULL, 
	CONSTRAINT pk_match_decisions PRIMARY KEY (low, high), 
	CONSTRAINT fk_match_decisions_low FOREIGN KEY(low) REFERENCES listings (id), 
	CONSTRAINT fk_match_decisions_high FOREIGN KEY(high) REFERENCES listings (id)
);
INSERT INTO "match_decisions" VALUES(1,2,0,1794941620.0);
CREATE TABLE match_doubts (
	low INTEGER NOT NULL, 
	high INTEGER NOT NULL, 
	said_at FLOAT NOT NULL, 
	CONSTRAINT pk_match_doubts PRIMARY KEY (low, high), 
	CONSTRAINT fk_match_doubts_low FOREIGN KEY(low) REFERENCES listings (id), 
	CONSTRAINT fk_match_doubts_high FOREIGN KEY(high) REFERENCES listings (id)
);
INSERT INTO "match_doubts" VALUES(1,3,1794941620.0);
CREATE TABLE match_fingerprints (
	listing_id INTEGER NOT NULL, 
	content_hash VARCHAR(64) NOT NULL, 
	record BLOB NOT NULL, 
	CONSTRAINT pk_match_fingerprints PRIMARY KEY (listing_id), 
	CONSTRAINT fk_match_fingerprints_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
INSERT INTO "match_fingerprints" VALUES(1,'7eaa3aa5bc8207c32718ded399ab5f3eede9bbc4baaf5a5f3fadf5887ec72fe5',X'A785073F3A32B71D33FF65156A43AB4101010004001000ED0776961C66F1F3A6600000000000806640000000000000F87F0000000000F326411990975AD35F0506A93944BB015F2463BA825327C887B959000000000000000000000000000000000000000000000000000000000000000069772F4304A508067A64E86942B6820DE029ED46AA41B00DAE2B0BEE7838362FA9D89F01E1A2480DEF3D5819514F3721D16F39260D38D42BEB453337B55BA13897517A4461F7374CAF1C4156DDE9E2576DB61B5FB397A4610B31056E91BC3D721370247455148C96AD711EA21F7263AB839CD7B68F94F3B7EF44F1B899DAC5BCDB0BAAC5B35457CBEF51E4CDFFA0EBCE8D9CA6D01164E2DCEF22E2E01181E2E1');
INSERT INTO "match_fingerprints" VALUES(2,'2e38e2a51a73cce32716f306bc9d313786984d761e53ad62b1053234e9d5d9b5',X'D50B0A0BBAF6FFBEE81DAA543D42491F01010406000900EB07E0A1263A927683190000000000C05D40000000000000F87F00000000E04B104100000000000000003451430F759722A100000000000000000000000000000000000000000000000000000000000000000000000000000000D651905E72FA1A092E17C39956690C241463B99098A6703DF143DA3057A2B65A0F3171036BF25309A19EB30AE1A2480DD7BE7716EF3D5819555BC61F514F3721DD11582289D1112E71983A2E5DBB15353BB3F3352F0A103897517A440526A357CD4802591D30B15AA9ADD15A6BAD566463EDD569137024740312AA78790ED983FFD8F985A799F887D34D4A886997A38F81408F90D343BA9A197E1AA3A98A21AC');
INSERT INTO "match_fingerprints" VALUES(3,'47ff102fd26e9e209d9836dc459a913fbad1a2910a6a46a2d83eaafb03751012',X'F9B5712572A8659333FF65156A43AB4101010200001100E5077368A45CE90B9F780000000000804B40000000000000F87F0000000040810641912AC582D2628214B1D33893B2A2B74CAA40CE747183173E0000000000000000000000000000000000000000000000000000000000000000B3F433AC9EE95F1143C790897522AD1604B44975602CC93167EA63F014232940AFA607030F317103C5E3A603A19EB30AD7BE77161B2043176B367D17555BC61F5DBB15353736C4353BB3F33597517A4461F7374C0526A357CD48025987643D5AA579BD6A91BC3D72D73D1284197E1AA31D9640AB1F7263AB531F93AF139C72B22FC798BB99DAC5BCEF51E4CD8FAC70D11181E2E13D892EE7FD7E4DE8A5CB59E9');
INSERT INTO "match_fingerprints" VALUES(4,'8516bfa71034f8810a6b1cf9e687ff658cc877a79a68bb22c5926d87619949ab',X'238299BD74612D43E81DAA543D42491F01010280FF0000E5077368A45CE90B9F780000000000804B40000000000000F87F0000000040810641912AC582D26282140F5F5DAF2BE775CD00000000000000000000000000000000000000000000000000000000000000000000000000000000B3F433AC9EE95F1143C790897522AD1604B44975602CC93167EA63F014232940AFA607030F317103C5E3A603A19EB30AD7BE77161B2043176B367D17555BC61F5DBB15353736C4353BB3F33597517A4461F7374C0526A357CD48025987643D5AA579BD6A91BC3D72D73D1284197E1AA31D9640AB1F7263AB531F93AF139C72B22FC798BB99DAC5BCEF51E4CD8FAC70D11181E2E13D892EE7FD7E4DE8A5CB59E9');
INSERT INTO "match_fingerprints" VALUES(5,'198a75000699f71956c50bc543d5fe4b50984eeaf55c10b0a34eac0d3d67043d',X'383187015072568833FF65156A43AB4101010304001100000012257DDA271DB0710000000000805940000000000000F87F00000000C8F30441BBB295686D1E9499A40C2114A824EF8AAFF9B94F094987AA0000000000000000000000000000000013936A6F973572FA00000000000000001FD64AE8E7B84C8C4730A63FE9E70FF300000000000000000000000000000000A9D89F017DEB1103C9BB1A030F317103AB8C7306A19EB30A577FB3124D56CB15D7BE7716174CA31AE9DB2B1D1BC19A20CDDE00246DB8CB24D16F39260D38D42B5DBB1535D706FF35EB453337C5F60B3D97517A44FDA2F5500526A357DDE9E2572766FC58CD4802596DB61B5FB397A4610941E06357D8176791BDF578D96F9685');
INSERT INTO "match_fingerprints" VALUES(6,'18f305002d9e4460d2700863dfef25cdbbbdacef016b96cc972339470936d8b1',X'1A8B4B919B89F40E33FF65156A43AB4101040001000200ED070F3CC74F04D93DF70000000000804840000000000000F87F000000000000F87F2B61BCCD5BD15518C6F253A8BF7E17A564208FEB75D2E5B0000000000000000000000000000000000000000000000000000000000000000084E5E8C83A5AF02EF2968EE88D178A3453CB5FB9887C603A2F3F8C3997E5253CA9D89F015F14E701AB8C730695F0B2078FDF57114D56CB15EF3D5819A377AC1CEB7D0A1E555BC61F25DB56226DB8CB24618E7D2D13A24730F1818034FB82EF343BB3F335D706FF35B55BA138C5F60B3DD97C0B40C5F3F440492CEF44CD50E44761F7374C3F896B4FD154C554DDE9E2571D30B15A6DB61B5F6F3A3A5F43B71961');
INSERT INTO "match_fingerprints" VALUES(7,'69cea453f8d02ae38e81043335fdaef9b7d39de276fac6cef1bab01e0c46caa0',X'E1902D3C0EEDA968E81DAA543D42491F01010304000000000012257DDA271DB0710000000000805940000000000000F87F00000000C8F30441BBB295686D1E9499A40C2114A824EF8A00000000000000000000000000000000000000000000000013936A6F973572FA00000000000000001FD64AE8E7B84C8C4730A63FE9E70FF300000000000000000000000000000000A9D89F017DEB1103C9BB1A030F317103AB8C7306A19EB30A577FB3124D56CB15D7BE7716174CA31AE9DB2B1D1BC19A20CDDE00246DB8CB24D16F39260D38D42B5DBB1535D706FF35EB453337C5F60B3D97517A44FDA2F5500526A357DDE9E2572766FC58CD4802596DB61B5FB397A4610941E06357D8176791BDF578D96F9685');
INSERT INTO "match_fingerprints" VALUES(8,'201f172ae285ee289c73f988e34cb84958c0985bcbeaf21c1bdc4d25e2d45096',X'888C2910AAA2A0EA33FF65156A43AB4102010201000300DF071CD6B95048E9FAFB0000000000804740000000000000F87F00000000002074400BA7055BB1296B7CE41F13C960B9F3535289726E5F53226A0000000000000000000000000000000000000000000000000000000000000000E12F9D83F8E7FC2EFC5A26964914D43402776B3E1B690A40A0179755D20D954195F0B207B50A9D1425DB5622D16F39260D38D42BFB82EF345DBB1535EB4533370FC7AE3997517A440526A3574925DD576F3A3A5F57D81767C984BC836D02D18571E1828F59206397E5C9619C531F93AF839CD7B68F94F3B72FC798BBC71143BE0DA480C109DDB7D51164E2DC53FDACE03D892EE7ABDF4AED051D8BEF6F05D4F4');
INSERT INTO "match_fingerprints" VALUES(9,'6820f8bcb0e7308e193830773001bdccd567ba94917715deb0f7eb5f81381fbd',X'F29ABA971EB8D313E81DAA543D42491F01010004000000ED0776961C66F1F3A6600000000000806640000000000000F87F0000000000F326411990975AD35F0506A93944BB015F24630000000000000000000000000000000000000000000000000000000000000000000000000000000069772F4304A508067A64E86942B6820DE029ED46AA41B00DAE2B0BEE7838362FA9D89F01E1A2480DEF3D5819514F3721D16F39260D38D42BEB453337B55BA13897517A4461F7374CAF1C4156DDE9E2576DB61B5FB397A4610B31056E91BC3D721370247455148C96AD711EA21F7263AB839CD7B68F94F3B7EF44F1B899DAC5BCDB0BAAC5B35457CBEF51E4CDFFA0EBCE8D9CA6D01164E2DCEF22E2E01181E2E1');
INSERT INTO "match_fingerprints" VALUES(10,'5ec3919d559d47fbc20c5a263467dc98fdbb82355c2a550dac19c9f983a8302e',X'659CBF799F9E65C133FF65156A43AB41020103FFFF0E000000D882BB0875B3A2B30000000000C05840000000000000F87F0000000000E09640557BC5FADFB4D658FB764F11322B1FBD43455CB3161DE584000000000000000000000000000000000000000000000000000000000000000048F938D08E7D440376F617A53C9E6527B58132495D0318315195D10CEC94F64B0F3171032D0B9F0347B7740495F0B207A19EB30A55BE110B8FDF5711D7BE7716555BC61F25DB5622D16F3926A191872A0161AB2D71983A2E13A24730F1818034FB82EF345DBB15353BB3F335D97C0B40C5F3F440492CEF44BFC64D4761F7374CB75D1850D154C5540526A357CD4802591D30B15AD797C35A6F3A3A5F63EDD569');
INSERT INTO "match_fingerprints" VALUES(11,'75f401a49f3a483315b59284a3827c9b929fbe7ea0434e226b07dec35b2546f3',X'50B8D861355F8486E81DAA543D42491F02010201000000DF071CD6B95048E9FAFB0000000000804740000000000000F87F00000000002074400BA7055BB1296B7CE41F13C960B9F35300000000000000000000000000000000000000000000000000000000000000000000000000000000E12F9D83F8E7FC2EFC5A26964914D43402776B3E1B690A40A0179755D20D954195F0B207B50A9D1425DB5622D16F39260D38D42BFB82EF345DBB1535EB4533370FC7AE3997517A440526A3574925DD576F3A3A5F57D81767C984BC836D02D18571E1828F59206397E5C9619C531F93AF839CD7B68F94F3B72FC798BBC71143BE0DA480C109DDB7D51164E2DC53FDACE03D892EE7ABDF4AED051D8BEF6F05D4F4');
INSERT INTO "match_fingerprints" VALUES(12,'0c0bd80317753f8deecc870a43a08a617f32eccb401517dcf3191f1c7690f61a',X'955B1347B468CDD3E81DAA543D42491F02010380FF00000000D882BB0875B3A2B30000000000C05840000000000000F87F0000000000E09640557BC5FADFB4D658FB764F11322B1FBD0000000000000000000000000000000000000000000000000000000000000000000000000000000048F938D08E7D440376F617A53C9E6527B58132495D0318315195D10CEC94F64B0F3171032D0B9F0347B7740495F0B207A19EB30A55BE110B8FDF5711D7BE7716555BC61F25DB5622D16F3926A191872A0161AB2D71983A2E13A24730F1818034FB82EF345DBB15353BB3F335D97C0B40C5F3F440492CEF44BFC64D4761F7374CB75D1850D154C5540526A357CD4802591D30B15AD797C35A6F3A3A5F63EDD569');
INSERT INTO "match_fingerprints" VALUES(13,'357d788c416450fa8bd9dc5e10ac01cf9008acbc2cd4d378bbf170278da645b8',X'B80ACF7FC0915CFA33FF65156A43AB4102010101000A000000E736AC5D9048FBD10000000000004840000000000000F87F00000000007077400F3E789533FCE34C507742F9E59172B4E7DEECD4C07AA93F0000000000000000000000000000000000000000000000000000000000000000542832DBAF72924F0000000000000000000000000000000000000000000000000F317103A19EB30A8FDF5711577FB312D7BE7716174CA31A6F7BD12A618E7D2D69F0393013A24730A776F230D97C0B40BFC64D479D47F34BFDA2F550CD480259177D3B59653DEB666BC5586FE5EB7D804BFC3184D1AFB584D5084F88D96F9E896DA3DF89E1DA39971190189BBF1320A4356B26A4095D65A523CDA4A84FE739B6');
INSERT INTO "match_fingerprints" VALUES(14,'560750227a98ce1ca5d1a25dc3d7bb23dea0cbcf3cf3507557fc5bdbfd3dc04a',X'876C9CE3BA548418E81DAA543D42491F020101010000000000E736AC5D9048FBD10000000000004840000000000000F87F00000000007077400F3E789533FCE34C507742F9E59172B400000000000000000000000000000000000000000000000000000000000000000000000000000000542832DBAF72924F0000000000000000000000000000000000000000000000000F317103A19EB30A8FDF5711577FB312D7BE7716174CA31A6F7BD12A618E7D2D69F0393013A24730A776F230D97C0B40BFC64D479D47F34BFDA2F550CD480259177D3B59653DEB666BC5586FE5EB7D804BFC3184D1AFB584D5084F88D96F9E896DA3DF89E1DA39971190189BBF1320A4356B26A4095D65A523CDA4A84FE739B6');
CREATE TABLE match_links (
	low INTEGER NOT NULL, 
	high INTEGER NOT NULL, 
	probability FLOAT NOT NULL, 
	kind INTEGER NOT NULL, 
	CONSTRAINT pk_match_links PRIMARY KEY (low, high), 
	CONSTRAINT fk_match_links_low FOREIGN KEY(low) REFERENCES listings (id), 
	CONSTRAINT fk_match_links_high FOREIGN KEY(high) REFERENCES listings (id)
);
INSERT INTO "match_links" VALUES(1,9,0.9999,1);
INSERT INTO "match_links" VALUES(3,4,0.9999,1);
INSERT INTO "match_links" VALUES(8,11,0.9999,1);
INSERT INTO "match_links" VALUES(10,12,0.9999,1);
INSERT INTO "match_links" VALUES(13,14,0.9999,1);
INSERT INTO "match_links" VALUES(5,7,0.9999,1);
CREATE TABLE match_state (
	id INTEGER NOT NULL, 
	version TEXT NOT NULL, 
	runs INTEGER NOT NULL, 
	matched_at FLOAT NOT NULL, 
	CONSTRAINT pk_match_state PRIMARY KEY (id)
);
INSERT INTO "match_state" VALUES(1,'18b3c8f970c6e5403170fdc2f10f0df16ff6c80ebda8d4c872aefe1d78e35e28',3,1.79494158866686797141e+09);
CREATE TABLE pages (
	id INTEGER NOT NULL, 
	site VARCHAR(80) NOT NULL, 
	url TEXT NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	content_type TEXT, 
	fetched_at FLOAT NOT NULL, 
	CONSTRAINT pk_pages PRIMARY KEY (id)
);
INSERT INTO "pages" VALUES(1,'imot.bg','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search','a140295b12eb7f125fe6ad7fcce5fbc2d883692182598caecb49af8cd1b61041','text/html',1.79494155444608092303e+09);
INSERT INTO "pages" VALUES(2,'bazar.bg','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search','de9768c34ef34fab2e65bc63609e9555a2c5016994a8622fad99939acc7c8f35','text/html; charset=UTF-8',1.79494155445521068577e+09);
INSERT INTO "pages" VALUES(3,'imot.bg','http://127.0.0.1:18701/obiavi/naemi/grad-sofiya','search','2dc929f7616e57b37cb23a1f07ba4d138717ebf6c33c3a42fdba708be620dde0','text/html',1.79494155445550298685e+09);
INSERT INTO "pages" VALUES(4,'bazar.bg','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search','ded10710df4b4b4be36ab20081ddba1ac305d34ee4c014d3fe1e6a571add4bee','text/html; charset=UTF-8',1.7949415544608974456e+09);
INSERT INTO "pages" VALUES(5,'imot.bg','http://127.0.0.1:18701/obiava-1f176612344209915-prodava-mezonet-grad-sofiya-lyulin-5-ul-srebarna-lipa','listing','ed1ff288b40fe687e652701b1aa48a113f47f4176b24f753492d2ec62b414be7','text/html',1.79494155478181743618e+09);
INSERT INTO "pages" VALUES(6,'bazar.bg','http://127.0.0.1:18702/obiava-50000031/4-staen-za-prodazhba-w-s-german','listing','5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce','text/html; charset=UTF-8',1.79494155478962516786e+09);
INSERT INTO "pages" VALUES(7,'imot.bg','http://127.0.0.1:18701/obiava-1b177071848731713-prodava-dvustaen-apartament-grad-sofiya-lozenets-ul-kamenna-cheshma','listing','23d1e8f678feab9e8a6ff25529c1c221fc6201d9fbc6e1f9d1b78d6ad3916285','text/html',1.79494155478987359999e+09);
INSERT INTO "pages" VALUES(8,'bazar.bg','http://127.0.0.1:18702/obiava-50000056/prodawa-2-staen-gr-sofiia-lozenets','listing','1b5d8424b1038eec22c205a0ab96646e446d07c931ded39d7a00b412616f7c67','text/html; charset=UTF-8',1.79494155480063390735e+09);
INSERT INTO "pages" VALUES(9,'imot.bg','http://127.0.0.1:18701/obiava-1c176587943861943-prodava-tristaen-apartament-grad-sofiya-gorna-banya','listing','f79282ab0174883cbeb0d488253b8655be0d7258dc503bcecec1461868788b16','text/html',1.79494155494355463976e+09);
INSERT INTO "pages" VALUES(10,'imot.bg','http://127.0.0.1:18701/obiava-1g177229405936816-prodava-ofis-grad-sofiya-m-t-gardova-glava-ul-kamenna-cheshma','listing','d4e15c40dcc71fffa45f2b05dcd9488b6bdfa141d5703f9acfc331faf86350db','text/html',1794941554.95764);
INSERT INTO "pages" VALUES(11,'bazar.bg','http://127.0.0.1:18702/obiava-50000113/prodawa-3-staen-gr-sofiia-gorna-bania','listing','a1f60f354ef8c68ea8109356c6a3fbf1662c5913fb1ad2b60e125b38cd2d815f','text/html; charset=UTF-8',1.79494155496610116951e+09);
INSERT INTO "pages" VALUES(12,'imot.bg','http://127.0.0.1:18701/obiava-2c177653817534431-dava-pod-naem-dvustaen-apartament-grad-sofiya-s-dolni-bogrov','listing','e9a8557dadb14977fa2e13e5d26e0cd6eda8bc1cb3bdccfc84885e6d1e5be6b5','text/html',1.79494155497966408722e+09);
INSERT INTO "pages" VALUES(13,'bazar.bg','http://127.0.0.1:18702/obiava-50000152/prodawa-mezonet-gr-sofiia-lyulin-5','listing','05366a043ff2dfff6f5f1d82b38cac1fce366c2c2c7702272cba95ea623d7639','text/html; charset=UTF-8',1.79494155497609901434e+09);
INSERT INTO "pages" VALUES(14,'imot.bg','http://127.0.0.1:18701/obiava-2d177337951044820-dava-pod-naem-tristaen-apartament-grad-sofiya-v-z-bunkera','listing','3d1312fefed23d8ea31ed6329ba6c5a7d807fc441b4f1e85240604a8ae049f2c','text/html',1.79494155498125696184e+09);
INSERT INTO "pages" VALUES(15,'bazar.bg','http://127.0.0.1:18702/obiava-50000081/dawa-pod-naem-2-staen-gr-sofiia-s-dolni-bogrow','listing','1e68d7f49d8aa5c7e0df2cc055e62a5d5a5e0a4b31e172be3c276820bae57501','text/html; charset=UTF-8',1.79494155501519560809e+09);
INSERT INTO "pages" VALUES(16,'bazar.bg','http://127.0.0.1:18702/obiava-50000221/dawa-pod-naem-3-staen-gr-sofiia-w-z-bunkera','listing','3ce1345d39cbc3c152828870efb2792d3fc25ff3e805164dd8f26d2a5888e4b7','text/html; charset=UTF-8',1.79494155502462935441e+09);
INSERT INTO "pages" VALUES(17,'imot.bg','http://127.0.0.1:18701/obiava-2b176761571108173-dava-pod-naem-ednostaen-apartament-grad-sofiya-s-kokalyane-bul-dalag-most','listing','b898b1fb1990d127d8bff6deac00be5303fc2451b4ec7a00c423fad4d9f5c859','text/html',1.79494155503174734117e+09);
INSERT INTO "pages" VALUES(18,'bazar.bg','http://127.0.0.1:18702/obiava-50000230/dawa-pod-naem-1-staen-gr-sofiia-s-kokaliane','listing','466eeaabc44909a71e6745cf5d2ec158db7fc2a2dcb56e7a1cf49e08f670a892','text/html; charset=UTF-8',1.79494155508456277843e+09);
INSERT INTO "pages" VALUES(19,'imot.bg','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search','a140295b12eb7f125fe6ad7fcce5fbc2d883692182598caecb49af8cd1b61041','text/html',1.79494157084837245943e+09);
INSERT INTO "pages" VALUES(20,'bazar.bg','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search','9b285b6dc542182fb05d04e1ada67b2ebb1b75510ae5152091bc51924994584b','text/html; charset=UTF-8',1.79494157086144733425e+09);
CREATE TABLE price_points (
	id INTEGER NOT NULL, 
	listing_id INTEGER NOT NULL, 
	price_eur FLOAT, 
	price_bgn FLOAT, 
	vat VARCHAR(20), 
	kind VARCHAR(10) NOT NULL, 
	visit_id INTEGER NOT NULL, 
	seen_at FLOAT NOT NULL, 
	CONSTRAINT pk_price_points PRIMARY KEY (id), 
	CONSTRAINT fk_price_points_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
INSERT INTO "price_points" VALUES(1,1,752000.0,1470784.16,'included','first',5,1.79494155478181743618e+09);
INSERT INTO "price_points" VALUES(2,2,267000.0,522206.61,NULL,'first',6,1.79494155478962516786e+09);
INSERT INTO "price_points" VALUES(3,3,184360.0,360576.82,'none','first',7,1.79494155478987359999e+09);
INSERT INTO "price_points" VALUES(4,4,184360.0,360576.82,'none','first',8,1.79494155480063390735e+09);
INSERT INTO "price_points" VALUES(5,5,180675.0,NULL,NULL,'first',9,1.79494155494355463976e+09);
INSERT INTO "price_points" VALUES(6,6,NULL,NULL,NULL,'first',10,1794941554.95764);
INSERT INTO "price_points" VALUES(7,7,180675.0,353369.59,NULL,'first',11,1.79494155496610116951e+09);
INSERT INTO "price_points" VALUES(8,8,322.0,629.78,NULL,'first',12,1.79494155497966408722e+09);
INSERT INTO "price_points" VALUES(9,9,752000.0,1470784.16,'included','first',13,1.79494155497609901434e+09);
INSERT INTO "price_points" VALUES(10,10,1464.0,NULL,'included','first',14,1.79494155498125696184e+09);
INSERT INTO "price_points" VALUES(11,11,322.0,629.78,NULL,'first',15,1.79494155501519560809e+09);
INSERT INTO "price_points" VALUES(12,12,1464.0,2863.34,'included','first',16,1.79494155502462935441e+09);
INSERT INTO "price_points" VALUES(13,13,375.0,NULL,'none','first',17,1.79494155503174734117e+09);
INSERT INTO "price_points" VALUES(14,14,375.0,733.44,'none','first',18,1.79494155508456277843e+09);
INSERT INTO "price_points" VALUES(15,5,171641.0,NULL,NULL,'price',27,1.79494158589244794848e+09);
INSERT INTO "price_points" VALUES(16,7,171641.0,335700.62,NULL,'price',28,1.79494158595244455338e+09);
CREATE TABLE properties (
	id INTEGER NOT NULL, 
	merged_into INTEGER, 
	made_at FLOAT NOT NULL, 
	CONSTRAINT pk_properties PRIMARY KEY (id), 
	CONSTRAINT fk_properties_id FOREIGN KEY(id) REFERENCES listings (id)
);
INSERT INTO "properties" VALUES(1,NULL,1.79494155821448373791e+09);
INSERT INTO "properties" VALUES(2,NULL,1.79494155821448373791e+09);
INSERT INTO "properties" VALUES(3,NULL,1.79494155821448373791e+09);
INSERT INTO "properties" VALUES(5,NULL,1.79494155821448373791e+09);
INSERT INTO "properties" VALUES(6,NULL,1.79494155821448373791e+09);
INSERT INTO "properties" VALUES(8,NULL,1.79494155821448373791e+09);
INSERT INTO "properties" VALUES(10,NULL,1.79494155821448373791e+09);
INSERT INTO "properties" VALUES(13,NULL,1.79494155821448373791e+09);
CREATE TABLE property_notes (
	id INTEGER NOT NULL, 
	property_id INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	written_by VARCHAR(80) NOT NULL, 
	written_at FLOAT NOT NULL, 
	CONSTRAINT pk_property_notes PRIMARY KEY (id), 
	CONSTRAINT fk_property_notes_property_id FOREIGN KEY(property_id) REFERENCES listings (id)
);
INSERT INTO "property_notes" VALUES(1,5,'светла кухня','root',1.79494160812173628814e+09);
CREATE TABLE run_metrics (
	job_id VARCHAR(40) NOT NULL, 
	domain VARCHAR(80) NOT NULL, 
	counters JSON NOT NULL, 
	writers JSON NOT NULL, 
	updated_at FLOAT NOT NULL, 
	CONSTRAINT pk_run_metrics PRIMARY KEY (job_id, domain), 
	CONSTRAINT fk_run_metrics_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
INSERT INTO "run_metrics" VALUES('imot.bg-20261117-185234-7888b7','imot.bg','{"verdicts": {"ok": 9}, "response": {"total": 368931, "least": 4836, "most": 111768, "buckets": {"425": 1, "455": 1, "501": 1, "502": 1, "511": 1, "521": 1, "526": 1, "577": 1, "582": 1}}, "circuit_open": [], "bytes": 989411, "new": 7, "changed": 0, "unchanged": 0, "failed": 0, "retries": 0, "waits": 3, "waited_microseconds": 1759}','{"8d85c025e4e97750": 2}',1.79494155514802289008e+09);
INSERT INTO "run_metrics" VALUES('bazar.bg-20261117-185234-455c83','bazar.bg','{"verdicts": {"ok": 9}, "response": {"total": 631108, "least": 9611, "most": 242130, "buckets": {"459": 1, "485": 2, "499": 1, "501": 1, "567": 1, "581": 2, "620": 1}}, "circuit_open": [], "bytes": 964228, "new": 7, "changed": 0, "unchanged": 0, "failed": 0, "retries": 0, "waits": 3, "waited_microseconds": 1328}','{"064ab54560e27058": 2}',1.79494155520994663234e+09);
INSERT INTO "run_metrics" VALUES('imot.bg-20261117-185250-f4d85f','imot.bg','{"verdicts": {"ok": 2}, "response": {"total": 174427, "least": 27896, "most": 146531, "buckets": {"512": 1, "595": 1}}, "circuit_open": [], "bytes": 152694, "new": 0, "changed": 0, "unchanged": 0, "failed": 0, "retries": 0, "waits": 1, "waited_microseconds": 608}','{"270deb0182468f58": 2}',1.79494157117977881426e+09);
INSERT INTO "run_metrics" VALUES('bazar.bg-20261117-185250-1f9478','bazar.bg','{"verdicts": {"ok": 2}, "response": {"total": 282032, "least": 131229, "most": 150803, "buckets": {"590": 1, "597": 1}}, "circuit_open": [], "bytes": 124219, "new": 0, "changed": 0, "unchanged": 0, "failed": 0, "retries": 0, "waits": 1, "waited_microseconds": 363}','{"74082b24cdeaf915": 2}',1.79494157120162653919e+09);
INSERT INTO "run_metrics" VALUES('imot.bg-20261117-185305-fc47f9','imot.bg','{"verdicts": {"ok": 3}, "response": {"total": 155173, "least": 8501, "most": 125472, "buckets": {"453": 1, "499": 1, "587": 1}}, "circuit_open": [], "bytes": 267155, "new": 0, "changed": 1, "unchanged": 0, "failed": 0, "retries": 0, "waits": 1, "waited_microseconds": 659}','{"f7926d3333b9ab6e": 2}',1.7949415859914360046e+09);
INSERT INTO "run_metrics" VALUES('bazar.bg-20261117-185305-967a30','bazar.bg','{"verdicts": {"ok": 3}, "response": {"total": 256730, "least": 16490, "most": 133993, "buckets": {"486": 1, "579": 1, "591": 1}}, "circuit_open": [], "bytes": 235098, "new": 0, "changed": 1, "unchanged": 0, "failed": 0, "retries": 0, "waits": 1, "waited_microseconds": 304}','{"6552242cd806caee": 2}',1.79494158604914736745e+09);
CREATE TABLE saved_searches (
	name VARCHAR(60) NOT NULL, 
	"query" JSON NOT NULL, 
	saved_at FLOAT NOT NULL, 
	CONSTRAINT pk_saved_searches PRIMARY KEY (name)
);
INSERT INTO "saved_searches" VALUES('mine','{"neighbourhood": [], "not_neighbourhood": [], "district": [], "city": "\u0421\u043e\u0444\u0438\u044f", "deal": "sale", "property_type": ["apartment", "maisonette", "studio"], "price_min": null, "price_max": 300000.0, "eur_sqm_min": null, "eur_sqm_max": null, "area_min": null, "area_max": null, "net_area_min": null, "net_area_max": null, "rooms": [], "bathrooms_min": null, "floor_min": null, "floor_max": null, "not_ground": false, "not_last": false, "construction": [], "no_panel": false, "year_min": null, "year_max": null, "act": null, "condition": [], "furnishing": [], "heating": [], "orientation": [], "metro_m": null, "metro_minutes": null, "balcony": false, "parking": false, "elevator": false, "seller": [], "portal": [], "days_min": null, "days_max": null, "new_since": null, "cut_days": null, "cut_percent": null, "status": ["new", "contacted", "viewing", "shortlist", "offer"], "word": [], "not_word": [], "profile": null, "passing": false, "gone": false, "place_conflict": false, "unknown": "apart", "sort": "newest"}',1.79494159439929318431e+09);
CREATE TABLE schedule_slots (
	name VARCHAR(80) NOT NULL, 
	slot VARCHAR(40) NOT NULL, 
	taken_at FLOAT NOT NULL, 
	CONSTRAINT pk_schedule_slots PRIMARY KEY (name, slot)
);
INSERT INTO "schedule_slots" VALUES('morning','2026-11-17',1794941620.0);
CREATE TABLE scopes (
	id INTEGER NOT NULL, 
	site VARCHAR(80) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	start_urls JSON NOT NULL, 
	CONSTRAINT pk_scopes PRIMARY KEY (id)
);
INSERT INTO "scopes" VALUES(1,'imot.bg','0ec7396dfe981e1c3f90f589d68d644da5eddf536a62cb0aaa6890b6a800229c','["search:127.0.0.1:18701/obiavi/naemi/grad-sofiya", "search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya"]');
INSERT INTO "scopes" VALUES(2,'bazar.bg','e2f9074bf013ba3a7e8be3d481cc313ae99cceb2bd0e03c328a09aecf2ff4367','["search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia", "search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia"]');
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
INSERT INTO "score_yardsticks" VALUES('Горна баня',3,'[]',NULL,0,NULL,0);
INSERT INTO "score_yardsticks" VALUES('Лозенец',2,'[]',NULL,0,NULL,0);
INSERT INTO "score_yardsticks" VALUES('Люлин 5',0,'[]',NULL,0,NULL,0);
INSERT INTO "score_yardsticks" VALUES('в.з.Бункера',3,'[]',NULL,0,NULL,0);
INSERT INTO "score_yardsticks" VALUES('м-т Гърдова глава',0,'[]',NULL,0,NULL,0);
INSERT INTO "score_yardsticks" VALUES('с. Герман',4,'[]',NULL,0,NULL,0);
INSERT INTO "score_yardsticks" VALUES('с. Долни Богров',2,'[]',NULL,0,NULL,0);
INSERT INTO "score_yardsticks" VALUES('с. Кокаляне',1,'[]',NULL,0,NULL,0);
CREATE TABLE scored_flats (
	property_id INTEGER NOT NULL, 
	facts VARCHAR(32) NOT NULL, 
	deal VARCHAR(10), 
	property_type VARCHAR(20), 
	offered BOOLEAN NOT NULL, 
	neighbourhood TEXT, 
	rooms INTEGER NOT NULL, 
	eur_sqm FLOAT, 
	CONSTRAINT pk_scored_flats PRIMARY KEY (property_id)
);
INSERT INTO "scored_flats" VALUES(1,'8953fc9d28a730f7fbad6c7148b42825','sale','maisonette',1,'Люлин 5',0,NULL);
INSERT INTO "scored_flats" VALUES(2,'de3c7f528af9bf6ec4187293e3e7b292','sale','apartment',1,'с. Герман',4,2.24369747899159665389e+03);
INSERT INTO "scored_flats" VALUES(3,'fe89ee94d5556fee2b998e217ddf6356','sale','apartment',1,'Лозенец',2,3352.0);
INSERT INTO "scored_flats" VALUES(5,'c06c8b7f2d17da41011b877dfb891b88','sale','apartment',1,'Горна баня',3,NULL);
INSERT INTO "scored_flats" VALUES(6,'7d2e577180c60f99d617ab65d08169fa','sale','office',1,'м-т Гърдова глава',0,NULL);
INSERT INTO "scored_flats" VALUES(8,'177224f538168f1d8a8725aed6e632cc','rent','apartment',1,'с. Долни Богров',2,NULL);
INSERT INTO "scored_flats" VALUES(10,'d67235d165427a1a482babba81e8c166','rent','apartment',1,'в.з.Бункера',3,NULL);
INSERT INTO "scored_flats" VALUES(13,'6270af483816a29ad431f775d197ab90','rent','apartment',1,'с. Кокаляне',1,7.8125);
CREATE TABLE scores (
	property_id INTEGER NOT NULL, 
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
INSERT INTO "scores" VALUES(2,'default','c5b1cbd0161b3355127c135199777558',3.76033057851239727042e+00,0.3025,1.13750000000000017763e+00,'fail','["budget"]','["elevator", "act15"]','{"location":[2.5,0.6],"condition":[null,0.0],"layout":[5.0,0.55],"building":[5.0,0.6],"extras":[5.0,0.2],"price":[null,0.0],"rental":[null,0.0]}',1.79494155826494836808e+09);
INSERT INTO "scores" VALUES(3,'default','5e9768cf05e23466cbce90624ba39885',3.75531914893616969308e+00,3.52500000000000035527e-01,1.32375,'fail','["area", "ground_floor"]','[]','{"location":[5.0,0.6],"condition":[null,0.0],"layout":[1.5909090909090908,0.55],"building":[3.425,1.0],"extras":[5.0,0.4],"price":[null,0.0],"rental":[null,0.0]}',1.79494155826494836808e+09);
INSERT INTO "scores" VALUES(5,'default','b1bbd98add538382a9b08b47349fde6d',3.69444444444444464181e+00,0.45,1.6625,'unknown','[]','["act15", "budget"]','{"location":[3.1,1.0],"condition":[null,0.0],"layout":[4.0625,0.8],"building":[5.0,0.6],"extras":[5.0,0.4],"price":[null,0.0],"rental":[null,0.0]}',1.79494158875009870521e+09);
INSERT INTO "scores" VALUES(1,'default','9cceb63c850dcc059c9bf9ac5952ceb4',3.29000000000000047961e+00,0.25,8.22500000000000119904e-01,'fail','["budget"]','["rooms", "elevator", "act15"]','{"location":[2.5,0.6],"condition":[null,0.0],"layout":[null,0.0],"building":[4.125,0.6],"extras":[5.0,0.8],"price":[null,0.0],"rental":[null,0.0]}',1.79494155826494836808e+09);
CREATE TABLE scrape_history (
	id INTEGER NOT NULL, 
	site VARCHAR(80) NOT NULL, 
	url_key VARCHAR(500) NOT NULL, 
	job_id VARCHAR(40), 
	fetched_at FLOAT NOT NULL, 
	verdict VARCHAR(40) NOT NULL, 
	seconds FLOAT, 
	content_hash VARCHAR(64), 
	page_digest VARCHAR(64), 
	listing_id INTEGER, 
	result VARCHAR(12), 
	odd JSON, held BOOLEAN DEFAULT false NOT NULL, held_type BOOLEAN DEFAULT false NOT NULL, 
	CONSTRAINT pk_scrape_history PRIMARY KEY (id), 
	CONSTRAINT fk_scrape_history_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
INSERT INTO "scrape_history" VALUES(1,'imot.bg','search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','imot.bg-20261117-185234-7888b7',1.79494155444608092303e+09,'ok',2.2264069997618207708e-02,NULL,'a140295b12eb7f125fe6ad7fcce5fbc2d883692182598caecb49af8cd1b61041',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(2,'bazar.bg','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','bazar.bg-20261117-185234-455c83',1.79494155445521068577e+09,'ok',1.0959667799761518836e-01,NULL,'de9768c34ef34fab2e65bc63609e9555a2c5016994a8622fad99939acc7c8f35',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(3,'imot.bg','search:127.0.0.1:18701/obiavi/naemi/grad-sofiya','imot.bg-20261117-185234-7888b7',1.79494155445550298685e+09,'ok',1.11767977999988943338e-01,NULL,'2dc929f7616e57b37cb23a1f07ba4d138717ebf6c33c3a42fdba708be620dde0',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(4,'bazar.bg','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','bazar.bg-20261117-185234-455c83',1.7949415544608974456e+09,'ok',2.42129512997053097933e-01,NULL,'ded10710df4b4b4be36ab20081ddba1ac305d34ee4c014d3fe1e6a571add4bee',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(5,'imot.bg','listing:1f176612344209915','imot.bg-20261117-185234-7888b7',1.79494155478181743618e+09,'ok',3.64451130008092150092e-02,'7eaa3aa5bc8207c32718ded399ab5f3eede9bbc4baaf5a5f3fadf5887ec72fe5','ed1ff288b40fe687e652701b1aa48a113f47f4176b24f753492d2ec62b414be7',1,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(6,'bazar.bg','listing:50000031','bazar.bg-20261117-185234-455c83',1.79494155478962516786e+09,'ok',8.30345520007540471851e-02,'2e38e2a51a73cce32716f306bc9d313786984d761e53ad62b1053234e9d5d9b5','5b31dc5ba9723c9727cab18020a1cd9a5e18cd88e45625f1e1b0c82d2bdd4fce',2,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(7,'imot.bg','listing:1b177071848731713','imot.bg-20261117-185234-7888b7',1.79494155478987359999e+09,'ok',1.01716260000102920457e-01,'47ff102fd26e9e209d9836dc459a913fbad1a2910a6a46a2d83eaafb03751012','23d1e8f678feab9e8a6ff25529c1c221fc6201d9fbc6e1f9d1b78d6ad3916285',3,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(8,'bazar.bg','listing:50000056','bazar.bg-20261117-185234-455c83',1.79494155480063390735e+09,'ok',1.10560297001939034089e-01,'8516bfa71034f8810a6b1cf9e687ff658cc877a79a68bb22c5926d87619949ab','1b5d8424b1038eec22c205a0ab96646e446d07c931ded39d7a00b412616f7c67',4,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(9,'imot.bg','listing:1c176587943861943','imot.bg-20261117-185234-7888b7',1.79494155494355463976e+09,'ok',4.83631299721309915184e-03,'de012ae3e7ac31df8b28f34d1bbc5d6a06b19716189ead864f60f79963e5f843','f79282ab0174883cbeb0d488253b8655be0d7258dc503bcecec1461868788b16',5,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(10,'imot.bg','listing:1g177229405936816','imot.bg-20261117-185234-7888b7',1794941554.95764,'ok',8.81550499980221502482e-03,'18f305002d9e4460d2700863dfef25cdbbbdacef016b96cc972339470936d8b1','d4e15c40dcc71fffa45f2b05dcd9488b6bdfa141d5703f9acfc331faf86350db',6,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(11,'bazar.bg','listing:50000113','bazar.bg-20261117-185234-455c83',1.79494155496610116951e+09,'ok',1.62407470015750732272e-02,'08449d73b838ac8fee5b672072821e6af8f3b1efae1f32709331cc0d9e2f96d5','a1f60f354ef8c68ea8109356c6a3fbf1662c5913fb1ad2b60e125b38cd2d815f',7,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(12,'imot.bg','listing:2c177653817534431','imot.bg-20261117-185234-7888b7',1.79494155497966408722e+09,'ok',0.0227904409985058,'201f172ae285ee289c73f988e34cb84958c0985bcbeaf21c1bdc4d25e2d45096','e9a8557dadb14977fa2e13e5d26e0cd6eda8bc1cb3bdccfc84885e6d1e5be6b5',8,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(13,'bazar.bg','listing:50000152','bazar.bg-20261117-185234-455c83',1.79494155497609901434e+09,'ok',1.62878680021094623953e-02,'6820f8bcb0e7308e193830773001bdccd567ba94917715deb0f7eb5f81381fbd','05366a043ff2dfff6f5f1d82b38cac1fce366c2c2c7702272cba95ea623d7639',9,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(14,'imot.bg','listing:2d177337951044820','imot.bg-20261117-185234-7888b7',1.79494155498125696184e+09,'ok',2.7266609999060165137e-02,'5ec3919d559d47fbc20c5a263467dc98fdbb82355c2a550dac19c9f983a8302e','3d1312fefed23d8ea31ed6329ba6c5a7d807fc441b4f1e85240604a8ae049f2c',10,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(15,'bazar.bg','listing:50000081','bazar.bg-20261117-185234-455c83',1.79494155501519560809e+09,'ok',9.61140499930479563772e-03,'75f401a49f3a483315b59284a3827c9b929fbe7ea0434e226b07dec35b2546f3','1e68d7f49d8aa5c7e0df2cc055e62a5d5a5e0a4b31e172be3c276820bae57501',11,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(16,'bazar.bg','listing:50000221','bazar.bg-20261117-185234-455c83',1.79494155502462935441e+09,'ok',2.14884909983084071427e-02,'0c0bd80317753f8deecc870a43a08a617f32eccb401517dcf3191f1c7690f61a','3ce1345d39cbc3c152828870efb2792d3fc25ff3e805164dd8f26d2a5888e4b7',12,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(17,'imot.bg','listing:2b176761571108173','imot.bg-20261117-185234-7888b7',1.79494155503174734117e+09,'ok',3.30294779996620491147e-02,'357d788c416450fa8bd9dc5e10ac01cf9008acbc2cd4d378bbf170278da645b8','b898b1fb1990d127d8bff6deac00be5303fc2451b4ec7a00c423fad4d9f5c859',13,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(18,'bazar.bg','listing:50000230','bazar.bg-20261117-185234-455c83',1.79494155508456277843e+09,'ok',2.21582140002283267676e-02,'560750227a98ce1ca5d1a25dc3d7bb23dea0cbcf3cf3507557fc5bdbfd3dc04a','466eeaabc44909a71e6745cf5d2ec158db7fc2a2dcb56e7a1cf49e08f670a892',14,'new',NULL,0,0);
INSERT INTO "scrape_history" VALUES(19,'imot.bg','search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','imot.bg-20261117-185250-f4d85f',1.79494157084837245943e+09,'ok',2.78959839997696690261e-02,NULL,'a140295b12eb7f125fe6ad7fcce5fbc2d883692182598caecb49af8cd1b61041',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(20,'bazar.bg','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','bazar.bg-20261117-185250-1f9478',1.79494157086144733425e+09,'ok',1.31229171998711535707e-01,NULL,'9b285b6dc542182fb05d04e1ada67b2ebb1b75510ae5152091bc51924994584b',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(21,'imot.bg','search:127.0.0.1:18701/obiavi/naemi/grad-sofiya','imot.bg-20261117-185250-f4d85f',1.7949415708616733551e+09,'ok',1.4653101700241677463e-01,NULL,'2dc929f7616e57b37cb23a1f07ba4d138717ebf6c33c3a42fdba708be620dde0',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(22,'bazar.bg','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','bazar.bg-20261117-185250-1f9478',1.79494157086667180064e+09,'ok',1.50803414002439239993e-01,NULL,'c4afaf827260cfb1da24c4f671ab394d8ba839c6b357ba66ba9800946a2fa396',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(23,'imot.bg','search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','imot.bg-20261117-185305-fc47f9',1.79494158559110140796e+09,'ok',2.12002030020812526345e-02,NULL,'f189597020cf3e7f1adb7a03bbac43ba5e7dcdedc1b09b8ac4fdcd1cf30eb2e5',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(24,'bazar.bg','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','bazar.bg-20261117-185305-967a30',1.7949415856045818329e+09,'ok',1.06246859999373555183e-01,NULL,'304dacc45f5beea32ea5b3a7cad81ede17f7fab5782f22fb6f21d2e4483f69e1',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(25,'imot.bg','search:127.0.0.1:18701/obiavi/naemi/grad-sofiya','imot.bg-20261117-185305-fc47f9',1.79494158560485959049e+09,'ok',1.25471643001219490543e-01,NULL,'2dc929f7616e57b37cb23a1f07ba4d138717ebf6c33c3a42fdba708be620dde0',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(26,'bazar.bg','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','bazar.bg-20261117-185305-967a30',1.79494158560557150842e+09,'ok',1.33993401999759953469e-01,NULL,'c4afaf827260cfb1da24c4f671ab394d8ba839c6b357ba66ba9800946a2fa396',NULL,NULL,NULL,0,0);
INSERT INTO "scrape_history" VALUES(27,'imot.bg','listing:1c176587943861943','imot.bg-20261117-185305-fc47f9',1.79494158589244794848e+09,'ok',8.50059799995506182312e-03,'198a75000699f71956c50bc543d5fe4b50984eeaf55c10b0a34eac0d3d67043d','6b8b218d7c7799dadfd194509dd5aa9d34876d29343fce85f1e1f6dd3a3ecb69',5,'changed',NULL,0,0);
INSERT INTO "scrape_history" VALUES(28,'bazar.bg','listing:50000113','bazar.bg-20261117-185305-967a30',1.79494158595244455338e+09,'ok',1.64903570002934429794e-02,'69cea453f8d02ae38e81043335fdaef9b7d39de276fac6cef1bab01e0c46caa0','a2c3c47703a3430d1e2be97703366cdd6b9d0f47e4a1845884f0dbad42379947',7,'changed',NULL,0,0);
CREATE TABLE sweeps (
	job_id VARCHAR(40) NOT NULL, 
	scope_id INTEGER NOT NULL, 
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
INSERT INTO "sweeps" VALUES('imot.bg-20261117-185234-7888b7',1,'imot.bg',0,1.79494155409554886817e+09,1.79494155515249490732e+09,1,NULL,7,0);
INSERT INTO "sweeps" VALUES('bazar.bg-20261117-185234-455c83',2,'bazar.bg',0,1.79494155411561655995e+09,1.79494155521131420138e+09,1,NULL,7,0);
INSERT INTO "sweeps" VALUES('imot.bg-20261117-185250-f4d85f',1,'imot.bg',0,1.79494157046002459528e+09,1.79494157118175315856e+09,1,NULL,7,0);
INSERT INTO "sweeps" VALUES('bazar.bg-20261117-185250-1f9478',2,'bazar.bg',0,1.79494157049972105025e+09,1.7949415712031013965e+09,1,NULL,7,0);
INSERT INTO "sweeps" VALUES('imot.bg-20261117-185305-fc47f9',1,'imot.bg',0,1.79494158533605933187e+09,1.79494158599268150335e+09,1,NULL,7,0);
INSERT INTO "sweeps" VALUES('bazar.bg-20261117-185305-967a30',2,'bazar.bg',0,1.79494158536085367207e+09,1.79494158605079102519e+09,0,'limited to 7 adverts',7,0);
CREATE TABLE valuation_models (
	digest VARCHAR(64) NOT NULL, 
	format INTEGER NOT NULL, 
	made_at FLOAT NOT NULL, 
	flats INTEGER NOT NULL, 
	report JSON NOT NULL, 
	CONSTRAINT pk_valuation_models PRIMARY KEY (digest)
);
INSERT INTO "valuation_models" VALUES('dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd',1,1794941620.0,200,'{"flats": 200, "error": {"flats": 200, "median": 0.1, "within_near": 0.5, "coverage": 0.9, "width": 0.4}, "neighbourhood_median": {"flats": 200, "median": 0.15, "within_near": 0.35, "coverage": null, "width": null}, "worst": {"\u041b\u043e\u0437\u0435\u043d\u0435\u0446": {"flats": 120, "median": 0.12, "within_near": 0.45, "coverage": 0.9, "width": 0.42}}, "by_neighbourhood": {"\u041b\u043e\u0437\u0435\u043d\u0435\u0446": 120, "\u0413\u043e\u0440\u043d\u0430 \u0431\u0430\u043d\u044f": 80}}');
CREATE TABLE viewings (
	id INTEGER NOT NULL, 
	property_id INTEGER NOT NULL, 
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
	CONSTRAINT fk_viewings_property_id FOREIGN KEY(property_id) REFERENCES listings (id), 
	CONSTRAINT uq_viewings_uid UNIQUE (uid)
);
INSERT INTO "viewings" VALUES(1,5,'65e0c8dc009007dca623199307da7d3f',0,'planned',1796112000.0,30,NULL,NULL,NULL,NULL,NULL,'[]','[]',1.79494161129453706736e+09,1.79494161129453706736e+09);
CREATE INDEX ix_jobs_site_created_at ON jobs (site, created_at);
CREATE INDEX ix_frontier_job_id_state_not_before ON frontier (job_id, state, not_before);
CREATE INDEX ix_pages_site_url ON pages (site, url);
CREATE INDEX ix_pages_digest ON pages (digest);
CREATE UNIQUE INDEX uq_incidents_open ON incidents (kind, site) WHERE closed_at IS NULL;
CREATE INDEX ix_scrape_history_site_url_key_fetched_at ON scrape_history (site, url_key, fetched_at);
CREATE INDEX ix_listings_neighbourhood ON listings (neighbourhood);
CREATE INDEX ix_listings_first_seen_at ON listings (first_seen_at);
CREATE UNIQUE INDEX uq_listings_open ON listings (site, external_id) WHERE closed_at IS NULL;
CREATE INDEX ix_listing_changes_listing_id_seen_at ON listing_changes (listing_id, seen_at);
CREATE INDEX ix_listing_changes_seen_at ON listing_changes (seen_at);
CREATE INDEX ix_price_points_listing_id_seen_at ON price_points (listing_id, seen_at);
CREATE INDEX ix_market_events_listing_id_at ON market_events (listing_id, at);
CREATE INDEX ix_market_events_noted_at ON market_events (noted_at);
CREATE UNIQUE INDEX uq_scopes_site_digest ON scopes (site, digest);
CREATE INDEX ix_sweeps_scope_id_started_at ON sweeps (scope_id, started_at);
CREATE INDEX ix_cards_site_external_id ON cards (site, external_id);
CREATE INDEX ix_cards_scope_id_seen_at ON cards (scope_id, seen_at);
CREATE INDEX ix_listing_sources_property_id ON listing_sources (property_id);
CREATE INDEX ix_match_links_high ON match_links (high);
CREATE INDEX ix_match_links_kind ON match_links (kind);
CREATE INDEX ix_listings_id_content_hash ON listings (id, content_hash);
CREATE INDEX ix_description_reads_rules ON description_reads (rules);
CREATE INDEX ix_llm_answers_created_at ON llm_answers (created_at);
CREATE INDEX ix_drift_runs_site_judged_at ON drift_runs (site, judged_at);
CREATE INDEX ix_scrape_history_held ON scrape_history (job_id) WHERE held IS 1;
CREATE INDEX ix_viewings_property_id ON viewings (property_id);
CREATE INDEX ix_viewings_starts_at ON viewings (starts_at);
CREATE INDEX ix_evaluation_changes_property_id ON evaluation_changes (property_id);
CREATE INDEX ix_evaluation_changes_viewing_id ON evaluation_changes (viewing_id);
CREATE INDEX ix_property_notes_property_id ON property_notes (property_id);
CREATE INDEX ix_scores_profile_verdict_points ON scores (profile, verdict, points);
CREATE INDEX ix_valuation_models_made_at ON valuation_models (made_at);
CREATE INDEX ix_alert_watch_listing_id ON alert_watch (listing_id);
CREATE INDEX ix_alert_items_incident_id ON alert_items (incident_id);
CREATE INDEX ix_alert_messages_state_not_before ON alert_messages (state, not_before);
CREATE INDEX ix_alert_messages_channel_state ON alert_messages (channel, state);
CREATE INDEX ix_alert_message_items_item_id ON alert_message_items (item_id);
CREATE INDEX ix_listings_last_seen_at ON listings (last_seen_at);
CREATE INDEX ix_description_reads_read_at ON description_reads (read_at);
COMMIT;
