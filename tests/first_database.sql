-- A database as the first version that had one made it (revision 0001_first): its own program crawled two
-- simulated portals, bazar.bg and imot.bg, on two days, and was killed in the middle of a third crawl.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001_first');
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
	fence INTEGER DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_frontier PRIMARY KEY (id), 
	CONSTRAINT fk_frontier_job_id FOREIGN KEY(job_id) REFERENCES jobs (id), 
	CONSTRAINT uq_frontier_job_id_url_key UNIQUE (job_id, url_key)
);
INSERT INTO "frontier" VALUES(1,'imot.bg-20261115-214744-f5d831','search','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(2,'imot.bg-20261115-214744-f5d831','search','http://127.0.0.1:18701/obiavi/naemi/grad-sofiya','search:127.0.0.1:18701/obiavi/naemi/grad-sofiya','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(3,'imot.bg-20261115-214744-f5d831','listing','http://127.0.0.1:18701/obiava-1g176582644508121-prodava-ofis-grad-sofiya-republika','listing:1g176582644508121','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(4,'imot.bg-20261115-214744-f5d831','listing','http://127.0.0.1:18701/obiava-1c176734533502149-prodava-tristaen-apartament-grad-sofiya-bakston','listing:1c176734533502149','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(5,'imot.bg-20261115-214744-f5d831','listing','http://127.0.0.1:18701/obiava-1b174150637873108-prodava-dvustaen-apartament-grad-sofiya-krastova-vada','listing:1b174150637873108','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(6,'imot.bg-20261115-214744-f5d831','listing','http://127.0.0.1:18701/obiava-1d176821690246711-prodava-chetiristaen-apartament-grad-sofiya-tsentar-ul-kamenna-cheshma','listing:1d176821690246711','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(7,'imot.bg-20261115-214744-f5d831','listing','http://127.0.0.1:18701/obiava-1b177624110458310-prodava-dvustaen-apartament-grad-sofiya-slatina','listing:1b177624110458310','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(8,'imot.bg-20261115-214744-f5d831','listing','http://127.0.0.1:18701/obiava-2c177519171974393-dava-pod-naem-dvustaen-apartament-grad-sofiya-gr-novi-iskar','listing:2c177519171974393','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(9,'bazar.bg-20261115-214747-33d777','search','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(10,'bazar.bg-20261115-214747-33d777','search','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(11,'bazar.bg-20261115-214747-33d777','listing','http://127.0.0.1:18702/obiava-50000015/prodawa-3-staen-gr-sofiia-bakston','listing:50000015','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(12,'bazar.bg-20261115-214747-33d777','listing','http://127.0.0.1:18702/obiava-50000078/prodawa-2-staen-gr-sofiia-krastowa-wada','listing:50000078','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(13,'bazar.bg-20261115-214747-33d777','listing','http://127.0.0.1:18702/obiava-50000124/prodawa-4-staen-gr-sofiia-tsentar','listing:50000124','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(14,'bazar.bg-20261115-214747-33d777','listing','http://127.0.0.1:18702/obiava-50000213/prodawa-2-staen-gr-sofiia-slatina','listing:50000213','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(15,'bazar.bg-20261115-214747-33d777','listing','http://127.0.0.1:18702/obiava-50000072/dawa-pod-naem-2-staen-gr-sofiia-gr-nowi-iskar','listing:50000072','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(16,'bazar.bg-20261115-214747-33d777','listing','http://127.0.0.1:18702/obiava-50000162/4-staen-pod-naem-w-7-mi-11-ti-kilometar-bez-posrednik','listing:50000162','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(17,'imot.bg-20261115-214754-dbcb7c','search','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search:127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(18,'imot.bg-20261115-214754-dbcb7c','search','http://127.0.0.1:18701/obiavi/naemi/grad-sofiya','search:127.0.0.1:18701/obiavi/naemi/grad-sofiya','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(19,'imot.bg-20261115-214754-dbcb7c','listing','http://127.0.0.1:18701/obiava-1g176582644508121-prodava-ofis-grad-sofiya-republika','listing:1g176582644508121','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(20,'imot.bg-20261115-214754-dbcb7c','listing','http://127.0.0.1:18701/obiava-1c176734533502149-prodava-tristaen-apartament-grad-sofiya-bakston','listing:1c176734533502149','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(21,'imot.bg-20261115-214754-dbcb7c','listing','http://127.0.0.1:18701/obiava-1b174150637873108-prodava-dvustaen-apartament-grad-sofiya-krastova-vada','listing:1b174150637873108','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(22,'imot.bg-20261115-214754-dbcb7c','listing','http://127.0.0.1:18701/obiava-1d176821690246711-prodava-chetiristaen-apartament-grad-sofiya-tsentar-ul-kamenna-cheshma','listing:1d176821690246711','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(23,'imot.bg-20261115-214754-dbcb7c','listing','http://127.0.0.1:18701/obiava-1b177624110458310-prodava-dvustaen-apartament-grad-sofiya-slatina','listing:1b177624110458310','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(24,'imot.bg-20261115-214754-dbcb7c','listing','http://127.0.0.1:18701/obiava-1c177712063857057-prodava-tristaen-apartament-grad-sofiya-lyulin-8','listing:1c177712063857057','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(25,'imot.bg-20261115-214754-dbcb7c','listing','http://127.0.0.1:18701/obiava-2c177519171974393-dava-pod-naem-dvustaen-apartament-grad-sofiya-gr-novi-iskar','listing:2c177519171974393','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(26,'bazar.bg-20261115-214800-f491aa','search','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(27,'bazar.bg-20261115-214800-f491aa','search','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(28,'bazar.bg-20261115-214800-f491aa','listing','http://127.0.0.1:18702/obiava-50000015/prodawa-3-staen-gr-sofiia-bakston','listing:50000015','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(29,'bazar.bg-20261115-214800-f491aa','listing','http://127.0.0.1:18702/obiava-50000078/prodawa-2-staen-gr-sofiia-krastowa-wada','listing:50000078','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(30,'bazar.bg-20261115-214800-f491aa','listing','http://127.0.0.1:18702/obiava-50000244/prodawa-3-staen-gr-sofiia-lyulin-8','listing:50000244','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(31,'bazar.bg-20261115-214800-f491aa','listing','http://127.0.0.1:18702/obiava-50000124/prodawa-4-staen-gr-sofiia-tsentar','listing:50000124','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(32,'bazar.bg-20261115-214800-f491aa','listing','http://127.0.0.1:18702/obiava-50000213/prodawa-2-staen-gr-sofiia-slatina','listing:50000213','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(33,'bazar.bg-20261115-214800-f491aa','listing','http://127.0.0.1:18702/obiava-50000072/dawa-pod-naem-2-staen-gr-sofiia-gr-nowi-iskar','listing:50000072','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(34,'bazar.bg-20261115-214800-f491aa','listing','http://127.0.0.1:18702/obiava-50000162/4-staen-pod-naem-w-7-mi-11-ti-kilometar-bez-posrednik','listing:50000162','done',NULL,1,0.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(35,'bazar.bg-20261115-214805-760a43','search','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search:127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','done',NULL,1,-1.0,NULL,NULL,1);
INSERT INTO "frontier" VALUES(36,'bazar.bg-20261115-214805-760a43','search','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search:127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','leased',NULL,1,-1.0,'local:bazar.bg-20261115-214805-760a43',1.79477940551670956609e+09,1);
INSERT INTO "frontier" VALUES(37,'bazar.bg-20261115-214805-760a43','listing','http://127.0.0.1:18702/obiava-50000015/prodawa-3-staen-gr-sofiia-bakston','listing:50000015','leased',NULL,1,0.0,'local:bazar.bg-20261115-214805-760a43',1.79477940566768932343e+09,1);
INSERT INTO "frontier" VALUES(38,'bazar.bg-20261115-214805-760a43','listing','http://127.0.0.1:18702/obiava-50000078/prodawa-2-staen-gr-sofiia-krastowa-wada','listing:50000078','leased',NULL,1,0.0,'local:bazar.bg-20261115-214805-760a43',1.79477940566768932343e+09,1);
INSERT INTO "frontier" VALUES(39,'bazar.bg-20261115-214805-760a43','listing','http://127.0.0.1:18702/obiava-50000244/prodawa-3-staen-gr-sofiia-lyulin-8','listing:50000244','pending',NULL,0,0.0,NULL,NULL,0);
INSERT INTO "frontier" VALUES(40,'bazar.bg-20261115-214805-760a43','listing','http://127.0.0.1:18702/obiava-50000124/prodawa-4-staen-gr-sofiia-tsentar','listing:50000124','pending',NULL,0,0.0,NULL,NULL,0);
INSERT INTO "frontier" VALUES(41,'bazar.bg-20261115-214805-760a43','listing','http://127.0.0.1:18702/obiava-50000213/prodawa-2-staen-gr-sofiia-slatina','listing:50000213','pending',NULL,0,0.0,NULL,NULL,0);
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
	CONSTRAINT pk_jobs PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('imot.bg-20261115-214744-f5d831','imot.bg','COMPLETE','["http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya", "http://127.0.0.1:18701/obiavi/naemi/grad-sofiya"]',NULL,1.79477926428223776814e+09,1.79477926429676675791e+09,1.79477926467226290706e+09,NULL,8,6,0,3.90277332000550813972e-01);
INSERT INTO "jobs" VALUES('bazar.bg-20261115-214747-33d777','bazar.bg','COMPLETE','["http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia", "http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia"]',NULL,1.79477926759696292872e+09,1.79477926763982844355e+09,1.79477926842177033426e+09,NULL,8,6,0,0.789438218002033);
INSERT INTO "jobs" VALUES('imot.bg-20261115-214754-dbcb7c','imot.bg','COMPLETE','["http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya", "http://127.0.0.1:18701/obiavi/naemi/grad-sofiya"]',NULL,1.79477927466681480409e+09,1.79477927471477222446e+09,1.79477927571687269209e+09,NULL,9,1,1,1.03156445299828192219e+00);
INSERT INTO "jobs" VALUES('bazar.bg-20261115-214800-f491aa','bazar.bg','COMPLETE','["http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia", "http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia"]',NULL,1.79477928024226689339e+09,1.79477928029544734952e+09,1.79477928103364229206e+09,NULL,9,1,1,7.53026867001608479768e-01);
INSERT INTO "jobs" VALUES('bazar.bg-20261115-214805-760a43','bazar.bg','PROCESSING','["http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia", "http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia"]',NULL,1.79477928523867464065e+09,1.79477928527358770362e+09,NULL,NULL,1,0,0,0.0);
CREATE TABLE listing_changes (
	id INTEGER NOT NULL, 
	listing_id INTEGER NOT NULL, 
	job_id VARCHAR(40), 
	field VARCHAR(40) NOT NULL, 
	old JSON, 
	new JSON, 
	seen_at FLOAT NOT NULL, 
	CONSTRAINT pk_listing_changes PRIMARY KEY (id), 
	CONSTRAINT fk_listing_changes_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id), 
	CONSTRAINT fk_listing_changes_job_id FOREIGN KEY(job_id) REFERENCES jobs (id)
);
INSERT INTO "listing_changes" VALUES(1,3,'imot.bg-20261115-214754-dbcb7c','price_eur',266850,261513,1.7947792754555060863e+09);
INSERT INTO "listing_changes" VALUES(2,3,'imot.bg-20261115-214754-dbcb7c','price_bgn',521913.24,511474.97,1.7947792754555060863e+09);
INSERT INTO "listing_changes" VALUES(3,8,'bazar.bg-20261115-214800-f491aa','price_eur',266850,261513,1.79477928085590672491e+09);
INSERT INTO "listing_changes" VALUES(4,8,'bazar.bg-20261115-214800-f491aa','price_bgn','null',511474.97,1.79477928085590672491e+09);
INSERT INTO "listing_changes" VALUES(5,8,'bazar.bg-20261115-214800-f491aa','previous_price_eur','null',266850,1.79477928085590672491e+09);
CREATE TABLE listings (
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
	CONSTRAINT pk_listings PRIMARY KEY (id), 
	CONSTRAINT uq_listings_site_external_id UNIQUE (site, external_id)
);
INSERT INTO "listings" VALUES(1,'imot.bg','1g176582644508121','http://127.0.0.1:18701/obiava-1g176582644508121-prodava-ofis-grad-sofiya-republika','1g176582644508121','sale','office','Продава ОФИС','Собственик предлага добре поддържан имот с изглед към зелен двор.
Разпределение: коридор, дневна с кухненски бокс, 2 спални, баня с тоалетна и балкон.
Към имота има мазе с площ 11 m² и таванско помещение.
Под нас, на 5-ти етаж, живеят тихи съседи.
Сградата е на 5 етажа, а асансьорът спира на всеки от тях.
Цената за кв.м. излиза 1 820 EUR, а гаражът се заплаща отделно: 32 000 евро.
Цена от 1 820 до 2 170 EUR/м2 според етажа. Паркомясто: 32 000 €. Месечната такса за поддръжка е 44 лв. Кварталът е спокоен, с широки алеи и стари дървета.
За повече информация и оглед се обадете. Говорим и на английски.',NULL,'brick','commissioned',NULL,'needs_renovation','София','Люлин','Република',NULL,NULL,'private',NULL,'2025-12-15T21:20:45+02:00','2026-03-07T11:10:00+02:00',1139200.0,2228081.54,NULL,360.0,NULL,NULL,NULL,NULL,NULL,9,11,2022,NULL,5466,0,NULL,'["district"]','[]','[]','["+359888000394"]','["https://cdn3.focus.bg/imot/photosimotbg/1/121//big/1g176582644508121_r9.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/121//big/1g176582644508121_zi.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/121//big/1g176582644508121_Wm.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/121//big/1g176582644508121_Ui.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/121//big/1g176582644508121_y7.jpg"]','["\u0422\u0443\u0445\u043b\u0430", "\u0421 \u0434\u0435\u0439\u0441\u0442\u0432\u0430\u0449 \u0431\u0438\u0437\u043d\u0435\u0441", "\u041a\u043e\u043d\u0442\u0440\u043e\u043b \u043d\u0430 \u0434\u043e\u0441\u0442\u044a\u043f\u0430", "\u0421\u0430\u043d\u0438\u0440\u0430\u043d", "\u0417\u0430 \u0440\u0435\u043c\u043e\u043d\u0442", "\u0412\u044a\u0437\u043c\u043e\u0436\u043d\u043e\u0441\u0442 \u0437\u0430 \u0434\u0430\u043d. \u043a\u0440\u0435\u0434\u0438\u0442"]','[]','cb8aeaee4776c753b3a2663b4853f1fe12227050bb1e8a18f868957b55608c44',1.79477926445829820628e+09,1.79477927532295918468e+09,'3cd0c0b6fc5c321a3a44fa623bdd185269607f0e3f53f4edfe0da708a2dcb4e5');
INSERT INTO "listings" VALUES(2,'imot.bg','1c176734533502149','http://127.0.0.1:18701/obiava-1c176734533502149-prodava-tristaen-apartament-grad-sofiya-bakston','1c176734533502149','sale','apartment','Продава 3-СТАЕН','Собственик предлага добре поддържан имот с изглед към зелен двор.
Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 9 кв.м. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.
Сградата е на 11 етажа, а асансьорът спира на всеки от тях.
Сградата е с Акт 14, а Акт 16 се очаква до края на 2023 г.
Месечната такса за поддръжка е 83 лв.
Цена от 2 910 до 3 260 EUR/м2 според етажа. Паркомясто: 59 000 €.
Наблизо: детска градина "Щурче", аптека & поща, спирка на 68 автобус. Моля, звънете след 10:00 ч.',NULL,'brick','commissioned','furnished','needs_renovation','София','Витоша','Бъкстон',NULL,NULL,'developer','БЯЛ БАЛКОН БИЛД','2026-01-02T11:15:35+02:00','2026-03-19T07:49:00+02:00',NULL,NULL,NULL,73.0,NULL,NULL,NULL,NULL,3,8,14,2004,NULL,17,0,NULL,'["district"]','[]','[]','["+359888000524"]','["https://imotstatic2.focus.bg/imot/photosimotbg/1/149//big1/1c176734533502149_bo.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/149//big1/1c176734533502149_z5.jpg"]','["\u041e\u0431\u0437\u0430\u0432\u0435\u0434\u0435\u043d", "\u0412 \u0437\u0430\u0442\u0432\u043e\u0440\u0435\u043d \u043a\u043e\u043c\u043f\u043b\u0435\u043a\u0441", "\u0417\u0430 \u0440\u0435\u043c\u043e\u043d\u0442", "\u0412\u044a\u0437\u043c\u043e\u0436\u043d\u043e\u0441\u0442 \u0437\u0430 \u0434\u0430\u043d. \u043a\u0440\u0435\u0434\u0438\u0442"]','[]','1c5c9b0a8c49cfa0cce7fe2c8cf16bc184ea021bf88600532301d241cf8e681c',1.79477926452772736554e+09,1.79477927535813283925e+09,'857111d1a1c6560e637a2d97c02d822356369bde947bad33acf18c92367e7b2c');
INSERT INTO "listings" VALUES(3,'imot.bg','1b174150637873108','http://127.0.0.1:18701/obiava-1b174150637873108-prodava-dvustaen-apartament-grad-sofiya-krastova-vada','1b174150637873108','sale','apartment','Продава 2-СТАЕН','Собственик предлага добре поддържан имот с изглед към зелен двор.
Към имота има мазе с площ 5 m² и таванско помещение.
Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 5 кв.м.
Сградата е на 5 етажа, а асансьорът спира на всеки от тях.
Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет. Има и втори имот на 9-ти етаж с площ 133 кв.м. на цена 209 000 €.
Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16.
Цена от 2 790 до 3 140 EUR/м2 според етажа. Паркомясто: 35 000 €.
Цената за кв.м. излиза 2 790 EUR, а гаражът се заплаща отделно: 35 000 евро.
Метростанцията е на 11 минути пеша.
Районът е с отлична комуникация и лесен достъп до околовръстното.
Моля, звънете след 10:00 ч.','included','brick','commissioned',NULL,NULL,'София',NULL,'Кръстова вада',NULL,NULL,'agency','ЧЕРВЕН ПОКРИВ ХАУС','2025-03-09T09:46:18+02:00','2026-04-22T17:47:00+03:00',261513.0,511474.97,NULL,79.0,NULL,NULL,NULL,NULL,2,14,16,2008,NULL,3836,0,NULL,'[]','[]','[]','["+359888000538", "+359888000207"]','["https://imotstatic3.focus.bg/imot/photosimotbg/1/108//big1/1b174150637873108_nd.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108//big1/1b174150637873108_xi.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108//big1/1b174150637873108_xO.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108//big1/1b174150637873108_bn.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108//big1/1b174150637873108_PB.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108//big1/1b174150637873108_Ur.jpg"]','["\u0422\u0443\u0445\u043b\u0430"]','[]','ad471e3bfac7e68dff9f80cd074d199dec31f01d6d36eeb7e488d8df43e9ce07',1.79477926455630040171e+09,1.7947792754555060863e+09,'c5b6c1227ec5df076dc48b3a58fe8830b638b556a52dd6b4d19321aeefc46c77');
INSERT INTO "listings" VALUES(4,'imot.bg','1d176821690246711','http://127.0.0.1:18701/obiava-1d176821690246711-prodava-chetiristaen-apartament-grad-sofiya-tsentar-ul-kamenna-cheshma','1d176821690246711','sale','apartment','Продава 4-СТАЕН','НОВО ПРЕДЛОЖЕНИЕ! Център, тиха вътрешна улица, на две крачки от парка. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.
Сградата е с Акт 14, а Акт 16 се очаква до края на 2023 г.
Под нас, на 5-ти етаж, живеят тихи съседи.
Районът е с отлична комуникация и лесен достъп до околовръстното. Метростанцията е на 7 минути пеша.
Кварталът е спокоен, с широки алеи и стари дървета.
Огледи след уговорка, включително в почивните дни.','none','brick','commissioned',NULL,'needs_renovation','София',NULL,'Център','ул. Каменна чешма',NULL,'private',NULL,'2026-01-12T13:21:42+02:00','2026-01-12T13:21:00+02:00',482062.0,942831.32,NULL,192.0,NULL,NULL,NULL,NULL,4,15,20,2010,NULL,3464,0,NULL,'[]','[]','["garage"]','["+359888000862"]','["https://imotstatic1.focus.bg/imot/photosimotbg/1/711//big1/1d176821690246711_No.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711//big1/1d176821690246711_IY.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711//big1/1d176821690246711_Ua.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711//big1/1d176821690246711_JJ.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711//big1/1d176821690246711_OB.jpg"]','["\u0422\u0443\u0445\u043b\u0430", "\u0421 \u043f\u0440\u0435\u0445\u043e\u0434", "\u0421 \u0433\u0430\u0440\u0430\u0436", "\u0418\u043f\u043e\u0442\u0435\u043a\u0438\u0440\u0430\u043d", "\u0418\u043d\u0442\u0435\u0440\u043d\u0435\u0442 \u0432\u0440\u044a\u0437\u043a\u0430", "\u041a\u043e\u043d\u0442\u0440\u043e\u043b \u043d\u0430 \u0434\u043e\u0441\u0442\u044a\u043f\u0430", "\u0412 \u0437\u0430\u0442\u0432\u043e\u0440\u0435\u043d \u043a\u043e\u043c\u043f\u043b\u0435\u043a\u0441", "\u0417\u0430 \u0440\u0435\u043c\u043e\u043d\u0442"]','[]','383a118c4c252f5235bd2e33f2f265074a0827cc3f7a890e16147c60e30edee9',1.79477926457360792162e+09,1.79477927551972222326e+09,'e9800abb28406b077e85085f3c1b1518aa208e236a12c8566150b1ef84d0537a');
INSERT INTO "listings" VALUES(5,'imot.bg','1b177624110458310','http://127.0.0.1:18701/obiava-1b177624110458310-prodava-dvustaen-apartament-grad-sofiya-slatina','1b177624110458310','sale','apartment','Продава 2-СТАЕН','НОВО ПРЕДЛОЖЕНИЕ! Слатина, тиха вътрешна улица, на две крачки от парка.
Сградата е с Акт 14, а Акт 16 се очаква до края на 2022 г.
Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.
Наблизо: детска градина "Щурче", аптека & поща, спирка на 119 автобус.
Районът е с отлична комуникация и лесен достъп до околовръстното. Кварталът е спокоен, с широки алеи и стари дървета. Моля, звънете след 10:00 ч.','included','epk','commissioned',NULL,NULL,'София','Слатина','Слатина',NULL,NULL,'agency','БЯЛ БАЛКОН КОНСУЛТ','2026-04-15T11:18:24+03:00','2026-04-15T11:18:00+03:00',182700.0,357330.14,NULL,69.0,NULL,NULL,NULL,NULL,2,0,12,2021,NULL,5916,0,NULL,'[]','[]','[]','["+359888000653"]','["https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_RR.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_Av.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_Zm.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_A1.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_Ky.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_gR.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_Qv.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_NU.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_lL.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_ce.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_Z7.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_cn.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_vt.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310//big1/1b177624110458310_DF.jpg"]','["\u0415\u041f\u041a", "\u041a\u043e\u043d\u0442\u0440\u043e\u043b \u043d\u0430 \u0434\u043e\u0441\u0442\u044a\u043f\u0430"]','[]','0f9121efb4acaa4b62476bee30f0910f713ab32245a716458229debd00521a09',1.79477926464093971246e+09,1.79477927560017490394e+09,'593316e60ab8e5cd0a0cf3d4d9e9d505f70bf1db0804aace56ab21947c4ed77a');
INSERT INTO "listings" VALUES(6,'imot.bg','2c177519171974393','http://127.0.0.1:18701/obiava-2c177519171974393-dava-pod-naem-dvustaen-apartament-grad-sofiya-gr-novi-iskar','2c177519171974393','rent','apartment','Дава под наем 2-СТАЕН','Собственик предлага добре поддържан имот с изглед към зелен двор.
Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 13 кв.м.
Сградата е на 8 етажа, а асансьорът спира на всеки от тях.
Под нас, на 3-ти етаж, живеят тихи съседи. Сградата е с Акт 14, а Акт 16 се очаква до края на 2021 г. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.
Моля, звънете след 10:00 ч.','none',NULL,NULL,NULL,NULL,'София','Нови Искър','гр. Нови Искър',NULL,NULL,'agency','ТРИ ЩЪРКЕЛА ЕСТЕЙТ','2026-04-03T07:48:39+03:00','2026-04-04T12:25:00+03:00',670.0,1310.41,NULL,67.0,NULL,NULL,NULL,NULL,2,2,2,NULL,NULL,277,NULL,NULL,'[]','[]','[]','["+359888000937"]','["https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_Uo.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_UU.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_hd.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_Ib.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_Dk.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_Ob.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_OY.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_Yx.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_WM.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_op.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_rW.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_iG.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_Vt.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_cm.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_Bn.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_LI.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393//big1/2c177519171974393_je.jpg"]','["\u041a\u043e\u043d\u0442\u0440\u043e\u043b \u043d\u0430 \u0434\u043e\u0441\u0442\u044a\u043f\u0430"]','[]','9dc7de624c00cbb9e74057ec3dabe4daa89996210b00b6e2cbfc46615182e506',1.79477926465340375901e+09,1.79477927569224786751e+09,'d112ae8a1f98248518823aa28e1ae9aaf8294e278e9d9eacc100e7db43a35cb3');
INSERT INTO "listings" VALUES(7,'bazar.bg','50000015','http://127.0.0.1:18702/obiava-50000015/prodawa-3-staen-gr-sofiia-bakston','1c176734533502149','sale','apartment','Продава 3-СТАЕН, гр. София, Бъкстон','Собственик предлага добре поддържан имот с изглед към зелен двор.Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 9 кв.м. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.Сградата е на 11 етажа, а асансьорът спира на всеки от тях.Сградата е с Акт 14, а Акт 16 се очаква до края на 2023 г.Месечната такса за поддръжка е 83 лв.Цена от 2 910 до 3 260 EUR/м2 според етажа. Паркомясто: 59 000 €. Наблизо: детска градина "Щурче", аптека & поща, спирка на 68 автобус. Моля, звънете след 10:00 ч.',NULL,'brick',NULL,NULL,NULL,'София','Витоша','Бъкстон',NULL,NULL,NULL,'БЯЛ БАЛКОН БИЛД','2026-01-02T11:15:35+02:00',NULL,NULL,NULL,NULL,73.0,NULL,NULL,NULL,NULL,3,8,NULL,2004,NULL,1721,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic2.focus.bg/imot/photosimotbg/1/149/big1/1c176734533502149_bo.jpg", "https://imotstatic2.focus.bg/imot/photosimotbg/1/149/big1/1c176734533502149_z5.jpg"]','[]','[]','0e7dbef6398b8b21e91c5f50feebeecf7cf3ab9d2c2eae685427c37e1dbf1ebb',1.79477926822817277904e+09,1.79477928083249926565e+09,'5df89e3473216634b3cf8d455150b775b84745933696b17447cef615c89fcc0e');
INSERT INTO "listings" VALUES(8,'bazar.bg','50000078','http://127.0.0.1:18702/obiava-50000078/prodawa-2-staen-gr-sofiia-krastowa-wada','1b174150637873108','sale','apartment','Продава 2-СТАЕН, гр. София, Кръстова вада','Собственик предлага добре поддържан имот с изглед към зелен двор.Към имота има мазе с площ 5 m² и таванско помещение.Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 5 кв.м.Сградата е на 5 етажа, а асансьорът спира на всеки от тях.Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет. Има и втори имот на 9-ти етаж с площ 133 кв.м. на цена 209 000 €.Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16.Цена от 2 790 до 3 140 EUR/м2 според етажа. Паркомясто: 35 000 €.Цената за кв.м. излиза 2 790 EUR, а гаражът се заплаща отделно: 35 000 евро.Метростанцията е на 11 минути пеша.Районът е с отлична комуникация и лесен достъп до околовръстното.Моля, звънете след 10:00 ч.','included','brick',NULL,NULL,NULL,'София',NULL,'Кръстова вада',NULL,NULL,NULL,'Потребител 4879725','2025-03-09T09:46:18+02:00','2026-04-22T17:47:00+03:00',261513.0,511474.97,266850.0,79.0,NULL,NULL,42.66167761782,23.31783881614,2,14,NULL,2008,NULL,478,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic3.focus.bg/imot/photosimotbg/1/108/big1/1b174150637873108_nd.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108/big1/1b174150637873108_xi.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108/big1/1b174150637873108_xO.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108/big1/1b174150637873108_bn.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108/big1/1b174150637873108_PB.jpg", "https://imotstatic3.focus.bg/imot/photosimotbg/1/108/big1/1b174150637873108_Ur.jpg"]','[]','[]','7166831a28f77124dadd9586a362a8684bf5e9cbaa4ea93031c73564d7da43ae',1.79477926826747560505e+09,1.79477928085590672491e+09,'b6588cbd735a37144e436c07c8435339e63e18e2fa48cc7eaa78878587d9041d');
INSERT INTO "listings" VALUES(9,'bazar.bg','50000124','http://127.0.0.1:18702/obiava-50000124/prodawa-4-staen-gr-sofiia-tsentar','1d176821690246711','sale','apartment','Продава 4-СТАЕН, гр. София, Център','НОВО ПРЕДЛОЖЕНИЕ! Център, тиха вътрешна улица, на две крачки от парка. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет. Сградата е с Акт 14, а Акт 16 се очаква до края на 2023 г. Под нас, на 5-ти етаж, живеят тихи съседи.Районът е с отлична комуникация и лесен достъп до околовръстното. Метростанцията е на 7 минути пеша. Кварталът е спокоен, с широки алеи и стари дървета.Огледи след уговорка, включително в почивните дни.','none','brick',NULL,NULL,NULL,'София',NULL,'Център',NULL,NULL,NULL,'Потребител 3245060','2026-01-12T13:21:42+02:00','2026-04-05T10:16:55+03:00',482062.0,942831.32,467600.0,192.0,NULL,NULL,NULL,NULL,4,15,NULL,2010,NULL,914,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic1.focus.bg/imot/photosimotbg/1/711/big1/1d176821690246711_No.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711/big1/1d176821690246711_IY.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711/big1/1d176821690246711_Ua.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711/big1/1d176821690246711_JJ.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/711/big1/1d176821690246711_OB.jpg"]','[]','[]','3266f8055c9677bd862ed42798d5d88ff394cc86241d9bf81a4b0d78ce6c5ca4',1.79477926830771970746e+09,1.79477928094374942777e+09,'e3f1880572e3a73e29c99b3702e10389f150170769040310fa10f966924c410d');
INSERT INTO "listings" VALUES(10,'bazar.bg','50000213','http://127.0.0.1:18702/obiava-50000213/prodawa-2-staen-gr-sofiia-slatina','1b177624110458310','sale','apartment','Продава 2-СТАЕН, гр. София, Слатина','НОВО ПРЕДЛОЖЕНИЕ! Слатина, тиха вътрешна улица, на две крачки от парка.Сградата е с Акт 14, а Акт 16 се очаква до края на 2022 г. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет. Наблизо: детска градина "Щурче", аптека & поща, спирка на 119 автобус.Районът е с отлична комуникация и лесен достъп до околовръстното. Кварталът е спокоен, с широки алеи и стари дървета. Моля, звънете след 10:00 ч.','included','epk',NULL,NULL,NULL,'София','Слатина','Слатина',NULL,NULL,NULL,'БЯЛ БАЛКОН КОНСУЛТ','2026-04-15T11:18:24+03:00','2026-04-21T09:24:47+03:00',182700.0,357330.14,NULL,69.0,NULL,NULL,NULL,NULL,2,NULL,NULL,2021,NULL,1165,NULL,NULL,'[]','[]','[]','[]','["https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_RR.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_Av.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_Zm.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_A1.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_Ky.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_gR.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_Qv.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_NU.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_lL.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_ce.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_Z7.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_cn.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_vt.jpg", "https://cdn3.focus.bg/imot/photosimotbg/1/310/big1/1b177624110458310_DF.jpg"]','[]','[]','9abed7ddbd76aa9c2b7b0f841a607aff2f419bf4948b26d7177cdb548adec398',1.79477926834801936148e+09,1.79477928098809289938e+09,'cd94f6c696279d9caef3ef93574240cea477bd5b1365489d516791691953253b');
INSERT INTO "listings" VALUES(11,'bazar.bg','50000072','http://127.0.0.1:18702/obiava-50000072/dawa-pod-naem-2-staen-gr-sofiia-gr-nowi-iskar','2c177519171974393','rent','apartment','Дава под наем 2-СТАЕН, гр. София, гр. Нови Искър','Собственик предлага добре поддържан имот с изглед към зелен двор. Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ 13 кв.м.Сградата е на 8 етажа, а асансьорът спира на всеки от тях.Под нас, на 3-ти етаж, живеят тихи съседи. Сградата е с Акт 14, а Акт 16 се очаква до края на 2021 г. Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет. Моля, звънете след 10:00 ч.','none',NULL,NULL,NULL,NULL,'София','Нови Искър','гр. Нови Искър',NULL,NULL,NULL,'ТРИ ЩЪРКЕЛА ЕСТЕЙТ','2026-04-03T07:48:39+03:00','2026-04-21T16:05:00+03:00',670.0,1310.41,603.0,67.0,NULL,NULL,NULL,NULL,2,2,NULL,NULL,NULL,3184,NULL,NULL,'[]','[]','[]','[]','["https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_Uo.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_UU.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_hd.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_Ib.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_Dk.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_Ob.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_OY.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_Yx.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_WM.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_op.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_rW.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_iG.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_Vt.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_cm.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_Bn.jpg", "https://cdn3.focus.bg/imot/photosimotbg/2/393/big1/2c177519171974393_LI.jpg"]','[]','[]','693e052f70765cb419745b0050684dde890e822c7bc73a273eb0f0dd8cf1b333',1.79477926841194510452e+09,1.79477928102326965333e+09,'63caefd3d0069d93d87aa8bf0117ce3447c3cf2547099b22461a89cb4824e2c8');
INSERT INTO "listings" VALUES(12,'bazar.bg','50000162','http://127.0.0.1:18702/obiava-50000162/4-staen-pod-naem-w-7-mi-11-ti-kilometar-bez-posrednik',NULL,'rent','apartment','4-стаен под наем в 7-ми 11-ти километър, без посредник','Собственик предлага добре поддържан имот с изглед към зелен двор.Застроената площ е 164 кв.м., а общите части са 9 кв.м. Входът беше обновен през 2010 г., покривът е ремонтиран през 2021 г.Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.Под нас, на 5-ти етаж, живеят тихи съседи. Цена от 3 690 до 4 040 EUR/м2 според етажа. Паркомясто: 23 000 €. Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16.Цената за кв.м. излиза 3 690 EUR, а гаражът се заплаща отделно: 23 000 евро.Има и втори имот на 5-ти етаж с площ 220 кв.м. на цена 500 000 €.Наблизо: детска градина "Щурче", аптека & поща, спирка на 89 автобус.Кварталът е спокоен, с широки алеи и стари дървета.Огледи след уговорка, включително в почивните дни.',NULL,NULL,NULL,NULL,NULL,'София','Младост','7-ми 11-ти километър',NULL,NULL,NULL,'Дарин',NULL,NULL,NULL,NULL,NULL,191.0,NULL,NULL,42.65058385268,23.39352285444,4,4,19,NULL,NULL,1374,NULL,NULL,'[]','[]','[]','[]','["https://cdn8.focus.bg/bazar/76/pics/762349bcc787799ed535189a1772cf45.webp", "https://cdn5.focus.bg/bazar/22/pics/22ef726d45ac07b6a98fe68e5a8453fb.webp", "https://cdn8.focus.bg/bazar/e0/pics/e0d4a72031557066fdcd093feb794c25.webp", "https://cdn8.focus.bg/bazar/4f/pics/4fb02550ec5b0e575a85b0d251fa60d3.webp", "https://cdn6.focus.bg/bazar/ed/pics/edc103e076d3fbaa438f5352ab7e0ae3.webp"]','[]','[]','13334fc90969081fbbdd6bd1dbac9d38e61ebb0626424b0b7748e9452351e6d6',1.794779268416924715e+09,1.7947792810294039249e+09,'8d63c8d0834dc4f369bef80815d667c134af2962a57a86d9a4b0fb16798e6f4f');
INSERT INTO "listings" VALUES(13,'imot.bg','1c177712063857057','http://127.0.0.1:18701/obiava-1c177712063857057-prodava-tristaen-apartament-grad-sofiya-lyulin-8','1c177712063857057','sale','apartment','Продава 3-СТАЕН','*** БЕЗ КОМИСИОНА *** Просторен имот в близост до училище и пазар.
Застроената площ е 66 кв.м., а общите части са 7 кв.м.
Под нас, на 3-ти етаж, живеят тихи съседи.
Сградата е с Акт 14, а Акт 16 се очаква до края на 2029 г.
Сградата е на 6 етажа, а асансьорът спира на всеки от тях.
Кварталът е спокоен, с широки алеи и стари дървета.
Наблизо: детска градина "Щурче", аптека & поща, спирка на 90 автобус.
☎ Отговаряме на всяко обаждане!','included','brick',NULL,NULL,NULL,'София','Люлин','Люлин 8',NULL,NULL,'agency','КЕРЕМИДЕНО ПТИЧЕ БРОКЕРИ','2026-04-25T15:37:18+03:00','2026-04-25T15:37:00+03:00',236910.0,463355.69,NULL,77.0,NULL,NULL,NULL,NULL,3,13,15,2027,NULL,544,1,NULL,'["district"]','[]','[]','["+359888000446"]','["https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_or.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_ut.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_EH.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_d7.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_dQ.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_W6.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_T5.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_Iv.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_Kz.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_rj.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_uo.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_xv.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_YA.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_zF.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057//big1/1c177712063857057_jQ.jpg"]','["\u0422\u0443\u0445\u043b\u0430", "\u0421 \u043f\u0440\u0435\u0445\u043e\u0434", "\u041b\u0438\u0437\u0438\u043d\u0433", "\u0412\u0438\u0434\u0435\u043e \u043d\u0430\u0431\u043b\u044e\u0434\u0435\u043d\u0438\u0435", "\u041e\u0445\u0440\u0430\u043d\u0430"]','[]','d14c8e103e4334af7dfd164e58a6fd49ac74731487eb639ff1535e83fb775f94',1.79477927565180063245e+09,1.79477927565180063245e+09,'2905e3cf94c125544da596d6dc038fe8369f50e8277efd3b0f8043d5ce068537');
INSERT INTO "listings" VALUES(14,'bazar.bg','50000244','http://127.0.0.1:18702/obiava-50000244/prodawa-3-staen-gr-sofiia-lyulin-8','1c177712063857057','sale','apartment','Продава 3-СТАЕН, гр. София, Люлин 8','*** БЕЗ КОМИСИОНА *** Просторен имот в близост до училище и пазар.Застроената площ е 66 кв.м., а общите части са 7 кв.м.Под нас, на 3-ти етаж, живеят тихи съседи.Сградата е с Акт 14, а Акт 16 се очаква до края на 2029 г.Сградата е на 6 етажа, а асансьорът спира на всеки от тях.Кварталът е спокоен, с широки алеи и стари дървета.Наблизо: детска градина "Щурче", аптека & поща, спирка на 90 автобус.☎ Отговаряме на всяко обаждане!','included','brick',NULL,NULL,NULL,'София','Люлин','Люлин 8',NULL,NULL,NULL,'Потребител 740361','2026-04-25T15:37:18+03:00','2026-04-25T15:37:00+03:00',236910.0,463355.69,NULL,77.0,NULL,NULL,NULL,NULL,3,13,NULL,2027,NULL,397,NULL,NULL,'[]','[]','[]','[]','["https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_or.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_ut.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_EH.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_d7.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_dQ.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_W6.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_T5.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_Iv.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_Kz.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_rj.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_uo.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_xv.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_YA.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_zF.jpg", "https://imotstatic1.focus.bg/imot/photosimotbg/1/057/big1/1c177712063857057_jQ.jpg"]','[]','[]','dbf4c38065b51cc7e1d87bf6857ba704356147f09a638099d6c37df6b88eb5ae',1.79477928092996692659e+09,1.79477928092996692659e+09,'b08e3497d5e48709204188635718c91cd52f8a20207d84bb0e8185745786e66c');
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
INSERT INTO "pages" VALUES(1,'imot.bg','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search','68daf09bd09ae6ab48e72ed808d909d7467591998e4ff9c9c9f546b6def43dfb','text/html',1.79477926439995932577e+09);
INSERT INTO "pages" VALUES(2,'imot.bg','http://127.0.0.1:18701/obiavi/naemi/grad-sofiya','search','21c24a0b9fcd44e8223a348079edec7f3ae7f955cc62cc1600b98b615329dcbc','text/html',1.79477926441273212434e+09);
INSERT INTO "pages" VALUES(3,'imot.bg','http://127.0.0.1:18701/obiava-1g176582644508121-prodava-ofis-grad-sofiya-republika','listing','3cd0c0b6fc5c321a3a44fa623bdd185269607f0e3f53f4edfe0da708a2dcb4e5','text/html',1.79477926445829820628e+09);
INSERT INTO "pages" VALUES(4,'imot.bg','http://127.0.0.1:18701/obiava-1c176734533502149-prodava-tristaen-apartament-grad-sofiya-bakston','listing','857111d1a1c6560e637a2d97c02d822356369bde947bad33acf18c92367e7b2c','text/html',1.79477926452772736554e+09);
INSERT INTO "pages" VALUES(5,'imot.bg','http://127.0.0.1:18701/obiava-1b174150637873108-prodava-dvustaen-apartament-grad-sofiya-krastova-vada','listing','6d83e46ce6c54025a860732601522820fe86bdf52e3f876bf04984ea83fc0f58','text/html',1.79477926455630040171e+09);
INSERT INTO "pages" VALUES(6,'imot.bg','http://127.0.0.1:18701/obiava-1d176821690246711-prodava-chetiristaen-apartament-grad-sofiya-tsentar-ul-kamenna-cheshma','listing','e9800abb28406b077e85085f3c1b1518aa208e236a12c8566150b1ef84d0537a','text/html',1.79477926457360792162e+09);
INSERT INTO "pages" VALUES(7,'imot.bg','http://127.0.0.1:18701/obiava-1b177624110458310-prodava-dvustaen-apartament-grad-sofiya-slatina','listing','593316e60ab8e5cd0a0cf3d4d9e9d505f70bf1db0804aace56ab21947c4ed77a','text/html',1.79477926464093971246e+09);
INSERT INTO "pages" VALUES(8,'imot.bg','http://127.0.0.1:18701/obiava-2c177519171974393-dava-pod-naem-dvustaen-apartament-grad-sofiya-gr-novi-iskar','listing','d112ae8a1f98248518823aa28e1ae9aaf8294e278e9d9eacc100e7db43a35cb3','text/html',1.79477926465340375901e+09);
INSERT INTO "pages" VALUES(9,'bazar.bg','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search','e59678c9ba049add0e57d95b68bf830d1583f5d950dac69c27e1ccd263c915a5','text/html; charset=UTF-8',1.79477926804465532303e+09);
INSERT INTO "pages" VALUES(10,'bazar.bg','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search','02a9e1c9e77f456f9e072194971d13d4af48b43e7301f17ed86c33aa20ad1094','text/html; charset=UTF-8',1.79477926810363388066e+09);
INSERT INTO "pages" VALUES(11,'bazar.bg','http://127.0.0.1:18702/obiava-50000015/prodawa-3-staen-gr-sofiia-bakston','listing','5df89e3473216634b3cf8d455150b775b84745933696b17447cef615c89fcc0e','text/html; charset=UTF-8',1.79477926822817277904e+09);
INSERT INTO "pages" VALUES(12,'bazar.bg','http://127.0.0.1:18702/obiava-50000078/prodawa-2-staen-gr-sofiia-krastowa-wada','listing','70c98513918d2f71ea2805b2db5c01f0c2b6609e041547c5799cc548c3e35f12','text/html; charset=UTF-8',1.79477926826747560505e+09);
INSERT INTO "pages" VALUES(13,'bazar.bg','http://127.0.0.1:18702/obiava-50000124/prodawa-4-staen-gr-sofiia-tsentar','listing','e3f1880572e3a73e29c99b3702e10389f150170769040310fa10f966924c410d','text/html; charset=UTF-8',1.79477926830771970746e+09);
INSERT INTO "pages" VALUES(14,'bazar.bg','http://127.0.0.1:18702/obiava-50000213/prodawa-2-staen-gr-sofiia-slatina','listing','8fa0ee00ffb8325ced50fd0b933283b25a9c8637386ae99bb57a49b0e4999820','text/html; charset=UTF-8',1.79477926834801936148e+09);
INSERT INTO "pages" VALUES(15,'bazar.bg','http://127.0.0.1:18702/obiava-50000072/dawa-pod-naem-2-staen-gr-sofiia-gr-nowi-iskar','listing','e00ce2079eaa515d3b9159d9726a5984bc7c17ec05b4597d0d24768ae7dc5f39','text/html; charset=UTF-8',1.79477926841194510452e+09);
INSERT INTO "pages" VALUES(16,'bazar.bg','http://127.0.0.1:18702/obiava-50000162/4-staen-pod-naem-w-7-mi-11-ti-kilometar-bez-posrednik','listing','0dfcf69aa6018d5bcc79de8e87791e3e4db2485730c7f0829b0b1b599fd81d00','text/html; charset=UTF-8',1.794779268416924715e+09);
INSERT INTO "pages" VALUES(17,'imot.bg','http://127.0.0.1:18701/obiavi/prodazhbi/grad-sofiya','search','6f30a8ada66f95fa5671ab8eed14aea9405456d34edfa7aa0e9e0f66f144e1e5','text/html',1.79477927518026351928e+09);
INSERT INTO "pages" VALUES(18,'imot.bg','http://127.0.0.1:18701/obiavi/naemi/grad-sofiya','search','21c24a0b9fcd44e8223a348079edec7f3ae7f955cc62cc1600b98b615329dcbc','text/html',1.79477927521237468717e+09);
INSERT INTO "pages" VALUES(19,'imot.bg','http://127.0.0.1:18701/obiava-1g176582644508121-prodava-ofis-grad-sofiya-republika','listing','3cd0c0b6fc5c321a3a44fa623bdd185269607f0e3f53f4edfe0da708a2dcb4e5','text/html',1.79477927532295918468e+09);
INSERT INTO "pages" VALUES(20,'imot.bg','http://127.0.0.1:18701/obiava-1c176734533502149-prodava-tristaen-apartament-grad-sofiya-bakston','listing','857111d1a1c6560e637a2d97c02d822356369bde947bad33acf18c92367e7b2c','text/html',1.79477927535813283925e+09);
INSERT INTO "pages" VALUES(21,'imot.bg','http://127.0.0.1:18701/obiava-1b174150637873108-prodava-dvustaen-apartament-grad-sofiya-krastova-vada','listing','c5b6c1227ec5df076dc48b3a58fe8830b638b556a52dd6b4d19321aeefc46c77','text/html',1.7947792754555060863e+09);
INSERT INTO "pages" VALUES(22,'imot.bg','http://127.0.0.1:18701/obiava-1d176821690246711-prodava-chetiristaen-apartament-grad-sofiya-tsentar-ul-kamenna-cheshma','listing','e9800abb28406b077e85085f3c1b1518aa208e236a12c8566150b1ef84d0537a','text/html',1.79477927551972222326e+09);
INSERT INTO "pages" VALUES(23,'imot.bg','http://127.0.0.1:18701/obiava-1b177624110458310-prodava-dvustaen-apartament-grad-sofiya-slatina','listing','593316e60ab8e5cd0a0cf3d4d9e9d505f70bf1db0804aace56ab21947c4ed77a','text/html',1.79477927560017490394e+09);
INSERT INTO "pages" VALUES(24,'imot.bg','http://127.0.0.1:18701/obiava-1c177712063857057-prodava-tristaen-apartament-grad-sofiya-lyulin-8','listing','2905e3cf94c125544da596d6dc038fe8369f50e8277efd3b0f8043d5ce068537','text/html',1.79477927565180063245e+09);
INSERT INTO "pages" VALUES(25,'imot.bg','http://127.0.0.1:18701/obiava-2c177519171974393-dava-pod-naem-dvustaen-apartament-grad-sofiya-gr-novi-iskar','listing','d112ae8a1f98248518823aa28e1ae9aaf8294e278e9d9eacc100e7db43a35cb3','text/html',1.79477927569224786751e+09);
INSERT INTO "pages" VALUES(26,'bazar.bg','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search','4e3454eda686302cee7e227228615502defaa9379586bf5b3d544e6875f0bbc7','text/html; charset=UTF-8',1.79477928069222378727e+09);
INSERT INTO "pages" VALUES(27,'bazar.bg','http://127.0.0.1:18702/obiavi/naemi-apartamenti/sofia','search','a73e1afa68e96c0f2858a306c1a49223be30dbf60edab4c28ded46c2b4ba345a','text/html; charset=UTF-8',1.79477928072956562045e+09);
INSERT INTO "pages" VALUES(28,'bazar.bg','http://127.0.0.1:18702/obiava-50000015/prodawa-3-staen-gr-sofiia-bakston','listing','5df89e3473216634b3cf8d455150b775b84745933696b17447cef615c89fcc0e','text/html; charset=UTF-8',1.79477928083249926565e+09);
INSERT INTO "pages" VALUES(29,'bazar.bg','http://127.0.0.1:18702/obiava-50000078/prodawa-2-staen-gr-sofiia-krastowa-wada','listing','b6588cbd735a37144e436c07c8435339e63e18e2fa48cc7eaa78878587d9041d','text/html; charset=UTF-8',1.79477928085590672491e+09);
INSERT INTO "pages" VALUES(30,'bazar.bg','http://127.0.0.1:18702/obiava-50000244/prodawa-3-staen-gr-sofiia-lyulin-8','listing','b08e3497d5e48709204188635718c91cd52f8a20207d84bb0e8185745786e66c','text/html; charset=UTF-8',1.79477928092996692659e+09);
INSERT INTO "pages" VALUES(31,'bazar.bg','http://127.0.0.1:18702/obiava-50000124/prodawa-4-staen-gr-sofiia-tsentar','listing','e3f1880572e3a73e29c99b3702e10389f150170769040310fa10f966924c410d','text/html; charset=UTF-8',1.79477928094374942777e+09);
INSERT INTO "pages" VALUES(32,'bazar.bg','http://127.0.0.1:18702/obiava-50000213/prodawa-2-staen-gr-sofiia-slatina','listing','cd94f6c696279d9caef3ef93574240cea477bd5b1365489d516791691953253b','text/html; charset=UTF-8',1.79477928098809289938e+09);
INSERT INTO "pages" VALUES(33,'bazar.bg','http://127.0.0.1:18702/obiava-50000072/dawa-pod-naem-2-staen-gr-sofiia-gr-nowi-iskar','listing','63caefd3d0069d93d87aa8bf0117ce3447c3cf2547099b22461a89cb4824e2c8','text/html; charset=UTF-8',1.79477928102326965333e+09);
INSERT INTO "pages" VALUES(34,'bazar.bg','http://127.0.0.1:18702/obiava-50000162/4-staen-pod-naem-w-7-mi-11-ti-kilometar-bez-posrednik','listing','8d63c8d0834dc4f369bef80815d667c134af2962a57a86d9a4b0fb16798e6f4f','text/html; charset=UTF-8',1.7947792810294039249e+09);
INSERT INTO "pages" VALUES(35,'bazar.bg','http://127.0.0.1:18702/obiavi/prodazhba-apartamenti/sofia','search','4e3454eda686302cee7e227228615502defaa9379586bf5b3d544e6875f0bbc7','text/html; charset=UTF-8',1.79477928564827132222e+09);
CREATE TABLE price_points (
	id INTEGER NOT NULL, 
	listing_id INTEGER NOT NULL, 
	price_eur FLOAT, 
	price_bgn FLOAT, 
	vat VARCHAR(20), 
	seen_at FLOAT NOT NULL, 
	CONSTRAINT pk_price_points PRIMARY KEY (id), 
	CONSTRAINT fk_price_points_listing_id FOREIGN KEY(listing_id) REFERENCES listings (id)
);
INSERT INTO "price_points" VALUES(1,1,1139200.0,2228081.54,NULL,1.79477926445829820628e+09);
INSERT INTO "price_points" VALUES(2,2,NULL,NULL,NULL,1.79477926452772736554e+09);
INSERT INTO "price_points" VALUES(3,3,266850.0,521913.24,'included',1.79477926455630040171e+09);
INSERT INTO "price_points" VALUES(4,4,482062.0,942831.32,'none',1.79477926457360792162e+09);
INSERT INTO "price_points" VALUES(5,5,182700.0,357330.14,'included',1.79477926464093971246e+09);
INSERT INTO "price_points" VALUES(6,6,670.0,1310.41,'none',1.79477926465340375901e+09);
INSERT INTO "price_points" VALUES(7,7,NULL,NULL,NULL,1.79477926822817277904e+09);
INSERT INTO "price_points" VALUES(8,8,266850.0,NULL,'included',1.79477926826747560505e+09);
INSERT INTO "price_points" VALUES(9,9,482062.0,942831.32,'none',1.79477926830771970746e+09);
INSERT INTO "price_points" VALUES(10,10,182700.0,357330.14,'included',1.79477926834801936148e+09);
INSERT INTO "price_points" VALUES(11,11,670.0,1310.41,'none',1.79477926841194510452e+09);
INSERT INTO "price_points" VALUES(12,12,NULL,NULL,NULL,1.794779268416924715e+09);
INSERT INTO "price_points" VALUES(13,3,261513.0,511474.97,'included',1.7947792754555060863e+09);
INSERT INTO "price_points" VALUES(14,13,236910.0,463355.69,'included',1.79477927565180063245e+09);
INSERT INTO "price_points" VALUES(15,8,261513.0,511474.97,'included',1.79477928085590672491e+09);
INSERT INTO "price_points" VALUES(16,14,236910.0,463355.69,'included',1.79477928092996692659e+09);
CREATE INDEX ix_jobs_site_created_at ON jobs (site, created_at);
CREATE INDEX ix_frontier_job_id_state_not_before ON frontier (job_id, state, not_before);
CREATE INDEX ix_listings_neighbourhood ON listings (neighbourhood);
CREATE INDEX ix_listing_changes_listing_id_seen_at ON listing_changes (listing_id, seen_at);
CREATE INDEX ix_price_points_listing_id_seen_at ON price_points (listing_id, seen_at);
CREATE INDEX ix_pages_site_url ON pages (site, url);
CREATE INDEX ix_pages_digest ON pages (digest);
COMMIT;
