"""The tables, once, for every database."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

HEAD = "0014"
"""Newest migration; `migrations/versions` holds all of them."""

metadata = MetaData()

Key = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers its rows by INTEGER alone

chats = Table(
    "chats",
    metadata,
    Column("key", Key, primary_key=True),
    Column("tenant", String, nullable=False, server_default=""),
    Column("id", String, nullable=False),
    Column("user", String),
    Column("title", String),
    Column("system", Text),
    Column("policy", Text, nullable=False),  # JSON of the Policy
    Column("context_window", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("tools_tokens", Integer, nullable=False),  # of the last request's tool definitions
    Column("last_seq", Integer, nullable=False),  # position of the newest message
    Column("users", Integer, nullable=False),  # user messages so far
    Column("cursor", Integer, nullable=False),  # everything up to here is folded
    Column("version", Integer, nullable=False),  # changes whenever memory or policy do: compare-and-swap
    Column("folds", Integer, nullable=False),  # number of the newest fold
    Column("head_hash", LargeBinary, nullable=False),  # hash of the newest fold
    Column("marks", Text, nullable=False),  # JSON of the triggers' Marks
    Column("read_to", Integer, nullable=False, server_default="0"),  # facts and entities are noted up to here
    Column(
        "epoch", BigInteger, nullable=False, server_default="0"
    ),  # changes when messages leave: what was made of them is void
    Column("origin", Key),  # of a branch: key of the chat that it, or the one it branched off, began as
    Column("remember", Integer, nullable=False, server_default="1"),  # 0: what it says is known in no other chat
    Column("away", Integer, nullable=False, server_default="0"),  # 1: people went on in another branch
    UniqueConstraint("tenant", "id", name="chats_by_id"),
)
Index("chats_by_origin", chats.c.origin)
Index("chats_by_user", chats.c.tenant, chats.c.user)

messages = Table(
    "messages",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("id", String, nullable=False),
    Column("role", String, nullable=False),
    Column("content", Text),  # plain text; other content is in body
    Column("body", Text),  # JSON of everything but role and plain text
    Column("model_variant", String),
    Column("created_at", BigInteger, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("archived", Integer, nullable=False, server_default="0"),  # 1: in an archive; 2: removed for good
    Column("apart", Integer, nullable=False, server_default="0"),  # 1: what it says is known in no other chat
    UniqueConstraint("chat", "seq"),
    UniqueConstraint("chat", "id"),
)
_by_operator = messages.c.role.in_(("system", "developer"))
Index(
    "messages_of_operators", messages.c.chat, messages.c.seq, sqlite_where=_by_operator, postgresql_where=_by_operator
)

folds = Table(
    "folds",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("n", Integer, nullable=False),  # number of the fold in its chat, from 1
    Column("id", String, nullable=False),
    Column("kind", String, nullable=False),  # base, rollup or rewrite
    Column("first_seq", Integer),  # what it covers; NULL for rollup and rewrite
    Column("last_seq", Integer),
    Column("head_seq", Integer, nullable=False),  # newest message when it was made
    Column("depth", Integer, nullable=False),
    Column("parent", String),  # id of the record before
    Column("superseded_by", Integer),  # n of the fold that replaced it
    Column("author", String, nullable=False),  # extractive or summarizer
    Column("reason", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("duration", Integer, nullable=False),  # ms
    Column("request_tokens", Integer, nullable=False),  # the next request before the fold
    Column("context_window", Integer, nullable=False),
    Column("active", Integer, nullable=False),  # messages the model saw before the fold
    Column("tokens", Integer, nullable=False),  # of memory after it
    Column("marks", Text, nullable=False),
    Column("removed", Text, nullable=False),  # JSON list of ids of lines that ended here
    Column("sources_sha256", LargeBinary, nullable=False),  # over the hashes of the covered messages
    Column("hash", LargeBinary, nullable=False),  # over this fold and the hash before it
    Column("model", Text),  # the model that wrote it
    Column("prompt", Text),  # version of the prompt it was asked with
    Column("narrative", Text),  # its own prose, where it wrote some
    Column("notes", Text),  # JSON: passes, messages that were filtered or cut
    Column("nominal", LargeBinary),  # hash of how a leaf begins: another one that begins so may be the same
    UniqueConstraint("chat", "n"),
)

lines = Table(
    "lines",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("id", String, nullable=False),
    Column("born", Integer, nullable=False),  # n of the fold that wrote it
    Column("died", Integer),  # n of the fold that ended it; NULL while it is in memory
    Column("layer", String, nullable=False),
    Column("section", String, nullable=False),
    Column("kind", String, nullable=False, server_default=""),
    Column("text", Text, nullable=False),
    Column("quote", Text, nullable=False, server_default=""),
    Column("sources", Text, nullable=False),  # JSON list of seqs
    Column("places", Text, nullable=False, server_default="[]"),  # JSON list of [seq, start, end]
    Column("role", String, nullable=False, server_default=""),
    Column("said_by", String, nullable=False, server_default=""),
    Column("said_at", BigInteger, nullable=False, server_default="0"),
    Column("author", String, nullable=False, server_default=""),
    Column("worth", Integer, nullable=False, server_default="1000"),
    Column("standing", Integer, nullable=False, server_default="0"),
    Column("tokens", Integer, nullable=False),
    Column("rewrites", Integer, nullable=False, server_default="0"),  # by models, between the messages and this text
    Column("seal", Integer),  # checksum of the row; NULL in one of an earlier version
    UniqueConstraint("chat", "id", "born"),
)
Index("lines_alive", lines.c.chat, sqlite_where=lines.c.died.is_(None), postgresql_where=lines.c.died.is_(None))

pins = Table(
    "pins",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("id", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("by", String, nullable=False, server_default="user"),  # whose word it is: user or operator
    Column("seal", Integer),  # as in lines
    UniqueConstraint("chat", "id"),
)

installation = Table(
    "installation",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
"""What belongs to this database alone: the key that blocks in contexts are marked with."""

events = Table(
    "events",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("type", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("data", Text, nullable=False),  # JSON
)
Index("events_by_chat", events.c.chat, events.c.key)
_by_people = events.c.type.in_(("corrected", "retracted", "confirmed"))
Index("events_of_people", events.c.chat, events.c.key, sqlite_where=_by_people, postgresql_where=_by_people)

calls = Table(
    "calls",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("fold", Integer),  # n of the fold it was for; NULL where none came of it
    Column("model", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("duration", Integer, nullable=False),  # ms
    Column("tokens_in", Integer, nullable=False),
    Column("tokens_out", Integer, nullable=False),
    Column("cached", Integer, nullable=False),  # of tokens_in
    Column("cost", BigInteger),  # billionths of a US dollar; NULL where the price is not known
    Column("outcome", String, nullable=False),  # ok, rejected, or what went wrong
    Column("asked", LargeBinary),  # hash of what the model was sent: it is not conversation when it comes back
)
Index("calls_by_chat", calls.c.chat, calls.c.key)

leases = Table(
    "leases",
    metadata,
    Column("chat", Key, ForeignKey("chats.key"), primary_key=True),
    Column("owner", String, nullable=False),  # who is folding the chat with a summarizer
    Column("until", BigInteger, nullable=False),  # when others may take over
)

users = Table(
    "users",
    metadata,
    Column("key", Key, primary_key=True),
    Column("tenant", String, nullable=False),
    Column("name", String, nullable=False),
    Column("remember", Integer, nullable=False, server_default="1"),  # 0: each chat for itself
    Column("pulse", BigInteger, nullable=False, server_default="0"),  # changes with all that is known of the user
    Column("latest", BigInteger, nullable=False, server_default="0"),  # when the latest of it was said
    UniqueConstraint("tenant", "name", name="users_by_name"),
)
"""Users of whom something is known over all their chats."""

stated = Table(
    "stated",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("seq", Integer, nullable=False),  # the message that says it
    Column("kind", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("quote", Text, nullable=False),
    Column("sources", Text, nullable=False),  # as in lines, and so are those that follow
    Column("places", Text, nullable=False),
    Column("role", String, nullable=False),
    Column("said_by", String, nullable=False),
    Column("said_at", BigInteger, nullable=False),
    Column("author", String, nullable=False),
    Column("worth", Integer, nullable=False),
    Column("standing", Integer, nullable=False),
    Column("rewrites", Integer, nullable=False),
    Column("seal", Integer),
    Column(
        "owner", Key
    ),  # key of the user it is known of, or of its chat below zero; NULL in one of an earlier version
    Column("ended", Key),  # key of the row that took its place, or says the same; NULL while it holds
    Column("rank", Integer, nullable=False, server_default="0"),  # what is shown first, where not all of it is
    Column("apart", Integer, nullable=False, server_default="0"),  # 1: for its chat alone, whatever the chat's owner
)
Index("stated_by_chat", stated.c.chat, stated.c.seq)
Index("stated_held", stated.c.owner, stated.c.ended, stated.c.rank, stated.c.said_at)

hints = Table(
    "hints",
    metadata,
    Column("owner", Key, primary_key=True),  # as in `stated`
    Column("word", Integer, primary_key=True),  # number of a word
    Column("line", Key, primary_key=True),  # key of the row in `stated` that can be found by it
    sqlite_with_rowid=False,
)
"""Words that what was stated can be found by."""

mentions = Table(
    "mentions",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key")),  # NULL for what was set by hand for a user
    Column("tenant", String, nullable=False, server_default=""),  # of that user
    Column("user", String),  # of those
    Column("seq", Integer, nullable=False),  # 0: set by hand
    Column("at", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("name", Text, nullable=False),
    Column("status", String, nullable=False),
    Column("due", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("links", Text, nullable=False),  # JSON list of names
    Column("seal", Integer),  # as in lines
)
Index("mentions_by_chat", mentions.c.chat, mentions.c.seq)
_of_user = mentions.c.user.is_not(None)
Index("mentions_by_user", mentions.c.tenant, mentions.c.user, sqlite_where=_of_user, postgresql_where=_of_user)

recall_blocks = Table(
    "recall_blocks",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("first_seq", Integer, nullable=False),  # of so many messages as a block has
    Column("maker", String, nullable=False),  # what made it: another one makes it anew
    Column("data", LargeBinary, nullable=False),
    UniqueConstraint("chat", "first_seq"),
)

# The service ---------------------------------------------------------------------------------------------

api_keys = Table(
    "api_keys",
    metadata,
    Column("key", Key, primary_key=True),
    Column("id", String, nullable=False, unique=True),  # to name it by; not secret
    Column("tenant", String, nullable=False),
    Column("role", String, nullable=False),  # read, write or admin
    Column("name", String, nullable=False),  # what it is for
    Column("hash", LargeBinary, nullable=False, unique=True),  # sha256 of the key: the key itself is nowhere
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
)

GONE = "null"
"""In place of the headers of an answer that might quote what was forgotten since."""

idempotent = Table(
    "idempotent",
    metadata,
    Column("key", Key, primary_key=True),
    Column("tenant", String, nullable=False),
    Column("owner", String, nullable=False),  # id of the API key
    Column("token", String, nullable=False),  # the Idempotency-Key
    Column("fingerprint", LargeBinary, nullable=False),  # of method, path and body
    Column("status", Integer),  # of the answer; NULL while it is being made
    Column("headers", Text, nullable=False),  # JSON; GONE where the answer is not kept any more
    Column("body", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("tenant", "owner", "token", name="idempotent_by_token"),
)
Index("idempotent_by_age", idempotent.c.created_at)

prefixes = Table(
    "prefixes",
    metadata,
    Column("key", Key, primary_key=True),
    Column("tenant", String, nullable=False),
    Column("scope", String, nullable=False),  # whose chats: a chat named by its client, or a key and a user
    Column("digest", LargeBinary, nullable=False),  # of the messages up to here, as clients resend them
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("seq", Integer, nullable=False),
    UniqueConstraint("chat", "scope", "digest", name="prefixes_by_chat"),
)
Index("prefixes_by_digest", prefixes.c.tenant, prefixes.c.scope, prefixes.c.digest)

archives = Table(
    "archives",
    metadata,
    Column("key", Key, primary_key=True),
    Column("chat", Key, ForeignKey("chats.key"), nullable=False),
    Column("first_seq", Integer, nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),  # what the messages said, compressed
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("chat", "first_seq", name="archives_by_chat"),
)
