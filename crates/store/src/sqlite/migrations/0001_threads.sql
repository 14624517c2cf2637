CREATE TABLE threads (
    id         TEXT PRIMARY KEY,
    user       TEXT NOT NULL,
    workspace  TEXT NOT NULL,
    agent      TEXT NOT NULL,
    model      TEXT,
    title      TEXT,
    mode       TEXT,
    tools      TEXT NOT NULL,
    state      TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_seq   INTEGER NOT NULL,
    turns      INTEGER NOT NULL,
    usage      TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX threads_by_activity ON threads (user, updated_at DESC, id DESC);
CREATE INDEX threads_at_work ON threads (state) WHERE state <> 'idle';

CREATE TABLE turns (
    thread     TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    mode       TEXT NOT NULL,
    message    TEXT NOT NULL,
    files      TEXT NOT NULL,
    state      TEXT NOT NULL,
    code       TEXT,
    first_seq  INTEGER NOT NULL,
    last_seq   INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    changed    INTEGER NOT NULL,
    applied    INTEGER NOT NULL,
    PRIMARY KEY (thread, number)
) WITHOUT ROWID;

CREATE TABLE events (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    turn   INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    data   TEXT NOT NULL,
    at     TEXT NOT NULL,
    PRIMARY KEY (thread, seq)
) WITHOUT ROWID;
CREATE INDEX supervisor_events ON events (at) WHERE kind = 'supervisor';

CREATE TABLE kept (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    name   TEXT NOT NULL,
    body   TEXT NOT NULL,
    PRIMARY KEY (thread, name)
);

CREATE TABLE interrupts (
    thread      TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    id          TEXT NOT NULL,
    turn        INTEGER NOT NULL,
    body        TEXT NOT NULL,
    answered_at TEXT,
    PRIMARY KEY (thread, id)
) WITHOUT ROWID;

CREATE TABLE modes (
    thread    TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    turn      INTEGER NOT NULL,
    from_mode TEXT,
    to_mode   TEXT NOT NULL,
    at        TEXT NOT NULL,
    PRIMARY KEY (thread, turn)
) WITHOUT ROWID;

-- No reference to threads: what was done stays written when a thread is gone.
CREATE TABLE audit (
    seq    INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    thread TEXT,
    turn   INTEGER,
    detail TEXT NOT NULL,
    prev   TEXT NOT NULL,
    hash   TEXT NOT NULL
);
CREATE INDEX audit_of_thread ON audit (thread, seq);
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only ever added to'); END;
CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only ever added to'); END;

CREATE TABLE uploads (
    id     TEXT PRIMARY KEY,
    user   TEXT NOT NULL,
    name   TEXT NOT NULL,
    bytes  INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    at     TEXT NOT NULL
) WITHOUT ROWID;
