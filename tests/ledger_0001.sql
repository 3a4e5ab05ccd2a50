-- A ledger of revision 0001, written by the infold of that time: twelve messages, one fold of the first six, a pin.
PRAGMA application_id = 127005;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE chats (
	"key" INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	user VARCHAR,
	title VARCHAR,
	system TEXT,
	policy TEXT NOT NULL,
	context_window INTEGER NOT NULL,
	created_at BIGINT NOT NULL,
	tools_tokens INTEGER NOT NULL,
	last_seq INTEGER NOT NULL,
	users INTEGER NOT NULL,
	cursor INTEGER NOT NULL,
	version INTEGER NOT NULL,
	folds INTEGER NOT NULL,
	head_hash BLOB NOT NULL,
	marks TEXT NOT NULL,
	PRIMARY KEY ("key"),
	UNIQUE (id)
);
INSERT INTO "chats" VALUES(1,'trip',NULL,'Trip','Be brief.','{"abort_on_failure":false,"batch":8,"batch_at":12,"budget":0,"budget_share":0.7,"buffer":4,"chunk_range":[2000,8000],"chunk_share":0.3,"chunk_tokens":6000,"cooldown":4,"enabled":true,"facts_cap":0,"fallback":"extractive","keep":6,"keep_range":[1000,4000],"keep_share":0.2,"leaf_cap":0,"max_depth":0,"min_keep":2,"min_messages":12,"models":[],"name":"rolling","order":["system","summary","bridge","recent","sources","query"],"overrides":{},"refresh_after":0,"reset_ratio":0.7,"rollup_count":0,"rollup_keep":0,"rollup_tokens":0,"safety_turns":10,"summary_cap":500,"token_ratio":0.7,"trigger_ratio":0.8,"triggers":["tokens","overflow","safety"],"trim":[["sources",0],["recent",0],["summary",0]],"unit":"message"}',8192,1767225600000,0,12,6,6,2,1,X'F8307D9EAF00073368AF43FC916CC99F4040D7E76ACD4F4609C40A911399A4A6','{"armed":true,"head":12,"safety":0,"seen":12}');
CREATE TABLE events (
	"key" INTEGER NOT NULL,
	chat INTEGER NOT NULL,
	type VARCHAR NOT NULL,
	created_at BIGINT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY ("key"),
	FOREIGN KEY(chat) REFERENCES chats ("key")
);
INSERT INTO "events" VALUES(1,1,'chat_created',1767225600000,'{"preset":"rolling"}');
INSERT INTO "events" VALUES(2,1,'pinned',1767225602000,'{"pin":"old-1"}');
INSERT INTO "events" VALUES(3,1,'summarization',1767225616000,'{"author":"extractive","depth":0,"duration":1000,"first":1,"fold":1,"kind":"base","last":6,"ratio":0.0175,"reason":"overflow","tokens_after":127,"tokens_before":143}');
CREATE TABLE folds (
	"key" INTEGER NOT NULL,
	chat INTEGER NOT NULL,
	n INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	kind VARCHAR NOT NULL,
	first_seq INTEGER,
	last_seq INTEGER,
	head_seq INTEGER NOT NULL,
	depth INTEGER NOT NULL,
	parent VARCHAR,
	superseded_by INTEGER,
	author VARCHAR NOT NULL,
	reason VARCHAR NOT NULL,
	created_at BIGINT NOT NULL,
	duration INTEGER NOT NULL,
	request_tokens INTEGER NOT NULL,
	context_window INTEGER NOT NULL,
	active INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	marks TEXT NOT NULL,
	removed TEXT NOT NULL,
	sources_sha256 BLOB NOT NULL,
	hash BLOB NOT NULL,
	PRIMARY KEY ("key"),
	UNIQUE (chat, n),
	FOREIGN KEY(chat) REFERENCES chats ("key")
);
INSERT INTO "folds" VALUES(1,1,1,'old-14','base',1,6,12,0,NULL,NULL,'extractive','overflow',1767225616000,1000,143,8192,12,23,'{"armed":false,"head":12,"safety":0,"seen":12}','[]',X'1B86D23D007595C2C42235F6AC1D2D45E6039355995705649F4884B754F2816F',X'F8307D9EAF00073368AF43FC916CC99F4040D7E76ACD4F4609C40A911399A4A6');
CREATE TABLE items (
	"key" INTEGER NOT NULL,
	chat INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	born INTEGER NOT NULL,
	died INTEGER,
	layer VARCHAR NOT NULL,
	section VARCHAR NOT NULL,
	text TEXT NOT NULL,
	sources TEXT NOT NULL,
	tokens INTEGER NOT NULL,
	PRIMARY KEY ("key"),
	UNIQUE (chat, id, born),
	FOREIGN KEY(chat) REFERENCES chats ("key")
);
INSERT INTO "items" VALUES(1,1,'1.1',1,NULL,'long','facts','User''s budget is 400 euros','[1]',9);
INSERT INTO "items" VALUES(2,1,'1.2',1,NULL,'long','decisions','Postgres for database','[3]',6);
INSERT INTO "items" VALUES(3,1,'1.3',1,NULL,'long','open','User will send report on Friday','[5]',8);
CREATE TABLE messages (
	"key" INTEGER NOT NULL,
	chat INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	role VARCHAR NOT NULL,
	content TEXT,
	body TEXT,
	model_variant VARCHAR,
	created_at BIGINT NOT NULL,
	tokens INTEGER NOT NULL,
	sha256 BLOB NOT NULL,
	features TEXT,
	PRIMARY KEY ("key"),
	UNIQUE (chat, seq),
	UNIQUE (chat, id),
	FOREIGN KEY(chat) REFERENCES chats ("key")
);
INSERT INTO "messages" VALUES(1,1,1,'old-2','user','My budget is 400 euros.',NULL,NULL,1767225603000,11,X'E269D0432E4F79246FC7AA26F92DFD3514331AB7CB351AFFF1587B85C3F4A927','[["facts","User''s budget is 400 euros",1,""]]');
INSERT INTO "messages" VALUES(2,1,2,'old-3','assistant','Noted.',NULL,NULL,1767225604000,7,X'EB7E09F3CB01641D1397A8D7686E3FA0BF40C4AB085A61B9A36E9339EF1FFD87',NULL);
INSERT INTO "messages" VALUES(3,1,3,'old-4','user','We decided to use Postgres for the database.',NULL,NULL,1767225605000,14,X'F886681E6A498428408B33BF7B4AACB8B22003A23AEC32F6A9AE4EC09D649091','[["decisions","Postgres for database",0,""]]');
INSERT INTO "messages" VALUES(4,1,4,'old-5','assistant','Fine.',NULL,NULL,1767225606000,6,X'499310823085C75E7A65137AAC2588A20003764592B00B50FAE8D4F83CD7B236',NULL);
INSERT INTO "messages" VALUES(5,1,5,'old-6','user','I will send the report on Friday.',NULL,NULL,1767225607000,12,X'785AEF70A76439A0646E4847FDBE116D12D63F9952CA0CC940A77C8F3F4F7EA8','[["open","User will send report on Friday",0,""]]');
INSERT INTO "messages" VALUES(6,1,6,'old-7','assistant','Thanks.',NULL,NULL,1767225608000,6,X'4BC42A55D8EF620623033C0267A41CF78F2E27C2B83D3263766704244E5FCD99',NULL);
INSERT INTO "messages" VALUES(7,1,7,'old-8','user','How long does it take?',NULL,NULL,1767225609000,10,X'A58346778886ECD383664FA6ECDF81DC7F626F0C9F8DF2C028FA85DEF40D07F9',NULL);
INSERT INTO "messages" VALUES(8,1,8,'old-9','assistant','Two hours.',NULL,NULL,1767225610000,7,X'C594C1B31D094EA99960332C988F4F023975F8CAA666011D3119315FC5E8706D',NULL);
INSERT INTO "messages" VALUES(9,1,9,'old-10','user','And by bus?',NULL,NULL,1767225611000,8,X'CC3029EE85D558E73091EC5404B92FD5A895863F66F72D2665511C3C43789B3F',NULL);
INSERT INTO "messages" VALUES(10,1,10,'old-11','assistant','Three hours.',NULL,NULL,1767225612000,7,X'ABB29EDA4D670ACFD5F3EBCC77107C1FEF8053F0A911E8A1B7D5C0BE8D9E078B',NULL);
INSERT INTO "messages" VALUES(11,1,11,'old-12','user','And on foot?',NULL,NULL,1767225613000,8,X'5AE5A680ACADA63ACECB7AA5CCE0F195C27A5962AD82A403E1A3DD5E21880651',NULL);
INSERT INTO "messages" VALUES(12,1,12,'old-13','assistant','Two days.',NULL,NULL,1767225614000,7,X'D57121F93915FEED814771AA4D42123DF41A73D9A8A8ADEC12EF48577C642F81',NULL);
CREATE TABLE pins (
	"key" INTEGER NOT NULL,
	chat INTEGER NOT NULL,
	id VARCHAR NOT NULL,
	text TEXT NOT NULL,
	tokens INTEGER NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY ("key"),
	UNIQUE (chat, id),
	FOREIGN KEY(chat) REFERENCES chats ("key")
);
INSERT INTO "pins" VALUES(1,1,'old-1','The gate code is 4711#.',10,1767225601000);
CREATE INDEX items_alive ON items (chat) WHERE died IS NULL;
CREATE INDEX events_by_chat ON events (chat, "key");
COMMIT;
